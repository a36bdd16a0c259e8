#include <algorithm>
#include <map>

#include "properties/reference_checkers/queue_questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"
#include "properties/reference_checkers/waiting_questions.hpp"

/// G7 of an entry of a queue: "it is served within as many cycles as there are holders until
/// then".
namespace leasehold::properties {
namespace {

/// A holding of one owner.
struct Held {
  const Event *first, *last, *next;
  double lasts = 0;
};

/// All holdings of a lock, and the longest way from one to the next.
struct Turns {
  std::vector<Held> holdings;
  double way = 0;
};

/// One after the other.
std::vector<Held> holdings(const Questions& q, const std::string& name) {
  auto puts = q.all([&](const Event& e) { return e.kind == Kind::put && e.name == name; });
  std::stable_sort(puts.begin(), puts.end(),
                   [](const Event* a, const Event* b) { return a->order < b->order; });
  std::vector<Held> found;
  for (const Event* put : puts) {
    const auto owner = model::owner_of(put->lock_id);
    const bool goes_on = !found.empty() && model::owner_of(found.back().last->lock_id) == owner &&
                         found.back().next == put;
    if (!goes_on) found.push_back({put, put, nullptr});
    found.back().last = put;
    found.back().next = q.change_after(*put);
  }
  return found;
}

double released_at(const Questions& q, const Event& last, const std::string& owner) {
  double soonest = kForever;
  for (const auto& sent : {q.deletes_of(owner), q.hand_overs_of(owner)}) {
    for (const Event* one : sent) {
      const Event* reply = q.reply_to(*one);
      if (done(reply) && reply->order >= last.order) soonest = std::min(soonest, at(one));
    }
  }
  return soonest;
}

double lasts(const Questions& q, const Held& held) {
  const Event* send = q.sender(*held.last);
  const Event* ask = send == nullptr ? nullptr : q.of(*send, Kind::ask);
  const double put = q.executed_from(*held.first);
  if (ask == nullptr) return std::min(at(held.next), q.finish()) - put;
  const double over = q.executed_by(*held.last) + lease_between_clocks(*ask);
  const auto owner = model::owner_of(held.last->lock_id);
  const Event* granted = q.of(*send, Kind::granted);
  if (granted == nullptr || granted->owner != owner) return over - put;
  const double still = taken(q.of_process(send->process), put, at(granted));
  const double from = std::max(put, at(granted) - still);
  return std::max(std::min(released_at(q, *held.last, owner), over) - from, 0.0);
}

/// A release, and until the next holder knows.
double longest_way(const Questions& q, const std::string& name) {
  double longest = 0;
  for (const Event* ask : q.all(Kind::ask)) {
    if (ask->name != name) continue;
    const double release = q.own_time(*ask, static_cast<double>(ask->operation_timeout_ms) * kMs);
    longest = std::max(longest, release + two_attempts(q, *ask));
  }
  return longest;
}

Turns turns_of(const Questions& q, const std::string& name) {
  Turns turns{holdings(q, name), longest_way(q, name)};
  for (Held& held : turns.holdings) held.lasts = lasts(q, held);
  return turns;
}

double cycles(const Turns& turns, const Stand& s) {
  double sum = turns.way;
  const auto& all = turns.holdings;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool over_before =
        i + 1 < all.size() && all[i + 1].first->order <= s.joined->order;
    const bool after = s.left != nullptr && all[i].first->order >= s.left->order;
    if (!over_before && !after) sum += all[i].lasts + turns.way;
  }
  return sum;
}

bool waits_beyond_its_turn(const Questions& q, const Stand& s, const Turns& turns) {
  const Event* send = q.sender(*s.joined);
  const Event* ask = send == nullptr ? nullptr : q.of(*send, Kind::ask);
  if (ask == nullptr || (s.left == nullptr && !q.oplog_read())) return false;
  const Event* granted = q.of(*send, Kind::granted);
  const double served = granted != nullptr && granted->owner == s.owner ? at(granted) : kForever;
  const Event* reply = q.reply_to(*send);
  const double from = unanswered(reply) ? at(s.joined) : std::min(at(s.joined), at(reply));
  double until = std::min(waits_until(q, *ask), q.alive_until(ask->process));
  const Event* put = s.left == nullptr ? nullptr : change_with(q, *s.left, Kind::put);
  const bool got_it = put != nullptr && model::owner_of(put->lock_id) == s.owner;
  if (s.left != nullptr && !got_it) until = std::min(until, at(s.left) - q.lag());
  return q.broken(
      {from, from + cycles(turns, s), served, until,
       together({of_all_waiters(q, s.joined->name), of_waiter(q, *ask)})});
}

}  // namespace

int slow_queue_turns(const Questions& q) {
  int found = slow_queue_line(q) + slow_queue_news(q);
  std::map<std::string, Turns> turns;  // by lock
  for (const Stand& s : stands(q)) {
    const std::string& name = s.joined->name;
    if (!turns.contains(name)) turns[name] = turns_of(q, name);
    found += waits_beyond_its_turn(q, s, turns[name]) ? 1 : 0;
  }
  return found;
}

}  // namespace leasehold::properties
