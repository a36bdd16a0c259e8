#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/containers/spans.hpp"
#include "model/history/history.hpp"

namespace leasehold::model {

/// Writes histories by hand, for tests of the checkers: times in ms, one call a step, each step
/// with all the events that a real one leaves behind. Leases are 1,000 ms, margin 500 ms, drift 0.
class HistoryBuilder {
 public:
  using Self = HistoryBuilder&;
  using Text = const std::string&;

  HistoryBuilder() { add(0, {.kind = Kind::run, .lock = "test"}); }

  /// Something about a process.
  Self of(Kind kind, int at, Text process) { return add(at, {.kind = kind, .process = process}); }
  Self start(int at, Text process) { return of(Kind::start, at, process); }
  Self crash(int at, Text process) { return of(Kind::crash, at, process); }
  Self pause(int at, Text process) { return of(Kind::pause, at, process); }
  Self resume(int at, Text process) { return of(Kind::resume, at, process); }
  Self fault(int at, Text what, Text outcome = "", Text victim = "") {
    return add(at, {.kind = Kind::fault,
                    .victim = victim,
                    .fault = what,
                    .begins = outcome == "begins",
                    .ends = outcome == "ends"});
  }
  /// The machine, or a member, did not run.
  Self stall(int from, int at, Text name = kMachine) {
    return add(at, {.kind = Kind::stall, .victim = name, .from_ns = from * kMs});
  }

  /// The process itself did not run.
  Self dawdles(int from, int at, Text process) {
    return add(at, {.kind = Kind::stall, .process = process, .from_ns = from * kMs});
  }
  /// Servers or links gave it no answer.
  Self slow(int from, int at, Text process) {
    return add(at, {.kind = Kind::slow, .process = process, .from_ns = from * kMs});
  }

  /// The process says that all its workers are taken.
  Self congestion(int from, int to, Text process) {
    add(from, {.kind = Kind::congestion, .process = process, .begins = true});
    return add(to, {.kind = Kind::congestion, .process = process, .ends = true});
  }
  /// Its only worker was taken by a look, which was answered.
  Self busy(int from, int to, Text process) {
    for (Event& e : history_) {
      if (e.kind == Kind::start && e.process == process) e.workers = 1;
    }
    return look(from, to, process);
  }

  Self no_majority(int from, int at) {
    return add(at, {.kind = Kind::no_majority, .from_ns = from * kMs});
  }

  /// A world in which nothing is ever late, and the TTL monitor comes every second.
  Self exact() {
    history_.front().ttl_period_ms = 1'000;
    return *this;
  }

  Self ask(int at, Text process, int session, int until = -1, bool healed = false) {
    return add(at, {.kind = Kind::ask,
                    .process = process,
                    .session = session,
                    .give_up_ns = std::max(until, 0) * kMs,
                    .single_attempt = until == 0,
                    .healed = healed,
                    .expiry_ms = 1'000,
                    .clock_margin_ms = 500,
                    .longest_pause_ms = 50,
                    .operation_timeout_ms = 300});
  }

  /// To read: what wins the lock for this call makes it one of its readers.
  Self ask_shared(int at, Text process, int session, int until = -1, bool healed = false) {
    readers_of_.insert(owner(process, session));
    return ask(at, process, session, until, healed).with([](Event& e) { e.shared = true; });
  }
  /// From here on such a call is for one of so many permits.
  Self of_permits(int permits) {
    permits_ = permits;
    return *this;
  }
  /// Behind a call of its process that became a reader: it shares its entry.
  Self shares(int at, Text process, int session, int with) {
    const auto first = std::ranges::find_if(history_, [&](const Event& e) {
      return e.kind == Kind::granted && e.process == process && e.session == with;
    });
    return also(*first).with([&](Event& e) {
      e.at_ns = at * kMs;
      e.session = session;
    });
  }
  /// Who shares an entry with others releases it, and sends nothing.
  Self releases_to_others(int at, Text process, int session) {
    says(at, Kind::release, process, session);
    return says(at, Kind::released, process, session, "released");
  }
  /// A reader's release from `at` to `back`, which takes out its entry: that of another session if
  /// it shares it.
  Self leave(int at, int back, Text process, int session, std::int64_t order, int entry_of = 0) {
    const auto write = [&] { readers_without(at, {}, order); };
    return leaves(at, back, process, session, order, write, entry_of);
  }
  /// The same; or a writer's, behind which the first call of the queue reads. It admits these calls
  /// by their latest attempts, and each is notified at `back`.
  Self admits(int at, int back, Text process, int session, std::int64_t order,
              const std::vector<std::pair<std::string, int>>& calls) {
    leaves(at, back, process, session, order, [&] { readers_without(at, calls, order); });
    for (const auto& [to, receiver] : calls) granted_by_news(back, to, receiver, order);
    return *this;
  }

  /// An attempt from `at` to `back`, which wins with the write at `order`.
  Self win(int at, int back, Text process, int session, std::int64_t order) {
    const auto id = attempt_wins(at, back, process, session, order);
    return granted(at, back, process, session, id, order);
  }

  /// An attempt wins, but its session makes nothing of it.
  Self win_too_late(int at, int back, Text process, int session, std::int64_t order) {
    attempt_wins(at, back, process, session, order);
    return *this;
  }

  /// Renews the entry of this owner if the queue has one.
  Self refused(int at, int back, Text process, int session) {
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
  Self with(const Change& change) {
    change(history_.back());
    return *this;
  }
  Self also(const Event& e) {
    history_.push_back(e);
    return *this;
  }
  /// The event `back` places before the end.
  Event& before(std::size_t back) { return history_[history_.size() - back]; }
  [[nodiscard]] std::string last_lock_id(Text process, int session) const {
    return attempts_.at(owner(process, session)).first;
  }
  /// The reply before never came.
  Self unanswered() {
    return with([](Event& e) {
      e.outcome = "unknown";
      e.matched = e.order = 0;
    });
  }

  /// The reply before showed what this session wrote last: it holds the lock.
  Self seeing(Text process, int session) {
    history_.back().seen_lock_id = attempts_.at(owner(process, session)).first;
    return *this;
  }
  /// The next command presumes this session's last write dead.
  Self presuming(Text process, int session) {
    observed_ = attempts_.at(owner(process, session)).first;
    return *this;
  }

  Self look(int at, int back, Text process) {
    sends(at, process, "look");
    return reply(back, process, 0, 0);
  }

  /// A step of the change stream is sent.
  Self reads(int at, Text process) {
    sends(at, process, "stream");
    steps_[process] = command_;
    return *this;
  }
  /// It is answered, with all up to `order`, and the next one is sent; of a process that reads.
  Self hears(int at, Text process, std::int64_t order = 0) {
    if (!steps_.contains(process)) return *this;
    return stops_reading(at, process, order).reads(at, process);
  }
  /// The same, and the next one is not sent.
  Self stops_reading(int at, Text process, std::int64_t order = 0) {
    return reply(at, process, order, 0).with([&](Event& e) { e.command = steps_.at(process); });
  }

  Self extend(int at, int back, Text process, int session, std::int64_t order) {
    const auto id = send(at, process, session, "extend");
    put(at, id, order);
    reply(back, process, order, 1);
    return add(back, {.kind = Kind::extended,
                      .process = process,
                      .session = session,
                      .lock_id = id,
                      .sent_ns = at * kMs,
                      .deadline_ns = (at + 1'000) * kMs});
  }

  /// It does not find its document, as far as a member knew at `order`.
  Self extend_in_vain(int at, int back, Text process, int session, std::int64_t order) {
    send(at, process, session, "extend");
    return reply(back, process, order, 0);
  }

  Self lose(int at, Text process, int session, Text why = "deadline") {
    return says(at, Kind::lost, process, session, why);
  }

  /// `held()` said yes from `first` to `last`.
  Self yes(int first, int last, Text process, int session) {
    return answer(std::max(first, last), {first, last}, process, session, "yes");
  }
  /// It said no to a question from `at` to `back`.
  Self no(int at, int back, Text process, int session) {
    return answer(back, {at, back}, process, session, "no");
  }
  Self notified(int at, Text process, int session) {
    return says(at, Kind::notified, process, session);
  }

  /// A release from `at` to `back`; its delete takes the document at `order`, or nothing if 0.
  Self release(int at, int back, Text process, int session, std::int64_t order) {
    says(at, Kind::release, process, session);
    clean_up(at, back, process, session, order);
    return says(back, Kind::released, process, session, order != 0 ? "released" : "not_owner");
  }

  /// The same delete, without a call that asks for it.
  Self clean_up(int at, int back, Text process, int session, std::int64_t order) {
    return removes(at, back, process, session, "delete", order, [&] {
      if (order != 0) gone(at, order);
    });
  }

  /// A release from `at` to `back` that gives the lock to another session of the process.
  Self hand_over(int at, int back, Text process, int from, int to, std::int64_t order) {
    says(at, Kind::release, process, from);
    const auto id = send(at, process, to, "hand-over", owner(process, from));
    put(at, id, order);
    reply(back, process, order, 1);
    says(back, Kind::released, process, from, "released");
    return granted(at, back, process, to, id, order);
  }

  /// A release from `at` to `back` that gives the lock to the first entry of its queue: another
  /// process, by its latest attempt, which was refused. `heard` is when that process is notified;
  /// never, if it is below 0.
  Self pass_on(int at, int back, Text process, int session, int heard, Text to, int receiver,
               std::int64_t order, int entry_of = 0) {
    leaves(at, back, process, session, order,
           [&] { put(at, attempts_.at(owner(to, receiver)).first, order); }, entry_of);
    return heard < 0 ? *this : granted_by_news(heard, to, receiver, order);
  }

  /// A release from `at` to `back` that leaves the lock free, and its queue unchanged. The lock is
  /// offered to the first entry or, without a queue, to any call.
  Self offer(int at, int back, Text process, int session, std::int64_t order) {
    return leaves(at, back, process, session, order, [&] { gone(at, order); });
  }

  /// The change stream showed this session that the write at `order` made it the holder, by its
  /// latest attempt.
  Self granted_by_news(int heard, Text process, int session, std::int64_t order) {
    const auto [id, sent] = attempts_.at(owner(process, session));
    return granted(sent, heard, process, session, id, order).with([](Event& e) {
      e.verb = "pass-on";
    });
  }

  /// It was refused, and joins the lock's queue by that; its entry is good until then.
  Self joins_queue(int at, Text process, int session, std::int64_t order, int good_until) {
    const auto caller = owner(process, session);
    queue_.push_back({caller, attempts_.at(caller).first, good_until});
    Event& answer = history_.back();
    if (answer.kind == Kind::reply && answer.process == process) answer.order = order;
    return place(at, queue_.back(), order, queue_.size());
  }
  /// Removes its entry. A grant removes the entry of its owner by itself.
  Self leaves_queue(int at, Text process, int session, std::int64_t order) {
    return leaves_queue(at, owner(process, session), order);
  }

  Self gone(int at, std::int64_t order) {
    document_ = {};
    readers_.clear();
    return add(at, {.kind = Kind::gone, .order = order});
  }

  Self ended(int at, Text process, int session, Text why) {
    return says(at, Kind::ended, process, session, why);
  }

  /// The lock of all that follows.
  Self named(Text name) {
    name_ = name;
    return *this;
  }
  /// A user calls this, and waits until `until`; of a handle that of `session`.
  Self calls(int at, Text process, Text verb, int until, int session = 0) {
    return add(at, {.kind = Kind::call,
                    .process = process,
                    .session = session,
                    .call = ++call_,
                    .give_up_ns = until * kMs,
                    .single_attempt = verb == "try_acquire" && until == at + 300,
                    .verb = verb});
  }
  /// The last call returns: with the handle of `session` and this token, or with a promise until
  /// `until`.
  Self returns(int at, Text process, Text outcome, int session = 0, std::int64_t token = 0,
               int until = 0) {
    return add(at, {.kind = Kind::returned,
                    .process = process,
                    .session = session,
                    .call = call_,
                    .token = token,
                    .deadline_ns = until * kMs,
                    .outcome = outcome});
  }
  /// The answers before came with one of `remaining()`: that it is held until then.
  Self until(int deadline) {
    history_.back().deadline_ns = deadline * kMs;
    return *this;
  }
  /// A call for these locks at once, until `until` (0: it does not wait).
  Self asks_all(int at, Text process, int call, const std::vector<std::string>& names, int until,
                bool healed = false) {
    for (const auto& name : names) {
      add(at, {.kind = Kind::all,
               .process = process,
               .call = call,
               .name = name,
               .give_up_ns = until * kMs,
               .single_attempt = until == 0,
               .count = std::ssize(names),
               .healed = healed,
               .expiry_ms = 1'000,
               .longest_pause_ms = 50,
               .operation_timeout_ms = 300});
    }
    return *this;
  }
  /// Its answer: tokens of all, or the reason.
  Self gets_all(int at, Text process, int call, const std::vector<std::string>& names,
                const std::vector<std::int64_t>& tokens) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      ends_call(at, Kind::all_end, process, call, names[i], "granted");
      history_.back().token = tokens[i];
    }
    return *this;
  }
  Self gets_not_all(int at, Text process, int call, const std::vector<std::string>& names,
                    Text reason) {
    for (const auto& name : names) ends_call(at, Kind::all_end, process, call, name, reason);
    return *this;
  }

  Self write(int at, int back, Text process, int session, Text outcome, std::int64_t order = 0) {
    wrote(at, back, process, session, ++write_, 0, outcome);
    if (outcome != "accepted") return *this;
    return stored(back, process, write_, order).with([&](Event& e) {
      e.owner = owner(process, session);
    });
  }

  // What is known of a lock of other people: what its workers say, and its documents.

  Self asks(int at, Text process, int session, int timeout = 10'000) {
    ask(at, process, session, timeout == 0 ? 0 : at + timeout);
    return with([](Event& e) { e.clock_margin_ms = 0; });
  }
  Self granted(int at, Text process, int session, int token, int relies_until = 0) {
    return says(at, Kind::granted, process, session).with([&](Event& e) {
      e.token = token;
      e.deadline_ns = relies_until * kMs;
    });
  }
  Self got(int asked, int at, Text process, int session, int token) {
    return asks(asked, process, session).granted(at, process, session, token);
  }
  /// Reported at `said` at the earliest.
  Self lost(int said, int heard, Text process, int session) {
    return notified(heard, process, session).with([&](Event& e) { e.sent_ns = said * kMs; });
  }
  Self released(int asked, int answered, Text process, int session, Text outcome = "released") {
    says(asked, Kind::release, process, session);
    return says(answered, Kind::released, process, session, outcome);
  }
  Self wrote(int sent, int answered, Text process, int session, std::int64_t number,
             std::int64_t token, Text outcome) {
    return says(answered, Kind::write, process, session, outcome).with([&](Event& e) {
      e.write_number = number;
      e.token = token;
      e.sent_ns = sent * kMs;
    });
  }
  Self stored(int at, Text process, std::int64_t number, std::int64_t order) {
    return add(at, {.kind = Kind::stored,
                    .process = process,
                    .write_number = number,
                    .order = order});
  }
  /// A document's write, made from `from` to `at`, on a date in ms: `at`, or `date`.
  Self put(int from, int at, Text owner, int expires = 0, int date = 0) {
    freed(from, at, owner, date);
    history_.back().kind = Kind::put;
    history_.back().expires_at_ms = expires;
    return *this;
  }
  Self freed(int from, int at, Text owner = "", int date = 0) {
    return add(at, {.kind = Kind::gone,
                    .owner = owner,
                    .order = ++order_,
                    .from_ns = from * kMs,
                    .wall_ms = date == 0 ? at : date});
  }
  Self unread(int at) { return add(at, {.kind = Kind::reread, .outcome = "unread"}); }

  /// The finished history; no event may follow `at`.
  [[nodiscard]] History end(int at) const {
    HistoryBuilder all = *this;
    all.add(at - 1, {.kind = Kind::heal}).add(at, {.kind = Kind::finish});
    sort_by_time(all.history_);
    return std::move(all.history_);
  }

  static std::string owner(Text process, int session) {
    return "owner-" + process + "-" + std::to_string(session);
  }

 private:
  static constexpr std::int64_t kEpoch_ms = 1'700'000'000'000;  ///< what servers' clocks show at 0

  /// It has the lock's name if its kind has a name, and it has none of its own.
  Self add(int at, Event e) {
    e.at_ns = at * kMs;
    if (e.name.empty() && about(e.kind).fields.contains(Field::name)) e.name = name_;
    return also(e);
  }
  /// About a session.
  Self says(int at, Kind kind, Text process, int session, Text outcome = "") {
    return add(at, {.kind = kind, .process = process, .session = session, .outcome = outcome});
  }
  Self ends_call(int at, Kind kind, Text process, int call, Text name, Text outcome) {
    return add(at, {.kind = kind,
                    .process = process,
                    .call = call,
                    .name = name,
                    .outcome = outcome});
  }
  /// A command for no lock.
  Self sends(int at, Text process, Text verb) {
    add(at, {.kind = Kind::send, .process = process, .command = ++command_, .verb = verb});
    history_.back().name.clear();
    return *this;
  }

  /// A command by which an owner leaves, and what it does to the document.
  template <typename Change>
  Self removes(int at, int back, Text process, int session, Text verb, std::int64_t order,
               const Change& change) {
    const auto leaver = owner(process, session);
    add(at, {.kind = Kind::send,
             .process = process,
             .command = ++command_,
             .owner = leaver,
             .verb = verb});
    change();
    return reply(back, process, order, order != 0 ? 1 : 0).with([&](Event& e) {
      e.verb = verb;
      e.owner = leaver;
    });
  }

  /// A release by a pass-on, which writes that.
  template <typename Write>
  Self leaves(int at, int back, Text process, int session, std::int64_t order, const Write& write,
              int entry_of = 0) {
    const int of = entry_of == 0 ? session : entry_of;
    says(at, Kind::release, process, session);
    std::erase_if(readers_, [&](const Reader& r) {
      return owner_of(r.lock_id) == owner(process, of);
    });
    removes(at, back, process, of, "pass-on", order, write);
    return says(back, Kind::released, process, session, "released");
  }

  Self answer(int at, std::pair<int, int> span, Text process, int session, Text said) {
    Event e{.kind = Kind::held, .process = process, .session = session};
    e.outcome = said;
    e.count = 5;
    const auto [first, second] = span;
    (said == "yes" ? e.first_answered_ns : e.first_asked_ns) = first * kMs;
    (said == "yes" ? e.last_asked_ns : e.first_answered_ns) = second * kMs;
    return add(at, e);
  }

  Self granted(int at, int back, Text process, int session, Text id, std::int64_t order) {
    return add(back, {.kind = Kind::granted,
                      .process = process,
                      .session = session,
                      .owner = owner_of(id),
                      .lock_id = id,
                      .token = order,
                      .sent_ns = at * kMs,
                      .deadline_ns = (at + 1'000) * kMs,
                      .shared = readers_of_.contains(owner_of(id))});
  }

  std::string attempt_wins(int at, int back, Text process, int session, std::int64_t order) {
    const auto id = send(at, process, session, "acquire");
    put(at, id, order);
    reply(back, process, order, 1);
    return id;
  }

  std::string send(int at, Text process, int session, Text what, Text giver = "") {
    const auto sender = owner(process, session);
    const auto lease = readers_of_.contains(sender) ? shared_lease() : ".1000.";
    const auto id = sender + lease + std::to_string(++command_);
    attempts_[sender] = {id, at};
    add(at, {.kind = Kind::send,
             .process = process,
             .session = session,
             .command = command_,
             .owner = sender,
             .giver = giver,
             .lock_id = id,
             .observed_lock_id = std::exchange(observed_, ""),
             .verb = what});
    return id;
  }

  static constexpr std::int64_t kLeaseAndMargin_ms = 1'500;

  void put(int at, Text lock_id, std::int64_t order) {
    if (readers_of_.contains(owner_of(lock_id))) {
      if (!history_.back().verb.starts_with("extend")) drop_over(at);
      add_reader(at, lock_id);
      return put_readers(at, order);
    }
    readers_.clear();
    const bool own = owner_of(document_.lock_id) == owner_of(lock_id);
    add(at, {.kind = Kind::put,
             .lock_id = lock_id,
             .order = order,
             .stored_token = order - 1,
             .acquired_at_ms = own ? document_.acquired_at_ms : kEpoch_ms + at,
             .expires_at_ms = kEpoch_ms + at + kLeaseAndMargin_ms});
    document_ = history_.back();
    leaves_queue(at, owner_of(lock_id), order);
  }

  struct Reader {
    std::string lock_id;
    std::int64_t until_ms = 0, since_ms = 0;
    int slot = 0;
  };

  [[nodiscard]] std::string shared_lease() const {
    if (permits_ == 0) return ".000001000.";
    return '.' + std::to_string(90'000'000 + permits_) + "00001000.";
  }

  void drop_over(int at) {
    std::erase_if(readers_, [&](const Reader& r) { return r.until_ms <= kEpoch_ms + at; });
  }
  void add_reader(int at, Text lock_id) {
    const auto stood = std::ranges::find(
        readers_, owner_of(lock_id), [](const Reader& r) { return owner_of(r.lock_id); });
    const auto until = kEpoch_ms + at + kLeaseAndMargin_ms;
    if (stood != readers_.end()) {
      stood->lock_id = lock_id;
      stood->until_ms = until;
      return;
    }
    int slot = 0;
    while (std::ranges::count(readers_, slot, &Reader::slot) > 0) ++slot;
    readers_.push_back({lock_id, until, kEpoch_ms + at, slot});
  }

  /// The document with the readers that there are.
  void put_readers(int at, std::int64_t order) {
    Event e{.kind = Kind::put, .lock_id = std::string(32, '0') + shared_lease() + "0.shared"};
    for (const Reader& r : readers_) {
      const auto slot = permits_ == 0 ? "" : std::to_string(10'000 + r.slot).substr(1);
      e.lock_id += '|' + std::to_string(r.until_ms) + '.' + std::to_string(r.since_ms) + slot +
                   '.' + r.lock_id;
      e.expires_at_ms = std::max(e.expires_at_ms, r.until_ms);
    }
    e.order = order;
    e.stored_token = order - 1;
    const bool begins = !document_.lock_id.starts_with("0000");
    e.acquired_at_ms = begins ? kEpoch_ms + at : document_.acquired_at_ms;
    add(at, e);
    document_ = history_.back();
    const auto before = history_.size();
    for (const Reader& r : readers_) leaves_queue(at, owner_of(r.lock_id), order);
    for (auto i = before; i < history_.size(); ++i) {
      history_[i].matched = static_cast<std::int64_t>(queue_.size());
    }
  }

  /// What a release leaves of the readers, with those that it admits.
  void readers_without(int at, const std::vector<std::pair<std::string, int>>& calls,
                       std::int64_t order) {
    drop_over(at);
    for (const auto& [process, session] : calls) {
      add_reader(at, attempts_.at(owner(process, session)).first);
    }
    if (!readers_.empty()) return put_readers(at, order);
    gone(at, order);
  }

  struct Entry {
    std::string owner, lock_id;
    int good_until = 0;
  };

  Self place(int at, const Entry& entry, std::int64_t order, std::size_t count) {
    order_ = order;
    return add(at, {.kind = Kind::place,
                    .lock_id = entry.lock_id,
                    .order = order,
                    .expires_at_ms = kEpoch_ms + entry.good_until,
                    .matched = static_cast<std::int64_t>(queue_.size()),
                    .count = static_cast<std::int64_t>(count)});
  }

  Self leaves_queue(int at, Text owner, std::int64_t order) {
    const auto found = std::ranges::find(queue_, owner, &Entry::owner);
    if (found == queue_.end()) return *this;
    const Entry entry = *found;
    queue_.erase(found);
    return place(at, entry, order, 0);
  }

  Self reply(int at, Text process, std::int64_t order, std::int64_t matched) {
    return add(at, {.kind = Kind::reply,
                    .process = process,
                    .command = command_,
                    .order = order,
                    .outcome = "done",
                    .matched = matched});
  }

  std::string name_ = "lock";
  History history_;
  std::map<std::string, std::pair<std::string, int>> attempts_;  ///< by owner: lockId, sent at
  std::map<std::string, std::int64_t> steps_;  ///< by process: that of its stream under way
  std::string observed_;  ///< of the next command
  std::vector<Entry> queue_;
  std::set<std::string> readers_of_;  ///< the owners that read
  int permits_ = 0;                   ///< not zero: or that have one of so many
  std::vector<Reader> readers_;       ///< the entries in the document
  std::int64_t order_ = 0;  ///< of the last change of it, or of a foreign document
  Event document_;        ///< the last put that no deletion followed
  std::int64_t command_ = 0, call_ = 0;
  std::int64_t write_ = 0;
};

}  // namespace leasehold::model
