#include <algorithm>

#include "properties/reference_checkers/queue_questions.hpp"

/// "A process that reads its stream acts on a grant within two round trips; an ended call leaves,
/// and gives back what it is granted when it hears of it."
namespace leasehold::properties {
namespace {

/// From when on a grant to the entry that this attempt left may be over before it is heard of.
double useless_from(const Questions& q, const Event* attempt) {
  const Event* ask = attempt == nullptr ? nullptr : q.of(*attempt, Kind::ask);
  if (ask == nullptr) return kForever;
  const double slow = 1 - static_cast<double>(ask->max_drift_ppm) / 1e6;
  double lease = static_cast<double>(ask->expiry_ms) * slow;
  if (ask->max_holding_ms > 0) lease = std::min(lease, static_cast<double>(ask->max_holding_ms));
  return at(attempt) + lease * slow * kMs;
}

/// Whether a call of this process stood in a queue at both times, knew that, and had not asked to
/// leave.
bool listens(const Questions& q, const std::string& process, double from, double to) {
  return q.first(Kind::place, [&](const Event& e) {
    const Event* send = joins(e) ? q.sender(e) : nullptr;
    if (send == nullptr || send->process != process || told_at(q, e) > from) return false;
    const auto owner = model::owner_of(e.lock_id);
    const Event* next = nullptr;  // it leaves, or joins anew
    for (const Event* one : q.all(Kind::place)) {
      const bool later = one->name == e.name && one->order > e.order &&
                         model::owner_of(one->lock_id) == owner;
      if (later && (next == nullptr || one->order < next->order)) next = one;
    }
    for (const Event* leaves : q.deletes_of(owner)) {
      if (at(leaves) <= to) return false;
    }
    // An answer tells of a win, and the record shows only later that it left with that.
    for (const Event* one : q.attempts(*send)) {
      const Event* reply = next != nullptr ? q.reply_to(*one) : nullptr;
      const bool won = reply != nullptr && reply->matched > 0 && reply->order == next->order;
      if (won && at(reply) <= to) return false;
    }
    return to < std::min({at(q.of(*send, Kind::granted)), at(q.of(*send, Kind::ended)),
                          q.finish(), q.last_sign(process), at(next),
                          useless_from(q, next != nullptr ? q.sender(*next) : nullptr)});
  }) != nullptr;
}

/// The steps of its stream, in their order.
Events steps_of(const Questions& q, const std::string& process) {
  return q.all([&](const Event& e) {
    return e.kind == Kind::send && e.verb == "stream" && e.process == process;
  });
}

/// Neither the stream's first step nor its last, nor was the one before.
bool waits_for_news(const Questions& q, const Events& steps, std::size_t i) {
  const Event* before = i == 0 ? nullptr : q.reply_to(*steps[i - 1]);
  if (!done(before) || at(before) != at(steps[i])) return false;
  const auto heard_of = [&](const Event* e) { return listens(q, e->process, at(e), at(e)); };
  return heard_of(steps[i - 1]) && heard_of(steps[i]);
}

bool stops_reading(const Questions& q, const Event& step) {
  if (step.verb != "stream") return false;
  const Event* reply = q.reply_to(step);
  if (!done(reply)) return false;
  if (!listens(q, step.process, at(reply) - 1, at(reply))) return false;
  return q.first(Kind::send, [&](const Event& e) {
    return e.command > step.command && e.at_ns <= reply->at_ns && e.verb == "stream" &&
           e.process == step.process;
  }) == nullptr;
}

bool reads(const Questions& q, const std::string& process, double when) {
  const auto steps = steps_of(q, process);
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (at(steps[i]) > when) continue;
    const Event* reply = q.reply_to(*steps[i]);
    return waits_for_news(q, steps, i) && (reply == nullptr || (done(reply) && at(reply) >= when));
  }
  return false;
}

/// By the first answer that tells of it, of a stream that did not break until then.
double news_of(const Questions& q, const std::string& process, const Event& put, double from) {
  const auto steps = steps_of(q, process);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i + 1 < steps.size() && at(steps[i + 1]) <= from) continue;
    const Event* reply = q.reply_to(*steps[i]);
    if (!done(reply)) return kForever;
    if (reply->order >= put.order) return waits_for_news(q, steps, i) ? at(reply) : kForever;
  }
  return kForever;
}

double round_trip(const Questions& q, const std::string& process) {
  const auto faults = together({q.disturbances(), q.link_faults(process)});
  double longest = 0;
  for (const Event* send : q.all(Kind::send)) {
    if (send->process != process || send->verb == "stream") continue;
    const Event* reply = q.reply_to(*send);
    if (!done(reply) || meets(faults, at(send), at(reply))) continue;
    longest = std::max(longest, at(reply) - at(send));
  }
  return longest;
}

double first_of(const Events& all, double from) {
  double first = kForever;
  for (const Event* e : all) {
    if (at(e) >= from) first = std::min(first, at(e));
  }
  return first;
}

bool overlooks_its_grant(const Questions& q, const Event& put) {
  const Event *by = q.claimed_by(put), *entry = q.sender(put);
  const auto& process = entry->process;
  const auto owner = model::owner_of(put.lock_id);
  const double way = round_trip(q, process), from = q.executed_from(put);
  const double latest = at(by) + 2 * way + q.late();
  if (way == 0 || latest >= q.finish() || !reads(q, process, at(by))) return false;
  const Event* granted = q.of(*entry, Kind::granted);
  double happened = granted != nullptr && granted->owner == owner ? at(granted) : kForever;
  const auto attempts = q.attempts(*entry);
  for (const Event* one : attempts) {
    if (at(one) < from && at(q.reply_to(*one)) >= from) return false;
  }
  happened = std::min({happened, first_of(attempts, from), first_of(q.deletes_of(owner), from)});
  const double until = std::min(at(q.of(*entry, Kind::ended)), q.alive_until(process));
  return q.broken({from, latest, happened, until,
                   together({q.of_servers(process), q.of_worker(process),
                             q.link_faults(process)})});
}

bool keeps_what_it_is_granted(const Questions& q, const Event& put, double news) {
  const Event* ask = q.of(*q.sender(put), Kind::ask);
  const double latest = news + q.late();
  if (latest >= q.finish()) return false;
  for (const Event* one : q.attempts(*q.sender(put))) {
    if (at(one) <= news && at(q.reply_to(*one)) >= news) return false;
  }
  const auto deletes = q.deletes_of(model::owner_of(put.lock_id));
  for (const Event* one : deletes) {
    const Event* reply = q.reply_to(*one);
    const bool seen_to = reply == nullptr || at(reply) >= news || reply->order > put.order;
    if (at(one) <= news && seen_to) return false;
  }
  const double sent = first_of(deletes, news);
  // Without one before, the delete has been in line since the call ended.
  const double due = first_of(deletes, 0) < news ? news : at(q.of(*q.sender(put), Kind::ended));
  return q.broken(
      {news, latest, sent, q.sends_until(*ask, due), q.of_worker(ask->process)});
}

int breaks_news(const Questions& q, const Event& put) {
  const Event *by = q.claimed_by(put), *entry = q.sender(put);
  if (by == nullptr || by->verb != "pass-on" || entry == nullptr) return 0;
  if (q.of(*entry, Kind::ask) == nullptr) return 0;
  const double ended = at(q.of(*entry, Kind::ended));
  int found = ended > at(by) && overlooks_its_grant(q, put) ? 1 : 0;
  const double news = news_of(q, entry->process, put, q.executed_from(put));
  const bool again = q.first(Kind::put, [&](const Event& e) {
    return e.order < put.order &&
           model::owner_of(e.lock_id) == model::owner_of(put.lock_id);
  }) != nullptr;
  const bool late = news < kForever && ended < news;
  found += late && !again && keeps_what_it_is_granted(q, put, news) ? 1 : 0;
  return found;
}

bool stays(const Questions& q, const Stand& s) {
  const Event* send = q.sender(*s.joined);
  if (send == nullptr) return false;
  const Event *ask = q.of(*send, Kind::ask), *ended = q.of(*send, Kind::ended);
  if (ask == nullptr || ended == nullptr) return false;
  const Event* last = q.attempts(*send).back();
  const Event* reply = q.reply_to(*last);
  const bool knows = last->verb == "acquire" && last->owner == s.owner && done(reply) &&
                     at(reply) <= at(ended) && reply->matched == 0 &&
                     reply->order >= s.joined->order &&
                     (s.left == nullptr || reply->order < s.left->order);
  const double latest = at(ended) + q.late();
  if (!knows || latest >= q.finish()) return false;
  const double left = first_of(q.deletes_of(s.owner), at(ended));
  return q.broken({at(ended), latest, left, q.sends_until(*ask, at(ended)),
                   q.of_worker(ask->process)});
}

}  // namespace

int slow_queue_news(const Questions& q) {
  int found = 0;
  for (const Stand& s : stands(q)) found += stays(q, s) ? 1 : 0;
  const auto places = q.all(Kind::place);
  for (const Event* step : q.all(Kind::send)) found += stops_reading(q, *step) ? 1 : 0;
  for (const Event* put : q.all(Kind::put)) {
    const bool queued = std::any_of(places.begin(), places.end(),
                                    [&](const Event* e) { return e->name == put->name; });
    if (queued) found += breaks_news(q, *put);
  }
  return found;
}

}  // namespace leasehold::properties
