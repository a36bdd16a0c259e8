#pragma once

#include <optional>

#include "sim/virtual/commands/collection.hpp"

namespace leasehold::sim::simulated {

/// The effect of the fault `errors` on commands: decides which of the next ones fail and how, and
/// knows nothing of members.
///
/// As the server's fail point failCommand: an error before the execution, an error or a write
/// concern error after it. Two more replies are given although no real set sends them to these
/// commands (sim/README.md), because the lock has answers to them: one that a driver's retry
/// brought, and a duplicate key for an upsert that was raced.
///
/// The ways take turns and are not drawn: the fault has each effect in each run, and adds no
/// randomness to what a seed means.
class InjectedErrors {
 public:
  /// The next `count` commands of any client; 0 ends it. `executed`: they are executed all the
  /// same.
  void fail_next(int count, int code, bool executed) {
    left_ = count;
    code_ = code;
    executed_ = executed;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

  /// Whether this command fails. It is counted, and the next calls are about it.
  bool strikes() {
    if (left_ <= 0) return false;
    --left_;
    ++count_;
    return true;
  }
  /// Its answer, if that comes instead of an execution.
  [[nodiscard]] std::optional<Object> instead_of(const Object& command,
                                                 const Collection& locks) const;
  /// Whether it is as if the driver had sent it twice: the second reply tells of the first
  /// execution, with a time that is not its write's.
  [[nodiscard]] bool repeats(const Object& command, const Executed& executed) const;
  /// Executed, but the reply does not say so: it is an error, or a write concern's.
  [[nodiscard]] Object after(const Object& reply) const;

 private:
  int left_ = 0, code_ = 0;
  bool executed_ = false;
  std::int64_t count_ = 0;
};

}  // namespace leasehold::sim::simulated
