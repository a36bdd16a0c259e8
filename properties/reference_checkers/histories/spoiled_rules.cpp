#include <algorithm>

#include "model/containers/spans.hpp"
#include "properties/reference_checkers/histories/spoiler.hpp"

/// What breaks a rule of the proof, done to a generated history.
namespace leasehold::properties {

using model::Kind;
using model::kMs;

/// Two attempts without an answer write the same. Of one that is executed the other checkers
/// would not know its sender.
void Spoiler::reuse_a_lock_id(History& h) {
  const Event* asked = draw_.pick(h, Kind::ask);
  if (asked == nullptr) return;
  const Event ask = *asked;
  const Event one = command(ask, static_cast<int>(ask.at_ns / kMs) + draw_.from(1, 50), "acquire");
  Event other = command(ask, static_cast<int>(ask.at_ns / kMs) + draw_.from(1, 50), "acquire");
  if (!draw_.one_in(4)) other.lock_id = std::string(one.lock_id);
  h.insert(h.end(), {one, other});
}

/// A grant or an extension counts from later than its sending, or from a write that no reply
/// acknowledges.
void Spoiler::count_from_later(History& h) {
  Event* e = draw_.pick(h, draw_.one_in(3) ? Kind::extended : Kind::granted);
  if (e == nullptr) e = any_grant(h);
  if (e == nullptr) return;
  if (!draw_.one_in(5)) {
    e->deadline_ns += draw_.from(-3, 60) * kMs;
    return;
  }
  const auto lock_id = e->lock_id;
  const Event* send = draw_.pick(
      h, [&](const Event& s) { return s.kind == Kind::send && s.lock_id == lock_id; });
  if (send == nullptr) return;
  Event* reply = draw_.pick(h, [&](const Event& r) {
    return r.kind == Kind::reply && r.process == send->process && r.command == send->command;
  });
  if (reply != nullptr) reply->outcome = "unknown";
}

/// An attempt presumes a holder dead that its process has seen for a while, or never.
void Spoiler::presume_somebody_dead(History& h) {
  const Event* put = draw_.pick(h, Kind::put);
  Event* attempt = draw_.pick(h, [](const Event& e) {
    return e.kind == Kind::send && e.verb == "acquire" && e.process != "a";
  });
  if (put == nullptr || attempt == nullptr) return;
  attempt->observed_lock_id = put->lock_id;
  if (draw_.one_in(3)) return;
  Event seen;
  seen.kind = Kind::reply;
  seen.process = attempt->process;
  seen.command = ++command_;
  seen.at_ns = std::max<std::int64_t>(attempt->at_ns - draw_.from(850, 1'100) * kMs, 4 * kMs);
  seen.outcome = "done";
  seen.seen_lock_id = put->lock_id;
  h.push_back(seen);
}

/// Something is asked or said of an owner whose delete was sent.
void Spoiler::use_an_ended_owner(History& h) {
  const Event* grant = any_grant(h);
  if (grant == nullptr) return;
  const Event granted = *grant;
  const int ended = std::max(static_cast<int>(granted.at_ns / kMs) + draw_.from(-40, 300), 4);
  h.push_back(command(granted, ended, "delete"));
  const auto use = [&](const char* what) {
    h.push_back(command(granted, std::max(ended + draw_.from(-20, 200), 4), what));
  };
  if (draw_.one_in(2)) use("extend");
  if (draw_.one_in(3)) use("acquire");
}

/// A document expires sooner or later than it should, or its acquiredAt changes.
void Spoiler::misdate(History& h) {
  Event* put = draw_.pick(h, Kind::put);
  if (put == nullptr) return;
  if (draw_.one_in(3)) {
    put->acquired_at_ms += draw_.any_of({-1, 1, 500});
  } else {
    put->expires_at_ms += draw_.any_of({-500, -1, 1, 500});
  }
}

void Spoiler::store_another_token(History& h) {
  Event* put = draw_.pick(h, Kind::put);
  if (put != nullptr) put->stored_token += draw_.any_of({-150, -1, 1, 150});
}

}  // namespace leasehold::properties
