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

struct MongodOptions {
  std::string program;
  std::string data;  ///< its folder, made if it is not there; log and clock stand beside it
  int port = 0;
  bool standalone = false;  ///< no member of a set
  bool own_settings = false;  ///< of replication, as where nobody sets any
  bool own_clock = false;   ///< runs with the clock shim
};

/// One mongod of ours, which can be killed, started again, stopped and resumed. Ends with its
/// owner. Not thread-safe.
class Mongod : public ServerProcess {
 public:
  /// Starts it; it does not listen yet. REQUIRES: `data` lies in the janitor's folder.
  Mongod(MongodOptions options, Janitor& janitor);

  /// Waits until it answers, if it was started. Throws NoMongod if it ended, or is too old.
  void wait_until_ready();

  void shut_down();      ///< SIGTERM, and waits until it has stopped cleanly
  void begin_restart();  ///< if it is dead, on the same data; `wait_until_ready` has to follow
  void wipe();           ///< empties its data folder. REQUIRES: it is dead
  void resume();

  /// A client of this member alone, past any proxy.
  MongoClient& client() { return *client_; }
  [[nodiscard]] int port() const { return options_.port; }
  /// Processor time that this process has used.
  [[nodiscard]] double cpu_seconds() const;

 private:
  void connect();

  MongodOptions options_;
  std::unique_ptr<MongoClient> client_;
};

}  // namespace leasehold::sim::live
