#pragma once

#include <sys/types.h>

#include <cstdint>

#include "core/time.hpp"

namespace leasehold::cli {

/// A process of its own that ends a process group with SIGKILL: at a deadline, and at once when
/// this process is gone, however it ended. So the group ends also while this process is stopped or
/// was killed itself. It uses system calls only, so it may be forked beside threads.
class Guard {
 public:
  /// Throws Failure if there can be none.
  explicit Guard(pid_t group);
  ~Guard() { dismiss(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// The group may live until then, by CLOCK_BOOTTIME, on which leases run. Without a first call it
  /// may live as long as this process.
  void set_deadline(core::LocalInstant at);
  /// The group is to be left alone; returns when the guard is gone.
  void dismiss();

 private:
  void tell(std::int64_t value) const;

  int pipe_ = -1;
  pid_t pid_ = -1;
};

}  // namespace leasehold::cli
