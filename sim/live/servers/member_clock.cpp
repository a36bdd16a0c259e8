#include "sim/live/servers/member_clock.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

std::int64_t real_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::chrono::milliseconds real_time() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(real_ns()));
}

void MemberClock::set(std::chrono::nanoseconds ahead, std::int64_t fast_ppm) {
  const auto now = real_ns();
  shown_before_ = block_->shown;
  ++block_->turn;
  block_->real_base_ns = now;
  block_->shown_base_ns = now + ahead.count();
  block_->rate_ppm = kMillion + fast_ppm;
  ++block_->turn;
}

std::chrono::nanoseconds MemberClock::ahead() const {
  if (block_->rate_ppm == 0) return {};
  const auto now = real_ns();
  const auto passed = static_cast<__int128>(now - block_->real_base_ns);
  const auto shown =
      block_->shown_base_ns + static_cast<std::int64_t>(passed * block_->rate_ppm / kMillion);
  return std::chrono::nanoseconds(shown - now);
}

std::int64_t MemberClock::ahead_ms() const {
  return std::chrono::round<std::chrono::milliseconds>(ahead()).count();
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
