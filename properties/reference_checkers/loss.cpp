#include <algorithm>

#include "properties/reference_checkers/questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

/// G5 and needless: what a handle says of its end.
namespace leasehold::properties {
namespace {

/// Until when what this grant or extension promised can be relied on.
double lease_of(const Questions& q, const Event& promise) {
  const auto said = static_cast<double>(promise.deadline_ns);
  const Event* ask = q.of(promise, Kind::ask);
  if (ask == nullptr) return said;
  return std::min(said, static_cast<double>(promise.sent_ns) + q.own_time(*ask, own_lease(*ask)));
}

/// Until when the caller wants it at most.
double longest_holding(const Questions& q, const Event& granted) {
  const Event* ask = q.of(granted, Kind::ask);
  if (ask == nullptr || ask->max_holding_ms == 0) return kForever;
  const auto longest = static_cast<double>(ask->max_holding_ms) * kMs;
  return static_cast<double>(granted.sent_ns) + q.own_time(*ask, longest);
}

struct Deadline {
  double at;
  int revived = 0;  ///< grants and extensions that came when it was over
};

Deadline deadline_of(const Questions& q, const Event& granted) {
  const double longest = longest_holding(q, granted);
  Deadline deadline{std::min(lease_of(q, granted), longest)};
  deadline.revived += at(&granted) >= deadline.at ? 1 : 0;
  for (const Event* e : q.all(Kind::extended)) {
    if (!same_session(*e, granted)) continue;
    deadline.revived += at(e) >= deadline.at ? 1 : 0;
    deadline.at = std::min(std::max(deadline.at, lease_of(q, *e)), longest);
  }
  return deadline;
}

/// "`lost()` does not fire for a lock that was not lost", nor before it is.
bool fires_for_nothing(const Questions& q, const Event& granted) {
  const Event* fired = q.of(granted, Kind::notified);
  return fired != nullptr && at(q.of(granted, Kind::lost)) > at(fired) + q.late();
}

double last_yes(const Questions& q, const Event& granted) {
  double last = -1;
  for (const Event* yes : q.answers(granted, "yes")) {
    last = std::max(last, static_cast<double>(yes->last_asked_ns));
  }
  return last;
}

/// "Its `held()` is false", for ever.
bool true_again(const Questions& q, const Event& granted) {
  const auto no = q.answers(granted, "no");
  return std::any_of(no.begin(), no.end(), [&](const Event* e) {
    return last_yes(q, granted) > static_cast<double>(e->first_answered_ns);
  });
}

/// "Its `held()` is false" from the loss on.
bool true_after_the_loss(const Questions& q, const Event& granted) {
  const Event* lost = q.of(granted, Kind::lost);
  if (lost == nullptr) return false;
  const double due = at(lost);
  return q.broken(
      {due, due + q.late(), last_yes(q, granted), kForever, q.of_process(granted.process)});
}

/// "... is notified by its deadline", or once it has lost the lock, as soon as its user has the
/// handle and its process runs.
bool not_notified(const Questions& q, const Event& granted, double deadline) {
  double first_asked = kForever;
  for (const char* outcome : {"yes", "no"}) {
    for (const Event* e : q.answers(granted, outcome)) {
      first_asked = std::min(first_asked, static_cast<double>(first_asked_ns(*e)));
    }
  }
  if (first_asked == kForever) return false;  // no user had it
  const double due = std::max(deadline, first_asked);
  const double wanted_until =
      std::min(q.alive_until(granted.process), at(q.of(granted, Kind::release)));
  return q.broken({due, due + q.late(), at(q.of(granted, Kind::notified)), wanted_until,
                   q.of_process(granted.process)});
}

}  // namespace

/// "A holder whose lease ended unreleased is notified by its deadline: its `lost()` fires and its
/// `held()` is false."
int slow_loss_notified(const Questions& q) {
  int found = 0;
  for (const Event* granted : q.all(Kind::granted)) {
    const Deadline deadline = deadline_of(q, *granted);
    found += deadline.revived;
    found += fires_for_nothing(q, *granted) ? 1 : 0;
    found += last_yes(q, *granted) > deadline.at ? 1 : 0;
    found += true_again(q, *granted) ? 1 : 0;
    found += true_after_the_loss(q, *granted) ? 1 : 0;
    const double lost = at(q.of(*granted, Kind::lost));
    found += not_notified(q, *granted, std::min(deadline.at, lost)) ? 1 : 0;
  }
  return found;
}

namespace {

/// The commands that gave this handle a lease, its own attempt and the extensions, whose answers
/// had come when it was lost.
Events answered_in_time(const Questions& q, const Event& granted, const Event& lost) {
  return q.all([&](const Event& send) {
    if (send.kind != Kind::send || !same_session(send, lost)) return false;
    if (send.verb != "extend" && send.lock_id != granted.lock_id) return false;
    const Event* reply = q.reply_to(send);
    return done(reply) && reply < &lost;  // events stand in the order of the history
  });
}

/// Whether, as far as its process could know, the document was there when this command went out,
/// and had been there since the grant.
bool document_was_there(const Questions& q, const Event& granted, const Event& command,
                        const Event& lost) {
  std::int64_t newest = 0;
  for (const Event* reply : q.all(Kind::reply)) {
    const bool heard = reply->process == lost.process && reply < &lost;
    if (heard) newest = std::max(newest, reply->order);
  }
  const Event* begun = q.put_of(granted);
  const Event* stands = q.change_by(granted.name, newest);
  if (begun == nullptr || stands == nullptr || stands->order < begun->order) return false;
  const Event* anothers = q.first([&](const Event& e) {
    const bool between = (e.kind == Kind::put || e.kind == Kind::gone) && e.name == granted.name &&
                         e.order >= begun->order && e.order <= stands->order;
    return between && (e.kind == Kind::gone || model::owner_of(e.lock_id) != granted.owner);
  });
  return anothers == nullptr && at(stands) < at(&command);
}

/// Until when this command gave a lease, even by the fastest clock that is allowed.
double gives_until(const Questions& q, const Event& ask, const Event& command) {
  const auto statements = q.all([&](const Event& e) {
    return e.kind == Kind::send && e.process == command.process && e.command == command.command;
  });
  if (q.reply_to(command)->matched != static_cast<std::int64_t>(statements.size())) return 0;
  return at(&command) + own_lease(ask) * (1 - static_cast<double>(ask.max_drift_ppm) / 1e6);
}

/// Whether a lease still ran. The first answer begins it; another makes it longer if it came in it.
bool lease_still_ran(const Questions& q, const Event& ask, const Events& answered,
                     const Event& lost) {
  double until = 0;
  bool first = true;
  for (const Event* reply : q.all(Kind::reply)) {
    for (const Event* command : answered) {
      if (q.reply_to(*command) != reply || !(first || at(reply) < until)) continue;
      until = std::max(until, gives_until(q, ask, *command));
      first = false;
    }
  }
  return at(&lost) < until;
}

/// Whether half a lease went by unused after an extension that failed.
bool gave_up_extending(const Questions& q, const Event& ask, const Event& lost) {
  const auto extensions = q.all([&](const Event& e) {
    return e.kind == Kind::send && e.verb == "extend" && same_session(e, lost);
  });
  const Event* reply = extensions.empty() ? nullptr : q.reply_to(*extensions.back());
  if (reply == nullptr || done(reply)) return false;
  const double latest = at(reply) + own_lease(ask) / 2 + q.late();
  return q.broken({at(reply), latest, at(&lost), kForever, q.of_worker(lost.process)});
}

int needless(const Questions& q, const Event& lost) {
  const Event* granted = q.of(lost, Kind::granted);
  const Event* ask = q.of(lost, Kind::ask);
  if (granted == nullptr || ask == nullptr) return 0;
  const auto answered = answered_in_time(q, *granted, lost);
  if (lost.outcome == "not_owner") {
    return !answered.empty() && document_was_there(q, *granted, *answered.back(), lost) ? 1 : 0;
  }
  if (lost.outcome != "deadline") return 0;
  const bool early = lease_still_ran(q, *ask, answered, lost);
  return (early ? 1 : 0) + (gave_up_extending(q, *ask, lost) ? 1 : 0);
}

}  // namespace

/// "No handle is called lost whose document was there, or whose lease still runs."
int slow_needless_loss(const Questions& q) {
  int found = 0;
  for (const Event* lost : q.all(Kind::lost)) found += needless(q, *lost);
  return found;
}

}  // namespace leasehold::properties
