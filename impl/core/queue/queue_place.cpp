#include "core/queue/queue_place.hpp"

#include <algorithm>

#include "core/document/lock_queue.hpp"

namespace leasehold::core {
namespace {

/// An entry is renewed by the next attempt that is answered. This many in a row without an answer
/// take minutes; and a grant that names an older one is no more than a hint to ask.
constexpr std::size_t kAttemptsRemembered = 8;

}  // namespace

/// The oldest makes room.
void QueuePlace::sent(std::uint64_t beat, LocalInstant now) {
  if (attempts_.size() == kAttemptsRemembered) attempts_.erase(attempts_.begin());
  attempts_.push_back({beat, now});
}

/// By the beat, which no other attempt of this provider has.
std::optional<LocalInstant> QueuePlace::sent_at(std::uint64_t beat) const {
  const auto found = std::find_if(attempts_.begin(), attempts_.end(),
                                  [beat](const Attempt& a) { return a.beat == beat; });
  return found == attempts_.end() ? std::nullopt : std::optional(found->sent);
}

/// A place that was lost, because the document was deleted or overwritten, is a new one when it is
/// found again: its time begins anew.
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

/// Estimate: places x (time / places moved), since the look that `full_` notes. A queue that has
/// not moved stays watched from that look. If the entry that was last then has gone, the estimate
/// is that time, at most the old estimate.
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
    // An owner that left the queue and came again is last too, as if the queue had hardly moved.
    const Duration lasts = since / moved * places;
    full_ = Full{owners.back(), now, known ? std::min(lasts, 2 * before.lasts) : lasts};
  }
}

}  // namespace leasehold::core
