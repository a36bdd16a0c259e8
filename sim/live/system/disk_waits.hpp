#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace leasehold::sim::live {

/// Whether a thread of a process stands still because a disk is busy: a page of the program that
/// was dropped from memory, or swap, has to come back. Its other threads run on, so no other watch
/// notices. Linux says it in /proc/PID/task/TID (proc(5): `stat`, `schedstat`). Not thread-safe.
class DiskWaits {
 public:
  explicit DiskWaits(std::string tasks = "/proc/self/task") : tasks_(std::move(tasks)) {}

  struct Wait {
    std::int64_t from_ns = 0, to_ns = 0;
  };
  /// Looks once. The longest wait that has ended since the last look, from when it was first seen.
  [[nodiscard]] std::optional<Wait> look(std::int64_t now_ns);

 private:
  struct Waiting {
    std::int64_t since_ns = 0;
    std::string ran;  ///< what it had run by then: the same, as long as it waits
  };

  const std::string tasks_;
  std::map<std::string, Waiting> waiting_;  ///< by thread
};

}  // namespace leasehold::sim::live
