#pragma once

#include <condition_variable>
#include <functional>
#include <leasehold/leadership.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/limits.hpp"
#include "core/protocol.hpp"
#include "mongo/client/json_client.hpp"
#include "runtime/threads/executor.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::sim {

/// A user of Leadership, in either world: it stands for election, and leads for one term, until its
/// work is done.
///
/// Thread safety: all calls from any thread. `run` blocks, by the executor's wait alone.
class Candidate {
 public:
  using Begun = std::function<void(FencingToken)>;

  /// `begun` is called by the work, on the thread of `run`. It waits as its lock says. No pause is
  /// left after the term, because `run` ends with it.
  Candidate(Lock lock, runtime::Executor& executor, Begun begun)
      : executor_(executor),
        begun_(std::move(begun)),
        leadership_(
            std::move(lock),
            [this](const std::stop_token& stop, FencingToken token) { work(stop, token); },
            {.on_ended = [this](const Term&) { stop_.request_stop(); }}) {}

  /// Returns when its term is over, or the candidate has given up or failed before it had one.
  void run() { (void)leadership_.run(stop_.get_token()); }
  /// It stands for election no more, and begins no term. One that has begun goes on.
  void give_up() {
    const std::lock_guard guard(mutex_);
    if (!asked_) stop_.request_stop();
  }
  /// Its work is done.
  void end_term() {
    const std::lock_guard guard(mutex_);
    done_ = true;
    changed_.notify_all();
  }

  [[nodiscard]] bool leads(FencingToken token) const { return leadership_.leading() == token; }
  [[nodiscard]] bool had_term() const {
    const std::lock_guard guard(mutex_);
    return asked_.has_value();
  }
  /// Fires when its term's lock is lost. REQUIRES: the term has begun.
  [[nodiscard]] std::stop_token lost() const {
    const std::lock_guard guard(mutex_);
    return *asked_;
  }

 private:
  /// It goes on after a loss as other users do, so that the laboratory sees what a late one would
  /// do.
  void work(const std::stop_token& stop, FencingToken token) {
    {
      const std::lock_guard guard(mutex_);
      if (stop_.stop_requested()) return;
      asked_ = stop;
    }
    begun_(token);
    std::unique_lock lock(mutex_);
    executor_.wait(lock, changed_, core::Duration::max(), [this] { return done_; });
  }

  runtime::Executor& executor_;
  const Begun begun_;
  std::stop_source stop_;
  mutable std::mutex mutex_;  // protects the next three
  std::condition_variable changed_;
  std::optional<std::stop_token> asked_;  ///< of the work, once a term has begun
  bool done_ = false;
  Leadership leadership_;
};

/// How the commands of a process differ from those of the production lock.
struct Changes {
  Sabotage sabotage = Sabotage::none;
  /// It is of a release without queues: it writes the lockId alone, and owners that queue in the
  /// document lose their places.
  bool old_release = false;
  std::size_t queue_room = core::kMostInQueue;
  bool operator==(const Changes&) const = default;
};

/// The command as such a process sends it. Null: unchanged.
[[nodiscard]] mongo::Json changed(const core::Command& command, const std::string& collection,
                                  const Changes& changes);

/// The reply as a process of such a release reads it.
void hide_queue(core::Reply& reply);

}  // namespace leasehold::sim
