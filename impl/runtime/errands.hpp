#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "core/protocol.hpp"
#include "runtime/threads/executor.hpp"
#include "runtime/threads/workers.hpp"

namespace leasehold::runtime {

/// What is done for callers beside the core: commands that it is not notified of, which are reads
/// of lock documents for people, and those of an administrator. It knows which are under way; no
/// decision about a held lock hangs on one.
///
/// Thread safety: all calls from any thread.
class Errands {
 public:
  /// `available`: the documents are those of the production lock, which this can read.
  Errands(bool available, std::shared_ptr<Executor> executor, Workers& workers);

  /// Waits for the reply as long as it may take.
  core::Reply ask(decltype(core::Command::body) body, std::chrono::milliseconds timeout);

  /// A worker brings the reply to a command of ours.
  void replied(core::CommandId command, core::Reply reply);

 private:
  const bool available_;
  const std::shared_ptr<Executor> executor_;
  Workers& workers_;

  std::mutex mutex_;  // protects the rest
  std::uint64_t last_ = kOwnIds;
  std::map<core::CommandId, std::optional<core::Reply>> asked_;  ///< under way
  std::condition_variable answered_;
};

}  // namespace leasehold::runtime
