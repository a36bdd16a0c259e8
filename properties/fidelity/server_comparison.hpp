#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.hpp"
#include "sim/virtual/documents/value.hpp"

/// The same scripts of commands and faults on a real replica set and on the simulated one, and what
/// a client sees of each.
namespace leasehold::properties {

/// One command: its bytes, and how the adapter reads the reply if it is one of the lock's.
struct Request {
  sim::simulated::Object bytes;
  std::optional<core::Command> command = {};
};

/// What came back on the connection: a reply, its end, or nothing so far.
struct Answer {
  enum class Kind { reply, broken, silent };
  Kind kind = Kind::silent;
  sim::simulated::Object reply = {};
};

using Call = std::size_t;  ///< a command under way, each on a connection of its own

/// Three members for a script: 0 is primary when it begins. `collection()` has the documents; the
/// owner of the cluster undoes every other state.
class Cluster {
 public:
  static constexpr int kMembers = 3;
  static constexpr std::int64_t kElectionTimeout_ms = 2'000;
  static constexpr std::int64_t kHeartbeat_ms = 200;
  static constexpr const char* kCollection = "locks";

  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  virtual ~Cluster() = default;

  virtual Call send(int member, const sim::simulated::Object& command) = 0;
  /// What a findAndModify waits for inside: a lock that another client has, which also keeps
  /// members from stepping down; or a fail point before it has looked at anything.
  enum class Hold { lock, fail_point };
  /// The next findAndModify waits this long inside the primary.
  virtual void hold_next_inside(std::int64_t ms, Hold hold = Hold::lock) = 0;
  /// Waits for the answer, for this long at most.
  virtual Answer await(Call call, std::int64_t limit_ms) = 0;
  /// Closes the connection; commands that were sent may still be executed.
  virtual void hang_up(Call call) = 0;
  virtual void pass(std::int64_t ms) = 0;

  /// The member reaches no other; clients still reach it.
  virtual void isolate(int member, bool on) = 0;
  /// Secondaries fetch nothing, while heartbeats and votes go on.
  virtual void hold_replication(bool on) = 0;
  virtual void step_up(int member) = 0;
  virtual void step_down() = 0;  ///< of the primary, with no member asked to follow
  virtual void stop(int member) = 0;
  virtual void go_on(int member) = 0;
  virtual void kill(int member) = 0;
  virtual void move_clock(int member, std::int64_t ahead_ms) = 0;
  virtual void set_ttl(bool on) = 0;

  /// What the member's wall clock shows.
  [[nodiscard]] virtual std::int64_t wall_ms(int member) = 0;
  /// Waits for a member that says it is primary, of the latest election.
  [[nodiscard]] virtual int primary() = 0;
  /// Writes an entry of its own, and waits until every member has it.
  virtual void catch_up() = 0;
};

[[nodiscard]] std::unique_ptr<Cluster> simulated_cluster(std::uint64_t seed);

/// A line of what a script saw: which reply, with its comparable parts. Dates are only "date";
/// operation times are shown by their rank among all that the script saw.
struct Seen {
  std::string label, text;
  bool operator==(const Seen&) const = default;
};

/// A script's tools: it asks, and writes the answers down.
class Stage {
 public:
  explicit Stage(Cluster& servers) : cluster(servers) {}

  Call send(int member, const Request& request);
  /// Waits for the answer, and writes it down.
  Answer note(const std::string& label, Call call, std::int64_t limit_ms = 10'000);
  Answer ask(const std::string& label, int member, const Request& request);
  void note(const std::string& label, const std::string& text) { lines_.push_back({label, text}); }
  /// From here on, because two primaries count their times apart.
  void leave_out_times() { compares_times_ = false; }
  /// All lines, with the ranks of the operation times.
  [[nodiscard]] std::vector<Seen> lines() const;

  Cluster& cluster;  // NOLINT: scripts bring their faults about through it

 private:
  bool compares_times_ = true;
  std::vector<Request> requests_;  ///< by call
  std::vector<Seen> lines_;
  std::vector<std::optional<sim::simulated::Timestamp>> times_;  ///< by line
};

struct Script {
  const char* name;
  void (*run)(Stage& stage);
};
[[nodiscard]] const std::vector<Script>& failover_scripts();
[[nodiscard]] const std::vector<Script>& clock_scripts();
[[nodiscard]] const std::vector<Script>& stream_scripts();
[[nodiscard]] const std::vector<Script>& queue_scripts();
/// All of them, in this order.
[[nodiscard]] std::vector<Script> scripts();

/// Runs the script on a cluster that has member 0 as primary.
[[nodiscard]] std::vector<Seen> run_script(const Script& script, Cluster& cluster);

}  // namespace leasehold::properties
