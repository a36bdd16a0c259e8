#include <algorithm>
#include <leasehold/stream_listener.hpp>

#include "core/waiting/random_span.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// No release takes less, as far as a turn is concerned. Longer ones count as the longest: an
/// attempt in vain then costs less than a lock left alone too long.
constexpr nanoseconds kShortestRelease = milliseconds(10), kLongestRelease = milliseconds(250);
/// Who lacks many more releases than this leaves all but so many alone, who lacks fewer hardly any:
/// whoever is next may have given up.
constexpr double kNear = 2;
/// The part of a release by which waiters that lack equally many differ.
constexpr int kSpread = 5;
/// What a refusal adds to the pace, of an attempt that the stream caused; what a win takes from it,
/// and as a part of the pace, without which paces would drift apart.
constexpr std::int64_t kAfterRefusal = Releases::kOne / 2, kAfterWin = Releases::kOne * 3 / 20;
constexpr int kPartAfterWin = 28;
/// The pauses without a stream.
constexpr nanoseconds kShortest = milliseconds(10), kLongest = milliseconds(800);
/// No more releases than this are waited for: then the safety net is the shorter way.
constexpr std::int64_t kMostReleases = 1'000;

/// So many releases, if each takes so long.
nanoseconds taking(double releases, nanoseconds each) {
  return nanoseconds(static_cast<std::int64_t>(releases * static_cast<double>(each.count())));
}

class PushWaiting final : public WaitingStrategy, private StreamListener {
 public:
  explicit PushWaiting(nanoseconds poll) : poll_(poll) {}

  nanoseconds pause(const AttemptSeen&, std::uint64_t random) const override {
    const auto longest = std::min(kLongest, poll_);
    return core::random_span(std::min(kShortest, longest), longest, random);
  }
  nanoseconds longest_pause() const override { return poll_; }
  const StreamListener* listener() const override { return this; }

 private:
  /// Spread over half of its length: calls that were refused together do not ask together.
  nanoseconds pause(std::uint64_t random) const override {
    return core::random_span(poll_ / 2, poll_, random);
  }

  std::optional<Releases> next_release_pace(const ReleasesHeard& heard, bool won) const override {
    if (!heard.woken || heard.releases == 0) return heard.pace;  // by chance, or by a new stream
    const auto pace = heard.pace.value_or(Releases()).parts;
    const auto next = won ? pace - kAfterWin - pace / kPartAfterWin : pace + kAfterRefusal;
    return Releases{std::clamp<std::int64_t>(next, 0, kMostReleases * Releases::kOne)};
  }

  /// Whoever has heard of as many releases as it usually takes tries at once; who lacks some leaves
  /// the lock alone for about as long as those take.
  nanoseconds turn(const ReleasesHeard& heard, std::uint64_t random) const override {
    const auto lacks = heard.pace.value_or(Releases()).parts - heard.releases * Releases::kOne;
    if (lacks <= 0) return nanoseconds(0);
    const double releases = static_cast<double>(lacks) / static_cast<double>(Releases::kOne);
    const auto each =
        std::clamp(heard.waited / std::max(heard.releases, 1), kShortestRelease, kLongestRelease);
    // One long holding says little of the next: never for long compared with what was waited.
    const auto longest = std::max(heard.waited / 2, taking(releases, kShortestRelease));
    const auto turn = std::min(taking(releases * releases / (releases + kNear), each), longest);
    return std::min(core::random_span(turn, turn + each / kSpread, random), poll_);
  }

  nanoseconds poll_;
};

}  // namespace

/// Below 1 ms the safety net would be a loop without a pause.
std::shared_ptr<const WaitingStrategy> push_waiting(milliseconds poll) {
  return std::make_shared<PushWaiting>(std::max(core::bounded_pause(poll), milliseconds(1)));
}

}  // namespace leasehold
