#include "model/queue/queue.hpp"

#include <algorithm>

namespace leasehold::model {
namespace {

/// The put of this write; kNone: it gave the lock to no call.
Index put_at(const Digest& d, Id name, std::int64_t order) {
  const auto changes = d.changes_by(name, order);
  const bool there = !changes.empty() && d.at(changes.back().event).order == order;
  return there && !changes.back().gone ? changes.back().event : kNone;
}

/// The first release of this tenure that was executed after its last write, and said so.
Index released_by(const Digest& d, const Tenure& t) {
  Index first = kNone;
  for (const auto* by_owner : {&d.deletes, &d.hand_overs}) {
    for (const SendDigest& one : (*by_owner)[t.owner]) {
      if (!d.done(one.reply) || d.at(one.reply).order < d.at(t.last_put).order) continue;
      if (first == kNone || d.fact(one.send).at_ns < d.fact(first).at_ns) first = one.send;
    }
  }
  return first;
}

/// How long a holding lasted: from when its holder knew of it, had its process not stood still,
/// until its release, at most until the end of the lease of its last write. A holder that never
/// knew of it kept it for that lease.
std::int64_t holding(const Digest& d, const Tenure& t, Index first_put) {
  const auto holder = writer_of(d, t.last_put);
  const auto put = executed_from(d, first_put);
  if (!holder) return (t.next == kNone ? d.finished_ns : d.fact(t.next).at_ns) - put;
  const Fact& ask = holder->ask();
  const auto lease_over =
      executed_by(d, *holder, t.last_put) + ask->expiry_ms * kMs + drift_of(ask);
  const Index granted = holder->session->granted;
  if (granted == kNone || d.fact(granted).owner != t.owner) return lease_over - put;
  const auto told = d.fact(granted).at_ns;
  const auto still = in_common(d.delays(ask.process, Needs::process).all(), {put, told});
  const auto from = std::max(put, told - still);
  const Index released = released_by(d, t);
  const auto to = released == kNone ? lease_over : d.fact(released).at_ns;
  return std::max<std::int64_t>(std::min(to, lease_over) - from, 0);
}

/// The holdings of one lock, one after the other.
struct Holdings {
  std::vector<std::int64_t> orders;  ///< of their first writes
  std::vector<std::int64_t> sums{0};  ///< of so many from the first on
};

Holdings holdings(const Digest& d, Id name) {
  Holdings all;
  Index first = kNone;
  for (const Change& c : d.truth[name]) {
    if (first == kNone && !c.gone) first = c.event;
  }
  for (const Tenure& t : d.tenures[name]) {
    all.orders.push_back(d.at(first).order);
    all.sums.push_back(all.sums.back() + holding(d, t, first));
    first = t.next_put;
  }
  return all;
}

/// The longest time from a holder's release until the next holder knows of its grant.
std::int64_t longest_way(const Digest& d, const Waiters& waiters) {
  std::int64_t longest = 0;
  for (const Waiter& call : waiters.calls) {
    const Fact& ask = call.session->asked;
    const auto release = by_our_clock(d, ask, ask->operation_timeout_ms * kMs);
    longest = std::max(longest, release + call.attempts_ns);
  }
  return longest;
}

/// How long the entry may wait: the holding when it joins, and all others until its own.
std::int64_t cycles(const Digest& d, const Stand& s, const Holdings& all, std::int64_t way) {
  const auto left = s.left == kNone ? kNever : d.at(s.left).order;
  const auto after = [&](std::int64_t order) {
    return std::partition_point(all.orders.begin(), all.orders.end(),
                                [order](std::int64_t one) { return one <= order; }) -
           all.orders.begin();
  };
  const auto from = std::max<std::ptrdiff_t>(after(d.at(s.joined).order) - 1, 0);
  const auto to = after(left - 1);
  return *(all.sums.begin() + to) - *(all.sums.begin() + from) + (to - from + 1) * way;
}

const Waiter& waiter_of(const Waiters& waiters, const SessionDigest& s) {
  return *std::partition_point(waiters.calls.begin(), waiters.calls.end(),
                               [&](const Waiter& w) { return w.session->id < s.id; });
}

/// Until when the entry certainly was there, or had the lock by its place.
std::int64_t stood_until(const Digest& d, const Stand& s, const Waiter& call) {
  const Index put =
      s.left == kNone ? kNone : put_at(d, d.fact(s.left).name, d.at(s.left).order);
  const bool got_it = put != kNone && d.fact(put).owner == d.fact(s.left).owner;
  if (s.left == kNone || got_it) return call.lives_until;
  return std::min(call.lives_until, d.fact(s.left).at_ns - d.allowed.truth_lag_ns);
}

void check_served_in_turn(const Digest& d, Finding& f, const Stand& s, const Waiters& waiters,
                          const Holdings& all, std::int64_t way) {
  const SendDigest& sent = d.writer(s.joined);
  if (sent.send == kNone || d.session_of(d.fact(sent.send)).ask == kNone) return;
  if (s.left == kNone && !d.oplog_read) return excuse(f, Excuse::unread_oplog);
  const SessionDigest& session = d.session_of(d.fact(sent.send));
  const Waiter& call = waiter_of(waiters, session);
  const bool own = session.granted != kNone &&
                   d.fact(session.granted).owner == d.fact(s.joined).owner;
  const auto served = own ? d.fact(session.granted).at_ns : kNever;
  auto from = d.fact(s.joined).at_ns;
  if (!d.unanswered(sent)) from = std::min(from, d.fact(sent.reply).at_ns);
  const auto bound = cycles(d, s, all, way);
  const auto until = stood_until(d, s, call);
  // Most leave sooner; a call that lost its place may be served by another one later.
  if (served > from + bound && until <= from + bound) return;
  ++f.counts["queue_waits"];
  const auto delays = served > from + bound
                          ? waiters.delays_with(waiters.delays.at(session.process))
                          : MergedSpans();
  check_bound(d, f, {from, from + bound, served, until, delays},
              [&] {
                return whose(d, s.joined) + " stood in the queue, and was not served in the " +
                       ms(bound) + " of the turns before it";
              },
              {s.joined, s.left, session.granted, session.ended});
}

}  // namespace

void check_queue_turns(const Digest& d, Finding& f, const std::vector<Waiters>& waiters) {
  for (Id name = 0; name < d.places.size(); ++name) {
    if (d.places[name].empty()) continue;
    const auto stands = check_queue_line(d, f, name);
    const auto all = holdings(d, name);
    const auto way = longest_way(d, waiters[name]);
    for (const Stand& s : stands) {
      check_served_in_turn(d, f, s, waiters[name], all, way);
      check_left(d, f, s);
    }
  }
  check_queue_news(d, f);
}

}  // namespace leasehold::model
