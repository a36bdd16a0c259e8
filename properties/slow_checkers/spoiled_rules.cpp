#include <algorithm>

#include "properties/slow_checkers/generated_histories.hpp"

/// What breaks a rule of the proof, done to a generated history.
namespace leasehold::properties {

using model::Kind;
using model::kMs;

/// Two attempts that nobody answers write the same. Of one that is executed the other checkers
/// would not know who sent it.
void HistoryGenerator::reuse_a_lock_id(History& h) {
  const Event* asked = pick(h, Kind::ask);
  if (asked == nullptr) return;
  const Event ask = *asked;
  const Event one = command(ask, static_cast<int>(ask.at_ns / kMs) + from(1, 50), "acquire");
  Event other = command(ask, static_cast<int>(ask.at_ns / kMs) + from(1, 50), "acquire");
  if (!one_in(4)) other.lock_id = std::string(one.lock_id);
  h.insert(h.end(), {one, other});
}

/// A grant or an extension counts from later than its sending, or from a write that no reply
/// acknowledges.
void HistoryGenerator::count_from_later(History& h) {
  Event* e = pick(h, one_in(3) ? Kind::extended : Kind::granted);
  if (e == nullptr) e = any_grant(h);
  if (e == nullptr) return;
  if (!one_in(5)) {
    e->deadline_ns += from(-3, 60) * kMs;
    return;
  }
  const auto lock_id = e->lock_id;
  const Event* send = pick(
      h, [&](const Event& s) { return s.kind == Kind::send && s.lock_id == lock_id; });
  if (send == nullptr) return;
  Event* reply = pick(h, [&](const Event& r) {
    return r.kind == Kind::reply && r.process == send->process && r.command == send->command;
  });
  if (reply != nullptr) reply->outcome = "unknown";
}

/// An attempt presumes dead whom its process has seen for a while, or never.
void HistoryGenerator::presume_somebody_dead(History& h) {
  const Event* put = pick(h, Kind::put);
  Event* attempt = pick(h, [](const Event& e) {
    return e.kind == Kind::send && e.verb == "acquire" && e.process != "a";
  });
  if (put == nullptr || attempt == nullptr) return;
  attempt->observed_lock_id = put->lock_id;
  if (one_in(3)) return;
  Event seen;
  seen.kind = Kind::reply;
  seen.process = attempt->process;
  seen.command = ++command_;
  seen.at_ns = std::max<std::int64_t>(attempt->at_ns - from(850, 1'100) * kMs, 4 * kMs);
  seen.outcome = "done";
  seen.seen_lock_id = put->lock_id;
  h.push_back(seen);
}

/// Something is asked or said of an owner whose delete was sent.
void HistoryGenerator::use_an_ended_owner(History& h) {
  const Event* grant = any_grant(h);
  if (grant == nullptr) return;
  const Event granted = *grant;
  const int ended = std::max(static_cast<int>(granted.at_ns / kMs) + from(-40, 300), 4);
  h.push_back(command(granted, ended, "delete"));
  if (one_in(2)) h.push_back(command(granted, std::max(ended + from(-20, 200), 4), "extend"));
  if (one_in(3)) h.push_back(command(granted, std::max(ended + from(-20, 200), 4), "acquire"));
}

/// A document expires sooner or later than it should, or its acquiredAt changes.
void HistoryGenerator::misdate(History& h) {
  Event* put = pick(h, Kind::put);
  if (put == nullptr) return;
  if (one_in(3)) {
    put->acquired_at_ms += any_of({-1, 1, 500});
  } else {
    put->expires_at_ms += any_of({-500, -1, 1, 500});
  }
}

void HistoryGenerator::store_another_token(History& h) {
  Event* put = pick(h, Kind::put);
  if (put != nullptr) put->stored_token += any_of({-150, -1, 1, 150});
}

}  // namespace leasehold::properties
