#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/link_rules.hpp"

namespace leasehold::sim::live {

/// A listener in front of each member. Learns from the first message of each connection who speaks:
/// a client by its application name, a member as "member-0/beat" (heartbeats, votes) or
/// "member-0/sync" (replication). Other peers have no name and no faults.
///
/// Thread safety: all calls from any thread. A rule is in force when `set` returns.
///
///     FaultProxy proxy;
///     const int advertised = proxy.add_member(27017);
///     proxy.set("p0.1", 0, {.hold_replies = true});  // its commands execute, and nothing comes
///     back
class FaultProxy {
 public:
  FaultProxy();
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  /// The members are numbered in this order. Gives the port that stands for this one.
  int add_member(int port);

  void set(const std::string& peer, int member, const LinkRule& rule);
  /// Resets the connections of this peer to this member: what waits is lost.
  void reset(const std::string& peer, int member);
  /// How often rules held, delayed or reset something of this peer to this member.
  [[nodiscard]] std::int64_t touched(const std::string& peer, int member) const;
  /// How many connections of this peer to this member are open.
  [[nodiscard]] int connections(const std::string& peer, int member) const;

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace leasehold::sim::live
