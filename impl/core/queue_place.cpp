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

void QueuePlace::shown(const LockDocument& document, Owner owner, FencingToken at) {
  before_ = place_in(document.queue, owner);
  if (stands()) stood_at_ = at;
}

}  // namespace leasehold::core
