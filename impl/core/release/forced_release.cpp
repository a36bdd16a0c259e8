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

}  // namespace

std::optional<ForcedRelease> forced_release(const LockDocument& seen, Owner fresh) {
  const auto rest = longest_rest(seen);
  if (!seen.corruption.empty() || rest > kMaxExpiry) return std::nullopt;
  // The drift twice over: of the holder's clock, and of the administrator's.
  const auto wait = std::max(rest + rest / 100, kMinExpiry);
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
      .free = {.name = seen.name, .owner = fresh, .or_owner = {}}};
}

ForcedRelease::Taken ForcedRelease::taken(const Reply& reply) const {
  const bool ours = !reply.documents.empty() && reply.documents.front().lock_id == take.lock_id;
  if (!ours) return Taken::no;
  return reply.outcome == Outcome::done ? Taken::yes : Taken::unconfirmed;
}

}  // namespace leasehold::core
