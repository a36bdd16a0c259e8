#pragma once

#include <algorithm>
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
/// Thread safety: all calls from any thread. A rule is in force when `set_link_rule` returns.
///
///     FaultProxy proxy;
///     const int advertised = proxy.add_member(27017);
///     proxy.set_link_rule({"p0.1", 0}, {.hold_replies = true});  // its commands execute, and
///     nothing comes back
class FaultProxy final : public LinkControl {
 public:
  /// The sender of a connection from this port to that one, both of this machine; empty: unknown.
  using Sender = std::function<std::string(int from, int to)>;

  FaultProxy();
  /// Asks `sender`, on a thread of its own, once for each connection. As over a network, the end of
  /// one side reaches the other side once the rules let it, and all bytes before it. All that one
  /// member says to another is one link then, whether it is named "/beat" or "/sync".
  explicit FaultProxy(Sender sender);
  ~FaultProxy() override;
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  /// Members are numbered in this order. Returns the proxy's port for this member, which the set's
  /// configuration has to name.
  int add_member(int port) { return add_port(size(), port); }
  /// The same for a set that is configured with the members themselves, this one by `address`
  /// ("db1:27017"): what a member says of its set's addresses is changed on its way to a client.
  /// REQUIRES: all are added before clients connect.
  int add_member(const std::string& address);
  /// One more listener before a member, for another of its ports. Returns the proxy's.
  int add_port(int member, int port);

  /// The member that clients send to; empty: they may speak to any.
  std::function<int()> primary;

  [[nodiscard]] int size() override;
  [[nodiscard]] int sent_to() override { return primary ? std::max(primary(), 0) : -1; }
  void set_link_rule(const Link& link, const LinkRule& rule) override;
  void reset_link(const Link& link) override;
  [[nodiscard]] std::int64_t touched(const Link& link) override;
  /// The waits of 25 ms or more since the last call, those that go on included, of clients that
  /// said who they are.
  [[nodiscard]] std::vector<SlowAnswer> take_slow();
  /// What was passed on so far between all peers and all members.
  [[nodiscard]] Traffic traffic() const;
  /// The ports of this machine from which members were ever connected to. A member was reached past
  /// the proxies if it hears of a client from another port.
  [[nodiscard]] std::set<int> ports_used() const;

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace leasehold::sim::live
