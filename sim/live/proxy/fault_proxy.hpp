#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/faults/cluster_control.hpp"

namespace leasehold::sim::live {

/// Bytes that a proxy passed on.
struct Traffic {
  std::int64_t to_members = 0, from_members = 0;
};

/// From `from_ns` to `to_ns` of the clock of histories a request of this peer had reached the proxy
/// of this member, and no answer had come back.
struct SlowAnswer {
  Link link;
  std::int64_t from_ns = 0, to_ns = 0;
};

/// A listener in front of each member. Learns the sender from the first message of each connection,
/// in MongoDB's protocol: a client by its application name, a member as "member-0/beat"
/// (heartbeats, votes) or "member-0/sync" (replication). Or it asks who the sender is, and then
/// passes any protocol on. Other peers have no name and no faults.
///
/// Thread safety: all calls from any thread. A rule is in force when `set` returns.
///
///     FaultProxy proxy;
///     const int advertised = proxy.add_member(27017);
///     proxy.set("p0.1", 0, {.hold_replies = true});  // its commands execute, and nothing comes
///     back
class FaultProxy {
 public:
  /// The sender of a connection from this port to that one, both of this machine; empty: unknown.
  using Sender = std::function<std::string(int from, int to)>;

  FaultProxy();
  /// Asks `sender`, on a thread of its own, once for each connection. As over a network, the end of
  /// one side reaches the other side once the rules let it, and all bytes before it. All that one
  /// member says to another is one link then, whether it is named "/beat" or "/sync".
  explicit FaultProxy(Sender sender);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  /// Members are numbered in this order. Returns the proxy's port for this member, which the set's
  /// configuration has to name.
  int add_member(int port);
  /// The same for a set that is configured with the members themselves, this one by `address`
  /// ("db1:27017"): what a member says of its set's addresses is changed on its way to a client.
  /// REQUIRES: all are added before clients connect.
  int add_member(const std::string& address);
  /// One more listener before a member, for another of its ports. Returns the proxy's.
  int add_port(int member, int port);

  void set(const std::string& peer, int member, const LinkRule& rule);
  /// Resets the connections of this peer to this member: what waits is lost.
  void reset(const std::string& peer, int member);
  /// How often rules held, delayed or reset something of this peer to this member.
  [[nodiscard]] std::int64_t touched(const std::string& peer, int member) const;
  /// The waits of 25 ms or more since the last call, those that go on included, of clients that
  /// said who they are.
  [[nodiscard]] std::vector<SlowAnswer> take_slow();
  /// What was passed on so far between this peer and this member.
  [[nodiscard]] Traffic traffic(const std::string& peer, int member) const;
  /// The same between all peers and all members.
  [[nodiscard]] Traffic traffic() const;
  /// The ports of this machine from which members were ever connected to. A member was reached past
  /// the proxies if it hears of a client from another port.
  [[nodiscard]] std::set<int> ports_used() const;

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

/// Links on which a proxy acts.
class ProxiedLinks : public LinkControl {
 public:
  /// REQUIRES: there is one.
  [[nodiscard]] virtual FaultProxy& proxy() = 0;

  void set_link_rule(const Link& link, const LinkRule& rule) override {
    proxy().set(link.peer, link.member, rule);
  }
  void reset_link(const Link& link) override { proxy().reset(link.peer, link.member); }
  [[nodiscard]] std::int64_t touched(const Link& link) override {
    return proxy().touched(link.peer, link.member);
  }
};

}  // namespace leasehold::sim::live
