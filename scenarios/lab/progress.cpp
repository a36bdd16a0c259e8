#include "scenarios/lab/lab.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "cli/inherited.hpp"
#include "properties/generation/plan_generator.hpp"

namespace leasehold::lab {

namespace {

/// "pause, 2 slow-link, +3"
std::string faults_in(const std::map<std::string, int>& faults, std::size_t width) {
  std::string out;
  std::size_t left = faults.size();
  for (const auto& [kind, count] : faults) {
    auto more = (out.empty() ? "" : ", ") + (count > 1 ? fmt::format("{} ", count) : "") + kind;
    const auto rest = --left > 0 ? fmt::format(", +{}", left) : "";
    if (out.size() + more.size() + rest.size() > width) {
      const auto others = fmt::format("{}+{}", out.empty() ? "" : ", ", left + 1);
      return out.size() + others.size() > width ? out : out + others;
    }
    out += more;
  }
  return out;
}

}  // namespace

std::string to_line(const sim::live::Progress& p, int seconds, std::int64_t violations,
                    std::size_t width) {
  std::vector<std::string> parts{fmt::format("{:>4.0f}/{} s", p.elapsed_s, seconds),
                                 fmt::format("{} acquisitions", p.acquisitions)};
  if (violations > 0) parts.push_back(fmt::format("{} violations", violations));
  parts.push_back(p.phase);
  std::string line;
  for (const auto& part : parts) {
    const auto gap = line.empty() ? "" : "  ";
    if (line.size() + 2 + part.size() > width) return line.empty() ? part.substr(0, width) : line;
    line += gap + part;
  }
  if (p.active.empty() || line.size() + 2 > width) return line;
  const auto faults = faults_in(p.active, width - line.size() - 2);
  return faults.empty() ? line : line + ": " + faults;
}

std::string minimising_line(double elapsed_s) {
  return fmt::format("minimising the failing plan: {:.0f} of at most {} s", elapsed_s,
                     properties::kMinimisingLimit.count());
}

void StatusLine::show(const std::string& line, double elapsed_s) {
  if (!terminal_ && elapsed_s < next_s_) return;
  next_s_ = elapsed_s + 10;
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\x1b[K" : "",
             line.substr(0, line_width(STDERR_FILENO)), terminal_ ? "" : "\n");
  std::fflush(stderr);
}

void StatusLine::end() const {
  if (terminal_) fmt::print(stderr, "\r\x1b[K");
}

sim::Plan minimised(const sim::Plan& plan, const std::function<bool(const sim::Plan&)>& fails) {
  const auto began = std::chrono::steady_clock::now();
  StatusLine line;
  return properties::minimise(plan, [&](const sim::Plan& candidate) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
    line.show(minimising_line(elapsed.count()), elapsed.count());
    return elapsed <= properties::kMinimisingLimit && fails(candidate);
  });
}

std::size_t line_width(int descriptor) {
  constexpr std::size_t kUsual = 79;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return kUsual;
  return size.ws_col - 1u;  // a full line is wrapped by some
}

namespace {

// A signal handler may write what is free of locks.
std::atomic<std::int64_t> came_s = 0;  ///< when the first came; 0: none did
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_s() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec;
}

/// timeout and sudo send one signal twice at once: that is no second request.
void note(int number) {
  constexpr std::int64_t kTogether_s = 2;
  std::int64_t first = 0;
  if (came_s.compare_exchange_strong(first, now_s()) || now_s() - first < kTogether_s) return;
  signal(number, SIG_DFL);
  raise(number);
}

}  // namespace

void catch_interruptions() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    if (!cli::was_ignored(number)) signal(number, note);
  }
}

bool interrupted() { return came_s != 0; }

}  // namespace leasehold::lab
