#pragma once

#include <condition_variable>
#include <functional>
#include <leasehold/leadership.hpp>
#include <mutex>
#include <optional>
#include <string>

#include "core/protocol.hpp"
#include "mongo/client/json_client.hpp"
#include "runtime/threads/executor.hpp"

namespace leasehold::sim {

/// A user of Leadership, in either world: it stands for election, and leads for one term, until its
/// work is done.
///
/// Thread safety: all calls from any thread. `run` blocks, by the executor's wait alone.
class Candidate {
 public:
  using Begun = std::function<void(FencingToken)>;

  /// `begun` is called by the work, on the thread of `run`.
  Candidate(Lock lock, runtime::Executor& executor, Begun begun);

  /// Returns when its term is over, or the candidate has given up or failed before it had one.
  void run();
  /// It stands for election no more, and begins no term. One that has begun goes on.
  void give_up();
  /// Its work is done.
  void end_term();

  [[nodiscard]] bool leads(FencingToken token) const { return leadership_.leading() == token; }
  [[nodiscard]] bool had_term() const;
  /// Fires when its term's lock is lost. REQUIRES: the term has begun.
  [[nodiscard]] std::stop_token lost() const;

 private:
  void work(const std::stop_token& stop, FencingToken token);

  runtime::Executor& executor_;
  const Begun begun_;
  std::stop_source stop_;
  mutable std::mutex mutex_;  // protects the next three
  std::condition_variable changed_;
  std::optional<std::stop_token> asked_;  ///< of the work, once a term has begun
  bool done_ = false;
  Leadership leadership_;
};

// What a process of a release without queues writes and reads, beside processes of this release.

/// The command as such a process sends it: it writes the lockId alone, and owners that queue in the
/// document lose their places. Null: unchanged.
[[nodiscard]] mongo::Json without_queue(const core::Command& command,
                                        const std::string& collection);

/// The reply as it reads it.
void hide_queue(core::Reply& reply);

}  // namespace leasehold::sim
