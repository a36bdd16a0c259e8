#include <algorithm>
#include <iterator>

#include "properties/reference_checkers/queue_questions.hpp"

/// Of each write of a document with a queue: "the first is served, a new entry stands last, no
/// other is taken out, and calls that poll have their turn".
namespace leasehold::properties {
namespace {

constexpr double kTwoDays_ms = 48 * 3.6e6;
constexpr double kKnown = 5'000 * kMs;

/// All that one write did.
struct Write {
  std::string name;
  std::int64_t order = 0;
  Events places;
  const Event *put, *gone;
};

std::vector<Write> writes(const Questions& q) {
  std::vector<Write> found;
  for (const Event* one : q.all(Kind::place)) {
    const bool known = std::any_of(found.begin(), found.end(), [&](const Write& w) {
      return w.name == one->name && w.order == one->order;
    });
    if (known) continue;
    Events places;
    std::ranges::copy_if(q.all(Kind::place), std::back_inserter(places), [&](const Event* e) {
      return e->name == one->name && e->order == one->order;
    });
    found.push_back({one->name, one->order, std::move(places),
                     change_with(q, *one, Kind::put), change_with(q, *one, Kind::gone)});
  }
  return found;
}

/// The entries that joined, and did not leave, before this write.
Events standing(const Questions& q, const Write& w) {
  Events found;
  for (const Event* joined : q.all(Kind::place)) {
    if (!joins(*joined) || joined->name != w.name || joined->order >= w.order) continue;
    const auto later = q.first(Kind::place, [&](const Event& e) {
      return e.name == w.name && e.order > joined->order && e.order < w.order &&
             model::owner_of(e.lock_id) == model::owner_of(joined->lock_id);
    });
    if (later == nullptr) found.push_back(joined);
  }
  return found;
}

const Event* of_owner(const Events& events, const std::string& owner) {
  const auto found = std::find_if(events.begin(), events.end(), [&](const Event* e) {
    return model::owner_of(e->lock_id) == owner;
  });
  return found == events.end() ? nullptr : *found;
}

/// As many as the write before this said.
bool whole(const Questions& q, const Write& w) {
  const Event* before = nullptr;
  for (const Event* e : q.all(Kind::place)) {
    if (e->name != w.name || e->order >= w.order) continue;
    if (before == nullptr || e->order > before->order) before = e;
  }
  return before == nullptr ||
         before->matched == static_cast<std::int64_t>(standing(q, w).size());
}

bool leaves_by(const Write& w, const Event& joined) {
  return std::any_of(w.places.begin(), w.places.end(), [&](const Event* e) {
    return leaves(*e) && model::owner_of(e->lock_id) == model::owner_of(joined.lock_id);
  });
}

const Event* served_by(const Questions& q, const Write& w) {
  const auto found = std::find_if(w.places.begin(), w.places.end(),
                                  [&](const Event* e) { return was_served(q, *e); });
  return found == w.places.end() ? nullptr : *found;
}

/// Whether all dates of this time are of one clock, which ran.
bool same_clock(const Questions& q, double from, double to) {
  return !meets(together({q.clock_faults(), q.disturbances()}), from, to);
}

const Event* claiming_send(const Questions& q, const Event& change) {
  const Event* by = q.claimed_by(change);
  if (by == nullptr) return nullptr;
  return q.first(Kind::send, [&](const Event& e) {
    return e.command == by->command && e.process == by->process;
  });
}

/// The clock was read after the entry had been dated.
bool dated_by_itself(const Questions& q, const Event& put) {
  const Event *entry = q.sender(put), *release = claiming_send(q, put);
  if (entry == nullptr || release == nullptr || unanswered(q.reply_to(*entry))) return false;
  return at(q.reply_to(*entry)) <= at(release) &&
         same_clock(q, at(entry), at(q.claimed_by(put)));
}

int breaks_turns(const Questions& q, const Write& w) {
  const Event* served = served_by(q, w);
  const auto before = standing(q, w);
  const Event* receiver =
      served == nullptr ? nullptr : of_owner(before, model::owner_of(served->lock_id));
  if (receiver == nullptr) return 0;
  int found = 0;
  const bool passed_over = std::any_of(before.begin(), before.end(), [&](const Event* e) {
    const bool earlier = e->order < receiver->order ||
                         (e->order == receiver->order && e->count < receiver->count);
    return earlier && !leaves_by(w, *e);
  });
  if (passed_over && whole(q, w)) ++found;
  const auto given = w.put->acquired_at_ms;
  if (given != 0 && served->expires_at_ms < given) ++found;
  const Event* last = q.change_before(*w.put);
  if (last == nullptr || last->kind != Kind::put || !dated_by_itself(q, *w.put)) return found;
  const auto was_given = last->acquired_at_ms;
  if (given == 0 || was_given == 0 || given / 1'000 == was_given / 1'000) return found;
  const auto next = model::owner_of(served->lock_id);
  const bool one_of_four = !next.empty() && next.back() < '4';
  if (one_of_four || given < was_given + 250) ++found;
  return found;
}

double own_date(const Questions& q, const Event& put) {
  const Event* send = q.sender(put);
  const Event* ask = send == nullptr ? nullptr : q.of(*send, Kind::ask);
  if (ask == nullptr || put.expires_at_ms == 0) return kForever;
  return static_cast<double>(put.expires_at_ms - ask->expiry_ms - ask->clock_margin_ms);
}

bool queues(const Questions& q, const std::string& name, const std::string& process) {
  return q.first(Kind::place, [&](const Event& e) {
    const Event* send = joins(e) && e.name == name ? q.sender(e) : nullptr;
    return send != nullptr && send->process == process;
  }) != nullptr;
}

/// By the next put that its writer wrote itself.
double later_date(const Questions& q, const Write& w) {
  const Event* put = w.places.front();
  do {
    put = q.change_after(*put, true);
  } while (put != nullptr && q.claimed_by(*put) != nullptr);
  const Event* send = put == nullptr ? nullptr : q.sender(*put);
  if (send == nullptr || at(send) < at(w.places.front())) return kForever;
  if (!same_clock(q, at(w.places.front()) - q.lag(), at(put))) return kForever;
  return own_date(q, *put);
}

/// The write began by then, as the server dates; for ever: it is unknown, or not asked.
double date_of(const Questions& q, const Write& w) {
  if (served_by(q, w) != nullptr) {
    return w.put->acquired_at_ms == 0 ? kForever : static_cast<double>(w.put->acquired_at_ms);
  }
  if (w.put != nullptr) {
    const Event* send = q.sender(*w.put);
    return send != nullptr && queues(q, w.name, send->process) ? own_date(q, *w.put) : kForever;
  }
  const Event* last = q.change_by(w.name, w.order - 1);
  const Event* by = w.gone == nullptr ? nullptr : q.claimed_by(*w.gone);
  if (w.gone != nullptr && (by == nullptr || by->verb != "pass-on")) return kForever;
  if (w.gone == nullptr && (last == nullptr || last->kind != Kind::put)) return kForever;
  double date = later_date(q, w);
  for (const Event* e : w.places) {
    if (joins(*e)) date = std::min(date, static_cast<double>(e->expires_at_ms));
  }
  return date;
}

/// A delete by a process that knew, when it chose to delete, of an entry in the queue.
bool deletes_knowingly(const Questions& q, const Write& w) {
  const Event* reply = w.gone == nullptr ? nullptr : q.claimed_by(*w.gone);
  const Event* last = q.change_by(w.name, w.order - 1);
  if (reply == nullptr || reply->verb != "delete" || !reply->also_owner.empty()) return false;
  if (last == nullptr || last->kind != Kind::put ||
      model::owner_of(last->lock_id) != reply->owner) {
    return false;
  }
  const Event* won = q.sender(*last);
  if (won == nullptr || q.of(*won, Kind::ask) == nullptr) return false;
  const double decided =
      std::min({at(q.deletes_of(reply->owner).front()), at(q.of(*won, Kind::release)),
                at(q.of(*won, Kind::ended)), at(q.of(*won, Kind::lost))});
  const double sent = at(claiming_send(q, *w.gone));
  return q.first(Kind::place, [&](const Event& e) {
    if (!joins(e) || e.name != w.name || e.order >= w.order) return false;
    const Event* send = q.sender(e);
    const double told = told_at(q, e);
    return send != nullptr && send->process == reply->process && told <= decided &&
           told >= sent - kKnown;
  }) != nullptr;
}

int takes_out(const Questions& q, const Write& w) {
  const auto before = standing(q, w);
  const double date = date_of(q, w);
  const bool knowingly = deletes_knowingly(q, w);
  int found = 0;
  for (const Event* e : w.places) {
    const auto owner = model::owner_of(e->lock_id);
    if (joins(*e) || was_served(q, *e) || of_owner(before, owner) == nullptr) continue;
    if (w.put != nullptr && model::owner_of(w.put->lock_id) == owner) continue;
    const auto wished = q.deletes_of(owner);
    if (!wished.empty() && at(wished.front()) <= at(e)) continue;
    const auto until = static_cast<double>(e->expires_at_ms);
    found += knowingly ? 1 : 0;
    found += until > date && until - date < kTwoDays_ms ? 1 : 0;
  }
  return found;
}

int stands_before_others(const Write& w) {
  const auto joined = std::count_if(w.places.begin(), w.places.end(),
                                    [](const Event* e) { return joins(*e); });
  return static_cast<int>(std::count_if(w.places.begin(), w.places.end(), [&](const Event* e) {
    return joins(*e) && e->count <= e->matched - joined;
  }));
}

}  // namespace

std::vector<Stand> stands(const Questions& q) {
  std::vector<Stand> found;
  for (const Event* joined : q.all(Kind::place)) {
    if (!joins(*joined)) continue;
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

const Event* change_with(const Questions& q, const Event& place, Kind kind) {
  return q.first(kind, [&](const Event& e) {
    return e.order == place.order && e.name == place.name;
  });
}

bool was_served(const Questions& q, const Event& place) {
  const Event* put = change_with(q, place, Kind::put);
  return leaves(place) && put != nullptr && put->lock_id == place.lock_id;
}

double told_at(const Questions& q, const Event& joined) {
  const Event* send = q.sender(joined);
  const Event* reply = send == nullptr ? nullptr : q.reply_to(*send);
  const bool refused = done(reply) && reply->matched == 0 && model::asks_for_lock(*send);
  return refused && reply->order >= joined.order ? at(reply) : kForever;
}

int slow_queue_line(const Questions& q) {
  int found = 0;
  for (const Write& w : writes(q)) {
    found += breaks_turns(q, w) + takes_out(q, w) + stands_before_others(w);
  }
  return found;
}

}  // namespace leasehold::properties
