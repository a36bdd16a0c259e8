#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace leasehold::sim::simulated {

/// Times and spans are whole numbers of ns from the start of the run. Never floating point: it
/// rounds differently from one machine to the next, and the same plan must give the same bytes.
inline constexpr std::int64_t kMs = 1'000'000;  ///< times are in ns
/// Coarser than a ns so that a clock that is a few ppm off still shows a whole number of ns.
inline constexpr std::int64_t kGrain = 1'000;  ///< and multiples of this

/// Virtual time: what is due runs in the order of its time, and of its asking where times are
/// equal.
///
/// An event cannot be withdrawn. Who may change its mind gives it a number or a time and compares
/// when it runs (a member's `life`, a cursor's `asked`, a timer's due time).
///
/// INVARIANT: `now()` never goes back: what is asked for in the past runs now.
/// INVARIANT: the order is total. No two events compare equal, because `asked` differs, so the
/// heap, which is not stable, never decides.
class EventQueue {
 public:
  using Run = std::function<void()>;

  [[nodiscard]] std::int64_t now() const { return now_; }

  void at(std::int64_t time, Run run) {
    heap_.push_back({std::max(time, now_), ++asked_, std::move(run)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  void after(std::int64_t span, Run run) { at(now_ + span, std::move(run)); }

  /// Runs the next event. False when there is none.
  bool step() {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    // Taken out before it runs: it may add events, and so move the heap.
    Due due = std::move(heap_.back());
    heap_.pop_back();
    now_ = due.time;
    ++ran_;
    due.run();
    return true;
  }

  /// How many events there were: what a run cost, independent of the machine.
  [[nodiscard]] std::uint64_t ran() const { return ran_; }

 private:
  struct Due {
    std::int64_t time;
    std::uint64_t asked;
    Run run;
  };
  static bool later(const Due& a, const Due& b) {
    return a.time != b.time ? a.time > b.time : a.asked > b.asked;
  }

  std::vector<Due> heap_;
  std::int64_t now_ = 0;
  std::uint64_t asked_ = 0, ran_ = 0;
};

}  // namespace leasehold::sim::simulated
