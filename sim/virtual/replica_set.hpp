#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/virtual/change_streams.hpp"
#include "sim/virtual/collection.hpp"
#include "sim/virtual/event_queue.hpp"
#include "sim/virtual/random.hpp"
#include "sim/virtual/transactions.hpp"

/// A replica set of three in virtual time: oplog, majority commit, heartbeats, elections, rollback,
/// clocks of its own for each member, TTL monitor. What the lock sees of a real one, as far as
/// `sim/README.md` says.
namespace leasehold::sim::simulated {

/// A write to the fenced resource: refused when its token is below the greatest taken.
struct FencedWrite {
  std::string name, process, owner;
  std::int64_t number = 0, token = 0;
};

/// One write in the oplog.
struct Entry {
  Timestamp time;
  std::int64_t term = 0;
  Change change;
  std::shared_ptr<const FencedWrite> fenced;  ///< set: the change is the fence's
  std::string tag = {};                       ///< of the command that wrote it
  [[nodiscard]] std::int64_t order() const;   ///< the time, packed as a fencing token
  [[nodiscard]] bool same(const Entry& other) const {
    return time == other.time && term == other.term;
  }
};

class ReplicaSet {
 public:
  static constexpr int kMembers = 3;

  /// What comes back to a client: a reply, or nothing if the connection broke.
  enum class Answer { reply, broken, refused };
  using Reply = std::function<void(Answer, const Object&)>;

  struct Settings {
    std::int64_t replication_ns = kMs / 2;  ///< one way, between members
    std::int64_t election_timeout_ns = 1'000 * kMs;
    std::int64_t heartbeat_ns = 200 * kMs;
    std::int64_t ttl_period_ns = 1'000 * kMs;
    std::int64_t epoch_ms = 1'700'000'000'000;  ///< wall clock at virtual time 0
  };

  /// `on_committed` hears each write once, in the oplog's order, when a majority has it.
  ReplicaSet(EventQueue& queue, Random& random, const Settings& settings,
             std::function<void(const Entry&)> on_committed);

  /// A command that arrives. It then waits so long inside the server before it executes, with the
  /// clock as it was on arrival.
  struct Request {
    std::shared_ptr<const Object> command;
    std::string tag = {};  ///< goes into the oplog's entry, for the harness
    std::int64_t waits_ns = 0;
  };
  void command(int member, Request request, Reply reply);
  void fenced_write(int member, const FencedWrite& write, Reply reply);

  /// The member that a client takes for the primary: the one of the highest term among those that
  /// it reaches and that say so; -1: none. One that is stopped said so before, and is sent to: what
  /// it is sent waits in its sockets, and is executed when it goes on.
  [[nodiscard]] int primary_for(const std::array<bool, kMembers>& reachable) const;

  // Faults. Members are numbered 0, 1, 2.
  void step_up(int member);  ///< as replSetStepUp: it stands for election now
  void step_down_primary();  ///< without a successor that is ready
  void stop(int member);     ///< SIGSTOP
  void go_on(int member);    ///< SIGCONT
  void kill(int member);     ///< SIGKILL; what its journal has not is gone
  void restart(int member);
  /// Its data are gone. It votes, but neither stands for election nor counts for a majority before
  /// it has copied the primary's. REQUIRES: it is dead.
  void wipe(int member);
  [[nodiscard]] bool copies() const;  ///< whether a member does so, or is to
  void set_link(int a, int b, bool up);
  void set_replication_delay(int member, std::int64_t delay_ns);
  /// So far from true time now, and running that much fast. A secondary that jumps by more than the
  /// election timeout takes the primary for dead at once.
  void set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm);
  void set_ttl(int member, bool on);
  /// Whether a secondary fetches what is new; heartbeats and votes go on either way.
  void set_fetching(int member, bool on);
  void fail_next(int count, int code, bool after_execution);

  // What an administrator does, at once on all members.
  [[nodiscard]] std::optional<TtlIndex> ttl_index() const;
  void set_ttl_index(const std::optional<TtlIndex>& index);
  /// At the primary: whether there was one.
  bool drop_locks();
  /// The name that was deleted; empty: none.
  std::string delete_lock(std::int64_t pick);

  [[nodiscard]] int primary() const;  ///< the running one of the highest term, or -1
  [[nodiscard]] std::int64_t elections() const { return elections_; }
  [[nodiscard]] std::int64_t rolled_back() const { return rolled_back_; }
  [[nodiscard]] std::int64_t ttl_deletions() const { return ttl_deletions_; }
  [[nodiscard]] std::int64_t injected_errors() const { return injected_errors_; }
  [[nodiscard]] std::int64_t clock_ms(int member) const;
  [[nodiscard]] std::int64_t waited_for_majority_in_vain() const { return wtimeouts_; }

 private:
  /// A time of a member's wall clock, counted as the queue counts, and the error when it comes
  /// first.
  struct Deadline {
    std::int64_t wall_ns = 0;
    int code = 0;
  };
  struct Arrival {
    Date now;           ///< $$NOW of the command
    Deadline max_time;  ///< by its maxTimeMS
  };
  struct Waiter {
    std::size_t index = 0;  ///< of the last entry that a majority must have
    std::uint64_t id = 0;
    Object answer;
    Reply reply;
  };
  /// What a stopped member will do when it goes on, or will never do.
  struct HeldBack {
    std::function<void()> run;
    Reply client = nullptr;  ///< who waits for it, if anybody does
  };
  struct Member {
    bool alive = true, running = true, is_primary = false, ttl = true;
    bool copies = false;  ///< it is to copy all data, and has none before
    std::optional<TtlIndex> ttl_index;
    std::int64_t term = 1;
    std::int64_t clock_offset_ms = 0, clock_rate_ppm = 0, clock_set_ns = 0;
    std::int64_t delay_ns = 0;  ///< of replication to it, beyond the usual
    // INVARIANT: times of hearing are of this member's wall clock, as its election timers are.
    std::int64_t heard_primary = 0;   ///< when a primary last reached it
    std::int64_t heard_majority = 0;  ///< as primary: when a majority last answered
    bool fetches = true;
    std::uint64_t life = 0;  ///< rises with each start: timers of a former life are void
    std::vector<Entry> log;
    std::size_t journaled = 0;        ///< of the log: what a SIGKILL leaves at least
    std::int64_t journal_period = 0;  ///< in which the last write was
    std::size_t committed = 0;
    std::array<std::size_t, kMembers> match{};  ///< as primary: how much the others have
    std::array<bool, kMembers> sending{};
    Timestamp logical;
    Collection locks, fences;
    Transactions transactions;  ///< open ones, as primary
    ChangeStreams streams;
    std::vector<Waiter> waiters;
    std::vector<HeldBack> held_back;  ///< while it is stopped
  };

  [[nodiscard]] bool reaches(int a, int b) const { return links_[at(a)][at(b)]; }
  [[nodiscard]] bool works(int m) const { return members_[at(m)].alive && members_[at(m)].running; }
  static std::size_t at(int m) { return static_cast<std::size_t>(m); }
  [[nodiscard]] std::int64_t wall_ns(int member) const;
  [[nodiscard]] Deadline max_time_of(int member, const Object& command) const;
  /// Now, or when it goes on; never after a death.
  void when_running(int member, std::uint64_t life, std::function<void()> run);
  /// When the member's wall clock shows this. As a timed wait of mongod: it looks again once the
  /// time that it saw left has passed, so a clock that goes back makes it longer, and one that goes
  /// forward does not make it shorter.
  void at_wall(int member, std::int64_t wall_ns, std::function<void()> run);
  [[nodiscard]] int latest_primary(const std::function<bool(int)>& counts) const;
  Timestamp tick(Member& m, int index);
  void write(int member, Change change, std::shared_ptr<const FencedWrite> fenced,
             const std::string& tag = {});
  void journal_by_time(Member& m) const;
  void apply(Member& m, const Entry& entry);
  void rebuild(Member& m);
  void replicate(int from);
  void receive(int from, int to, std::size_t upto);
  void acknowledge(int from, int to, std::size_t has, std::int64_t term);
  void advance(int primary);
  static void tell_streams(Member& m, std::size_t from);
  void go_on_inside(int member, const Request& request, const Arrival& arrival, const Reply& reply);
  void execute_command(int member, const Request& request, const Arrival& arrival,
                       const Reply& reply);
  void arrive(int member, Request request, bool as_primary, Reply reply);
  void serve_stream(int member, const Object& command, Reply reply);
  void wait_for_majority(int member, Object answer, const Deadline& deadline, Reply reply);
  void end_waiting(int member, std::uint64_t waiter, int code);
  void answer(Member& m, Object reply, const Reply& to) const;
  void beat();
  void heartbeat(int from, int to);
  bool stand(int member);
  void stand_if_overdue(int member);
  void become_secondary(int member);
  void ttl_pass(int member);
  void ttl_sleep(int member, std::int64_t span_ns);
  void catch_up(int member, const Member& from);

  EventQueue& queue_;
  Random& random_;
  const Settings settings_;
  const std::function<void(const Entry&)> on_committed_;
  std::array<Member, kMembers> members_;
  std::array<std::array<bool, kMembers>, kMembers> links_{};
  Timestamp announced_;  ///< of the last write that a majority was seen to have
  std::uint64_t last_waiter_ = 0;
  int failing_ = 0, failing_code_ = 0;
  bool failing_after_ = false;
  std::int64_t elections_ = 0, rolled_back_ = 0, ttl_deletions_ = 0, injected_errors_ = 0,
               wtimeouts_ = 0;
};

}  // namespace leasehold::sim::simulated
