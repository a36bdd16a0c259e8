#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>

namespace leasehold::sim::simulated {

/// Times and spans are whole numbers of ns from the start of the run. Never floating point: it
/// rounds differently from one machine to the next, and the same plan must give the same bytes.
inline constexpr std::int64_t kMs = 1'000'000;  ///< times are in ns
/// Coarser than a ns so that a clock that is a few ppm off still shows a whole number of ns.
inline constexpr std::int64_t kGrain = 1'000;  ///< and multiples of this

/// Virtual time: due events run in the order of their times; at equal times, in the order in which
/// they were asked for.
///
/// An event cannot be withdrawn. Code that may change its mind gives it a number or a time and
/// compares when it runs (a member's `life`, a cursor's `asked`, a timer's due time).
///
/// INVARIANT: `now()` never goes back: what is asked for in the past runs now.
class EventQueue {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  [[nodiscard]] std::int64_t now() const { return now_; }

  void at(std::int64_t time, std::function<void()> run) {
    due_.emplace(std::pair(std::max(time, now_), ++asked_), std::move(run));
  }
  void after(std::int64_t span, std::function<void()> run) { at(now_ + span, std::move(run)); }

  /// Runs the next event. False when there is none. Throws if time stands still for a million.
  bool step() {
    if (due_.empty()) return false;
    // Taken out first: it may add events, and throw.
    const auto due = due_.extract(due_.begin());
    const auto time = due.key().first;
    at_once_ = time == now_ ? at_once_ + 1 : 0;
    constexpr int kMostAtOnce = 1'000'000;
    if (at_once_ > kMostAtOnce) {
      throw std::runtime_error("the run does not go on: a million events at one time");
    }
    now_ = time;
    ++ran_;
    due.mapped()();
    return true;
  }

  /// How many events ran: the cost of a run, independent of the machine.
  [[nodiscard]] std::uint64_t ran() const { return ran_; }

 private:
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> due_;  ///< by time, asked
  std::int64_t now_ = 0;
  std::uint64_t asked_ = 0, ran_ = 0;
  int at_once_ = 0;
};

}  // namespace leasehold::sim::simulated
