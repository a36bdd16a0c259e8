#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
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
  [[nodiscard]] std::vector<Span> add(const Span& span);

 private:
  struct Standstill {
    Span span;
    bool returned = false;
  };
  std::deque<Standstill> last_;  ///< of the last second
};

/// The `stall` event of this standstill, of no process.
[[nodiscard]] model::Event stall_of(const std::string& victim, const Standstills::Span& span);

/// Says as soon as they count when threads of this process that should run every few ms did not.
/// It has two, because the kernel may let one processor of a container run while another is out of
/// time. So the same standstill may be said twice.
class StandstillWatch {
 public:
  /// Watches from now on. `note` is called on any thread.
  StandstillWatch(const std::function<std::int64_t()>& now_ns,
                  const std::function<void(const Standstills::Span&)>& note);

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
  [[nodiscard]] std::optional<Standstills::Span> look(std::int64_t now_ns, bool disks);

 private:
  struct Thread {
    std::int64_t waited_ns = 0;  ///< for a processor, so far
    std::int64_t disk_ns = 0;    ///< it waits for a disk since then; 0: it does not
    std::string ran;             ///< by then, as `schedstat` has it: the same as long as it waits
  };

  const std::string tasks_;
  std::map<std::string, Thread> threads_;
};

}  // namespace leasehold::sim::live
