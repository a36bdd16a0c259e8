#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/live/proxy/fault_proxy.hpp"
#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {

/// The member that answers and says that it is primary, of the latest election if two do; -1: none
/// does. Null: no answer can be expected of it.
[[nodiscard]] int primary_among(const std::vector<MongoClient*>& members);

/// A real replica set on this machine: free ports, temporary data, gone when its owner is, even by
/// SIGKILL. Members are numbered from 0; each is asked itself, past its proxy. Not thread-safe; the
/// processes it starts serve any client.
///
/// Faults act by the kernel, the clock shim and commands of an administrator. Each change is asked
/// for again at the servers. `settle` returns within minutes, all else of `MemberControl` within
/// some seconds, whatever state the servers are in.
class ReplicaSet final : public LocalMembers<Mongod> {
 public:
  /// Starts it and waits until a majority write succeeds. Throws NoMongod or std::runtime_error.
  explicit ReplicaSet(ReplicaSetOptions options = {});

  /// For clients; it leads through the proxies, if there are any.
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] const std::string& folder() const { return janitor_.folder(); }
  [[nodiscard]] int election_timeout_ms() const { return options_.election_timeout_ms; }

  [[nodiscard]] Mongod& mongod(int index) { return at(index); }
  [[nodiscard]] std::vector<std::string> member_uris() const {
    std::vector<std::string> uris;
    for (const auto& m : members_) uris.push_back(direct_uri(m.port()));
    return uris;
  }
  [[nodiscard]] MongoClient& member(int index) { return mongod(index).client(); }
  /// REQUIRES: faulty.
  [[nodiscard]] FaultProxy& proxy() { return *proxy_; }
  /// Waits for a primary; throws if there is none within 30 s.
  int primary();

  /// Makes this member primary, trying until it is. Returns whether it was not before.
  bool step_up(int index);
  /// `configureFailPoint` on a member. Returns how often the last one was entered while it was on.
  std::int64_t fail_point(int index, const std::string& name, const Json& mode,
                          const Json& data = {});
  /// Sets it on each member, on those that do not answer when they go on.
  void set_ttl_monitor(bool on);
  /// Does it to this member at once, or when it goes on, if it stands still or is down: else a
  /// fault that ended meanwhile would last.
  void when_reachable(int index, std::function<void()> act);

  [[nodiscard]] int primary_now() override;
  [[nodiscard]] bool is_primary(int index) override;
  bool step_up(int index, std::chrono::milliseconds limit) override;
  bool step_down() override;
  void restart(const std::vector<int>& members) override;
  void wipe(int index) override { mongod(index).wipe(); }
  void resume(const std::vector<int>& members) override;
  [[nodiscard]] bool all_have_all_data() override;
  [[nodiscard]] bool shows_its_clock(int index) override;
  void settle() override;

 private:
  /// Whether `w` members ("majority", or a number) confirm a write within the limit.
  bool confirms(const Json& w, std::chrono::milliseconds limit);
  void wait_for_writes(const Json& w);
  void renew_secondaries();
  void make_up_for(int index);
  void initiate();
  [[nodiscard]] Json config() const;
  [[nodiscard]] int prompt_members() const;

  ReplicaSetOptions options_;
  std::unique_ptr<FaultProxy> proxy_;
  std::map<int, std::vector<std::function<void()>>> later_;  ///< by member, in their order
  std::vector<int> advertised_;  ///< ports, as the configuration has them
  std::string uri_;
};

/// What faults do with the documents and commands of this set. Each of the two is a collection with
/// its database: the documents and the index of the first are deleted and changed, writes to the
/// second get errors.
[[nodiscard]] std::unique_ptr<DataControl> data_of(ReplicaSet& set,
                                                   const std::string& administered,
                                                   const std::string& failing);

}  // namespace leasehold::sim::live
