#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.hpp"
#include "runtime/own_ids.hpp"
#include "runtime/threads/callbacks.hpp"
#include "runtime/threads/clock.hpp"
#include "runtime/threads/executor.hpp"
#include "runtime/threads/timers.hpp"
#include "runtime/threads/workers.hpp"

namespace leasehold::runtime {

/// Commands that the core is not notified of: reads of lock documents, for people or as a hint for
/// what to ask next, and those of an administrator. It knows which are under way and which caller
/// waits for each; no decision about a held lock hangs on one.
///
/// INVARIANT: each is answered once: by its reply, or when its time is over, whichever is first.
/// Thread safety: all calls from any thread.
class Reads {
 public:
  /// `available`: the documents are those of the production lock, which this can read.
  Reads(bool available, std::shared_ptr<const Clock> clock, std::shared_ptr<Executor> executor,
        Workers& workers, Timers& timers, Callbacks& callbacks);

  [[nodiscard]] bool available() const { return available_; }

  /// Reads the holder of a lock. Waits for the reply as long as it may take.
  core::Reply inspect(const std::string& name, std::chrono::milliseconds timeout) {
    return ask(core::InspectCommand{name}, timeout);
  }
  /// The same for any command.
  core::Reply ask(decltype(core::Command::body) body, std::chrono::milliseconds timeout);

  /// Reads the holders of these locks, and until when; `done` is called as Callbacks calls.
  void look_at(std::vector<std::string> names, std::chrono::milliseconds timeout,
               std::function<void(core::Reply)> done);

  /// A worker brings the reply to a command of ours.
  void replied(core::CommandId command, core::Reply reply);
  /// The time of a look is over.
  void timed_out(core::CommandId command);

 private:
  void looked(core::CommandId command, core::Reply reply);

  const bool available_;
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<Executor> executor_;
  Workers& workers_;
  Timers& timers_;
  Callbacks& callbacks_;

  std::mutex mutex_;  // protects the rest
  core::CommandId last_ = kOwnIds;
  std::map<core::CommandId, std::optional<core::Reply>> asked_;  ///< under way
  std::condition_variable answered_;
  std::map<core::CommandId, std::function<void(core::Reply)>> looks_;  ///< under way
};

}  // namespace leasehold::runtime
