#include <algorithm>
#include <ranges>

#include "model/guarantees/user_calls.hpp"
#include "model/queue/queue.hpp"
#include "model/workers/worker_judge.hpp"

namespace leasehold::model {
namespace {

void check_on_time(const Digest& d, Finding& f, const SessionDigest& s) {
  const Index end = s.granted != kNone ? s.granted : s.ended;
  check_ends_on_time(
      d, f, {s.asked, s.ask, end, 1},
      "lock '" + d.name(s.asked.name) + "': an acquire of " + d.process_name(s.process));
}

/// The longest that it takes to serve all calls for one name once faults are over: one turn for
/// each call and one for a holder that died before. A turn is a lease and the attempts before it;
/// `longer`: what a holder may wait meanwhile for locks that it wants at once with this.
std::int64_t all_turns(const Waiters& waiters, std::int64_t longer) {
  std::int64_t longest = 0, turns = 1;
  for (const Waiter& call : waiters.calls) {
    const Fact& ask = call.session->asked;
    if (ask->healed) ++turns;
    longest = std::max(longest, ask->expiry_ms * kMs + drift_of(ask) + call.attempts_ns + longer);
  }
  return turns * longest;
}

/// By id of the name. Calls for several locks take them in the order of their names.
std::vector<std::int64_t> turns_by_name(const Digest& d, const std::vector<Waiters>& waiters) {
  std::vector<std::int64_t> turns(waiters.size());
  std::int64_t longer = 0;
  for (std::size_t name = waiters.size(); name-- > 0;) {
    turns[name] = all_turns(waiters[name], d.is_joint[name] ? longer : 0);
    if (d.is_joint[name]) longer = std::min(longer + turns[name], d.finished_ns);
  }
  return turns;
}

/// A call that waits and begins once faults are over gets the lock within `turns`. A shorter
/// timeout, or its user, may end it before; an error may end it only if something explains that its
/// last attempts failed.
void check_served_when_healed(const Digest& d, Finding& f, const Waiter& call, const Waiters& name,
                              std::int64_t turns, const AllCallTimes& all_calls) {
  const SessionDigest& s = *call.session;
  const Fact& ask = s.asked;
  if (!ask->healed || ask->single_attempt || all_calls.began_in_faults(ask)) return;
  ++f.counts["healed_acquires"];
  const auto why =
      "lock '" + d.name(ask.name) + "': a waiter of " + d.process_name(ask.process) +
      " did not get the lock " + (s.ended == kNone ? "" : "(" + d.at(s.ended).outcome + ") ") +
      "in " + ms(turns) + " although all faults had stopped";
  const bool by_error = s.ended != kNone && d.fact(s.ended).outcome != Outcome::timed_out &&
                        d.at(s.ended).outcome != "cancelled";
  if (by_error) {
    // What was over before the call began explains nothing of it.
    const Span last{std::max(ask.at_ns, call.waited.to - call.attempts_ns), call.waited.to + 1};
    if (const Span* delay = name.anybodys.first_in(last)) return excuse(f, delay->why);
    return violate(f, why, {s.ask, s.ended});
  }
  check_bound(d, f,
              {ask.at_ns, ask.at_ns + turns, s.granted == kNone ? kNever : call.waited.to,
               call.lives_until, name.delays_with(name.delays.at(s.process))},
              why, {s.ask, s.granted, s.ended});
}

/// A dead holder's last state: from when on it stands, and how long the document may then stand in
/// the way of others. That of several readers names the longest lease of them all, and stands since
/// the last write of any of them.
struct Remains {
  std::int64_t since, expiry_ms, margin_ms;
};

Remains remains_of(const Digest& d, const Tenure& t, const Writer& holder) {
  Remains all{executed_by(d, holder, t.last_put), holder.ask()->expiry_ms,
              holder.ask()->clock_margin_ms};
  if (!t.shared) return all;
  const auto& changes = d.truth[d.fact(t.last_put).name];
  const Change& last = t.next == kNone ? changes.back() : d.change_before(t.next);
  all.since = std::max(all.since, d.fact(last.event).at_ns);
  for (const ReaderEntry& r : last.readers) {
    const auto other = writer_of(d, d.writers[r.lock_id]);
    if (!other) continue;
    all.expiry_ms = std::max(all.expiry_ms, other->ask()->expiry_ms);
    all.margin_ms = std::max(all.margin_ms, other->ask()->clock_margin_ms);
  }
  return all;
}

/// When the change after this tenure happened at the earliest. A deletion that no reply claims
/// happened at most `truth_lag_ns` before it was read.
std::int64_t changed_from(const Digest& d, const Tenure& t) {
  return t.next_gone ? d.fact(t.next).at_ns - d.allowed.truth_lag_ns : executed_from(d, t.next);
}

/// A dead holder's lock goes to some waiter in time.
void check_passes_on(const Digest& d, Finding& f, const Tenure& t, const Writer& holder,
                     const Waiters& waiters) {
  if (t.next == kNone && !d.oplog_read) return excuse(f, Excuse::unread_oplog);
  const Fact& dead = holder.ask();
  if (t.shared && t.next != kNone) ++f.counts["dead_readers"];
  if (t.left) return;  // the readers that are left keep the lock
  const Remains remains = remains_of(d, t, holder);
  const auto changed = changed_from(d, t);
  bool bounded = false;
  for (const Waiter* one : waiters.patient) {
    const Waiter& call = *one;
    const SessionDigest& s = *call.session;
    if (&s == holder.session) continue;
    const auto bound = remains.expiry_ms * kMs + drift_of(dead) + call.attempts_ns;
    const auto from = std::max(remains.since, call.waited.from);
    if (call.lives_until < from + bound) continue;  // most end sooner
    const auto before = f.checked;
    check_bound(
        d, f, {from, from + bound, changed, call.lives_until, waiters.delays.at(s.process)},
        subject(d, s.ask) + " waited more than " + ms(bound) + " for a dead holder's lock",
        {t.last_put, s.ask, t.next});
    bounded = bounded || f.checked > before;
  }
  if (bounded) ++f.counts["bounded_takeovers"];
  // Taken in time: that ended the wait of the call that took it, so no wait was long enough.
  if (!bounded && t.next_put != kNone && !t.next_gone) ++f.counts["takeovers"];
}

/// Those among the first `place` calls by their begin that still waited long after `from`. Sorted
/// as in `calls`.
std::vector<const Waiter*> waited_at(const Waiters& waiters, std::int64_t from, std::size_t place) {
  std::vector<const Waiter*> all;
  for (std::size_t i = place; i-- > 0 && waiters.reach[i] >= from;) {
    const Waiter* call = waiters.by_begin[i];
    if (call->lives_until >= from + call->attempts_ns) all.push_back(call);
  }
  std::ranges::sort(all);
  return all;
}

/// A lock that is free does not stay so while a call waits.
void check_free_taken(const Digest& d, Finding& f, const Tenure& t, const Waiters& waiters) {
  if (t.next_put == kNone && !d.oplog_read) return excuse(f, Excuse::unread_oplog);
  const auto free_from = d.fact(t.next).at_ns;
  const auto taken = executed_from(d, t.next_put);
  if (taken <= free_from) return;
  const auto later =
      std::ranges::partition_point(waiters.by_begin,
                                   [&](const Waiter* call) { return call->waited.from < taken; });
  const auto place = static_cast<std::size_t>(later - waiters.by_begin.begin());
  // Calls that began after it was taken are not late.
  f.checked += static_cast<std::int64_t>(waiters.by_begin.size() - place);
  for (const Waiter* one : waited_at(waiters, free_from, place)) {
    const Waiter& call = *one;
    const SessionDigest& s = *call.session;
    const auto from = std::max(free_from, call.waited.from);
    if (call.lives_until < from + call.attempts_ns) continue;
    check_bound(
        d, f,
        {from, from + call.attempts_ns, taken, call.lives_until, waiters.delays.at(s.process)},
        subject(d, s.ask) + " left it free for more than " + ms(call.attempts_ns),
        {t.next, s.ask, t.next_put});
  }
}

/// An attempt or a hand-over that found its own owner there has to win: it retries a win that lost
/// its reply.
void check_recognised(const Digest& d, Finding& f) {
  for (const Index i : d.unrecognised) {
    violate(f, "a retry of " + d.at(i).process + " did not recognise its own win", {i});
  }
}

/// Whether users of this process ask `held()` in this history.
std::vector<bool> processes_that_ask(const Digest& d) {
  std::vector<bool> ask(d.process_of.size());
  for (const SessionDigest& s : d.sessions) {
    if (s.answers.any()) ask[s.process] = true;
  }
  return ask;
}

/// What was granted gets to a user, who asks whether it is held, or is given back.
void check_reaches_a_user(const Digest& d, Finding& f, const SessionDigest& s,
                          const AllCallTimes& all_calls) {
  constexpr std::int64_t kSoon = 2'000 * kMs;  // users' functions before it may take their time
  if (s.granted == kNone) return;
  const auto granted =
      all_calls.user_has_from(s.process, d.fact(s.granted).name, d.fact(s.granted).at_ns);
  if (granted == kNever) return;
  const auto latest = granted + kSoon + d.allowed.lateness_ns;
  if (latest >= d.finished_ns) return;
  const auto reached = std::min({s.answers.first_ns, d.time_of(s.release), d.time_of(s.lost)});
  check_bound(d, f,
              {granted, latest, reached, d.process_of[s.process]->alive_until,
               d.delays(s.process, Needs::process)},
              "lock '" + d.at(s.granted).name + "': it was granted to " +
                  d.process_name(s.process) + ", and no user got its handle",
              {s.granted});
}

/// Whether no command ever tried to give it up.
bool died(const Digest& d, const Tenure& t) { return d.farewells(t.owner).empty(); }

/// A call that ended without the lock deletes what it may have won, once a worker is free and as
/// long as its process runs; but for what was not there any more.
void check_given_up(const Digest& d, Finding& f, const Tenure& t, const Writer& holder) {
  const Index ended = holder.session->ended;
  if (ended == kNone) return;
  const Id process = d.fact(ended).process;
  const auto from = d.fact(ended).at_ns;
  if (t.next != kNone && d.fact(t.next).at_ns <= from) return;
  const auto latest =
      from + holder.ask()->operation_timeout_ms * kMs + d.allowed.truth_lag_ns;
  check_bound(
      d, f,
      {from, latest, kNever, sends_until(d, holder.ask(), from), d.delays(process, Needs::worker)},
      subject(d, ended) + " returned without the lock and left its lock document",
      {ended, t.last_put});
}

/// A delete is sent at the end of the longest holding, whatever the user does.
void check_given_back(const Digest& d, Finding& f, const SessionDigest& s) {
  if (s.granted == kNone || s.lost == kNone) return;
  const Fact& lost = d.fact(s.lost);
  if (lost.outcome != Outcome::max_holding) return;
  ++f.counts["limited_holdings"];
  const auto& deletes = d.deletes[d.fact(s.granted).owner];
  const auto sent = deletes.empty() ? kNever : d.fact(deletes.front().send).at_ns;
  check_bound(d, f,
              {lost.at_ns, lost.at_ns + d.allowed.lateness_ns, sent,
               sends_until(d, s.asked, lost.at_ns), d.delays(s.process, Needs::worker)},
              subject(d, s.granted) + " did not give it back at the end of its longest holding",
              {s.granted, s.lost});
}

/// The first command by which this owner left, if it was executed before this attempt of it.
SendDigest left_before(const Digest& d, const Tenure& t, const Writer& holder) {
  if (d.fact(holder.command.send).verb != Verb::acquire) return {};
  for (const SendDigest& one : d.farewells(t.owner)) {
    const bool hands_over = d.fact(one.send).verb == Verb::hand_over;
    if (!d.done(one.reply) || (hands_over && d.fact(one.reply)->matched != 1)) continue;
    return d.at(one.reply).order < d.at(t.last_put).order ? one : SendDigest{};
  }
  return {};
}

/// An owner that leaves with an attempt on the way deletes once more, an operation timeout later:
/// an attempt that was executed between the two must leave nothing. Only one hand-over is done with
/// one on the way: a downgrade, to a single attempt.
void check_deleted_again(const Digest& d, Finding& f, const Tenure& t, const Writer& holder,
                         bool is_left_behind) {
  const SendDigest left = left_before(d, t, holder);
  if (left.send == kNone) return;
  ++f.counts["late_wins"];
  const Fact& ask = holder.ask();
  const std::vector<Index> events{holder.command.send, left.reply, t.last_put};
  const auto who = "lock '" + d.name(ask.name) + "': " + d.process_name(ask.process);
  const Fact& by = d.fact(left.send);
  if (by.verb == Verb::hand_over && !d.sessions[by.session].asked->single_attempt) {
    return violate(f, who + " had an attempt executed after it had handed the lock over", events);
  }
  const auto put = d.fact(t.last_put).at_ns;
  const auto& deletes = d.deletes[t.owner];
  const bool again = !deletes.empty() && d.fact(deletes.back().send).at_ns > put;
  if (!is_left_behind || again) return;
  const auto least =
      ask->operation_timeout_ms * kMs - ask->operation_timeout_ms * ask->max_drift_ppm;
  auto answered = d.fact(left.reply).at_ns;
  // A delete that finds nothing is followed by a pass-on, and the event of a grant brings the
  // second delete forward: then another follows.
  for (const SendDigest& one : deletes) {
    const auto reply = d.time_of(one.reply);
    const bool early = d.fact(one.send).at_ns < answered + least;
    if (early && reply < put) answered = std::max(answered, reply);
  }
  if (put >= answered + least) return;
  const auto timeout = by_our_clock(d, ask, ask->operation_timeout_ms * kMs);
  check_bound(d, f,
              {answered, answered + timeout + d.allowed.lateness_ns, kNever,
               sends_until(d, ask, answered + least), d.delays(ask.process, Needs::worker)},
              who + " did not delete what an attempt left that was executed after it had left",
              events);
}

/// A reader shares an entry of its process if it came before that was granted, or soon after the
/// attempt that made it: a writer elsewhere waits for all that share it.
void check_shared_soon(const Digest& d, Finding& f, const SessionDigest& s) {
  if (s.shares == kNone) return;
  const Index made = d.writer(s.shares).send;
  const auto asked = d.fact(s.ask).at_ns, granted = d.fact(s.shares).at_ns;
  ++f.checked;
  if (asked <= granted || made == kNone) return;
  const auto after = asked - d.fact(made).at_ns;
  if (after <= by_our_clock(d, s.asked, 100 * kMs)) return;
  violate(f, subject(d, s.ask) + " shares an entry that was asked for " + ms(after) + " before",
          {made, s.ask, s.granted});
}

/// A process hands a lock on to callers of its own only so often: then others have their chance.
void check_hand_overs_in_a_row(const Digest& d, Finding& f) {
  std::vector<std::int64_t> holdings(d.facts.owners);  // in a row up to this owner's
  const auto handed_over = [&](Index granted) {
    const Index send = d.writer(granted).send;
    return send != kNone && d.fact(send).verb == Verb::hand_over;
  };
  for (Index i = 0; i < d.facts.all.size(); ++i) {
    const Fact& e = d.fact(i);
    if (e.kind == Kind::granted && !handed_over(i)) holdings[e.owner] = 1;
    if (e.kind != Kind::send || e.verb != Verb::hand_over || e.owner == kNoText) continue;
    const Index asked = d.sessions[e.session].ask;
    if (asked == kNone || e.other_owner == kNoText) continue;
    holdings[e.owner] = holdings[e.other_owner] + 1;
    // A single attempt waits for nobody: it is a downgrade, and the lock stays with its user.
    const SessionDigest& to = d.sessions[e.session];
    const auto most = to.asked->holdings_in_a_row;
    if (most == 0 || to.asked->single_attempt) continue;
    ++f.checked;
    if (holdings[e.owner] == most) ++f.counts["handed_on_to_the_limit"];
    if (holdings[e.owner] <= most) continue;
    violate(f,
            subject(d, i) + " had it " + std::to_string(holdings[e.owner]) +
                " times in a row by handing it on, " + std::to_string(most) + " may be",
            {asked, i});
  }
}

/// A reader that joins drops the entries that are over. It is admitted at the server's time.
void check_over(const Digest& d, Finding& f, const Change& c) {
  if (c.readers.size() < 2 || d.claim(c.event) != kNone) return;
  const Change& before = d.change_before(c.event);
  for (const ReaderEntry& joined : c.readers) {
    const Index send = d.writers[joined.lock_id].send;
    if (before.held_by(joined.owner) || send == kNone || !acknowledged(d, send, kNone)) continue;
    for (const ReaderEntry& other : c.readers) {
      ++f.checked;
      if (!rules::is_expired(other.until_ms, joined.since_ms)) continue;
      violate(f,
              "lock '" + d.at(c.event).name + "': a reader's entry stood " +
                  std::to_string(joined.since_ms - other.until_ms) +
                  " ms after its end beside one that came then",
              {d.writers[other.lock_id].send, c.event});
    }
  }
}

/// The last of the readers that share an entry takes it out.
void check_left_by_the_last(const Digest& d, Finding& f, const SessionDigest& s) {
  if (s.granted == kNone || s.ask == kNone || s.release == kNone) return;
  if (!d.at(s.granted).shared || s.leaves_it_to_others) return;
  const auto sent = d.time_of(farewell(d, d.fact(s.granted).owner, kNone));
  const auto released = d.fact(s.release).at_ns;
  check_bound(d, f,
              {released, released + d.allowed.lateness_ns, sent,
               sends_until(d, s.asked, released), d.delays(s.process, Needs::worker)},
              subject(d, s.granted) + " was the last to release a reader's entry and left it",
              {s.granted, s.release});
}

/// A dead holder's document expires as promised, if its lock is known by answers and documents.
void check_expires(const Digest& d, Finding& f, const Tenure& t) {
  const auto holder = writer_of(d, t);
  const Event& last = d.at(t.last_put);
  if (!holder || last.expires_at_ms == 0 || last.wall_ms == 0 || last.from_ns == 0) return;
  const SessionDigest& s = *holder->session;
  const Index death = d.process_of[s.process]->crash;
  if (death == kNone || d.fact(death).kind != Kind::crash || s.release != kNone) return;
  const auto died = d.fact(death).at_ns;
  const auto changed = t.next == kNone ? kNever : d.at(t.next).from_ns;
  // A command may have been on its way at the death, because of a fault.
  const bool late = last.at_ns > died;
  if (changed <= died || (late && d.disturbed(s.process, {died, last.at_ns}) != nullptr)) return;
  ++f.checked;
  const auto in_time = died + d.allowed.lateness_ns;
  const auto lease_ns = static_cast<double>(s.asked->expiry_ms * kMs);
  const auto latest = (late ? d.servers.put_off(died, in_time) : in_time) +
                      d.promises->clock_margin_ms.value_or(0) * kMs +
                      static_cast<std::int64_t>(*d.promises->passes_on_leases * lease_ns);
  const auto by_date = last.from_ns + (last.expires_at_ms - last.wall_ms) * kMs;
  const auto ended = std::min(by_date, changed);
  if (ended <= latest) return;
  violate(f,
          "lock '" + last.name + "': the document of " + d.process_name(s.process) +
              ", which died, is in force " + ms(ended - latest) + " longer than promised",
          {s.granted, t.last_put, death});
}

}  // namespace

Finding check_liveness(const Digest& d) {
  Finding f = finding(Check::G7);
  if (d.promises != nullptr) {
    check_waits(d, f, check_on_time);
    return f;
  }
  const auto waiters = waiters_by_name(d);
  const auto asks = processes_that_ask(d);
  const auto turns = turns_by_name(d, waiters);
  const AllCallTimes all_calls(d);
  for (std::size_t id = 0; id < waiters.size(); ++id) {
    const Waiters& name = waiters[id];
    for (const Waiter& call : name.calls) {
      check_on_time(d, f, *call.session);
      check_given_back(d, f, *call.session);
      check_shared_soon(d, f, *call.session);
      if (asks[call.session->process]) check_reaches_a_user(d, f, *call.session, all_calls);
      check_served_when_healed(d, f, call, name, turns[id], all_calls);
    }
  }
  check_queue_turns(d, f, waiters);
  check_all_calls(d, f);
  check_recognised(d, f);
  check_hand_overs_in_a_row(d, f);
  for (const Tenure& t : std::views::join(d.tenures)) {
    const auto holder = writer_of(d, t);
    if (!holder) continue;
    const Waiters& here = waiters[d.fact(t.last_put).name];
    if (t.next_gone) check_free_taken(d, f, t, here);
    if (left_behind(d, t)) check_passes_on(d, f, t, *holder, here);
    // In a published lock no retry recognises that win.
    if (d.of_a_document && died(d, t)) check_given_up(d, f, t, *holder);
  }
  return f;
}

Finding check_cleanup(const Digest& d) {
  Finding f = finding(Check::G8);
  if (d.promises != nullptr) {
    if (!d.dates_hold || d.disks_lost) return f;
    for (const Tenure& t : std::views::join(d.tenures)) check_expires(d, f, t);
    return f;
  }
  for (const Change& c : std::views::join(d.truth)) check_over(d, f, c);
  for (const SessionDigest& s : d.sessions) check_left_by_the_last(d, f, s);
  for (const Tenure& t : std::views::join(d.tenures)) {
    const auto holder = writer_of(d, t);
    if (!holder) continue;
    const bool is_left_behind = left_behind(d, t);
    if (!d.of_a_document) check_deleted_again(d, f, t, *holder, is_left_behind);
    if (!is_left_behind) continue;
    if (!d.of_a_document && died(d, t)) check_given_up(d, f, t, *holder);
    if (t.left) continue;  // `check_over` asks when its entry goes
    const auto [since, expiry_ms, margin_ms] = remains_of(d, t, *holder);
    const auto bound = (expiry_ms + 2 * margin_ms) * kMs + d.allowed.ttl_seen_ns();
    const auto latest = since + bound;
    const auto expired = latest - d.allowed.ttl_seen_ns();
    const auto gone = t.next_gone ? d.fact(t.next).at_ns : executed_from(d, t.next);
    if (t.next == kNone && !d.oplog_read) {
      if (d.finished_ns > latest) excuse(f, Excuse::unread_oplog);
      continue;
    }
    // Another took it before it had to go.
    const bool taken = t.next != kNone && !t.next_gone;
    if (taken && gone <= d.ttl_away.put_off(expired, latest)) continue;
    const auto before = f.checked;
    check_bound(d, f, {expired, latest, gone, kNever, d.ttl_away},
                "lock '" + d.at(t.last_put).name +
                    "': a dead holder's document was still there after " + ms(bound),
                {t.last_put, t.next});
    if (f.checked > before && !died(d, t)) ++f.counts["ghosts"];
  }
  return f;
}

}  // namespace leasehold::model
