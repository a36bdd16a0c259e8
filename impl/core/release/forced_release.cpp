#include "core/release/forced_release.hpp"

#include <algorithm>

namespace leasehold::core {
namespace {

using std::chrono::milliseconds;

/// How long held() may still be true for its holder: its lease, or, for other software, what is
/// left by the server's clock, because no more is known of that.
milliseconds longest_rest(const LockDocument& seen) {
  const auto id = parse_lock_id(seen.lock_id);
  if (id) return milliseconds(id->lease_ms);
  return milliseconds(seen.expires_at.since_1970_ms - seen.read_at.since_1970_ms);
}

/// Whether this lease was written by a forced release, and has the drift of one already: others
/// that take the lock from that one must not make it longer each time.
bool has_its_drift(const LockDocument& seen) {
  const auto id = parse_lock_id(seen.lock_id);
  return id && id->holder == kForcedHolder && milliseconds(id->lease_ms) < kMaxExpiry;
}

}  // namespace

std::optional<ForcedRelease> forced_release(const LockDocument& seen, Owner fresh) {
  const auto rest = longest_rest(seen);
  if (!seen.corruption.empty() || rest > kMaxExpiry) return std::nullopt;
  // The holder has taken off its own drift; the administrator's clock may run fast by the largest.
  const Duration drift = has_its_drift(seen) ? Duration(0) : drift_of(rest, kMaxDrift);
  const auto wait = std::max(std::chrono::ceil<milliseconds>(rest + drift), kMinExpiry);
  // No lockId names more than a day, which is the longest lease that the holder can have.
  const auto lease = std::min(wait, kMaxExpiry);
  return ForcedRelease{
      .take = {.session = 0,
               .name = seen.name,
               .owner = fresh,
               .lock_id = format_lock_id({fresh, lease.count(), 1, kForcedHolder}),
               .observed = seen.lock_id,
               .lease = wait,
               .margin = LockOptions().clock_margin},
      .wait = wait,
      .free = {.name = seen.name, .owner = fresh, .or_owner = {}, .offers = true}};
}

ForcedRelease::Taken ForcedRelease::taken(const Reply& reply) const {
  const bool ours = !reply.documents.empty() && reply.documents.front().lock_id == take.lock_id;
  if (!ours) return Taken::no;
  return reply.outcome == Outcome::done ? Taken::yes : Taken::unconfirmed;
}

/// A pass-on shows the document as it was before.
bool ForcedRelease::freed(const Reply& reply) const {
  return reply.outcome == Outcome::done && !reply.documents.empty() &&
         names_owner(reply.documents.front().lock_id, free.owner);
}

}  // namespace leasehold::core
