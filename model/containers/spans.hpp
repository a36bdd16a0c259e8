#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace leasehold::model {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMs = 1'000'000;

/// Why a check cannot tell whether something was violated. It counts as excused, not as checked.
enum class Excuse : std::uint8_t { stall, disturbance, pause, slow, congestion, unread_oplog };
inline constexpr std::array kExcuses{"stalls",       "disturbances", "pauses",
                                     "slow servers", "congestion",   "an unread oplog"};

/// A span of harness time, in ns.
struct Span {
  std::int64_t from = 0;
  std::int64_t to = kNever;
  Excuse why = Excuse::stall;  ///< if something stood still in it: what is to blame
  [[nodiscard]] bool meets(const Span& other) const { return from < other.to && other.from < to; }
};

/// Spans of which those that overlap are one, with the reason of the first: a binary search finds
/// whether one meets another.
class MergedSpans {
 public:
  MergedSpans() = default;
  explicit MergedSpans(std::vector<Span> spans) {
    std::ranges::stable_sort(spans, {}, &Span::from);
    for (const Span& one : spans) {
      if (!all_.empty() && one.from < all_.back().to) {
        all_.back().to = std::max(all_.back().to, one.to);
      } else {
        all_.push_back(one);
      }
    }
  }
  /// The first that meets this one; null: none.
  [[nodiscard]] const Span* first_in(const Span& span) const {
    const auto first = std::ranges::partition_point(
        all_, [&](const Span& s) { return s.to <= span.from; });
    return first != all_.end() && first->from < span.to ? &*first : nullptr;
  }
  [[nodiscard]] bool meet(const Span& span) const { return first_in(span) != nullptr; }
  /// `latest`, put off by as long as these last between `from` and then: by then whatever stands
  /// still in them has had all the time that it had until `latest`.
  [[nodiscard]] std::int64_t put_off(std::int64_t from, std::int64_t latest) const {
    auto next = std::ranges::partition_point(all_, [&](const Span& s) { return s.to <= from; });
    for (; latest != kNever && next != all_.end() && next->from <= latest; ++next) {
      if (next->to == kNever) return kNever;
      latest += next->to - std::max(next->from, from);
    }
    return latest;
  }
  [[nodiscard]] const std::vector<Span>& all() const { return all_; }

 private:
  std::vector<Span> all_;
};

}  // namespace leasehold::model
