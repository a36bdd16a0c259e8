#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/live/child_process.hpp"
#include "sim/live/mongo_client.hpp"

namespace leasehold::sim::live {

/// No mongod to be had, or none that starts; the message says how to get one.
struct NoMongod : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `LEASEHOLD_MONGOD`, or mongod on the PATH, or the one that scripts/setup put into its cache.
/// Throws NoMongod.
[[nodiscard]] std::string find_mongod();

struct ReplicaSetOptions {
  int members = 3;
  int election_timeout_ms = 1'500;
  int heartbeat_ms = 150;
  bool standalone = false;  ///< one mongod that is no replica set
};

/// A real replica set on this machine: free ports, temporary data, gone when its owner is, even by
/// SIGKILL. Not thread-safe; the processes it starts serve anybody.
class ReplicaSet {
 public:
  /// Starts it and waits until a majority write succeeds. Throws NoMongod or std::runtime_error.
  explicit ReplicaSet(ReplicaSetOptions options = {});
  ~ReplicaSet();

  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] int size() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] const std::string& folder() const { return janitor_.folder(); }
  [[nodiscard]] std::vector<std::string> log_files() const;

  /// A client of this member alone.
  MongoClient& member(int index);
  /// The index of the primary; throws if there is none within 30 s.
  int primary();
  /// Makes this member primary, trying until it is. Whether it was not before.
  bool step_up(int index);

  /// SIGSTOP and SIGCONT of a member.
  void stop(int index);
  void resume(int index);

  /// `configureFailPoint` on a member.
  void fail_point(int index, const std::string& name, const Json& mode, const Json& data = {});

 private:
  struct Member {
    int port = 0;
    ChildProcess process;
    std::unique_ptr<MongoClient> client;
  };
  void start_member(int port, const std::string& mongod);
  void initiate();

  ReplicaSetOptions options_;
  Janitor janitor_;
  std::vector<Member> members_;
  std::string uri_;
};

}  // namespace leasehold::sim::live
