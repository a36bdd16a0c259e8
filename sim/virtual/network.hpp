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
  // By member, as the links of a real process: what is cut is the way to one host.
  std::array<bool, ReplicaSet::kMembers> cut{};      ///< and nobody is notified
  std::array<bool, ReplicaSet::kMembers> refused{};  ///< and the caller hears of it at once
  std::int64_t slower_ms = 0;
  std::int64_t late_ms = 0;    ///< requests arrive that late
  std::int64_t inside_ms = 0;  ///< commands wait inside the server that long
  bool replies_lost = false;
};

/// How a protocol is sabotaged on purpose between core and server, so that a run can fail.
/// All but the last make a lock that the checkers have to find out; the last makes a run that
/// differs from its repetition.
enum class Sabotage {
  none,
  deletes_without_owner,
  extends_without_owner,
  writes_for_one,  ///< w: 1, not a majority
  reads_the_real_clock
};

/// A process's way to the replica set, as its driver has it: it finds the primary, sends commands
/// as the adapter's bytes, loses them, is late, and has the replies read by the adapter's own code.
///
/// What a mongoc client does and a lock may notice is here: it goes on sending to the primary that
/// it knows until that one fails it, and an answer that is lost is an unknown outcome.
///
/// INVARIANT: each command that is carried ends at most once, by its answer or by `interrupt`.
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
    bool scripted;  ///< a story: it goes to the primary that it knows until that one fails it
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
    // False once it is answered or cut off: what still comes for it is nobody's.
    bool wanted = true;
  };
  using Sent = std::shared_ptr<Underway>;
  // `tries` counts the times that no primary was found.
  void send(const Sent& sent, int tries);
  void deliver(const Sent& sent, int member);
  void answer_later(const Sent& sent, std::int64_t span_ns, ReplicaSet::Answer answer,
                    Object reply);
  [[nodiscard]] core::Reply read(const core::Command& command, ReplicaSet::Answer answer,
                                 const Object& reply);
  [[nodiscard]] std::array<bool, ReplicaSet::kMembers> reachable() const;
  [[nodiscard]] bool reply_stopped(int member);
  void look_for_a_primary();
  [[nodiscard]] int primary_of_a_worker();
  // One way, in ns. A draw for each message, so two on their way may overtake one another.
  [[nodiscard]] std::int64_t latency();

  // All processes share what this refers to, except the machine, the recorder and the seed.
  const World world_;
  Random random_;
  // -1: none is known. It may be wrong for as long as nobody says so, as a driver's is between two
  // heartbeats. Member 0 begins as primary.
  int known_primary_ = 0;
  // Whom it knew before, and since when it knows another: until its last worker has heard of that,
  // a command may still go to the old one.
  int last_known_ = 0, before_ = 0;
  std::int64_t changed_ns_ = 0;
  std::int64_t elections_heard_ = 0;
  // Commands of the core; writes to the fence are not counted.
  int under_way_ = 0;
  // Ordered by address, which differs from run to run: only the destructor goes through it, when
  // nothing is recorded any more.
  std::set<SimulatedCarrier*> carriers_;
};

}  // namespace leasehold::sim::simulated
