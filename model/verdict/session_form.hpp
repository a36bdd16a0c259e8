#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "model/verdict/finding.hpp"

/// The form of a history: what an event may follow, and what must follow it. Internal to
/// `form_inquiry`.
///
/// An event that does not fit is the fault of the recorder or of the lock. If it is the recorder's,
/// the verdict is unknown. It is the lock's for certain if event and cause belong in one record: a
/// process records each step of its core at once, and each input before what the core did about it.
/// A record that ends early lacks only its end.
namespace leasehold::model {

inline constexpr std::int64_t kSlackMs = 500;  ///< scheduling, on a busy machine

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
  const ProcessDigest* process = d.process_of[e.process];
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
          s.released == kNone &&
          overdue(d_, f_.grounded, d_.fact(s.release), answered_within(ask));
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
    const bool grounded = !s.granted && !s.ended && won(e);
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
        released_[owner_of_grant(e)] = true;
        break;
      case Kind::released:
        // A second release of a handle is not recorded, but its answer would be.
        require(s.release && !s.released, "a release answered but not asked for", i);
        // The reply and what the core made of it are one step.
        if (s.granted) {
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
    const auto& truth = d_.truth[granted.name];
    auto change = std::partition_point(truth.begin(), truth.end(), [&](const Change& c) {
      return d_.at(c.event).order < granted->token;
    });
    for (; change != truth.end() && d_.at(change->event).order == granted->token; ++change) {
      if (!change->gone && change->lock_id == granted.lock_id) return true;
    }
    return false;
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

  Id owner_of_grant(const Fact& e) const {
    const Index granted = d_.session_of(e).granted;
    return granted == kNone ? kNoText : d_.fact(granted).owner;
  }

  /// Whether a delete or a hand-over for this session's owner was acknowledged.
  bool deleted(const Fact& released) const {
    const Id owner = owner_of_grant(released);
    for (const auto* by_owner : {&d_.deletes, &d_.hand_overs}) {
      for (const SendDigest& s : by_owner->of(owner)) {
        if (s.reply != kNone && d_.fact(s.reply).outcome == Outcome::done) return true;
      }
    }
    return false;
  }

  const Digest& d_;
  FormFindings& f_;
  std::vector<Life> lives_;
  std::vector<bool> released_;  ///< by owner: its handle was asked to release
};

}  // namespace leasehold::model
