#pragma once

#include <atomic>
#include <memory>

#include "runtime/clock.hpp"

namespace leasehold::sim::live {

/// The clocks of a simulated process: its own clock runs off at a rate from the start on, its wall
/// clock by an offset that may change. Thread safety: all calls from any thread.
class WorkerClock final : public runtime::Clock {
 public:
  explicit WorkerClock(std::int64_t drift_ppm)
      : true_(runtime::boottime_clock()), began_ns_(true_ns()), drift_ppm_(drift_ppm) {}

  [[nodiscard]] core::LocalInstant now() const override {
    const auto passed = static_cast<__int128>(true_ns() - began_ns_);
    const auto shown = passed * (kMillion + drift_ppm_) / kMillion;
    return core::LocalInstant(core::Duration(began_ns_ + static_cast<std::int64_t>(shown)));
  }
  [[nodiscard]] core::WallInstant wall() const override {
    return {true_->wall().since_1970_ms + wall_offset_ms_};
  }

  void set_wall_offset(std::int64_t ms) { wall_offset_ms_ = ms; }

  /// The harness's clock.
  [[nodiscard]] std::int64_t true_ns() const { return true_->now().time_since_epoch().count(); }
  /// When this clock showed that time, by the harness's.
  [[nodiscard]] std::int64_t true_ns_of(std::int64_t shown_ns) const {
    const auto passed = static_cast<__int128>(shown_ns - began_ns_);
    return began_ns_ + static_cast<std::int64_t>(passed * kMillion / (kMillion + drift_ppm_));
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  const std::shared_ptr<const runtime::Clock> true_;
  const std::int64_t began_ns_, drift_ppm_;
  std::atomic<std::int64_t> wall_offset_ms_ = 0;
};

}  // namespace leasehold::sim::live
