#include <algorithm>

#include "properties/slow_checkers/slow_checkers.hpp"
#include "properties/slow_checkers/waiting_questions.hpp"

/// G7 of who stands in a queue: "it is served after those who stood before it, and by nobody left
/// out; within as many cycles as there are holders until then".
namespace leasehold::properties {
namespace {

constexpr double kTwoDays_ms = 48 * 3.6e6;

/// From joining to leaving.
struct Stand {
  const Event *joined, *left;
  std::string owner;
};

/// A holding of one owner.
struct Held {
  const Event *first, *last, *next;
};

bool joins(const Event& e) { return e.kind == Kind::place && e.count > 0; }
bool leaves(const Event& e) { return e.kind == Kind::place && e.count == 0; }

std::vector<Stand> stands(const Questions& q) {
  std::vector<Stand> found;
  for (const Event* joined : q.all([](const Event& e) { return joins(e); })) {
    Stand s{joined, nullptr, model::owner_of(joined->lock_id)};
    for (const Event* e : q.all(Kind::place)) {
      const bool of_it = e->name == joined->name && model::owner_of(e->lock_id) == s.owner;
      if (!of_it || e->order <= joined->order) continue;
      if (s.left == nullptr || e->order < s.left->order) s.left = e;
    }
    // One that joins twice has lost an event in between.
    if (s.left == nullptr || leaves(*s.left)) found.push_back(s);
  }
  return found;
}

const Event* put_with(const Questions& q, const Event& place) {
  return q.first([&](const Event& e) {
    return e.kind == Kind::put && e.name == place.name && e.order == place.order;
  });
}

/// The queue gave it the lock: by the attempt that its entry names, not by one of its own.
bool was_served(const Questions& q, const Event& place) {
  const Event* put = put_with(q, place);
  return leaves(place) && put != nullptr && put->lock_id == place.lock_id;
}

/// Others that the queue gave the lock, while it stood there.
std::int64_t others_served(const Questions& q, const Stand& s) {
  return static_cast<std::int64_t>(
      q.all([&](const Event& e) {
         const bool meanwhile =
             e.order >= s.joined->order && (s.left == nullptr || e.order < s.left->order);
         return leaves(e) && e.name == s.joined->name && meanwhile && was_served(q, e);
       }).size());
}

/// A release to another, before its entry was over, and before it wanted to leave.
bool was_left_out(const Questions& q, const Stand& s) {
  if (s.left == nullptr || was_served(q, *s.left)) return false;
  const Event* another = q.first([&](const Event& e) {
    return leaves(e) && e.name == s.left->name && e.order == s.left->order && was_served(q, e);
  });
  if (another == nullptr) return false;
  const Event* put = put_with(q, *s.left);
  const auto good_for = static_cast<double>(s.left->expires_at_ms - put->acquired_at_ms);
  if (put->acquired_at_ms == 0 || good_for <= 0 || good_for >= kTwoDays_ms) return false;
  const auto wished = q.deletes_of(s.owner);
  return wished.empty() || at(wished.front()) > at(s.left);
}

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
  const double from = q.ran(send->process, put, at(granted)) ? at(granted) : put;
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

double cycles(const Questions& q, const Stand& s) {
  const double way = longest_way(q, s.joined->name);
  double sum = way;
  const auto all = holdings(q, s.joined->name);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool over_before =
        i + 1 < all.size() && all[i + 1].first->order <= s.joined->order;
    const bool after = s.left != nullptr && all[i].first->order >= s.left->order;
    if (!over_before && !after) sum += lasts(q, all[i]) + way;
  }
  return sum;
}

bool waits_beyond_its_turn(const Questions& q, const Stand& s) {
  const Event* send = q.sender(*s.joined);
  const Event* ask = send == nullptr ? nullptr : q.of(*send, Kind::ask);
  if (ask == nullptr || (s.left == nullptr && !q.oplog_read())) return false;
  const Event* granted = q.of(*send, Kind::granted);
  const double served = granted != nullptr && granted->owner == s.owner ? at(granted) : kForever;
  const Event* reply = q.reply_to(*send);
  const double from = unanswered(reply) ? at(s.joined) : std::min(at(s.joined), at(reply));
  const double latest = while_answered(q, *ask, true, from, cycles(q, s));
  double until = std::min(waits_until(q, *ask), q.known_alive_until(ask->process));
  const Event* put = s.left == nullptr ? nullptr : put_with(q, *s.left);
  const bool got_it = put != nullptr && model::owner_of(put->lock_id) == s.owner;
  if (s.left != nullptr && !got_it) until = std::min(until, at(s.left) - q.lag());
  if (served == kForever && until <= latest) return false;
  const double to = std::min(latest, served);
  if (!q.ran(ask->process, from, to) || q.disturbed(from, to)) return false;
  return q.broken({from, latest, served, until});
}

}  // namespace

int slow_queue_turns(const Questions& q) {
  int found = 0;
  for (const Stand& s : stands(q)) {
    found += others_served(q, s) >= s.joined->count ? 1 : 0;
    found += was_left_out(q, s) ? 1 : 0;
    found += waits_beyond_its_turn(q, s) ? 1 : 0;
  }
  return found;
}

}  // namespace leasehold::properties
