#include "sim/live/member_clock.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "sim/live/child_process.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

std::int64_t real_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

MemberClock::MemberClock(const std::string& file) : file_(file) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const bool sized = fd >= 0 && ftruncate(fd, sizeof(Block)) == 0;
  void* mapped =
      !sized ? MAP_FAILED : mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (mapped == MAP_FAILED) throw std::runtime_error("clock file " + file + ": cannot be mapped");
  block_ =
      static_cast<Block*>(mapped);  // a new file is zeros, which is a clock that shows real time
}

MemberClock::MemberClock(MemberClock&& other) noexcept
    : file_(std::move(other.file_)), block_(std::exchange(other.block_, nullptr)) {}

MemberClock::~MemberClock() {
  if (block_ != nullptr) munmap(block_, sizeof(Block));
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

std::string MemberClock::preload() {
  return "LD_PRELOAD=" + beside_this_program("libleasehold_clock_shim.so");
}

}  // namespace leasehold::sim::live
