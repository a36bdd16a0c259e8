#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "sim/live/system/child_process.hpp"
#include "sim/live/system/mapped_file.hpp"

namespace leasehold::sim::live {

/// This machine's, since 1970.
[[nodiscard]] inline std::chrono::milliseconds real_time() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

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
  void set(std::chrono::nanoseconds ahead, std::int64_t fast_ppm = 0) {
    const auto now = real_ns();
    shown_before_ = block_->shown;
    ++block_->turn;
    block_->real_base_ns = now;
    block_->shown_base_ns = now + ahead.count();
    block_->rate_ppm = kMillion + fast_ppm;
    ++block_->turn;
  }

  /// How far ahead of real time it is.
  [[nodiscard]] std::chrono::nanoseconds ahead() const {
    if (block_->rate_ppm == 0) return {};
    const auto now = real_ns();
    const auto passed = static_cast<__int128>(now - block_->real_base_ns);
    const auto shown =
        block_->shown_base_ns + static_cast<std::int64_t>(passed * block_->rate_ppm / kMillion);
    return std::chrono::nanoseconds(shown - now);
  }
  [[nodiscard]] std::int64_t ahead_ms() const {  ///< rounded
    return std::chrono::round<std::chrono::milliseconds>(ahead()).count();
  }
  /// Whether its process asked since the clock was last set from here, and was shown a time that
  /// was not the real one.
  [[nodiscard]] bool was_shown() const { return block_->shown > shown_before_; }

  /// The environment, as NAME=VALUE, of a process that is to have this clock. Throws
  /// std::runtime_error if the shim is not where the build put it, or cannot be preloaded: ld.so
  /// divides LD_PRELOAD at spaces and colons, so from such a folder the shim is loaded by a link
  /// beside the clock's file.
  [[nodiscard]] std::string preload() const {
    const auto divided = [](const std::string& path) {
      return path.find_first_of(" :") != std::string::npos;
    };
    auto shim = beside_this_program("libleasehold_clock_shim.so");
    if (divided(shim)) {
      const auto link = file_ + ".so";
      if (divided(link)) {
        throw std::runtime_error("no clock can be moved: the paths of this program and of TMPDIR, "
                                 "'" + link + "', have a space or a colon; one of them must not");
      }
      std::error_code there;
      std::filesystem::create_symlink(shim, link, there);
      shim = link;
    }
    const char* given = std::getenv("LD_PRELOAD");
    return "LD_PRELOAD=" + shim + (given != nullptr ? ':' + std::string(given) : "");
  }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::string file_variable() const { return "LEASEHOLD_CLOCK_FILE=" + file_; }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  static std::int64_t real_ns() {
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  }
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
