#pragma once

#include <cstdint>
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
///     set.proxy().set_link_rule({"p0", 0}, {.hold_replies = true});
class UserSet final {
 public:
  /// Asks the set for its members. Member 0 is the primary of now. REQUIRES: nothing stands in the
  /// way of proxies (`why_no_proxies`). Throws std::runtime_error if no server answers.
  explicit UserSet(const std::string& uri);

  /// For clients: the given URI with the proxies for hosts.
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] const std::vector<std::string>& member_uris() const { return member_uris_; }
  [[nodiscard]] FaultProxy& proxy() { return proxy_; }

  /// Clients of these names that a member hears of from elsewhere than the proxies, so that no
  /// fault of a link reaches them. `known`: a client that certainly came through them. Nothing is
  /// returned if a member does not see it come from a proxy's port (something translates
  /// addresses), or shows clients only to users with more rights.
  [[nodiscard]] std::set<std::string> past_proxies(const std::vector<std::string>& names,
                                                   const std::string& known);

 private:
  std::vector<std::string> member_uris_;  ///< each of one member alone
  std::vector<MongoClient> members_;
  FaultProxy proxy_;
  std::string uri_;
};

/// A user's replica set, examined before anything runs on it.
struct Preflight {
  std::vector<std::string> missing;  ///< what a run needs, a sentence each, with its remedy
  bool unreachable = false;          ///< no primary answered: nothing else could be looked at
  std::vector<std::string> notes;    ///< what to know when reading a verdict
  std::int64_t ttl_period_ms = 60'000;
};

/// The reason why no proxies can stand before the members that this URI names, as a sentence with
/// its remedy; empty: there is none, or it is no URI.
[[nodiscard]] std::string why_no_proxies(const std::string& uri);

/// Looks at rights, version, TTL monitor, write concern and clocks, all at once. Writes to
/// `database`, and drops it. `clock_margin_ms`: the least of the plans that are to run.
[[nodiscard]] Preflight look_before_running(const std::string& uri, const std::string& database,
                                            std::int64_t clock_margin_ms);

/// Drops what a run wrote, collection by collection, because that needs no right but the run's.
void drop_database(const std::string& uri, const std::string& database);

}  // namespace leasehold::sim::live
