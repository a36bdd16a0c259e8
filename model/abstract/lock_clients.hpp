#pragma once

#include "model/abstract/arrow_log.hpp"
#include "model/abstract/lock_world.hpp"

namespace leasehold::model {

/// The clients of the abstract lock: the steps that a client begins, and those that a message to it
/// begins. A client decides by the messages that it received and by its own clock. It never sees
/// the document.
///
/// INVARIANT: a client awaits the reply to at most one message; `awaited` names its slot.
///
/// LockSystem decides which of these may happen. Thread-safe: they change only the world that they
/// are given, and the log.
class LockClients {
 public:
  using World = lock_world::World;
  using Client = lock_world::Client;
  using Message = lock_world::Message;
  using Byte = lock_world::Byte;

  /// REQUIRES: both outlive it.
  LockClients(const Scope& scope, arrow::Log& arrows) : scope_(scope), arrows_(arrows) {}

  // The steps that a client begins. Messages go into slot k, which is free.
  void attempt(World& w, int i, int k) const;
  void extend(World& w, int i, int k) const;
  void release(World& w, int i, int k) const;
  /// Client i gives its lock to j; the command goes into a slot of j.
  void hand_over(World& w, int i, int j, int k) const;
  static void clean_up(Client& c, int k);
  /// Its process starts anew; the messages that it sent are still on their way.
  static void crash(Client& c);
  /// No reply comes: the outcome is unknown.
  void time_out(World& w, int i) const;
  void give_up(World& w, int i) const;
  /// Whether it would leave something to clean up. Between two answered attempts it leaves nothing.
  [[nodiscard]] static bool is_unsure(const Client& c) {
    return c.phase == lock_world::kAttempting || c.doubtful != 0 || c.giver != 0;
  }

  /// The reply in its slot k.
  void deliver(World& w, int i, int k) const;
  /// The notice of a grant.
  void hear(World& w, int i) const;
  /// Logs the leases that end by the holders' clocks with the next tick.
  void run_out(const World& w) const;

 private:
  void choose_owner(World& w, int i, bool asks) const;
  static void send(Client& c, int k, const Message& message);
  void refused(Client& c, const Rules& rules, const Message& m) const;
  void extended(World& w, int i, const Message& m) const;
  void no_match(Client& c, const Rules& rules) const;
  /// `counted`: the age of what its deadline counts from.
  void won(World& w, int i, const Message& m, Byte counted) const;
  void shown_to_the_resource(World& w, int i, const Message& m) const;

  const Scope& scope_;
  arrow::Log& arrows_;
};

}  // namespace leasehold::model
