#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/live/servers/member_set.hpp"
#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {

/// A date in extended JSON: text from 1970 to 9999, else a number.
[[nodiscard]] std::chrono::milliseconds date(const Json& value);

struct ReplicaSetOptions {
  int members = 3;
  int election_timeout_ms = 1'500;
  int heartbeat_ms = 150;
  bool own_settings = false;  ///< the servers' own, but for the election timeout
  bool standalone = false;  ///< one mongod that is no replica set
  bool faulty = false;      ///< a fault proxy before each member, and a clock of its own in each
  /// What the configuration says of each member beside its host, such as {"arbiterOnly", true};
  /// null: nothing of it. The first must be able to lead.
  std::vector<Json> fields = {};
};

/// A real replica set on this machine: free ports, temporary data, gone when its owner is, even by
/// SIGKILL. Not thread-safe; the processes it starts serve any client.
class ReplicaSet final : public MemberSet {
 public:
  /// Starts it and waits until a majority write succeeds. Throws NoMongod or std::runtime_error.
  explicit ReplicaSet(ReplicaSetOptions options = {});

  /// For clients; it leads through the proxies, if there are any.
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }
  [[nodiscard]] const std::string& folder() const { return janitor_.folder(); }
  [[nodiscard]] std::vector<std::string> log_files() const;
  [[nodiscard]] int election_timeout_ms() const { return options_.election_timeout_ms; }

  [[nodiscard]] Mongod& mongod(int index) { return members_.at(static_cast<std::size_t>(index)); }
  [[nodiscard]] MongoClient& member(int index) override { return mongod(index).client(); }
  [[nodiscard]] bool answers(int index) override { return mongod(index).answers(); }
  /// REQUIRES: faulty.
  [[nodiscard]] FaultProxy& proxy() override { return *proxy_; }

  /// SIGSTOP and SIGCONT of a member.
  void stop(int index) { mongod(index).stop(); }
  void resume(int index) { mongod(index).resume(); }

 private:
  void initiate(bool prepared);
  [[nodiscard]] Json config() const;
  [[nodiscard]] int prompt_members() const;

  ReplicaSetOptions options_;
  Janitor janitor_;
  std::vector<Mongod> members_;
  std::unique_ptr<FaultProxy> proxy_;
  std::vector<int> advertised_;  ///< ports, as the configuration has them
  std::string uri_;
};

}  // namespace leasehold::sim::live
