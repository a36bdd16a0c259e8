#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "model/history/history.hpp"

namespace leasehold::sim::live {

/// Measures the ground of a run: notes when the machine, or a member, stood still for longer than a
/// checker may blame on the lock.
///
/// Thread safety: `take` from any thread.
class StallWatch {
 public:
  struct Member {
    std::string name;
    int port = 0;
  };
  /// Watches from now on. `now_ns` is the harness's clock.
  StallWatch(std::vector<Member> members, std::function<std::int64_t()> now_ns);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  /// `stall` events since the last call, of no process; `name` says of what.
  [[nodiscard]] model::History take();

 private:
  void watch_machine(const std::stop_token& stop);
  void watch_member(const std::stop_token& stop, const Member& member);
  void note(const std::string& victim, std::int64_t from_ns, std::int64_t to_ns);

  const std::function<std::int64_t()> now_ns_;
  std::mutex mutex_;
  model::History stalls_;  ///< protected by mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace leasehold::sim::live
