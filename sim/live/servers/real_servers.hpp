#pragma once

#include <string>
#include <utility>

#include "sim/live/servers/commanded_servers.hpp"
#include "sim/live/servers/replica_set.hpp"

namespace leasehold::sim::live {

/// A real replica set of ours, for faults: the kernel and the clock shim do what no command can.
///
/// Not thread-safe. `settle` returns within minutes, all else within some seconds, whatever state
/// the servers are in.
class RealMembers final : public CommandedMembers {
 public:
  RealMembers(ReplicaSet& servers, std::string database)
      : CommandedMembers(servers, std::move(database)), servers_(servers) {}

  void kill(const std::vector<int>& members) override;
  void restart(const std::vector<int>& members) override;
  void wipe(int member) override { servers_.mongod(member).wipe(); }
  void stop(const std::vector<int>& members) override;
  void resume(const std::vector<int>& members) override;
  void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) override;
  [[nodiscard]] std::int64_t clock_ahead_ms(int member) override;
  [[nodiscard]] bool shows_its_clock(int member) override;
  void settle() override;

 private:
  void renew_secondaries();

  ReplicaSet& servers_;
};

}  // namespace leasehold::sim::live
