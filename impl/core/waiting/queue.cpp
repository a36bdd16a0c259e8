#include <algorithm>
#include <leasehold/waiting.hpp>

#include "core/waiting/random_span.hpp"

namespace leasehold::inline v0_1 {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Most waits are over before that, and then cost no renewal.
constexpr nanoseconds kShortestRenewal = milliseconds(500);
/// The pause is the wait so far divided by this: a lost place costs at most that much again.
constexpr int kRenewals = 2;

/// The shortest pause of a call that found no room: long enough for some turns, so that the next
/// look tells how fast the queue moves. Spread, because calls that ask at once find none together.
constexpr nanoseconds kShortestLook = milliseconds(100), kLongestLook = milliseconds(300);

nanoseconds until_room(nanoseconds room_in, std::uint64_t random) {
  return std::max(room_in, core::random_span(kShortestLook, kLongestLook, random));
}

/// A call that is not notified, or found neither a place nor a full queue, pauses adaptively.
class QueueWaiting final : public WaitingStrategy {
 public:
  explicit QueueWaiting(nanoseconds longest) : longest_(longest) {}

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    return std::min(seen.room_in ? until_room(*seen.room_in, random)
                                 : otherwise_->pause(seen, random),
                    longest_);
  }
  nanoseconds longest_pause() const override { return longest_; }
  std::optional<nanoseconds> next_pace(const AttemptSeen& seen, bool won) const override {
    return otherwise_->next_pace(seen, won);
  }
  std::optional<nanoseconds> renewal(nanoseconds waited) const override {
    return std::min(std::max(waited / kRenewals, kShortestRenewal), longest_);
  }

 private:
  const std::shared_ptr<const WaitingStrategy> otherwise_ = adaptive_waiting();
  nanoseconds longest_;
};

}  // namespace

/// `longest` bounds every pause of it, also those of the strategy that it falls back to.
std::shared_ptr<const WaitingStrategy> queue_waiting(milliseconds longest) {
  return std::make_shared<QueueWaiting>(std::max(core::bounded_pause(longest), milliseconds(1)));
}

}  // namespace leasehold
