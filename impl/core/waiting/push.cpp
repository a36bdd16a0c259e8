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
/// Who lacks many more releases than this leaves all but so many alone, who lacks fewer hardly any:
/// whoever is next may have given up.
constexpr double kNear = 2;
/// The part of a release by which waiters that lack equally many differ.
constexpr int kSpread = 5;
/// What a refusal adds to the pace; what a win takes from it, in the same unit and as a part of the
/// pace, without which paces would drift apart.
constexpr nanoseconds kAfterRefusal = kSlot / 2, kAfterWin = kSlot * 3 / 20;
constexpr int kPartAfterWin = 28;
/// The pauses without a stream.
constexpr nanoseconds kShortest = milliseconds(10), kLongest = milliseconds(800);
/// No more releases than this are waited for: then the safety net is the shorter way.
constexpr int kMostSlots = 1'000;

/// How long it takes until a waiter who lacks some releases tries.
nanoseconds left_alone(nanoseconds lacks, nanoseconds each) {
  const double releases = static_cast<double>(lacks.count()) / static_cast<double>(kSlot.count());
  const double passed = releases * releases / (releases + kNear);
  return nanoseconds(static_cast<std::int64_t>(passed * static_cast<double>(each.count())));
}

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
    const auto next = won ? pace - kAfterWin - pace / kPartAfterWin : pace + kAfterRefusal;
    return std::clamp<nanoseconds>(next, nanoseconds(0), kMostSlots * kSlot);
  }

  bool wants_stream() const override { return true; }

  nanoseconds turn(const AttemptSeen& seen, std::uint64_t random) const override {
    const auto lacks = seen.pace.value_or(nanoseconds(0)) - seen.releases * kSlot;
    if (lacks <= nanoseconds(0)) return nanoseconds(0);
    const auto each = std::clamp(seen.waited / std::max(seen.releases, 1), kSlot, kLongestSlot);
    // One long holding says little of the next: never for long compared with what was waited.
    const auto longest = std::max(seen.waited / 2, lacks);
    const auto turn = std::min(left_alone(lacks, each), longest);
    return std::min(core::random_span(turn, turn + each / kSpread, random), poll_);
  }

 private:
  nanoseconds poll_;
};

}  // namespace

std::shared_ptr<const WaitingStrategy> push_waiting(milliseconds poll) {
  return std::make_shared<PushWaiting>(std::max(core::bounded_pause(poll), milliseconds(1)));
}

}  // namespace leasehold
