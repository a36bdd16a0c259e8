#pragma once

#include <atomic>
#include <condition_variable>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lock_handle.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "core/protocol.hpp"

namespace leasehold::runtime {

class Driver;

/// What a LockHandle shares with the driver: until when it may believe, and what became of it.
///
/// INVARIANT: once `held()` said false it says false for ever: the deadline is then kOver, and an
/// extension that arrives later does not move it.
/// Thread safety: all calls from any thread.
class Holding {
 public:
  Holding(std::shared_ptr<Driver> driver, core::SessionId session, FencingToken token,
          core::LocalInstant deadline);

  [[nodiscard]] bool held();
  [[nodiscard]] std::chrono::nanoseconds remaining();
  [[nodiscard]] std::stop_token lost() const { return lost_.get_token(); }
  [[nodiscard]] FencingToken token() const { return token_; }

  /// Ends the belief, asks the driver, waits for the answer. Once; later calls get the same answer.
  ReleaseResult release();

  // For the driver.
  void extend(core::LocalInstant deadline);
  void end() { deadline_.store(kOver); }
  void signal_lost() { lost_.request_stop(); }
  void answer_release(ReleaseResult result);

 private:
  static constexpr std::int64_t kOver = 0;

  const std::shared_ptr<Driver> driver_;
  const core::SessionId session_;
  const FencingToken token_;
  std::atomic<std::int64_t> deadline_;  ///< ns of the local clock, or kOver
  std::stop_source lost_;

  std::mutex mutex_;
  std::condition_variable answered_;
  bool release_asked_ = false;           ///< protected by mutex_
  std::optional<ReleaseResult> result_;  ///< protected by mutex_
};

}  // namespace leasehold::runtime
