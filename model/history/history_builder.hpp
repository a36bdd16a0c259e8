#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/history/history.hpp"

namespace leasehold::model {

/// Writes histories by hand, for tests of the checkers: times in ms, one call a step, each step
/// with all the events that a real one leaves behind. Leases are 1,000 ms, margin 500 ms, drift 0.
class HistoryBuilder {
 public:
  HistoryBuilder() {
    Event e = event(0, Kind::run, "");
    e.lock = "test";
    add(e);
  }

  HistoryBuilder& start(int at, const std::string& process) {
    return add(event(at, Kind::start, process));
  }
  HistoryBuilder& crash(int at, const std::string& process) {
    return add(event(at, Kind::crash, process));
  }
  HistoryBuilder& pause(int at, const std::string& process) {
    return add(event(at, Kind::pause, process));
  }
  HistoryBuilder& resume(int at, const std::string& process) {
    return add(event(at, Kind::resume, process));
  }
  HistoryBuilder& fault(int at, const std::string& what, const std::string& outcome = "",
                        const std::string& victim = "") {
    Event e = event(at, Kind::fault, "");
    e.fault = what;
    e.victim = victim;
    e.begins = outcome == "begins";
    e.ends = outcome == "ends";
    return add(e);
  }

  /// The machine, or a member, did not run.
  HistoryBuilder& stall(int from, int at, const std::string& name = kMachine) {
    Event e = event(at, Kind::stall, "");
    e.victim = name;
    e.from_ns = from * kMillion;
    return add(e);
  }

  /// The process itself did not run.
  HistoryBuilder& dawdles(int from, int at, const std::string& process) {
    Event e = event(at, Kind::stall, process);
    e.from_ns = from * kMillion;
    return add(e);
  }
  /// Servers or links gave it no answer.
  HistoryBuilder& slow(int from, int at, const std::string& process) {
    dawdles(from, at, process);
    history_.back().kind = Kind::slow;
    return *this;
  }

  /// The process says that all its workers are taken.
  HistoryBuilder& congestion(int from, int to, const std::string& process) {
    for (const bool begins : {true, false}) {
      Event e = event(begins ? from : to, Kind::congestion, process);
      e.begins = begins;
      e.ends = !begins;
      add(e);
    }
    return *this;
  }
  /// Its only worker was taken by a look, which was answered.
  HistoryBuilder& busy(int from, int to, const std::string& process) {
    for (Event& e : history_) {
      if (e.kind == Kind::start && e.process == process) e.workers = 1;
    }
    return look(from, to, process);
  }

  HistoryBuilder& no_majority(int from, int at) {
    Event e = event(at, Kind::no_majority, "");
    e.from_ns = from * kMillion;
    return add(e);
  }

  /// A world in which nothing is ever late, and the TTL monitor comes every second.
  HistoryBuilder& exact() {
    history_.front().ttl_period_ms = 1'000;
    return *this;
  }

  HistoryBuilder& ask(int at, const std::string& process, int session, int until = -1,
                      bool healed = false) {
    Event e = event(at, Kind::ask, process, session);
    e.single_attempt = until == 0;
    e.give_up_ns = std::max(until, 0) * kMillion;
    e.expiry_ms = 1'000;
    e.clock_margin_ms = 500;
    e.longest_pause_ms = 50;
    e.operation_timeout_ms = 300;
    e.healed = healed;
    return add(e);
  }

  /// An attempt from `at` to `back`, which wins with the write at `order`.
  HistoryBuilder& win(int at, int back, const std::string& process, int session,
                      std::int64_t order) {
    const auto id = attempt_wins(at, back, process, session, order);
    return granted(at, back, process, session, id, order);
  }

  /// An attempt wins, but its session makes nothing of it.
  HistoryBuilder& win_too_late(int at, int back, const std::string& process, int session,
                               std::int64_t order) {
    attempt_wins(at, back, process, session, order);
    return *this;
  }

  /// Renews the entry of this owner if the queue has one.
  HistoryBuilder& refused(int at, int back, const std::string& process, int session) {
    const auto id = send(at, process, session, "acquire");
    std::int64_t order = 0;
    for (Entry& entry : queue_) {
      if (entry.owner != owner(process, session)) continue;
      entry.lock_id = id;
      order = order_;
    }
    return reply(back, process, order, 0);
  }

  /// The event before is otherwise.
  template <typename Change>
  HistoryBuilder& with(const Change& change) {
    change(history_.back());
    return *this;
  }
  HistoryBuilder& also(const Event& e) { return add(e); }
  /// The event `back` places before the end.
  Event& before(std::size_t back) { return history_[history_.size() - back]; }
  [[nodiscard]] std::string last_lock_id(const std::string& process, int session) const {
    return attempts_.at(owner(process, session)).first;
  }
  /// The reply before never came.
  HistoryBuilder& unanswered() {
    return with([](Event& e) {
      e.outcome = "unknown";
      e.matched = e.order = 0;
    });
  }

  /// The reply before showed what this session wrote last: it holds the lock.
  HistoryBuilder& seeing(const std::string& process, int session) {
    history_.back().seen_lock_id = attempts_.at(owner(process, session)).first;
    return *this;
  }
  /// The next command presumes this session's last write dead.
  HistoryBuilder& presuming(const std::string& process, int session) {
    observed_ = attempts_.at(owner(process, session)).first;
    return *this;
  }

  HistoryBuilder& look(int at, int back, const std::string& process) {
    Event e = event(at, Kind::send, process);
    e.command = ++command_;
    e.verb = "look";
    e.name.clear();
    add(e);
    return reply(back, process, 0, 0);
  }

  /// A step of the change stream is sent.
  HistoryBuilder& reads(int at, const std::string& process) {
    Event e = event(at, Kind::send, process);
    e.command = steps_[process] = ++command_;
    e.verb = "stream";
    e.name.clear();
    return add(e);
  }
  /// It is answered, with all up to `order`, and the next one is sent; of a process that reads.
  HistoryBuilder& hears(int at, const std::string& process, std::int64_t order = 0) {
    if (!steps_.contains(process)) return *this;
    return stops_reading(at, process, order).reads(at, process);
  }
  /// Likewise, and the next one is not sent.
  HistoryBuilder& stops_reading(int at, const std::string& process, std::int64_t order = 0) {
    Event e = event(at, Kind::reply, process);
    e.command = steps_.at(process);
    e.outcome = "done";
    e.order = order;
    return add(e);
  }

  HistoryBuilder& extend(int at, int back, const std::string& process, int session,
                         std::int64_t order) {
    const auto id = send(at, process, session, "extend");
    put(at, id, order);
    reply(back, process, order, 1);
    Event e = event(back, Kind::extended, process, session);
    e.lock_id = id;
    e.sent_ns = at * kMillion;
    e.deadline_ns = (at + 1'000) * kMillion;
    return add(e);
  }

  /// It does not find its document, as far as a member knew at `order`.
  HistoryBuilder& extend_in_vain(int at, int back, const std::string& process, int session,
                                 std::int64_t order) {
    send(at, process, session, "extend");
    return reply(back, process, order, 0);
  }

  HistoryBuilder& lose(int at, const std::string& process, int session,
                       const std::string& why = "deadline") {
    Event e = event(at, Kind::lost, process, session);
    e.outcome = why;
    return add(e);
  }

  /// `held()` said yes from `first` to `last`.
  HistoryBuilder& yes(int first, int last, const std::string& process, int session) {
    return answer(std::max(first, last), {first, last}, process, session, "yes");
  }
  /// It said no to a question from `at` to `back`.
  HistoryBuilder& no(int at, int back, const std::string& process, int session) {
    return answer(back, {at, back}, process, session, "no");
  }
  HistoryBuilder& notified(int at, const std::string& process, int session) {
    return add(event(at, Kind::notified, process, session));
  }

  /// A release from `at` to `back`; its delete takes the document at `order`, or nothing if 0.
  HistoryBuilder& release(int at, int back, const std::string& process, int session,
                          std::int64_t order) {
    add(event(at, Kind::release, process, session));
    clean_up(at, back, process, session, order);
    Event e = event(back, Kind::released, process, session);
    e.outcome = order != 0 ? "released" : "not_owner";
    return add(e);
  }

  /// The same delete, without a call that asks for it.
  HistoryBuilder& clean_up(int at, int back, const std::string& process, int session,
                           std::int64_t order) {
    Event s = event(at, Kind::send, process);
    s.command = ++command_;
    s.verb = "delete";
    s.owner = owner(process, session);
    add(s);
    if (order != 0) gone(at, order);
    Event r = event(back, Kind::reply, process);
    r.command = command_;
    r.verb = "delete";
    r.owner = s.owner;
    r.outcome = "done";
    r.matched = order != 0 ? 1 : 0;
    r.order = order;
    return add(r);
  }

  /// A release from `at` to `back` that gives the lock to another session of the process.
  HistoryBuilder& hand_over(int at, int back, const std::string& process, int from, int to,
                            std::int64_t order) {
    add(event(at, Kind::release, process, from));
    const auto id = send(at, process, to, "hand-over", owner(process, from));
    put(at, id, order);
    reply(back, process, order, 1);
    Event e = event(back, Kind::released, process, from);
    e.outcome = "released";
    add(e);
    return granted(at, back, process, to, id, order);
  }

  /// A release from `at` to `back` that gives the lock to the first entry of its queue: another
  /// process, by its latest attempt, which was refused. `heard` is when that process is notified;
  /// never, if it is below 0.
  HistoryBuilder& pass_on(int at, int back, const std::string& process, int session, int heard,
                          const std::string& to, int receiver, std::int64_t order) {
    leaves(at, back, process, session, order,
           [&] { put(at, attempts_.at(owner(to, receiver)).first, order); });
    return heard < 0 ? *this : granted_by_news(heard, to, receiver, order);
  }

  /// A release from `at` to `back` that leaves the lock free, and its queue as it is. The lock is
  /// offered to the first entry or, without a queue, to any call.
  HistoryBuilder& offer(int at, int back, const std::string& process, int session,
                        std::int64_t order) {
    return leaves(at, back, process, session, order, [&] { gone(at, order); });
  }

  /// The change stream showed this session that the write at `order` made it the holder, by its
  /// latest attempt.
  HistoryBuilder& granted_by_news(int heard, const std::string& process, int session,
                                  std::int64_t order) {
    const auto [id, sent] = attempts_.at(owner(process, session));
    granted(sent, heard, process, session, id, order);
    history_.back().verb = "pass-on";
    return *this;
  }

  /// It was refused, and joins the lock's queue by that; its entry is good until then.
  HistoryBuilder& joins_queue(int at, const std::string& process, int session, std::int64_t order,
                              int good_until) {
    const auto caller = owner(process, session);
    queue_.push_back({caller, attempts_.at(caller).first, good_until});
    Event& answer = history_.back();
    if (answer.kind == Kind::reply && answer.process == process) answer.order = order;
    return place(at, queue_.back(), order, queue_.size());
  }
  /// Removes its entry. A grant removes the entry of its owner by itself.
  HistoryBuilder& leaves_queue(int at, const std::string& process, int session,
                               std::int64_t order) {
    return leaves_queue(at, owner(process, session), order);
  }

  HistoryBuilder& gone(int at, std::int64_t order) {
    Event e = event(at, Kind::gone, "");
    e.order = order;
    document_ = {};
    return add(e);
  }

  HistoryBuilder& ended(int at, const std::string& process, int session, const std::string& why) {
    Event e = event(at, Kind::ended, process, session);
    e.outcome = why;
    return add(e);
  }

  /// The lock of all that follows.
  HistoryBuilder& named(const std::string& name) {
    name_ = name;
    return *this;
  }
  /// A user calls this, and waits until `until`; of a handle that of `session`.
  HistoryBuilder& calls(int at, const std::string& process, const std::string& verb, int until,
                        int session = 0) {
    Event e = event(at, Kind::call, process, session);
    e.call = ++call_;
    e.verb = verb;
    e.give_up_ns = until * kMillion;
    e.single_attempt = verb == "try_acquire" && until == at + 300;
    return add(e);
  }
  /// The last call returns: with the handle of `session` and this token, or with a promise until
  /// `until`.
  HistoryBuilder& returns(int at, const std::string& process, const std::string& outcome,
                          int session = 0, std::int64_t token = 0, int until = 0) {
    Event e = event(at, Kind::returned, process, session);
    e.call = call_;
    e.outcome = outcome;
    e.token = token;
    e.deadline_ns = until * kMillion;
    return add(e);
  }
  /// The answers before came with one of `remaining()`: that it is held until then.
  HistoryBuilder& until(int deadline) {
    history_.back().deadline_ns = deadline * kMillion;
    return *this;
  }
  /// A call for one of `permits` of the semaphore `name`, until `until` (0: it does not wait).
  HistoryBuilder& asks_permit(int at, const std::string& process, int call, int permits,
                              int until, const std::string& name = "s", bool healed = false) {
    Event e = event(at, Kind::permit, process);
    e.call = call;
    e.name = name;
    e.count = permits;
    e.single_attempt = until == 0;
    e.give_up_ns = until * kMillion;
    e.expiry_ms = 1'000;
    e.longest_pause_ms = 50;
    e.operation_timeout_ms = 300;
    e.healed = healed;
    return add(e);
  }
  /// Its answer: a slot's lock, or the reason.
  HistoryBuilder& gets_permit(int at, const std::string& process, int call,
                              const std::string& slot) {
    Event e = event(at, Kind::permit_end, process);
    e.call = call;
    e.name = slot;
    e.outcome = "granted";
    return add(e);
  }
  HistoryBuilder& gets_no_permit(int at, const std::string& process, int call,
                                 const std::string& reason, const std::string& name = "s") {
    gets_permit(at, process, call, name);
    history_.back().outcome = reason;
    return *this;
  }

  /// A call for these locks at once, until `until` (0: it does not wait).
  HistoryBuilder& asks_all(int at, const std::string& process, int call,
                           const std::vector<std::string>& names, int until,
                           bool healed = false) {
    for (const auto& name : names) {
      asks_permit(at, process, call, static_cast<int>(names.size()), until, name, healed);
      history_.back().kind = Kind::all;
    }
    return *this;
  }
  /// Its answer: tokens of all, or the reason.
  HistoryBuilder& gets_all(int at, const std::string& process, int call,
                           const std::vector<std::string>& names,
                           const std::vector<std::int64_t>& tokens) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      gets_permit(at, process, call, names[i]);
      history_.back().kind = Kind::all_end;
      history_.back().token = tokens[i];
    }
    return *this;
  }
  HistoryBuilder& gets_not_all(int at, const std::string& process, int call,
                               const std::vector<std::string>& names, const std::string& reason) {
    for (const auto& name : names) {
      gets_no_permit(at, process, call, reason, name);
      history_.back().kind = Kind::all_end;
    }
    return *this;
  }

  HistoryBuilder& write(int at, int back, const std::string& process, int session,
                        const std::string& outcome, std::int64_t order = 0) {
    Event e = event(back, Kind::write, process, session);
    e.write_number = ++write_;
    e.sent_ns = at * kMillion;
    e.outcome = outcome;
    add(e);
    if (outcome != "accepted") return *this;
    Event s = event(back, Kind::stored, process);
    s.write_number = write_;
    s.owner = owner(process, session);
    s.order = order;
    return add(s);
  }

  /// The finished history; no event may follow `at`.
  History end(int at) {
    add(event(at - 1, Kind::heal, ""));
    add(event(at, Kind::finish, ""));
    sort_by_time(history_);
    return history_;
  }

  static std::string owner(const std::string& process, int session) {
    return "owner-" + process + "-" + std::to_string(session);
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  static constexpr std::int64_t kEpoch_ms = 1'700'000'000'000;  ///< what servers' clocks show at 0

  [[nodiscard]] Event event(int at, Kind kind, const std::string& process,
                            int session = 0) const {
    Event e;
    e.at_ns = at * kMillion;
    e.kind = kind;
    e.process = process;
    e.session = session;
    if (about(kind).fields.contains(field(&Event::name))) e.name = name_;
    return e;
  }

  HistoryBuilder& add(const Event& e) {
    history_.push_back(e);
    return *this;
  }

  /// A release by a pass-on, which writes that.
  template <typename Write>
  HistoryBuilder& leaves(int at, int back, const std::string& process, int session,
                         std::int64_t order, const Write& write) {
    add(event(at, Kind::release, process, session));
    Event s = event(at, Kind::send, process);
    s.command = ++command_;
    s.verb = "pass-on";
    s.owner = owner(process, session);
    add(s);
    write();
    Event r = event(back, Kind::reply, process);
    r.command = s.command;
    r.verb = "pass-on";
    r.owner = s.owner;
    r.outcome = "done";
    r.matched = 1;
    r.order = order;
    add(r);
    Event e = event(back, Kind::released, process, session);
    e.outcome = "released";
    return add(e);
  }

  HistoryBuilder& answer(int at, std::pair<int, int> span, const std::string& process, int session,
                         const std::string& said) {
    Event e = event(at, Kind::held, process, session);
    e.outcome = said;
    e.count = 5;
    const auto [first, second] = span;
    (said == "yes" ? e.first_answered_ns : e.first_asked_ns) = first * kMillion;
    (said == "yes" ? e.last_asked_ns : e.first_answered_ns) = second * kMillion;
    return add(e);
  }

  HistoryBuilder& granted(int at, int back, const std::string& process, int session,
                          const std::string& id, std::int64_t order) {
    Event e = event(back, Kind::granted, process, session);
    e.owner = owner_of(id);
    e.lock_id = id;
    e.token = order;
    e.sent_ns = at * kMillion;
    e.deadline_ns = (at + 1'000) * kMillion;
    return add(e);
  }

  std::string attempt_wins(int at, int back, const std::string& process, int session,
                           std::int64_t order) {
    const auto id = send(at, process, session, "acquire");
    put(at, id, order);
    reply(back, process, order, 1);
    return id;
  }

  std::string send(int at, const std::string& process, int session, const std::string& what,
                   const std::string& giver = "") {
    Event e = event(at, Kind::send, process, session);
    e.command = ++command_;
    e.verb = what;
    e.owner = owner(process, session);
    e.giver = giver;
    e.lock_id = e.owner + ".1000." + std::to_string(command_);
    e.observed_lock_id = std::exchange(observed_, "");
    attempts_[e.owner] = {e.lock_id, at};
    add(e);
    return e.lock_id;
  }

  void put(int at, const std::string& lock_id, std::int64_t order) {
    constexpr std::int64_t kLeaseAndMargin_ms = 1'500;
    Event e = event(at, Kind::put, "");
    e.lock_id = lock_id;
    e.order = order;
    const bool own = owner_of(document_.lock_id) == owner_of(lock_id);
    e.acquired_at_ms = own ? document_.acquired_at_ms : kEpoch_ms + at;
    e.expires_at_ms = kEpoch_ms + at + kLeaseAndMargin_ms;
    e.stored_token = order - 1;
    document_ = e;
    add(e);
    leaves_queue(at, owner_of(lock_id), order);
  }

  struct Entry {
    std::string owner, lock_id;
    int good_until = 0;
  };

  HistoryBuilder& place(int at, const Entry& entry, std::int64_t order, std::size_t count) {
    Event e = event(at, Kind::place, "");
    e.lock_id = entry.lock_id;
    e.order = order_ = order;
    e.count = static_cast<std::int64_t>(count);
    e.matched = static_cast<std::int64_t>(queue_.size());
    e.expires_at_ms = kEpoch_ms + entry.good_until;
    return add(e);
  }

  HistoryBuilder& leaves_queue(int at, const std::string& owner, std::int64_t order) {
    const auto found = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const Entry& one) { return one.owner == owner; });
    if (found == queue_.end()) return *this;
    const Entry entry = *found;
    queue_.erase(found);
    return place(at, entry, order, 0);
  }

  HistoryBuilder& reply(int at, const std::string& process, std::int64_t order,
                        std::int64_t matched) {
    Event e = event(at, Kind::reply, process);
    e.command = command_;
    e.outcome = "done";
    e.order = order;
    e.matched = matched;
    return add(e);
  }

  std::string name_ = "lock";
  History history_;
  std::map<std::string, std::pair<std::string, int>> attempts_;  ///< by owner: lockId, sent at
  std::map<std::string, std::int64_t> steps_;  ///< by process: that of its stream under way
  std::string observed_;  ///< of the next command
  std::vector<Entry> queue_;
  std::int64_t order_ = 0;  ///< of the last change of it
  Event document_;        ///< the last put that no deletion followed
  std::int64_t command_ = 0, call_ = 0;
  std::int64_t write_ = 0;
};

}  // namespace leasehold::model
