#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/virtual/commands/injected_errors.hpp"
#include "sim/virtual/servers/elections.hpp"

namespace leasehold::sim::simulated {

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

 protected:
  /// How often a wait for a majority ended without one.
  std::int64_t timed_out_ = 0;

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
