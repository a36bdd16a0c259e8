#include "sim/live/run/stall_watch.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace leasehold::sim::live {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{5};
constexpr std::int64_t kTick_ns = std::chrono::nanoseconds(kTick).count();
constexpr std::int64_t kShortFrom_ns = 10'000'000;
constexpr std::int64_t kWindow_ns = 1'000'000'000, kMuch_ns = kWindow_ns / 5;
constexpr int kWatchers = 2;

std::string first_line(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

/// The state stands after the name, which is in parentheses and may contain some itself.
bool waits_for_a_disk(const std::string& stat) {
  const auto name_ends = stat.rfind(')');
  return name_ends != std::string::npos && stat.compare(name_ends, 3, ") D") == 0;
}

}  // namespace

std::vector<Standstills::Span> Standstills::add(const Span& span) {
  if (span.to_ns - span.from_ns < kShortFrom_ns) return {};
  last_.push_back({span});
  while (last_.front().span.to_ns < span.to_ns - kWindow_ns) last_.pop_front();
  std::int64_t lost_ns = 0;
  for (const auto& one : last_) lost_ns += one.span.to_ns - one.span.from_ns;
  std::vector<Span> count;
  for (auto& one : last_) {
    const bool is_long = one.span.to_ns - one.span.from_ns > kLongFrom_ns;
    if (one.returned || (!is_long && lost_ns <= kMuch_ns)) continue;
    one.returned = true;
    count.push_back(one.span);
  }
  return count;
}

model::Event stall_of(const std::string& victim, const Standstills::Span& span) {
  return {.at_ns = span.to_ns,
          .kind = model::Kind::stall,
          .victim = victim,
          .from_ns = span.from_ns};
}

/// A thread that sleeps for a moment and wakes much later was not let run; nor were others.
StandstillWatch::StandstillWatch(const std::function<std::int64_t()>& now_ns,
                                 const std::function<void(const Standstills::Span&)>& note) {
  for (int i = 0; i < kWatchers; ++i) {
    threads_.emplace_back([now_ns, note](const std::stop_token& stop) {
      Standstills standstills;
      for (auto last = now_ns(); !stop.stop_requested();) {
        std::this_thread::sleep_for(kTick);
        const auto now = now_ns();
        for (const auto& span : standstills.add({last + kTick_ns, now})) note(span);
        last = now;
      }
    });
  }
}

std::optional<Standstills::Span> ThreadWaits::look(std::int64_t now_ns, bool disks) {
  std::optional<Standstills::Span> longest;
  const auto waited_since = [&](std::int64_t from_ns) {
    if (!longest || from_ns < longest->from_ns) longest = {from_ns, now_ns};
  };
  std::map<std::string, Thread> seen;
  std::error_code gone;  // a thread may end at any time
  for (const auto& thread : std::filesystem::directory_iterator(tasks_, gone)) {
    const auto ran = first_line(thread.path() / "schedstat");
    std::int64_t ran_ns = 0, waited_ns = 0;
    std::istringstream(ran) >> ran_ns >> waited_ns;
    const auto id = thread.path().filename().string();
    auto before = threads_.extract(id);
    Thread one = before.empty() ? Thread{.waited_ns = waited_ns} : std::move(before.mapped());
    if (waited_ns > one.waited_ns) waited_since(now_ns - (waited_ns - one.waited_ns));
    one.waited_ns = waited_ns;
    if (disks) {
      const bool waits = waits_for_a_disk(first_line(thread.path() / "stat"));
      const bool ended = one.disk_ns != 0 && (!waits || one.ran != ran);
      if (ended) waited_since(std::exchange(one.disk_ns, 0));
      if (waits && one.disk_ns == 0) one.disk_ns = now_ns;
      one.ran = ran;
    }
    seen.emplace(id, std::move(one));
  }
  for (const auto& [id, ended] : threads_) {
    if (ended.disk_ns != 0) waited_since(ended.disk_ns);
  }
  threads_ = std::move(seen);
  return longest;
}

}  // namespace leasehold::sim::live
