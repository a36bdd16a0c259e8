#pragma once

#include <rapidcheck/gtest.h>

#include <functional>
#include <set>

#include "core/document/lock_queue.hpp"
#include "core/testing/core_world.hpp"

namespace leasehold::core {

/// A CoreWorld driven by generated events: calls come, release and give up, servers answer anything
/// in any order or not at all, and the process pauses. What a property needs to see it looks up
/// after each event, in `after_each`.
class DrawnSchedule : public CoreWorld {
 public:
  /// Lock options that differ in what timers, removals and streams they lead to.
  static LockOptions drawn_options() {
    LockOptions o = options();
    o.expiry = Ms(*rc::gen::element(900, 3'000, 10'000));
    if (*rc::gen::arbitrary<bool>()) {
      o.waiting = *rc::gen::arbitrary<bool>() ? adaptive_waiting() : queue_waiting();
    }
    if (*rc::gen::inRange(0, 4) == 0) o.max_holding = Ms(*rc::gen::inRange(100, 20'000));
    o.hand_overs_in_a_row = *rc::gen::element(0, 1, 8);
    return o;
  }

  /// So many events, drawn one after the other; RapidCheck shrinks the draws.
  void run(int events) {
    for (int i = 0; i < events; ++i) draw_event();
  }

  /// Every call ends and every command is answered, until nothing is under way.
  void wind_down() {
    for (int i = 0; i < 100; ++i) {
      for (SessionId id = 1; id <= last_session_; ++id) happen(CancelAsked{id});
      for (SessionId id = 1; id <= last_session_; ++id) happen(ReleaseAsked{id});
      while (!under_way.empty()) {
        happen(ReplyArrived{under_way.begin()->first, with(Outcome::done, 1)});
      }
      pass(Ms(10'000));
    }
  }

  /// Gives the event, and keeps books of what is under way and over by its effects alone, as any
  /// onlooker could.
  void happen(const Event& event) {
    if (const auto* reply = std::get_if<ReplyArrived>(&event)) under_way.erase(reply->command);
    if (const auto* release = std::get_if<ReleaseAsked>(&event)) holds.erase(release->session);
    give(event);
    for (const auto& effect : effects) {
      if (const auto* sent = std::get_if<Send>(&effect)) {
        under_way[sent->command.id] = sent->command;
      }
      if (const auto* abandon = std::get_if<Abandon>(&effect)) under_way.erase(abandon->command);
      if (const auto* won = std::get_if<Granted>(&effect)) {
        granted.insert(won->session);
        holds[won->session] = owner_of[won->session] = won->owner;
        shared += won->by == Granted::By::share ? 1 : 0;
      }
      if (const auto* lost = std::get_if<Lost>(&effect)) holds.erase(lost->session);
      if (const auto* ended = std::get_if<Ended>(&effect)) over.insert(ended->session);
      if (const auto* released = std::get_if<Released>(&effect)) over.insert(released->session);
    }
    if (after_each) after_each(effects);
  }

  /// Time passes and every timer fires that comes due.
  void pass(Ms by) {
    const auto until = now + by;
    for (auto next = earliest(); next && timers.at(*next) <= until; next = earliest()) {
      now = std::max(now, timers.at(*next));
      happen(TimerFired{*next});
    }
    now = std::max(now, until);
  }

  /// Whether a hand-over to this session is under way.
  [[nodiscard]] bool receives(SessionId session) const {
    return std::ranges::any_of(under_way, [session](const auto& one) {
      const auto* hand_over = std::get_if<HandOverCommand>(&one.second.body);
      return hand_over != nullptr && hand_over->session == session;
    });
  }

  std::map<CommandId, Command> under_way;  ///< neither answered nor abandoned
  /// Whether a session that is not over has, or had and lost, the lock that this session won.
  [[nodiscard]] bool is_had(SessionId won_by) const {
    return std::ranges::any_of(owner_of, [&](const auto& one) {
      return one.second == owner_of.at(won_by) && !over.contains(one.first);
    });
  }

  std::set<SessionId> granted, over;       ///< over: ended or released
  std::map<SessionId, Owner> owner_of;     ///< of each that was granted a lock
  std::map<SessionId, Owner> holds;        ///< and has neither lost nor released it
  int shared = 0;                          ///< grants without a command
  std::function<void(const Effects&)> after_each;

 private:
  /// Names a session so far, or one that was never asked for, because an event may name anything.
  void draw_event() {
    const auto session = [this] {
      return static_cast<SessionId>(*rc::gen::inRange<std::uint64_t>(1, last_session_ + 2));
    };
    switch (*rc::gen::inRange(0, 14)) {
      case 0:
      case 1: return ask();
      case 2: return happen(ReleaseAsked{session()});
      case 3: return happen(CancelAsked{session()});
      case 4: return happen(DeadlineSeen{session()});
      case 5:
      case 6: return pass(Ms(*rc::gen::inRange(0, 500)));
      case 7: return pass(Ms(*rc::gen::inRange(0, 20'000)));
      case 8: now += Ms(*rc::gen::inRange(0, 5'000)); return;  // paused: no timer fires
      case 9: return happen(ExtendAsked{session()});
      case 10: return downgrade(session());
      default: return answer();
    }
  }

  void ask() {
    const auto timeout = *rc::gen::inRange(0, 4);
    std::optional<LocalInstant> give_up;
    if (timeout > 1) give_up = now + Ms(*rc::gen::inRange(1, 30'000));
    LockOptions options = drawn_options();
    const bool reads = *rc::gen::arbitrary<bool>();
    // Readers of one process share an entry only if their leases are alike.
    if (reads && *rc::gen::inRange(0, 4) > 0) {
      options.expiry = Ms(3'000);
      options.max_holding.reset();
    }
    happen(AcquireAsked{++last_session_, *rc::gen::element<std::string>("a", "b"),
                        std::move(options), give_up, timeout == 1, reads ? kReaders : Room()});
  }

  /// As a driver does; between the two events another may come.
  void downgrade(SessionId session) {
    const auto limit = now + Ms(*rc::gen::inRange(1, 30'000));
    happen(AcquireAsked{++last_session_, "a", options(), limit, true, kReaders, session});
    if (*rc::gen::inRange(0, 4) == 0) draw_event();
    happen(ReleaseAsked{session});
  }

  /// Any command under way, not the oldest: answers overtake each other.
  void answer() {
    if (under_way.empty()) return;
    const auto at = *rc::gen::inRange<std::size_t>(0, under_way.size());
    const Command command = std::next(under_way.begin(), static_cast<std::ptrdiff_t>(at))->second;
    happen(ReplyArrived{command.id, drawn_reply(command)});
  }

  /// Mostly what a server says that has executed the command.
  Reply drawn_reply(const Command& command) {
    Reply reply = with(*rc::gen::weightedElement<Outcome>({{8, Outcome::done},
                                                           {2, Outcome::unknown},
                                                           {2, Outcome::not_executed},
                                                           {1, Outcome::configuration}}),
                       *rc::gen::inRange(0, 3));
    reply.operation_time = FencingToken(++last_token_);
    if (std::holds_alternative<StreamCommand>(command.body)) {
      reply.cursor = *rc::gen::inRange(0, 5);
      if (!asked_for_.empty() && *rc::gen::arbitrary<bool>()) reply.named = {drawn_news()};
    }
    if (const auto* acquire = std::get_if<AcquireCommand>(&command.body)) {
      const bool won = *rc::gen::arbitrary<bool>();
      const auto other = *rc::gen::element(std::string(32, 'f'), text_of_readers({kOther}));
      reply.documents = {{acquire->name, won ? acquire->lock_id : other, ServerInstant{77},
                          last_token_ - 1, ""}};
      asked_for_.push_back({acquire->name, acquire->lock_id});
      if (!won && acquire->queues_for && *rc::gen::inRange(0, 4) > 0) {
        reply.documents[0].queue = std::string(kEntryLockIdAt, '1') + acquire->lock_id;
      }
    }
    if (const auto* passed = std::get_if<PassOnCommand>(&command.body)) {
      const auto held_by = to_hex(*rc::gen::element(passed->owner, Owner{9, 9})) + ".3000.1";
      if (reply.matched > 0) reply.documents = {{passed->name, held_by, ServerInstant{77}, 1, ""}};
    }
    if (const auto* given = std::get_if<HandOverCommand>(&command.body)) {
      if (*rc::gen::inRange(0, 4) > 0) {
        reply.documents = {{given->name, given->lock_id, ServerInstant{78}, last_token_ - 1, ""}};
      }
    }
    return reply;
  }

  /// The event of an attempt that was answered: the lock may have been passed to it since.
  NamedOwner drawn_news() {
    const auto& [name, lock_id] = *rc::gen::elementOf(asked_for_);
    const auto as = *rc::gen::element(NamedOwner::As::holder, NamedOwner::As::holder,
                                      NamedOwner::As::next, NamedOwner::As::unclear);
    const FencingToken at(++last_token_);
    return {as, {name, lock_id, ServerInstant{79}, last_token_ - 1, ""}, at};
  }

  static inline const std::string kOther = std::string(32, 'e') + ".000003000.1";
  std::vector<std::pair<std::string, std::string>> asked_for_;  ///< names and lockIds
  SessionId last_session_ = 0;
  std::int64_t last_token_ = 1'000;
};

}  // namespace leasehold::core
