#include <algorithm>
#include <stdexcept>

#include "model/diagrams/lifecycle_steps.hpp"
#include "model/diagrams/transition_table.hpp"
#include "sim/explored/core_system.hpp"
#include "sim/explored/core_terms.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;
using core::Timer;
using Life = model::LifecycleStep;

/// Numbers that differ by process and by draw. Really random ones would make each order of events
/// a state of its own.
class CountedEntropy final : public core::Entropy {
 public:
  CountedEntropy(unsigned process, std::uint64_t& drawn) : who_(process), drawn_(drawn) {}
  // Never 0, and never another process's: as improbable as for real numbers of 128 bits.
  std::uint64_t draw() override { return std::uint64_t{who_ + 1} << kOwnerShift | ++drawn_; }

 private:
  unsigned who_;
  std::uint64_t& drawn_;
};

/// The call of a command that asks for the lock: its outcome moves that call along the diagram.
Actor::Awaited awaited(const core::Command& command) {
  if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
    return {acquire->session};
  }
  const auto* given = std::get_if<core::HandOverCommand>(&command.body);
  return given == nullptr ? Actor::Awaited{} : Actor::Awaited{given->session, true};
}

/// The call that an effect grants or ends, which is an arrow of its own.
core::SessionId settled_by(const core::Effect& effect) {
  if (const auto* granted = std::get_if<core::Granted>(&effect)) return granted->session;
  const auto* ended = std::get_if<core::Ended>(&effect);
  return ended == nullptr ? 0 : ended->session;
}

}  // namespace

/// One event, and what the core does about it at once.
class CoreSystem::Reaction {
 public:
  Reaction(const CoreSystem& system, const Actor& before, unsigned process, unsigned tick)
      : system_(system), a_(before), who_(process), tick_(tick) {}

  // An event may cause others at once; they are seen in the same step.
  Effect run(const core::Event& event) {
    events_ = {event};
    // A copy of each event, by its index, because `step` appends to the list while this loop runs.
    for (std::size_t e = 0; e < events_.size(); ++e) step(core::Event(events_[e]));
    tidy_up();
    out_.actor = system_.states_.keep(std::move(a_));
    return std::move(out_);
  }

 private:
  /// What an actor heard of a call's attempt or hand-over.
  struct Heard {
    core::SessionId session;
    bool hand_over;
    core::Reply reply;  ///< an empty one if it timed out
  };

  /// The user that made the call; null: the call is over.
  User* user_of(core::SessionId session) {
    const auto found = std::find_if(a_.users.begin(), a_.users.end(), [&](const User& user) {
      return user.session == session && session != 0;
    });
    return found == a_.users.end() ? nullptr : &*found;
  }
  /// REQUIRES: it is a user's latest
  User& at(core::SessionId session) {
    User* const user = user_of(session);
    if (user == nullptr) throw std::logic_error("an effect on a call that is over");
    return *user;
  }
  User* user_of_owner(core::Owner owner) {
    const auto found = std::find_if(a_.users.begin(), a_.users.end(),
                                    [&](const User& user) { return user.owner == owner; });
    return found == a_.users.end() ? nullptr : &*found;
  }

  /// Walks the arrows of the diagram.
  void take(User& user, Life step) {
    for (const auto input : model::inputs_of(step, user.life)) {
      const auto found = model::lifecycle().find(user.life, input);
      if (!found) {
        // It stays where it is, and the exploration ends with this state.
        out_.broken = arrow;
      } else {
        user.life = model::lifecycle().arrows()[*found].to;
      }
    }
  }

  void step(const core::Event& event) {
    if (const auto* asked = std::get_if<core::AcquireAsked>(&event)) {
      take(at(asked->session), Life::created);
    }
    if (const auto* release = std::get_if<core::ReleaseAsked>(&event)) {
      at(release->session).holds = false;
      take(at(release->session), Life::release_asked);
    }
    // Before the core's step, because the core forgets the command by this event.
    const auto heard = heard_of_the_attempt(event);
    // The count goes on from this actor's last draw.
    CountedEntropy entropy(who_, a_.drawn);
    core::Effects effects;
    a_.core.next(event, system_.scope_.clock(who_, tick_), entropy, effects);
    if (heard) learn(*heard, effects);
    for (const auto& effect : effects) {
      std::visit([this](const auto& one) { carry_out(one); }, effect);
    }
  }

  /// A grant or an end is an arrow of its own. Without either the attempt had an outcome, and the
  /// call goes on waiting.
  void learn(const Heard& heard, const core::Effects& effects) {
    User* const user = user_of(heard.session);
    if (user == nullptr || user->life != "Acquiring") return;
    const bool settled = std::any_of(effects.begin(), effects.end(), [&](const auto& effect) {
      return settled_by(effect) == heard.session;
    });
    if (!settled) take(*user, outcome_of(heard, *user));
  }

  /// The reply to a call's attempt, or its time-out.
  std::optional<Heard> heard_of_the_attempt(const core::Event& event) {
    // Its reply ends the wait for it, whatever the reply says.
    if (const auto* reply = std::get_if<core::ReplyArrived>(&event)) {
      const auto found = a_.awaited.find(reply->command);
      if (found == a_.awaited.end()) return std::nullopt;
      const Heard heard{found->second.session, found->second.hand_over, reply->reply};
      // Also if no command awaits it, because a late reply is no reason to wait for it again.
      a_.awaited.erase(found);
      return heard;
    }
    const auto* fired = std::get_if<core::TimerFired>(&event);
    if (fired == nullptr) return std::nullopt;
    a_.timers.erase(fired->timer);
    if (fired->timer.kind != Timer::Kind::command_timeout) return std::nullopt;
    // An attempt that timed out has the same arrow as an unknown outcome.
    const auto found = a_.awaited.find(fired->timer.id);
    if (found == a_.awaited.end()) return std::nullopt;
    return Heard{found->second.session, found->second.hand_over, {}};
  }

  [[nodiscard]] static Life outcome_of(const Heard& heard, const User& user) {
    // The document after the attempt says which owner holds the lock. Ours without a grant: the
    // deadline had passed when the reply came.
    const core::Reply& reply = heard.reply;
    if (heard.hand_over && reply.outcome == core::Outcome::done && reply.documents.empty()) {
      return Life::nothing_to_hand_over;
    }
    if (reply.outcome != core::Outcome::done || reply.documents.empty()) {
      return Life::attempt_unanswered;
    }
    const bool ours = reply.documents[0].lock_id.starts_with(core::to_hex(user.owner) + '.');
    return ours ? Life::won_too_late : Life::attempt_refused;
  }

  void carry_out(const core::Send& send) {
    if (answered_at_once(send.command)) return;
    follow(send.command);
    // Until its reply or its time-out: a state without either has nothing more to receive.
    a_.awaited.emplace(send.command.id, awaited(send.command));
    Message request{who_, std::make_shared<const core::Command>(send.command)};
    // It goes on in the next step, before anything else happens.
    request.fresh = true;
    out_.sent.push_back(system_.states_.keep(std::move(request)));
  }
  /// No fault hits these. The index is there from the start, and decides nothing. No change stream
  /// is permitted, so that a queued call hears of its turn by its own attempt.
  bool answered_at_once(const core::Command& command) {
    core::Reply reply;
    if (std::holds_alternative<core::EnsureIndexCommand>(command.body)) {
      reply.outcome = core::Outcome::done;
    } else if (std::holds_alternative<core::StreamCommand>(command.body)) {
      reply.outcome = core::Outcome::configuration;
    } else {
      return false;
    }
    events_.emplace_back(core::ReplyArrived{command.id, reply});
    return true;
  }
  /// What it means to the users of the command that it was sent.
  void follow(const core::Command& command) {
    if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
      at(acquire->session).owner = acquire->owner;
      take(at(acquire->session), Life::attempt_sent);
    } else if (const auto* extend = std::get_if<core::ExtendCommand>(&command.body)) {
      for (const auto& one : extend->statements) take(at(one.session), Life::extension_sent);
      system_.seen_ |= 1u << extension;
    } else if (const auto* given = std::get_if<core::HandOverCommand>(&command.body)) {
      at(given->session).owner = given->owner;
      take(at(given->session), Life::attempt_sent);
      if (User* const giver = user_of_owner(given->from)) giver->hands_over = true;
    } else if (const auto* gone = std::get_if<core::DeleteCommand>(&command.body)) {
      if (User* const giver = user_of_owner(gone->owner)) giver->hands_over = false;
    }
  }
  // The runtime cuts a command off at its socket, so its reply is not read any more.
  void carry_out(const core::Abandon& abandon) {
    a_.awaited.erase(abandon.command);
    out_.abandoned.push_back(abandon.command);
  }
  void carry_out(const core::SetTimer& timer) { a_.timers[timer.timer] = timer.at; }
  void carry_out(const core::ClearTimer&) {}  // a late timer does no harm, and tidy_up drops it
  void carry_out(const core::Granted& granted) {
    User& user = at(granted.session);
    take(user, granted.by == core::Granted::By::pass_on ? Life::passed_on : Life::granted);
    user.holds = true;
    user.deadline = granted.deadline;
    out_.tokens[lock_of(user)] = granted.token.value();
  }
  // `held()` counts from it at once, without a step of its user.
  void carry_out(const core::Extended& extended) {
    take(at(extended.session), Life::extended);
    at(extended.session).deadline = extended.deadline;
  }
  // From here on its user knows. `judge_tick` checks that it is notified in time.
  void carry_out(const core::Lost& lost) {
    take(at(lost.session), Life::lost);
    at(lost.session).holds = false;
    system_.seen_ |= 1u << notified_lost;
  }
  // The call is over without a lock.
  void carry_out(const core::Ended& ended) {
    take(at(ended.session), Life::ended);
    system_.seen_ |= 1u << given_up;
  }
  void carry_out(const core::Released& released) {
    User& user = at(released.session);
    const bool given = user.hands_over && released.result == ReleaseResult::released;
    user.hands_over = false;
    take(user, given ? Life::handed_over : Life::deleted);
  }
  // Warnings are for people and change no state.
  void carry_out(const core::Warned&) {}
  void carry_out(const core::Congested&) {}  // never: nothing waits where slots are unbounded

  [[nodiscard]] std::size_t lock_of(const User& user) const {
    return system_.scope_.lock_of(static_cast<std::size_t>(&user - a_.users.data()));
  }

  /// Takes out what has no effect any more, because it would only tell equal states apart.
  void tidy_up() {
    for (User& user : a_.users) {
      if (!user.asks()) user.waits_since = 0;
    }
    std::erase_if(a_.timers, [this](const auto& entry) { return does_nothing(entry.first); });
    // A round with nothing to extend does nothing.
    const bool idle = std::all_of(a_.timers.begin(), a_.timers.end(), [](const auto& entry) {
      return entry.first.kind == Timer::Kind::extension_round;
    });
    const bool asks = std::any_of(a_.users.begin(), a_.users.end(),
                                  [](const User& user) { return user.asks_left > 0; });
    // It has no calls left and owes nothing: what it remembers (paces, beats, numbers drawn) can
    // have no effect, and all such actors are one.
    if (a_.is_outside() && !asks && a_.awaited.empty() && idle) a_ = {};
  }

  /// It would have no effect on the core. A timer that is taken out by mistake would hide
  /// behaviours, and the pinned numbers of states would fall.
  bool does_nothing(const Timer& timer) {
    const User* const user = user_of(timer.id);
    switch (timer.kind) {
      case Timer::Kind::command_timeout: return !a_.awaited.contains(timer.id);
      case Timer::Kind::attempt: return user == nullptr || user->life != "Waiting";
      case Timer::Kind::give_up: return user == nullptr || !user->asks();
      // The end was reported unless the user holds.
      case Timer::Kind::lease_end: return user == nullptr || !user->holds;
      default: return false;
    }
  }

  const CoreSystem& system_;
  Actor a_;
  const unsigned who_, tick_;
  std::vector<core::Event> events_;
  Effect out_;
};

/// Works on a copy, because other steps of the states that have this actor need it unchanged.
CoreSystem::Effect CoreSystem::react(const Actor& before, unsigned process, unsigned tick,
                                     const core::Event& event) const {
  return Reaction(*this, before, process, tick).run(event);
}

}  // namespace leasehold::sim::explored
