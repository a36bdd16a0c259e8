#include "core/queue_place.hpp"

#include <algorithm>

#include "core/lock_queue.hpp"

namespace leasehold::core {
namespace {

/// An entry is renewed by the next attempt that is answered. So many in a row without one would be
/// minutes; and a grant that names an older one is no more than a hint to ask.
constexpr std::size_t kAttemptsRemembered = 8;

}  // namespace

void QueuePlace::sent(std::uint64_t beat, LocalInstant now) {
  if (attempts_.size() == kAttemptsRemembered) attempts_.erase(attempts_.begin());
  attempts_.push_back({beat, now});
}

std::optional<LocalInstant> QueuePlace::sent_at(std::uint64_t beat) const {
  const auto found = std::find_if(attempts_.begin(), attempts_.end(),
                                  [beat](const Attempt& a) { return a.beat == beat; });
  return found == attempts_.end() ? std::nullopt : std::optional(found->sent);
}

void QueuePlace::shown(const LockDocument& document, Owner owner, FencingToken at,
                       LocalInstant now) {
  const auto owners = owners_in(document.queue);
  const bool stood = stands();
  before_ = place_among(owners, owner);
  if (stands()) stood_at_ = at;
  if (!stood) stands_since_ = now;
  // Each attempt enlists where there is room.
  if (stands() || owners.empty()) {
    full_.reset();
  } else {
    see_full(owners, now);
  }
}

/// A queue that moved by so many places in that time is served whole in as much for each place. One
/// that has not moved yet goes on being watched from when it was seen first. Where all are new, it
/// may have been served long ago: that takes no longer than was known, and no longer than so.
void QueuePlace::see_full(const std::vector<Owner>& owners, LocalInstant now) {
  const Full before = full_.value_or(Full{owners.back(), now, Duration(0)});
  if (!full_) full_ = before;
  const Duration since = now - before.seen;
  const auto places = static_cast<int>(owners.size());
  const bool known = before.lasts > Duration(0);
  const auto left = place_among(owners, before.last);
  if (!left) {
    full_ = Full{owners.back(), now, known ? std::min(before.lasts, since) : since};
  } else if (const int moved = places - static_cast<int>(*left) - 1; moved > 0) {
    // Who left the queue and came again stands last, too, as if it had hardly moved.
    const Duration lasts = since / moved * places;
    full_ = Full{owners.back(), now, known ? std::min(lasts, 2 * before.lasts) : lasts};
  }
}

}  // namespace leasehold::core
