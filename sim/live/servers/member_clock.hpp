#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "sim/live/system/mapped_file.hpp"

namespace leasehold::sim::live {

/// This machine's, since 1970.
[[nodiscard]] std::chrono::milliseconds real_time();

/// The wall clock of one mongod, which runs with the clock shim (clock_shim.c): moved from here
/// while it runs. A change acts at once. Not thread-safe.
///
///     MemberClock clock(folder + "/27017.clock");  // before the mongod starts, with environment()
///     clock.set(30s, 4'000);                       // 30 s ahead of real time, and 0.4 % fast
class MemberClock {
 public:
  /// Opens the file, or makes it, with a clock that shows real time. Throws std::runtime_error.
  explicit MemberClock(const std::string& file) : file_(file), block_("clock file", file) {}

  /// From now on it is this far ahead of real time, and runs fast by this rate.
  void set(std::chrono::nanoseconds ahead, std::int64_t fast_ppm = 0);
  /// How far ahead of real time it is.
  [[nodiscard]] std::chrono::nanoseconds ahead() const;
  [[nodiscard]] std::int64_t ahead_ms() const;  ///< rounded
  /// Whether its process asked since the clock was last set from here, and was shown a time that
  /// was not the real one.
  [[nodiscard]] bool was_shown() const { return block_->shown > shown_before_; }

  /// The environment, as NAME=VALUE, of a process that is to have this clock. Throws
  /// std::runtime_error if the shim is not where the build put it, or cannot be preloaded.
  [[nodiscard]] std::string preload() const;
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string file_variable() const { return "LEASEHOLD_CLOCK_FILE=" + file_; }

 private:
  /// As the shim reads it.
  struct Block {
    std::atomic<std::uint64_t> turn;
    std::atomic<std::int64_t> real_base_ns, shown_base_ns, rate_ppm;
    std::atomic<std::uint64_t> shown;
  };
  std::string file_;
  std::uint64_t shown_before_ = 0;
  MappedFile<Block> block_;  ///< zeros: real time
};

}  // namespace leasehold::sim::live
