#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/live/servers/replica_set.hpp"

namespace leasehold::sim::live {

/// A user's replica set, with a fault proxy on this machine before each member. Its configuration
/// stays as it is: the proxies change what members say of it to clients that came through them, and
/// so any driver stays behind the proxies.
///
/// Not thread-safe.
///
///     UserSet set("mongodb://db1,db2,db3/?replicaSet=rs");
///     MongoClient client(set.uri() + "&appName=p0");
///     set.proxy().set("p0", 0, {.hold_replies = true});
class UserSet final : public MemberSet {
 public:
  /// Asks the set for its members. Member 0 is the primary of now. REQUIRES: nothing stands in the
  /// way of proxies (`why_no_proxies`). Throws std::runtime_error if no server answers.
  explicit UserSet(const std::string& uri);

  /// For clients: the given URI with the proxies for hosts.
  [[nodiscard]] const std::string& uri() const { return uri_; }
  /// The address of this member in the set's configuration.
  [[nodiscard]] const std::string& address(int index) const { return at(index).address; }

  /// A URI of this member alone, past its proxy.
  [[nodiscard]] const std::string& member_uri(int index) const { return at(index).uri; }

  [[nodiscard]] int size() override { return static_cast<int>(members_.size()); }
  [[nodiscard]] MongoClient& member(int index) override { return *at(index).client; }
  [[nodiscard]] bool reachable(int index) override;
  [[nodiscard]] FaultProxy& proxy() override { return proxy_; }

  /// Clients of these names that a member hears of from elsewhere than the proxies, so that no
  /// fault of a link reaches them. `known`: a client that certainly came through them. Nothing is
  /// returned if a member does not see it come from a proxy's port (something translates
  /// addresses), or shows clients only to users with more rights.
  [[nodiscard]] std::set<std::string> past_proxies(const std::vector<std::string>& names,
                                                   const std::string& known);

 private:
  struct Member {
    std::string address;
    std::string uri;  ///< of this member alone
    std::unique_ptr<MongoClient> client;
  };
  [[nodiscard]] const Member& at(int index) const {
    return members_.at(static_cast<std::size_t>(index));
  }

  std::vector<Member> members_;
  FaultProxy proxy_;
  std::string uri_;
};

}  // namespace leasehold::sim::live
