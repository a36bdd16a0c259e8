#include <algorithm>
#include <leasehold/waiting.hpp>

#include "core/waiting/random_span.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// What stands for one release in a pace; no release takes less. Longer ones count as the longest:
/// an attempt in vain then costs less than a lock left alone too long.
constexpr nanoseconds kSlot = milliseconds(10), kLongestSlot = milliseconds(250);
/// The pauses without a stream.
constexpr nanoseconds kShortest = milliseconds(10), kLongest = milliseconds(800);
/// No more releases than this are waited for: then the safety net is the shorter way.
constexpr int kMostSlots = 1'000;

/// The pace is a number of releases, each as long as a slot.
class PushWaiting final : public WaitingStrategy {
 public:
  explicit PushWaiting(nanoseconds poll) : poll_(poll) {}

  nanoseconds pause(const AttemptSeen& seen, std::uint64_t random) const override {
    if (seen.told) return core::random_span(poll_ / 2, poll_, random);
    const auto longest = std::min(kLongest, poll_);
    return core::random_span(std::min(kShortest, longest), longest, random);
  }
  nanoseconds longest_pause() const override { return poll_; }

  std::optional<nanoseconds> next_pace(const AttemptSeen& seen, bool won) const override {
    if (!seen.woken || seen.releases == 0) return seen.pace;  // by chance, or by a new stream
    const auto pace = seen.pace.value_or(nanoseconds(0));
    const auto next = won ? pace - kSlot / 2 : pace + kSlot;
    return std::clamp<nanoseconds>(next, nanoseconds(0), kMostSlots * kSlot);
  }

  bool wants_stream() const override { return true; }

  nanoseconds turn(const AttemptSeen& seen, std::uint64_t random) const override {
    const auto lacks = seen.pace.value_or(nanoseconds(0)) - seen.releases * kSlot;
    if (lacks <= nanoseconds(0)) return nanoseconds(0);
    // As long as so many releases take: a time at which nobody else has come forward.
    const auto each =
        seen.releases == 0 ? kSlot : std::clamp(seen.waited / seen.releases, kSlot, kLongestSlot);
    const auto turn = lacks / kSlot * each;
    return std::min(core::random_span(turn, turn + each, random), poll_);
  }

 private:
  nanoseconds poll_;
};

}  // namespace

std::shared_ptr<const WaitingStrategy> push_waiting(milliseconds poll) {
  return std::make_shared<PushWaiting>(std::max(poll, milliseconds(1)));
}

}  // namespace leasehold
