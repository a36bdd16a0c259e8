#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "runtime/threads/clock.hpp"
#include "sim/faults/suspension.hpp"
#include "sim/live/system/mapped_file.hpp"

namespace leasehold::sim::live {

/// When a simulated process's machine was suspended. The harness writes it into a small file that
/// both map, while the process is stopped; the process's clock leaves these times out.
class SuspendedTimes {
 public:
  /// Opens the file, or makes it. Throws std::runtime_error.
  explicit SuspendedTimes(const std::string& file) : block_("file", file) {}

  /// REQUIRES: the process is stopped. Throws std::runtime_error when there is no room for more.
  void add(const Suspension& one) {
    const std::size_t count = block_->count;
    if (count == block_->spans.size()) {
      throw std::runtime_error("suspend: a process can be suspended " + std::to_string(count) +
                               " times and no more");
    }
    block_->spans[count] = one;
    block_->count = count + 1;
  }
  [[nodiscard]] std::span<const Suspension> all() const {
    return {block_->spans.data(), block_->count.load()};
  }

 private:
  struct Block {
    std::atomic<std::size_t> count;
    std::array<Suspension, 64> spans;
  };
  MappedFile<Block> block_;  ///< zeros: no suspension
};

/// The clocks of a simulated process: its own clock runs off at a rate from the start on, its wall
/// clock by an offset that may change. The first does not see its machine suspended. Thread safety:
/// all calls from any thread.
class WorkerClock final : public runtime::Clock {
 public:
  WorkerClock(std::int64_t drift_ppm, const std::string& suspended_file)
      : true_(runtime::boottime_clock()),
        suspended_(suspended_file),
        began_ns_(true_ns()),
        drift_ppm_(drift_ppm) {}

  [[nodiscard]] core::LocalInstant now() const override {
    const auto passed = static_cast<__int128>(ran_until(suspended_.all(), true_ns()) - began_ns_);
    const auto shown = passed * (kMillion + drift_ppm_) / kMillion;
    return core::LocalInstant(core::Duration(began_ns_ + static_cast<std::int64_t>(shown)));
  }
  [[nodiscard]] core::WallInstant wall() const override {
    return {true_->wall().since_1970_ms + wall_offset_ms_};
  }

  void set_wall_offset(std::int64_t ms) { wall_offset_ms_ = ms; }

  /// The harness's clock.
  [[nodiscard]] std::int64_t true_ns() const { return true_->now().time_since_epoch().count(); }
  /// The time of the harness's clock when this clock showed that time.
  [[nodiscard]] std::int64_t true_ns_of(std::int64_t shown_ns) const {
    const auto passed = static_cast<__int128>(shown_ns - began_ns_);
    const auto ran = static_cast<std::int64_t>(passed * kMillion / (kMillion + drift_ppm_));
    return true_time_of(suspended_.all(), began_ns_ + ran);
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  const std::shared_ptr<const runtime::Clock> true_;
  const SuspendedTimes suspended_;
  const std::int64_t began_ns_, drift_ppm_;
  std::atomic<std::int64_t> wall_offset_ms_ = 0;
};

}  // namespace leasehold::sim::live
