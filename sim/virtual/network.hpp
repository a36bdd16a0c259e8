#pragma once

#include <map>
#include <set>
#include <string>

#include "runtime/threads/workers.hpp"
#include "sim/candidate.hpp"
#include "sim/faults/cluster_control.hpp"
#include "sim/record/recorder.hpp"
#include "sim/virtual/machine.hpp"
#include "sim/virtual/servers/shards.hpp"
#include "sim/world.hpp"

namespace leasehold::sim::simulated {

/// What disturbs the links between one process and the members, and how often it did.
struct LinkFaults {
  // By member, as the links of a real process. What is held or reset here is lost.
  PerMember<LinkRule> rules{};
  PerMember<std::int64_t> touched{};
  std::multiset<std::int64_t> inside_ms{};  ///< waits of commands inside the server: the longest
  std::int64_t waited_inside = 0;
};

/// A process's network to the replica set, as its driver has it: finds the primary, sends commands
/// as the adapter's bytes, loses and delays them, and lets the adapter's own code read the replies.
///
/// All that a mongoc client does and a lock may notice is here: it sends to the primary that it
/// knows until that one fails it, and a lost answer is an unknown outcome.
///
/// INVARIANT: each command that is carried ends at most once, by its answer or by `interrupt`.
class Network {
 public:
  struct World {
    Machine& machine;
    EventQueue& queue;
    Shards& servers;
    Recorder& recorder;
    Changes changes;
    std::uint64_t seed;
    bool stray_commands;  ///< else it goes to the primary that it knows until that one fails it
    std::string process = {};
    std::function<void(model::Event&&)> emit = [](model::Event&&) {};
    std::int64_t slowest_way_ns = 400 * kGrain;  ///< of a message, undisturbed
    std::int64_t stream_behind_ns = 0;  ///< how far news come behind the majority commit
    std::function<void(const std::string& command)> on_wire = [](const std::string&) {};
  };

  explicit Network(const World& world) : world_(world), random_(world.seed) {}
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The parts of production, but for those that touch the machine: carriers, clock, executor and
  /// entropy. So nothing of the runtime is simulated.
  [[nodiscard]] runtime::DriverParts driver_parts(std::unique_ptr<core::Provider> provider,
                                                  int workers, std::uint64_t seed);
  /// A write to the fenced resource; `on_outcome` gets its outcome, if the network lets it.
  void fenced_write(std::shared_ptr<const FencedWrite> write,
                    std::function<void(const char* outcome)> on_outcome);
  [[nodiscard]] bool awaits_a_reply() const { return under_way_ > 0; }
  /// Before the process is killed: what hangs now has hung until then.
  void note_what_hangs();
  /// What the core sent that is rare: tickets, for a place in a full queue, and batches of
  /// extensions of fifty locks or more.
  [[nodiscard]] const FaultCounts& sent() const { return sent_; }

  LinkFaults link;

 private:
  class SimulatedCarrier;
  /// Shared, because a command on its way is handed from event to event.
  struct Underway {
    core::Command command;
    std::function<void(ServerAnswer, const Object&)> answered;
    // False once it is answered or cut off: what still comes for it is dropped.
    bool wanted = true;
    std::int64_t sent_ns = 0;
    int member = -1;       // -1: it finds no primary
    bool arrived = false;  // its answer, or its end is noted
  };
  using Sent = std::shared_ptr<Underway>;
  // `tries` counts the times that no primary was found.
  void send(const Sent& sent, int tries);
  void deliver(const Sent& sent, int member);
  [[nodiscard]] Object bytes_of(const core::Command& command) const;
  void note_slow(Underway& sent);
  void answer_later(const Sent& sent, std::int64_t span_ns, ServerAnswer answer,
                    Object reply);
  [[nodiscard]] core::Reply read(const core::Command& command, ServerAnswer answer,
                                 const Object& reply);
  [[nodiscard]] PerMember<bool> reachable() const;
  void look_for_a_primary();
  [[nodiscard]] int primary_of_a_worker();
  // One way, in ns. Drawn for each message, so two on their way may overtake one another.
  [[nodiscard]] std::int64_t latency(int member, std::chrono::milliseconds delay);
  [[nodiscard]] const LinkRule& rule(int member) const { return link.rules[member]; }
  void touch(int member) { ++link.touched[member]; }

  // All processes share what this refers to, except the machine, the recorder and the seed.
  const World world_;
  Random random_;
  // -1: none is known. It may be wrong until a member says so, as a driver's is between two
  // heartbeats. Member 0 begins as primary.
  int known_primary_ = 0;
  // The primary that it knew before, and since when it knows another: until its last worker has
  // learned of that, a command may still go to the old one.
  int last_known_ = 0, before_ = 0;
  std::int64_t changed_ns_ = 0;
  std::int64_t elections_heard_ = 0;
  // Commands of the core; writes to the fence are not counted.
  int under_way_ = 0;
  FaultCounts sent_;
  // Ordered by address, which differs from run to run. Only the destructor goes through it, when
  // nothing is recorded any more.
  std::set<SimulatedCarrier*> carriers_;
};

}  // namespace leasehold::sim::simulated
