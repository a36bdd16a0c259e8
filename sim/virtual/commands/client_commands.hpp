#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/virtual/servers/elections.hpp"

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

/// A command that a client sends. It arrives, and then waits this long inside the server before it
/// executes, with the clock as it was on arrival. Such a wait is for a lock of the storage, for
/// example: the command has been read, and $$NOW and maxTimeMS count from its arrival.
struct Request {
  std::shared_ptr<const Object> command;
  std::string tag = {};  ///< goes into the oplog's entry, for the harness
  std::int64_t waits_ns = 0;
  // A router has read its clock for $$NOW, and sends along the newest time it knows.
  std::optional<Date> now = {};
  Timestamp heard = {};
};

/// What a member does with a client's command: when it reads it, whether it executes it, what it
/// answers and when. `Collection` executes, `Replication` waits for majorities; what lies between
/// is here, and gives clients their unknown outcomes.
///
/// INVARIANT: a reply is called once: at once, later, or never if the member is stopped for ever.
class ClientCommands : public Elections {
 public:
  using Elections::Elections;

  void command(int member, Request request, ServerReply reply);
  /// Equal tokens are taken: one holder writes several times. Refused writes wait for a majority
  /// too.
  void fenced_write(int member, std::shared_ptr<const FencedWrite> write, ServerReply reply);

  /// Hits the next commands at any primary.
  InjectedErrors errors;
  /// How often a wait for a majority ended without one.
  std::int64_t wtimeouts = 0;

 private:
  /// A time of a member's wall clock, and the error when it comes first. This is no time of the
  /// queue, because a wall clock may be moved while a client waits for it.
  struct Deadline {
    std::int64_t wall_ns = 0;
    int code = 0;
  };
  /// A command that the member has read. The last two are fixed then, and kept while it waits
  /// inside.
  struct Arrived {
    int member;
    Request request;
    ServerReply reply;
    Date now;           ///< $$NOW of the command, unless a router says it
    Deadline max_time;  ///< by its maxTimeMS
  };
  using Command = std::shared_ptr<const Arrived>;

  // `as_primary`: the member took itself for the primary when it read the command.
  void arrive(int member, Request request, bool as_primary, ServerReply reply);
  void wait_inside(std::int64_t span_ns, bool as_primary, const Command& arrived);
  void serve(bool as_primary, const Command& arrived);
  void serve_stream(int member, const Object& command, ServerReply reply);
  void wait_for_majority(int member, Object answer, const Deadline& deadline, ServerReply reply);
  void end_waiting(int member, std::uint64_t waiter, int code);
  void answer(const Member& m, Object reply, const ServerReply& to);
  void set_times(Object& reply, Timestamp operation);

  Random others_{1};  ///< its own, so that the others' numbers stay as they are
  std::uint64_t last_waiter_ = 0;
};

}  // namespace leasehold::sim::simulated
