#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.hpp"
#include "runtime/threads/callbacks.hpp"
#include "runtime/threads/clock.hpp"
#include "runtime/threads/executor.hpp"
#include "runtime/threads/timers.hpp"
#include "runtime/threads/workers.hpp"

namespace leasehold::runtime {

/// What is done for callers beside the core: commands that it is not notified of, which are reads
/// of lock documents, for people or as a hint for what to ask next, and those of an administrator;
/// and functions to be called at a time to come. It knows which are under way and which caller
/// waits for each; no decision about a held lock hangs on one.
///
/// INVARIANT: each is answered once: by its reply, or when its time has come, whichever is first;
/// or it is forgotten before.
/// Thread safety: all calls from any thread.
class Errands {
 public:
  /// `available`: the documents are those of the production lock, which this can read. Functions
  /// are called as `callbacks` calls.
  Errands(bool available, std::shared_ptr<const Clock> clock, std::shared_ptr<Executor> executor,
          Workers& workers, Timers& timers, Callbacks& callbacks);

  [[nodiscard]] bool reads() const { return available_; }

  /// Waits for the reply as long as it may take.
  core::Reply ask(decltype(core::Command::body) body, std::chrono::milliseconds timeout);

  /// Reads the holders of these locks, and until when.
  void look_at(std::vector<std::string> names, std::chrono::milliseconds timeout,
               std::function<void(core::Reply)> done);

  /// The number by which to forget it; never 0.
  std::uint64_t call_at(core::LocalInstant at, Callbacks::Function function);
  /// Not called any more, if it was not on its way already.
  void forget(std::uint64_t call);

  /// A worker brings the reply to a command of ours.
  void replied(core::CommandId command, core::Reply reply);
  /// The time of a look is over, or that of a call has come.
  void due(std::uint64_t errand);

 private:
  std::uint64_t expect(std::function<void(core::Reply)> done, core::LocalInstant at);
  void end(std::uint64_t errand, core::Reply reply);

  const bool available_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<Executor> executor_;
  Workers& workers_;
  Timers& timers_;
  Callbacks& callbacks_;

  std::mutex mutex_;  // protects the rest
  std::uint64_t last_ = kOwnIds;
  std::map<core::CommandId, std::optional<core::Reply>> asked_;  ///< under way
  std::condition_variable answered_;
  std::map<std::uint64_t, std::function<void(core::Reply)>> expected_;  ///< each has its timer set
};

}  // namespace leasehold::runtime
