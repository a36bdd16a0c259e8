#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/verdict/finding.hpp"

/// The form of a history: what an event may follow, and what must follow it.
///
/// An event that does not fit is the fault of the recorder or of the lock. If it is the recorder's,
/// the verdict is unknown. It is the lock's for certain if event and cause belong in one record: a
/// process records each step of its core at once, and each input before what the core did about it.
/// A record that ends early lacks only its end.
namespace leasehold::model {

inline constexpr std::int64_t kSlackMs = 500;            ///< scheduling, on a busy machine
inline constexpr std::int64_t kStreamTimeoutMs = 3'000;  ///< at most, of a step of a change stream
inline constexpr std::int64_t kIndexTimeoutMs = 10'000;  ///< at most, of creating the TTL index

struct FormFindings {
  Finding form = finding(Check::form);          ///< whether the record is whole
  Finding grounded = finding(Check::grounded);  ///< whether what the lock did has a cause
};

/// The record is malformed: the verdict is unknown, not violated.
inline void malformed(Finding& finding, const std::string& why, std::vector<Index> events) {
  violate(finding, why, std::move(events));
  finding.verdict = Verdict::unknown;
}

/// Whether what must follow the event within `span` ns is overdue: its process goes on after that,
/// and what delayed it (counted in `f`) does not explain it. It is not needed any more at `until`.
inline bool overdue(const Digest& d, Finding& f, const Fact& e, std::int64_t span,
                    Needs needs = Needs::process, std::int64_t until = kNever) {
  const auto& process = d.process_of[e.process];
  const auto due = e.at_ns, latest = due + span;
  if (process == nullptr) return false;
  until = std::min(until, process->lock_ran_until_ns);
  if (until <= latest) return false;
  const auto put_off = d.delays(e.process, needs).put_off(due, latest);
  if (put_off < until) return true;
  excuse(f, d.delays(e.process, needs).first_in({due, put_off})->why);
  return false;
}

/// Checks the sessions of a history: each is asked for, granted, lost, released and ended in a
/// possible order, and each event of it has a cause. It reads the events of sessions; commands it
/// knows only by the digest.
///
/// INVARIANT: `lives_` reflects the events visited so far, in the history's order.
class SessionForm {
 public:
  /// REQUIRES: both outlive it.
  SessionForm(const Digest& digest, FormFindings& findings)
      : d_(digest),
        f_(findings),
        lives_(digest.sessions.size()),
        released_(digest.facts.owners) {}

  /// REQUIRES: events come in their order. Events without a session are ignored.
  void visit(Index i, const Fact& e) {
    if (!about(e.kind).fields.contains(Field::session)) return;
    if (is_users_call(e.kind)) return;
    if (e.kind == Kind::send && d_.facts.sessions[e.session].number == 0) return;
    Life& s = lives_[e.session];
    require((e.kind == Kind::ask) != s.asked, "an acquire call is asked for once, and first", i);
    switch (e.kind) {
      case Kind::ask: s.asked = true; break;
      case Kind::send: visit_send(s, i, e); break;
      case Kind::granted: visit_grant(s, i, e); break;
      case Kind::extended:
      case Kind::lost:
      case Kind::held:
      case Kind::notified:
      case Kind::write: visit_holding(s, i, e); break;
      default: visit_end(s, i, e);
    }
  }

  /// The session of this command may send another attempt.
  void answered(const Fact& send) { lives_[send.session].attempting = false; }

  /// Checks that calls and releases with enough time have ended. The bounds are the core's own
  /// timers, with slack. A missing end counts only if the process recorded steps after the bound
  /// and the time that stalls took.
  void check_ends() {
    const auto answered_within = [this](const Fact& ask) {
      return (ask->operation_timeout_ms + kSlackMs) * kMs + d_.allowed.lateness_ns;
    };
    for (const SessionDigest& s : d_.sessions) {
      if (s.ask == kNone) continue;  // said already
      const Fact& ask = s.asked;
      const auto longest = !ask->single_attempt && ask->give_up_ns == 0
                               ? kNever
                               : std::max<std::int64_t>(ask->give_up_ns - ask.at_ns, 0) +
                                     answered_within(ask);
      const bool silent = s.granted == kNone && s.ended == kNone && longest != kNever &&
                          overdue(d_, f_.grounded, d_.fact(s.ask), longest);
      demand(!silent, "an acquire call that never ended", s.ask);
      if (s.release == kNone) continue;
      const bool unheard =
          s.released == kNone && overdue(d_, f_.grounded, d_.fact(s.release), answered_within(ask));
      demand(!unheard, "a release that was never answered", s.release);
    }
  }

 private:
  struct Life {
    bool asked = false, attempting = false, granted = false, lost = false, notified = false,
         release = false, released = false, ended = false;
    Index first_answers = kNone, newest_answers = kNone;  ///< the newest by their times
  };

  /// A rule of the record.
  void require(bool rule, const char* what, Index i) {
    if (!rule) malformed(f_.form, what, {i});
  }
  /// A rule of the lock.
  void demand(bool rule, const char* what, Index i) {
    ++f_.grounded.checked;
    if (!rule) violate(f_.grounded, d_.process_name(d_.fact(i).process) + ": " + what, {i});
  }

  /// The win is in the record of the process itself, except a pass-on, which is in the oplog.
  void visit_grant(Life& s, Index i, const Fact& e) {
    constexpr const char* kWhat = "a grant that nothing won";
    const Index shares = d_.session_of(e).shares;  // then that was won
    const bool grounded = !s.granted && !s.ended && won(shares == kNone ? e : d_.fact(shares));
    const bool certain = e.verb != Verb::pass_on || d_.oplog_read;
    certain ? demand(grounded, kWhat, i) : require(grounded, kWhat, i);
    s.granted = true;
  }

  /// The steps of one core, in their order.
  void visit_send(Life& s, Index i, const Fact& e) {
    demand(asks_for_lock(e) ? !s.granted && !s.ended : s.granted && !s.released,
           "a command that its session could not send", i);
    demand(!s.attempting, "an attempt before the one before was answered", i);
    if (e.verb == Verb::hand_over) {
      demand(released_[e.other_owner], "a hand-over by a handle that still holds", i);
    }
    s.attempting = asks_for_lock(e);
  }

  /// From the grant until the answer to the release. Extensions and losses are steps of the core
  /// that granted; what the harness's own threads saw is in another record.
  void visit_holding(Life& s, Index i, const Fact& e) {
    switch (e.kind) {
      case Kind::extended:
        demand(s.granted && !s.lost && !s.release && sent_extension(e), "a stray extension", i);
        break;
      case Kind::lost:
        demand(s.granted && !s.lost && !s.released, "a stray loss", i);
        s.lost = true;
        break;
      case Kind::held:
        require(s.granted && may_answer(e), "an answer that held() cannot have given", i);
        require(is_new(s, i), "answers appear twice", i);
        break;
      case Kind::notified:
        require(s.granted && !s.notified, "a stray signal of a loss", i);
        s.notified = true;
        break;
      default: require(s.granted, "a write of no holder", i);
    }
  }

  void visit_end(Life& s, Index i, const Fact& e) {
    switch (e.kind) {
      case Kind::release:
        require(s.granted && !s.release, "a stray release", i);
        s.release = true;
        released_[owner_of(d_, e)] = true;
        break;
      case Kind::released:
        // A second release of a handle is not recorded, but its answer would be.
        require(s.release && !s.released, "a release answered but not asked for", i);
        // The reply and what the core made of it are one step.
        if (s.granted && !d_.session_of(e).leaves_it_to_others) {
          demand(e.outcome == Outcome::unknown || deleted(e), "a release without an answer", i);
        }
        s.released = true;
        break;
      case Kind::ended:
        demand(!s.granted && !s.ended, "a stray end", i);
        s.ended = true;
        break;
      default: break;
    }
  }

  /// Whether the handle existed, and was asked often enough for answers at these times.
  bool may_answer(const Fact& held) const {
    const auto count = held->count;
    const auto granted = d_.fact(d_.session_of(held).granted).at_ns;
    const bool yes = held.outcome == Outcome::yes;
    const auto asked = yes ? held->last_asked_ns : held->first_asked_ns;
    const auto answered = held->first_answered_ns;
    if ((!yes && held.outcome != Outcome::no) || count < 1 || asked < granted) return false;
    if (asked > held.at_ns || answered > held.at_ns) return false;
    if (!yes) return asked <= answered;
    return asked <= answered || count > 1;  // one question cannot span time
  }

  /// Whether no answers of these times were reported before. Most come in the order of their times.
  bool is_new(Life& s, Index i) const {
    const auto times = [this](Index held) {
      const Fact& e = d_.fact(held);
      return std::tie(e->first_asked_ns, e->first_answered_ns, e->last_asked_ns);
    };
    if (s.first_answers == kNone) s.first_answers = s.newest_answers = i;
    if (s.newest_answers == i) return true;
    if (times(s.newest_answers) < times(i)) {
      s.newest_answers = i;
      return true;
    }
    for (Index before = s.first_answers; before < i; ++before) {
      const Fact& e = d_.fact(before);
      const bool same = e.kind == Kind::held && e.session == d_.fact(i).session;
      if (same && times(before) == times(i)) return false;
    }
    return true;
  }

  /// Whether a release of another process gave it the lock, after an attempt that was refused or
  /// not answered: only the oplog shows that.
  bool passed_on(const Fact& granted, const SendDigest& attempt) const {
    if (d_.fact(attempt.send).at_ns != granted->sent_ns) return false;
    const auto changes = d_.changes_by(granted.name, granted->token);
    return !changes.empty() && d_.at(changes.back().event).order == granted->token &&
           changes.back().wrote(granted.lock_id);
  }

  bool won(const Fact& granted) const {
    const SendDigest& sent = d_.writers[granted.lock_id];
    if (sent.send == kNone) return false;
    if (granted.verb == Verb::pass_on) return passed_on(granted, sent);
    if (sent.reply == kNone) return false;
    const Fact& reply = d_.fact(sent.reply);
    return d_.fact(sent.send).at_ns == granted->sent_ns && reply.outcome == Outcome::done &&
           reply->matched == 1 && reply.at_ns <= granted.at_ns &&
           (d_.of_a_document || reply->order == granted->token);
  }

  bool sent_extension(const Fact& extended) const {
    const SendDigest& sent = d_.writers[extended.lock_id];
    return sent.send != kNone && sent.reply != kNone &&
           d_.fact(sent.send).at_ns == extended->sent_ns;
  }

  /// Whether a delete or a hand-over for this session's owner was acknowledged.
  bool deleted(const Fact& released) const {
    return std::ranges::any_of(d_.farewells(owner_of(d_, released)),
                               [this](const SendDigest& s) { return d_.done(s.reply); });
  }

  const Digest& d_;
  FormFindings& f_;
  std::vector<Life> lives_;
  std::vector<bool> released_;  ///< by owner: its handle was asked to release
};

/// Walks the history once, then checks for missing events. `SessionForm` checks the sessions.
class Form {
 public:
  explicit Form(const Digest& d)
      : d_(d), processes_(d.process_of.size()), written_to_(d.facts.writes, kNone) {}

  void see(Index i, const Fact& e) {
    for (const Field stray : fields_set(*e.event).without(about(e.kind).fields)) {
      broken(std::string(to_string(e.kind)) + " has no field '" + to_string(stray) + "'", {i});
    }
    if (e.kind == Kind::exit && !died_of_itself(d_.at(i))) broken(describe_exit(d_.at(i)), {i});
    if ((i == 0) != (e.kind == Kind::run)) broken("run is not the first line", {i});
    if (i > 0 && e.at_ns < d_.fact(i - 1).at_ns) broken("time runs backwards", {i - 1, i});
    const bool own = e.process != kNoText && e.kind != Kind::stored && e.kind != Kind::slow;
    if (own) visit_process(i, e);
    switch (e.kind) {
      case Kind::run: ++runs_; break;
      case Kind::finish: ++finishes_; break;
      case Kind::heal: ++heals_; break;
      case Kind::send: visit_send(i, e); break;
      case Kind::reply: visit_reply(i, e); break;
      case Kind::call:
      case Kind::all: visit_call(i, e, true); break;
      case Kind::returned:
      case Kind::all_end: visit_call(i, e, false); break;
      case Kind::put:
      case Kind::gone:
      case Kind::stored:
        visit_truth(i, e);
        break;
      case Kind::write:
        if (written_to_[e.command] != kNone) broken("a write appears twice", {i});
        written_to_[e.command] = i;
        break;
      default: break;
    }
    if (own) check_congestion(i, e);
    sessions_.visit(i, e);
  }

  [[nodiscard]] FormFindings result() {
    f_.form.checked = static_cast<std::int64_t>(d_.facts.all.size());
    if (runs_ != 1 || finishes_ != 1 || heals_ != 1) {
      broken("there is not exactly one run, one heal and one finish", {});
    }
    sessions_.check_ends();
    check_commands();
    check_truth();
    check_places();
    check_writes();
    return std::move(f_);
  }

 private:
  void broken(const std::string& why, std::vector<Index> events) {
    malformed(f_.form, why, std::move(events));
  }

  /// Each call has a number of its own, and one answer. One for several locks has for each of them
  /// one event, and one answer.
  void visit_call(Index i, const Fact& e, bool begins) {
    const bool several = e.kind == Kind::all || e.kind == Kind::all_end;
    const std::tuple call{several, e.process, e->call, several ? e.name : kNoText};
    const bool fits = begins ? calls_.emplace(call, true).second
                             : std::exchange(calls_[call], false);
    if (several && (e.process == kNoText || e.name == kNoText)) {
      broken("a call for several locks of no process, or for no lock", {i});
    }
    if (!several && e.process == kNoText) broken("a user's call of no process", {i});
    if (fits) return;
    broken(several ? "a call for several locks asks twice, or an answer is without one"
                   : "a user's call appears twice, or an answer without one",
           {i});
  }

  /// Servers since 6.1 delete expired documents in batches: several locks with one time.
  void visit_truth(Index i, const Fact& e) {
    const bool new_time = orders_.insert(e->order).second;
    const bool of_batch = !new_time && e.kind == Kind::gone && e->order == batch_order_ &&
                          !batch_.contains(e.name);
    if (!new_time && !of_batch) broken("two writes of one time", {i});
    if (e.kind != Kind::gone) return;
    if (new_time) batch_.clear();
    if (new_time) batch_order_ = e->order;
    batch_.insert(e.name);
  }

  void visit_send(Index i, const Fact& e) {
    const Index first = d_.commands[e.command].send;
    if (first == i) return count_under_way(e, 1);
    if (e.verb != Verb::extend || d_.fact(first).at_ns != e.at_ns) {
      broken("a command was sent twice", {first, i});
    }
    for (Index s = first; s < i; ++s) {
      const Fact& other = d_.fact(s);
      const bool same = other.kind == Kind::send && other.command == e.command;
      if (same && other.session == e.session) broken("a statement appears twice", {s, i});
    }
  }

  void visit_reply(Index i, const Fact& e) {
    const CommandDigest& c = d_.commands[e.command];
    if (c.send >= i) broken("a reply without a command", {i});
    if (c.reply != i) broken("a second reply to a command", {i, c.reply});
    if (c.send >= i) return;
    count_under_way(d_.fact(c.send), -1);
    sessions_.answered(d_.fact(c.send));
  }

  /// A change stream and the creation of the index take no worker from other commands.
  void count_under_way(const Fact& send, int change) {
    const bool counts = send.verb != Verb::stream && send.verb != Verb::index;
    if (counts) processes_[send.process].under_way += change;
  }

  /// If a process says that all its workers are taken, none is idle for longer than a step. Who is
  /// killed within a step may have said half of it.
  void check_congestion(Index i, const Fact& e) {
    ProcessLife& life = processes_[e.process];
    if (e.kind == Kind::crash || e.kind == Kind::exit) {
      life.congested = kNone;
      life.idle_ns = kNever;
      return;
    }
    if (e.at_ns > life.idle_ns) {
      violate(f_.grounded, d_.process_name(e.process) + ": it waited for a worker, and none worked",
              {life.congested, i});
      life.congested = kNone;
    }
    if (e.kind == Kind::congestion) life.congested = d_.at(i).begins ? i : kNone;
    const bool idle = life.congested != kNone && life.under_way == 0;
    life.idle_ns = idle ? std::min(life.idle_ns, e.at_ns) : kNever;
  }

  void visit_process(Index i, const Fact& e) {
    if (e.kind == Kind::exit) return;
    const bool harness = e.kind == Kind::crash || e.kind == Kind::pause || e.kind == Kind::resume;
    ProcessLife& life = processes_[e.process];
    auto &started = life.started, &crashed = life.crashed, &paused = life.paused;
    if (e.kind == Kind::start) {
      if (started) broken("a process started twice", {i});
      started = true;
    } else if (!started) {
      broken("an event of a process that has not started", {i});
    }
    if (crashed && (harness || e.at_ns > d_.fact(d_.process_of[e.process]->crash).at_ns)) {
      broken("an event after the crash", {i});
    }
    if (e.kind == Kind::crash) crashed = true;
    if (e.kind == Kind::pause || e.kind == Kind::resume) {
      if (paused != (e.kind == Kind::resume)) broken("pause and resume do not alternate", {i});
      paused = e.kind == Kind::pause;
    }
  }

  void check_commands() {
    // The order of process and number is made only when it is needed, because most histories are
    // whole.
    std::vector<Broken> all;
    for (const CommandDigest& c : d_.commands) check_command(c, all);
    std::ranges::stable_sort(all, {}, [this](const Broken& one) {
      return d_.facts.commands[d_.fact(one.events.front()).command];
    });
    for (Broken& one : all) {
      if (!one.by_the_lock) {
        broken(one.why, std::move(one.events));
        continue;
      }
      const Fact& command = d_.fact(one.events.front());
      violate(f_.grounded, d_.process_name(command.process) + ": " + one.why,
              std::move(one.events));
    }
  }

  struct Broken {
    const char* why;
    std::vector<Index> events;  ///< the first one is of the command
    bool by_the_lock = true;
  };

  /// Whether a write that was acknowledged, and is not in the oplog, was certainly not executed.
  /// Published locks need not wait for a majority: their acknowledged writes may be rolled back.
  [[nodiscard]] bool oplog_decides() const { return d_.oplog_read && !d_.of_a_document; }

  /// Whether a document of the removed owner had gone by this time: a repeated removal is answered
  /// with a later time than its write.
  [[nodiscard]] bool had_gone(const Fact& removal, std::int64_t order) const {
    for (const Change& c : d_.truth[removal.name]) {
      if (d_.at(c.event).order > order) return false;
      const Change& before = d_.change_before(c.event);
      for (const Id own : {removal.owner, removal.other_owner}) {
        if (own != kNoText && before.held_by(own) && !c.held_by(own)) return true;
      }
    }
    return false;
  }

  void check_command(const CommandDigest& c, std::vector<Broken>& all) {
    if (c.send == kNone) return;
    const Fact& send = d_.fact(c.send);
    if (c.reply == kNone) {
      const auto timeout = send.verb == Verb::index    ? kIndexTimeoutMs
                           : send.verb == Verb::stream ? kStreamTimeoutMs
                                                       : d_.process_of[send.process]->timeout_ms;
      // Not certain: the driver may record an answer as late as its threads run.
      if (overdue(d_, f_.form, send, (timeout + kSlackMs) * kMs)) {
        all.push_back({"a command without a reply", {c.send}, false});
      }
      return;
    }
    const Fact& reply = d_.fact(c.reply);
    if (reply.outcome != Outcome::done) return;
    if (send.verb == Verb::remove && reply->matched > 0 && !orders_.contains(reply->order)) {
      const bool certain = oplog_decides() && !had_gone(send, reply->order);
      all.push_back({"a deletion that the server does not know", {c.reply}, certain});
    }
    if ((!asks_for_lock(send) && send.verb != Verb::extend) || reply->matched != c.statements) {
      return;
    }
    for (Index s = c.send; s <= c.last; ++s) {
      const Fact& statement = d_.fact(s);
      if (statement.kind != Kind::send || statement.command != send.command) continue;
      if (d_.written[statement.lock_id].version == 0) {
        all.push_back({"an acknowledged write that the server does not know",
                       {s, c.reply},
                       oplog_decides()});
      }
      check_consequence(s, reply, all);
    }
  }

  /// Whether the oplog has this attempt's write at another place than the reply says. Such a reply
  /// grants nothing.
  [[nodiscard]] bool is_of_a_second_sending(const Fact& send, const Fact& reply) const {
    const auto& changes = d_.truth[send.name];
    return std::ranges::any_of(changes, [&](const Change& c) {
      return c.wrote(send.lock_id) && d_.at(c.event).order != reply->order;
    });
  }

  /// A win must be granted or given back; an extension must move the deadline of a call that still
  /// holds. The step that takes the reply does it, or sends a command for it: a second is plenty.
  void check_consequence(Index statement, const Fact& reply, std::vector<Broken>& all) {
    const Fact& send = d_.fact(statement);
    const SessionDigest& s = d_.session_of(send);
    if (asks_for_lock(send)) {
      if (d_.of_a_document) return;  // they forget a win after the end of a call
      if (is_of_a_second_sending(send, reply)) return;
      // Another attempt may be granted, if it was one nevertheless.
      const Id owner = d_.owner_of_lock_id(send);
      const bool granted = s.granted != kNone && d_.owner_of_lock_id(d_.fact(s.granted)) == owner;
      const bool given_back = !d_.deletes[owner].empty();
      if (granted || given_back) return;
      // Two leases after the call's end nothing is deleted any more: the lease has run.
      const auto two_leases = s.ask == kNone ? kNever : 2 * shortest_lease(s.asked);
      if (s.ended != kNone && reply.at_ns - d_.fact(s.ended).at_ns >= two_leases) return;
      // Nor is a deletion that waits for a worker for so long.
      const auto until = s.ask == kNone ? kNever : reply.at_ns + two_leases;
      const auto soon = std::min<std::int64_t>(1'000 * kMs, until - reply.at_ns - 1);
      if (overdue(d_, f_.grounded, reply, soon, Needs::worker, until)) {
        all.push_back({"a win that came to nothing", {statement}});
      }
      return;
    }
    for (const Index e : d_.extended[s.id]) {
      if (d_.at(e).sent_ns == send.at_ns) return;
    }
    const auto over = std::min(d_.time_of(s.lost), d_.time_of(s.release));
    if (over <= reply.at_ns + d_.allowed.lateness_ns) return;
    if (overdue(d_, f_.grounded, reply, 1'000 * kMs)) {
      all.push_back({"an extension that came to nothing", {statement}});
    }
  }

  void check_truth() {
    for (const auto& changes : d_.truth) {
      bool there = false;
      for (const Change& c : changes) {
        if (c.gone && !there) broken("a deletion of what is not there", {c.event});
        c.each_written([&](Id, Id lock_id) {
          const bool sent = d_.writers[lock_id].send != kNone;
          if (!sent && !d_.by_administrator[lock_id]) {
            broken("a write that no process sent", {c.event});
          }
        });
        there = !c.gone;
      }
    }
  }

  /// An entry joins a queue before it leaves it, and once; the server says how many stand then.
  void check_places() {
    for (const auto& places : d_.places) {
      std::unordered_set<Id> standing;
      for (std::size_t i = 0; i < places.size(); ++i) {
        const Fact& e = d_.fact(places[i]);
        const bool fits =
            e->count > 0 ? standing.insert(e.owner).second : standing.erase(e.owner) > 0;
        if (!fits) broken("an entry joins a queue twice, or leaves one unseen", {places[i]});
        const bool last = i + 1 == places.size() || d_.at(places[i + 1]).order != e->order;
        if (last && static_cast<std::int64_t>(standing.size()) != e->matched) {
          broken("a queue of another length", {places[i]});
        }
      }
    }
  }

  void check_writes() {
    std::vector<bool> stored(d_.facts.writes);
    for (const Index i : d_.stored) stored[d_.fact(i).command] = true;
    for (const Index i : d_.writes) {
      const Fact& w = d_.fact(i);
      if (w.outcome == Outcome::accepted && !stored[w.command]) {
        broken("an accepted write that the server does not know", {i});
      }
    }
    for (const Index i : d_.stored) {
      const Fact& s = d_.fact(i);
      const auto& process = d_.process_of[s.process];
      const bool alive = process != nullptr && process->crash == kNone;
      if (alive && written_to_[s.command] == kNone) {
        broken("a stored write that its process does not know", {i});
      }
    }
  }

  struct ProcessLife {
    bool started = false, crashed = false, paused = false;
    int under_way = 0;        ///< its commands that take a worker
    Index congested = kNone;  ///< since then, as it says
    std::int64_t idle_ns = kNever;  ///< it is congested, and none is under way, since then
  };

  const Digest& d_;
  FormFindings f_;
  SessionForm sessions_{d_, f_};
  int runs_ = 0, finishes_ = 0, heals_ = 0;
  std::vector<ProcessLife> processes_;
  std::unordered_set<std::int64_t> orders_;  ///< the times of all writes
  std::int64_t batch_order_ = 0;  ///< the time of the last deletion ...
  std::set<Id> batch_;        ///< ... and its locks
  /// By whether it is for several locks, process, number and, of several, lock: whether it has no
  /// answer yet.
  std::map<std::tuple<bool, Id, std::int64_t, Id>, bool> calls_;
  std::vector<Index> written_to_;  ///< by number of a write to the resource
};

}  // namespace leasehold::model
