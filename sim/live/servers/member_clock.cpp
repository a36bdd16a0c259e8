#include "sim/live/servers/member_clock.hpp"

#include <time.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

std::int64_t real_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::chrono::milliseconds real_time() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(real_ns()));
}

void MemberClock::set(std::chrono::nanoseconds ahead) {
  const auto now = real_ns();
  write(now, now + ahead.count(), kMillion);
}

void MemberClock::drift(std::int64_t ppm) {
  const auto now = real_ns();
  write(now, shown_at(now), kMillion + ppm);
}

std::chrono::nanoseconds MemberClock::ahead() const {
  const auto now = real_ns();
  return std::chrono::nanoseconds(shown_at(now) - now);
}

std::int64_t MemberClock::shown_at(std::int64_t real) const {
  if (block_->rate_ppm == 0) return real;
  const auto passed = static_cast<__int128>(real - block_->real_base_ns);
  return block_->shown_base_ns + static_cast<std::int64_t>(passed * block_->rate_ppm / kMillion);
}

void MemberClock::write(std::int64_t real, std::int64_t shown, std::int64_t rate_ppm) {
  ++block_->turn;
  block_->real_base_ns = real;
  block_->shown_base_ns = shown;
  block_->rate_ppm = rate_ppm;
  ++block_->turn;
}

/// ld.so divides LD_PRELOAD at spaces and colons: from such a folder the shim is loaded by a link
/// beside the clock's file.
std::string MemberClock::preload() const {
  const auto divided = [](const std::string& path) {
    return path.find_first_of(" :") != std::string::npos;
  };
  auto shim = beside_this_program("libleasehold_clock_shim.so");
  if (divided(shim)) {
    const auto link = file_ + ".so";
    if (divided(link)) {
      throw std::runtime_error("no clock can be moved: the paths of this program and of TMPDIR, '" +
                               link + "', have a space or a colon; one of them must not");
    }
    std::error_code there;
    std::filesystem::create_symlink(shim, link, there);
    shim = link;
  }
  const char* given = std::getenv("LD_PRELOAD");
  return "LD_PRELOAD=" + shim + (given != nullptr ? ':' + std::string(given) : "");
}

}  // namespace leasehold::sim::live
