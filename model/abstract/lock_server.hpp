#pragma once

#include <vector>

#include "model/abstract/arrow_log.hpp"
#include "model/abstract/lock_world.hpp"

namespace leasehold::model {

/// The replica set of the abstract lock: how a primary executes a command, what a majority commits,
/// and what a failover rolls back. It decides by the document, the rules of the sending client and
/// the primary's own clock. It reads the messages of clients, and their state only to check what
/// they still count on.
///
/// INVARIANT: a document that is `dirty` differs from `committed`; a failover restores `committed`.
///
/// Thread-safe: all of it changes the world that it is given, and the log.
class LockServer {
 public:
  using World = lock_world::World;
  using Message = lock_world::Message;

  /// REQUIRES: both outlive it.
  LockServer(const Scope& scope, arrow::Log& arrows) : scope_(scope), arrows_(arrows) {}

  /// A majority has the last write: replies that waited for it may be heard.
  static void commit(World& w);
  /// Another member becomes primary, with another clock. A write without a majority is rolled back;
  /// a client that awaits a majority gets no reply to it.
  void fail_over(World& w) const;
  /// Logs the document if it expires by the primary's clock with the next tick.
  void run_out(const World& w) const;
  /// The TTL monitor deletes the document.
  void ttl_pass(World& w) const;

  /// How a command comes to be executed.
  struct How {
    bool stale = false;      ///< by the old primary
    int waited = 0;          ///< ticks ago it started, and read the clock
    bool clock_off = false;  ///< the wall clock of its sender is off
  };
  /// Client i's request in slot k becomes its reply.
  void execute(World& w, int i, int k, How how) const;
  /// Adds the answers of the old primary to a client that awaits a majority, besides none.
  void answers_by_stale(const World& w, const Rules& rules, const Message& m,
                        std::vector<Message>& out) const;

 private:
  using Byte = lock_world::Byte;
  using Document = lock_world::Document;

  void execute_acquire(World& w, int i, Message& m, Document& d, How how) const;
  void execute_renewal(World& w, int i, Message& m, Document& d, How how) const;
  void execute_hand_over(World& w, int i, Message& m, Document& d, int waited) const;
  void execute_extend(World& w, int i, Message& m, Document& d, int waited) const;
  void execute_delete(World& w, int i, Message& m, Document& d, int waited) const;
  void refuse_attempt(World& w, int i, Message& m, Document& d, int waited) const;
  void refuse(Message& m, const Rules& rules, const Document& d) const;
  void take(World& w, Message& m, Document& d, const Rules& rules, int until) const;
  void enlist(const Message& m, Document& d, int waited) const;
  bool pass_on(World& w, Document& d, const Rules& rules, int waited) const;
  Byte token_for(World& w, const Rules& rules, const Document& d, Byte order, bool stale) const;
  void wrote(World& w, const Document& before) const;
  void check_grant(World& w, int i, const Document& before) const;
  void violate(World& w, int violation) const;
  [[nodiscard]] int margin(const Rules& rules, bool extension) const;
  [[nodiscard]] int waiter_margin(const Rules& rules) const;

  const Scope& scope_;
  arrow::Log& arrows_;
};

}  // namespace leasehold::model
