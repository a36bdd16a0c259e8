#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lock_handle.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/protocol.hpp"
#include "core/time.hpp"
#include "runtime/threads/executor.hpp"

namespace leasehold::detail {

/// What a LockHandle keeps: a runtime::Handle and nothing else. Shared pointers own it that were
/// made of a Handle's, so they destroy the whole.
class Holding {
 protected:
  Holding() = default;
};

}  // namespace leasehold::detail

namespace leasehold::runtime {

class Driver;

/// What a handle shares with its driver: until when it is held, and what became of it. It owns
/// nothing of the driver, so whichever thread drops it last destroys nothing else.
///
/// INVARIANT: once `remaining` was zero it is zero for ever: the deadline is then kOver, and an
/// extension that arrives later does not move it.
/// Thread safety: all calls from any thread.
class HandleState {
 public:
  using Released = std::function<void(ReleaseResult)>;

  HandleState(const core::Granted& granted, const LockOptions& options);

  [[nodiscard]] core::SessionId session() const { return session_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] FencingToken token() const { return token_; }
  [[nodiscard]] core::Room room() const { return room_; }
  [[nodiscard]] int slot() const { return slot_; }
  [[nodiscard]] std::stop_token lost() const { return lost_.get_token(); }

  /// Until when it is held, unless an extension moves that; long past once it is not.
  [[nodiscard]] core::LocalInstant deadline() const {
    return core::LocalInstant(std::chrono::nanoseconds(deadline_.load()));
  }
  /// The deadline that an extension sent at this time gives.
  [[nodiscard]] core::LocalInstant extended_at(core::LocalInstant sent) const;
  [[nodiscard]] const LockOptions& options() const { return options_; }
  [[nodiscard]] std::chrono::milliseconds operation_timeout() const {
    return options_.effective_operation_timeout();
  }

  struct Left {
    std::chrono::nanoseconds remaining{0};
    bool just_over = false;  ///< this question found the deadline passed: the first to
  };
  [[nodiscard]] Left left_at(core::LocalInstant now);
  /// An extension was confirmed; no effect if the handle has said no.
  void extend(core::LocalInstant deadline);
  /// From here on it is not held.
  void end() { deadline_.store(kOver); }
  void signal_lost() { lost_.request_stop(); }

  /// Whether this is the first request for the release. `then` gets the answer; it may be empty.
  [[nodiscard]] bool ask_release(Released then);
  /// The answer if there is one; otherwise `then` is taken, and gets it.
  [[nodiscard]] std::optional<ReleaseResult> when_released(Released& then);
  /// Returns the functions to call; every thread that waits for the answer gets it too.
  [[nodiscard]] std::vector<Released> answer_release(ReleaseResult result);
  ReleaseResult wait_for_release(Executor& executor);

  /// From here on the destruction of the handle does not wait for the release.
  void end_in_background() { ends_in_background_.store(true); }
  [[nodiscard]] bool ends_in_background() const { return ends_in_background_.load(); }

 private:
  static constexpr std::int64_t kOver = 0;

  const core::SessionId session_;
  const std::string name_;
  const FencingToken token_;
  const core::Room room_;
  const int slot_;
  const LockOptions options_;
  const core::LocalInstant ends_at_;  ///< no extension moves the deadline beyond this
  std::atomic<std::int64_t> deadline_;  ///< ns of the local clock, or kOver
  std::stop_source lost_;
  std::atomic<bool> ends_in_background_ = false;

  std::mutex mutex_;  // protects the rest
  std::condition_variable answered_;
  bool release_asked_ = false;
  std::vector<Released> then_;
  std::optional<ReleaseResult> result_;
};

/// What the holder of a lock has: the state, and the driver, which it keeps alive.
/// Thread safety: all calls from any thread.
class Handle : public detail::Holding {
 public:
  Handle(std::shared_ptr<Driver> driver, std::shared_ptr<HandleState> state)
      : driver_(std::move(driver)), state_(std::move(state)) {}

  [[nodiscard]] const std::string& name() const { return state_->name(); }
  [[nodiscard]] bool held() const { return remaining() > std::chrono::nanoseconds(0); }
  [[nodiscard]] std::chrono::nanoseconds remaining() const;
  /// Whether it stays held for so long, if need be by an extension that it waits for.
  [[nodiscard]] bool ensure(std::chrono::milliseconds least) const;
  [[nodiscard]] std::stop_token lost() const { return state_->lost(); }
  [[nodiscard]] FencingToken token() const { return state_->token(); }
  [[nodiscard]] core::Room room() const { return state_->room(); }
  [[nodiscard]] int slot() const { return state_->slot(); }
  [[nodiscard]] core::SessionId session() const { return state_->session(); }
  [[nodiscard]] const std::shared_ptr<Driver>& driver() const { return driver_; }

  /// Ends the holding at once and asks the driver to free the lock. Only the first call does
  /// something; its `then` is called with the answer, as users' functions are.
  void begin_release(HandleState::Released then = nullptr) const;
  /// The same, and waits for the answer. Later calls get the first one again.
  ReleaseResult release() const;
  /// Ends the holding at once; `answered` gets the state of a reader that has the lock from it.
  core::SessionId downgrade(
      std::function<void(Result<std::shared_ptr<HandleState>>)> answered) const;
  /// Begins the release and keeps the driver until its answer, which `done` gets, as users'
  /// functions are called; `done` may be empty. What is destroyed later does not wait for it.
  void release_async(HandleState::Released done) const;
  /// Its owner (a LockHandle) ends, maybe on a thread that must not wait.
  void let_go();
  void end_in_background() const { state_->end_in_background(); }

 private:
  std::shared_ptr<Driver> driver_;
  std::shared_ptr<HandleState> state_;
};

}  // namespace leasehold::runtime
