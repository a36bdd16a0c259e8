#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/live/fault_proxy.hpp"
#include "sim/live/mongod.hpp"

namespace leasehold::sim::live {

/// A date in extended JSON: text from 1970 to 9999, else a number.
[[nodiscard]] std::chrono::milliseconds date(const Json& value);

struct ReplicaSetOptions {
  int members = 3;
  int election_timeout_ms = 1'500;
  int heartbeat_ms = 150;
  bool standalone = false;  ///< one mongod that is no replica set
  bool faulty = false;      ///< a fault proxy before each member, and a clock of its own in each
};

/// A real replica set on this machine: free ports, temporary data, gone when its owner is, even by
/// SIGKILL. Not thread-safe; the processes it starts serve anybody.
class ReplicaSet {
 public:
  /// Starts it and waits until a majority write succeeds. Throws NoMongod or std::runtime_error.
  explicit ReplicaSet(ReplicaSetOptions options = {});

  /// For clients; their way leads through the proxies, if there are any.
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] const std::string& folder() const { return janitor_.folder(); }
  [[nodiscard]] std::vector<std::string> log_files() const;

  [[nodiscard]] Mongod& mongod(int index) { return members_.at(static_cast<std::size_t>(index)); }
  /// A client of this member alone, past its proxy.
  MongoClient& member(int index) { return mongod(index).client(); }
  /// REQUIRES: faulty.
  [[nodiscard]] FaultProxy& proxy() { return *proxy_; }

  /// The member that answers and says that it is primary, of the latest election if two do; -1:
  /// none does.
  int primary_now();
  /// The same, waited for; throws if there is none within 30 s.
  int primary();
  /// Whether this member says that it is primary; false if it does not answer.
  [[nodiscard]] bool is_primary(int index);
  /// Makes this member primary, trying until it is. Whether it was not before.
  bool step_up(int index);
  /// The same with a limit. Whether it was not before and is now.
  bool try_step_up(int index, std::chrono::milliseconds limit);
  /// The primary leaves its office, and nobody is asked to take over. Whether it did.
  bool step_down();

  /// Whether so many members ("majority", or a number) confirm a write within the time.
  bool confirms(const Json& w, std::chrono::milliseconds limit);

  /// SIGSTOP and SIGCONT of a member.
  void stop(int index) { mongod(index).stop(); }
  void resume(int index) { mongod(index).resume(); }

  /// `configureFailPoint` on a member. How often the fail point was entered while it was on before.
  std::int64_t fail_point(int index, const std::string& name, const Json& mode,
                          const Json& data = {});

 private:
  void initiate(bool prepared);
  [[nodiscard]] Json config() const;

  ReplicaSetOptions options_;
  Janitor janitor_;
  std::vector<Mongod> members_;
  std::unique_ptr<FaultProxy> proxy_;
  std::vector<int> advertised_;  ///< ports, as the configuration has them
  std::string uri_;
};

}  // namespace leasehold::sim::live
