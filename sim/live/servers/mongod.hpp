#pragma once

#include <netinet/in.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/live/servers/local_members.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// No mongod was found, or none that starts.
struct NoMongod : NoServers {
  using NoServers::NoServers;
};

/// `LEASEHOLD_MONGOD`, or mongod on the PATH, or the one that scripts/fetch-mongod put into its
/// cache. Throws NoMongod.
[[nodiscard]] std::string find_mongod();

/// Whether the lock can use a server that answers buildInfo so: 5.1 or newer.
[[nodiscard]] bool is_supported(const Json& build_info);

/// Ports that were free a moment ago, all different. They are drawn, so that two processes that
/// look at once seldom find the same; they are below those of outgoing connections, so that a
/// restarted server finds its own free.
[[nodiscard]] std::vector<int> free_ports(int count);

/// For sockets of the system; port 0: any that is free.
[[nodiscard]] sockaddr_in loopback_address(int port = 0);
[[nodiscard]] std::string address_of(int port);
/// A URI straight to the member there, past any proxy. More options follow an `&`.
[[nodiscard]] std::string direct_uri(int port);

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

/// One mongod of ours, which can be killed, started again, stopped and resumed. Ends with its
/// owner. Not thread-safe.
class Mongod : public ServerProcess {
 public:
  /// Starts it, with its data in the janitor's folder; it does not listen yet.
  Mongod(const std::string& program, int port, const ReplicaSetOptions& set, Janitor& janitor);

  /// Waits until it answers, if it was started. Throws NoMongod if it ended, or is too old.
  void wait_until_ready();

  void shut_down();      ///< SIGTERM, and waits until it has stopped cleanly
  void begin_restart();  ///< if it is dead, on the same data; `wait_until_ready` has to follow
  void wipe();           ///< empties its data folder. REQUIRES: it is dead
  void resume();

  /// A client of this member alone, past any proxy.
  MongoClient& client() { return *client_; }
  [[nodiscard]] int port() const { return port_; }
  /// Processor time that this process has used.
  [[nodiscard]] double cpu_seconds() const;

 private:
  void connect();

  std::string program_;
  int port_;
  std::vector<std::string> words_;
  std::unique_ptr<MongoClient> client_;
};

}  // namespace leasehold::sim::live
