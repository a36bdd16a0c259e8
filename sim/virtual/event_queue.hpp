#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace leasehold::sim::simulated {

inline constexpr std::int64_t kMs = 1'000'000;  ///< times are in ns
inline constexpr std::int64_t kGrain = 1'000;   ///< and multiples of this

/// Virtual time: what is due runs in the order of its time, and of its asking where times are
/// equal.
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
    Due due = std::move(heap_.back());
    heap_.pop_back();
    now_ = due.time;
    ++ran_;
    due.run();
    return true;
  }

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
