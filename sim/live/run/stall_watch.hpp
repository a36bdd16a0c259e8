#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/history/history.hpp"

namespace leasehold::sim::live {

/// The standstills of a thread that should run every few ms. A short one is an everyday matter,
/// unless many come close together: a container with a quarter of a processor stands still for some
/// 75 ms in each of the kernel's periods of 100 ms. Pure.
class Standstills {
 public:
  struct Span {
    std::int64_t from_ns = 0, to_ns = 0;
  };
  static constexpr std::int64_t kLongFrom_ns = 100'000'000;
  /// The thread should have run from `span.from_ns` on. Returns those that count and were not
  /// returned before: the long ones, and all of the last second once they are more than a fifth.
  [[nodiscard]] std::vector<Span> add(const Span& span) {
    constexpr std::int64_t kShortFrom_ns = 10'000'000;
    constexpr std::int64_t kWindow_ns = 1'000'000'000, kMuch_ns = kWindow_ns / 5;
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

 private:
  struct Standstill {
    Span span;
    bool returned = false;
  };
  std::deque<Standstill> last_;  ///< of the last second
};

/// The `stall` event of this standstill, of no process.
[[nodiscard]] inline model::Event stall_of(const std::string& victim,
                                           const Standstills::Span& span) {
  return {.at_ns = span.to_ns,
          .kind = model::Kind::stall,
          .victim = victim,
          .from_ns = span.from_ns};
}

/// Says as soon as they count when threads of this process that should run every few ms did not:
/// one that sleeps for a moment and wakes much later was not let run; nor were others. It has two,
/// because the kernel may let one processor of a container run while another is out of time. So the
/// same standstill may be said twice.
class StandstillWatch {
 public:
  /// Watches from now on. `note` is called on any thread.
  StandstillWatch(const std::function<std::int64_t()>& now_ns,
                  const std::function<void(const Standstills::Span&)>& note) {
    constexpr std::chrono::milliseconds kTick{5};
    constexpr int kWatchers = 2;
    for (int i = 0; i < kWatchers; ++i) {
      threads_.emplace_back([now_ns, note, kTick](const std::stop_token& stop) {
        Standstills standstills;
        for (auto last = now_ns(); !stop.stop_requested();) {
          std::this_thread::sleep_for(kTick);
          const auto now = now_ns();
          const auto due = last + std::chrono::nanoseconds(kTick).count();
          for (const auto& span : standstills.add({due, now})) note(span);
          last = now;
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

/// For how long a thread of a process stood still because it waited for a processor, or for a disk:
/// a page of the program that was dropped from memory, or swap, has to come back. Its other threads
/// run on, and those that only tick are let run at once, so no other watch notices. Linux says it
/// in /proc/PID/task/TID (proc(5): `stat`, `schedstat`). Not thread-safe.
class ThreadWaits {
 public:
  explicit ThreadWaits(std::string tasks = "/proc/self/task") : tasks_(std::move(tasks)) {}

  /// Looks once. The longest wait that has ended since the last look. A wait for a disk begins when
  /// it is first seen; `disks`: whether to look for these too, which costs more.
  [[nodiscard]] std::optional<Standstills::Span> look(std::int64_t now_ns, bool disks) {
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

 private:
  static std::string first_line(const std::filesystem::path& file) {
    std::string line;
    std::getline(std::ifstream(file), line);
    return line;
  }
  /// The state stands after the name, which is in parentheses and may contain some itself.
  static bool waits_for_a_disk(const std::string& stat) {
    const auto name_ends = stat.rfind(')');
    return name_ends != std::string::npos && stat.compare(name_ends, 3, ") D") == 0;
  }

  struct Thread {
    std::int64_t waited_ns = 0;  ///< for a processor, so far
    std::int64_t disk_ns = 0;    ///< it waits for a disk since then; 0: it does not
    std::string ran;             ///< by then, as `schedstat` has it: the same as long as it waits
  };

  const std::string tasks_;
  std::map<std::string, Thread> threads_;
};

}  // namespace leasehold::sim::live
