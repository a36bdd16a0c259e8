#pragma once

#include <array>
#include <map>
#include <set>
#include <string>

#include "runtime/carrier.hpp"
#include "sim/recorder.hpp"
#include "sim/virtual/machine.hpp"
#include "sim/virtual/replica_set.hpp"
#include "sim/world.hpp"

namespace leasehold::sim::simulated {

/// What disturbs the way between one process and the members.
struct LinkFaults {
  std::array<bool, ReplicaSet::kMembers> cut{};      ///< and nobody is notified
  std::array<bool, ReplicaSet::kMembers> refused{};  ///< and the caller hears of it at once
  std::int64_t slower_ms = 0;
  std::int64_t late_ms = 0;    ///< requests arrive that late
  std::int64_t inside_ms = 0;  ///< commands wait inside the server that long
  bool replies_lost = false;
};

/// How a protocol is sabotaged on purpose between core and server, so that a run can fail.
enum class Sabotage {
  none,
  deletes_without_owner,
  extends_without_owner,
  writes_for_one,  ///< w: 1, not a majority
  reads_the_real_clock
};

/// A process's way to the replica set, as its driver has it: it finds the primary, sends commands
/// as the adapter's bytes, loses them, is late, and has the replies read by the adapter's own code.
class Network {
 public:
  struct World {
    Machine& machine;
    EventQueue& queue;
    ReplicaSet& servers;
    FaultCounts& took_effect;
    Recorder& recorder;
    Sabotage sabotage;
    std::uint64_t seed;
  };

  explicit Network(const World& world) : world_(world), random_(world.seed) {}
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] runtime::Carriers carriers();
  /// A write to the fenced resource; `told` hears its outcome, if the network lets it.
  void fenced_write(const FencedWrite& write, std::function<void(const char* outcome)> told);
  [[nodiscard]] bool awaits_a_reply() const { return under_way_ > 0; }

  LinkFaults link;

 private:
  class SimulatedCarrier;
  /// Shared, because a command on its way is handed from event to event.
  struct Underway {
    core::Command command;
    std::function<void(ReplicaSet::Answer, const Object&)> answered;
    bool wanted = true;
  };
  using Sent = std::shared_ptr<Underway>;
  void send(const Sent& sent, int tries);
  void deliver(const Sent& sent, int member);
  void answer_later(const Sent& sent, std::int64_t span_ns, ReplicaSet::Answer answer,
                    Object reply);
  [[nodiscard]] core::Reply read(const core::Command& command, ReplicaSet::Answer answer,
                                 const Object& reply);
  [[nodiscard]] std::array<bool, ReplicaSet::kMembers> reachable() const;
  [[nodiscard]] bool reply_stopped(int member);
  [[nodiscard]] std::int64_t latency();

  const World world_;
  Random random_;
  int known_primary_ = 0;
  int under_way_ = 0;
  std::set<SimulatedCarrier*> carriers_;
};

}  // namespace leasehold::sim::simulated
