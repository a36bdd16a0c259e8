#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.hpp"
#include "sim/faults/cluster_control.hpp"
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

enum class Hold { lock, fail_point };

/// A line of what a script saw: which reply, with its comparable parts. Dates are only "date";
/// operation times are shown by their rank among all that the script saw.
struct Seen {
  std::string label, text;
  bool operator==(const Seen&) const = default;
};

/// One of the two sets, of three members; 0 is primary when a script begins. A script asks it and
/// brings faults about, and has the answers written down. Its owner undoes all that a script did.
class ComparedSet {
 public:
  static constexpr std::int64_t kElectionTimeout_ms = 2'000, kHeartbeat_ms = 200;
  static constexpr const char* kCollection = "locks";

  virtual ~ComparedSet() = default;

  Call send(int member, const Request& request);
  /// Waits for the answer, for this long at most.
  virtual Answer await(Call call, std::int64_t limit_ms) = 0;
  /// Waits for the answer, and writes it down.
  Answer note(const std::string& label, Call call, std::int64_t limit_ms = 10'000);
  Answer ask(const std::string& label, int member, const Request& request);
  void note(const std::string& label, const std::string& text) { lines_.push_back({label, text}); }
  /// From here on, because two primaries count their times apart.
  void leave_out_times() { compares_times_ = false; }
  /// All lines, with the ranks of the operation times.
  [[nodiscard]] std::vector<Seen> lines() const;

  /// The next findAndModify waits this long inside the primary: for a lock that another client has,
  /// which also keeps members from stepping down; or in a fail point before it has looked at
  /// anything.
  virtual void hold_next_inside(std::int64_t ms, Hold hold = Hold::lock) = 0;
  /// Closes the connection; commands that were sent may still be executed.
  virtual void hang_up(Call call) = 0;
  virtual void pass(std::int64_t ms) = 0;
  /// Secondaries fetch nothing, while heartbeats and votes go on.
  virtual void hold_replication(bool on) = 0;
  /// Waits until every member has everything.
  virtual void catch_up() = 0;
  /// The member reaches no other; clients still reach it.
  void isolate(int member, bool on);
  void step_up(int member);
  void step_down() { (void)members().step_down(); }
  void stop(int member) { members().stop({member}); }
  void go_on(int member) { members().resume({member}); }
  void kill(int member) { members().kill({member}); }
  void move_clock(int member, std::int64_t ahead_ms) { members().set_clock(member, ahead_ms, 0); }
  void set_ttl(bool on) { control().data->set_ttl_monitor(on); }
  /// What the member's wall clock shows.
  [[nodiscard]] std::int64_t wall_ms(int member) {
    return true_ms() + members().clock_ahead_ms(member);
  }
  /// Waits for a member that says it is primary, of the latest election.
  [[nodiscard]] int primary();

 private:
  /// What plans' faults do to it.
  [[nodiscard]] virtual sim::ServerControl control() = 0;
  /// Beside which members' clocks are set.
  [[nodiscard]] virtual std::int64_t true_ms() = 0;
  virtual Call send_bytes(int member, const sim::simulated::Object& command) = 0;
  [[nodiscard]] sim::MemberControl& members() { return *control().members; }
  /// Throws std::runtime_error if it does not become so in half a minute.
  void wait_until(const std::function<bool()>& is_so);

  bool compares_times_ = true;
  std::vector<Request> requests_;  ///< by call
  std::vector<Seen> lines_;
  std::vector<std::optional<sim::simulated::Timestamp>> times_;  ///< by line
};

[[nodiscard]] std::unique_ptr<ComparedSet> simulated_set(std::uint64_t seed);
/// Throws sim::live::NoMongod.
[[nodiscard]] std::unique_ptr<ComparedSet> real_set();

struct Script {
  const char* name;
  void (*run)(ComparedSet& set);
};
[[nodiscard]] const std::vector<Script>& scripts();

[[nodiscard]] std::vector<Seen> run_script(const Script& script, ComparedSet& set);

}  // namespace leasehold::properties
