#pragma once

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/random.hpp"
#include "sim/virtual/change_streams.hpp"
#include "sim/virtual/collection.hpp"
#include "sim/virtual/event_queue.hpp"
#include "sim/virtual/transactions.hpp"

/// A replica set of three in virtual time: oplog, majority commit, heartbeats, elections, rollback,
/// clocks of its own for each member, TTL monitor. What the lock sees of a real one, as far as
/// `sim/README.md` says.
namespace leasehold::sim::simulated {

/// A write to the fenced resource: refused when its token is below the greatest taken.
/// The fence is a collection of the same set, so that its writes have their place in the same oplog
/// as the locks' and the truth about both is in one order.
struct FencedWrite {
  std::string name, process, owner;
  std::int64_t number = 0, token = 0;
};

/// One write in the oplog.
///
/// INVARIANT: time and term name an entry, and what comes before it: two logs that have the same
/// one at a place are equal up to there (Raft's log matching). A rollback finds by it where two
/// logs part.
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

/// Member 0 is primary at the start. All three vote, have data and the same priority.
///
/// Virtual time: nothing here takes time but what is asked of the queue (the way between members,
/// waiting, sleeping). A command executes in no time, an election likewise.
/// Determinism: members are always gone through in the order of their numbers, and all randomness
/// is one generator's, which the world shares.
///
/// Its functions are in four sources: what befalls members here (`replica_set.cpp`),
/// `commands.cpp`, `replication.cpp` and `elections.cpp`.
///
/// REQUIRES: it outlives the queue's events; all of them refer to it.
class ReplicaSet {
 public:
  static constexpr int kMembers = 3;

  /// What comes back to a client: a reply, or nothing if the connection broke.
  /// `refused` is certain: nothing was executed. `broken` says nothing about that.
  enum class Answer { reply, broken, refused };
  using Reply = std::function<void(Answer, Object)>;

  /// mongod's defaults are 10 s for elections, 2 s for heartbeats and 60 s for the TTL monitor.
  /// These are shorter, as in the live world, so that a run sees many of each.
  struct Settings {
    std::int64_t replication_ns = kMs / 2;  ///< one way, between members
    std::int64_t election_timeout_ns = 1'000 * kMs;
    std::int64_t heartbeat_ns = 200 * kMs;
    std::int64_t ttl_period_ns = 1'000 * kMs;
    std::int64_t epoch_ms = 1'700'000'000'000;  ///< wall clock at virtual time 0
  };

  /// `on_committed` hears each write once, in the oplog's order, when a majority has it.
  /// It is called within the event in which the primary learns of it, and must send no command.
  ReplicaSet(EventQueue& queue, Random& random, const Settings& settings,
             std::function<void(const Entry&)> on_committed);

  /// A command that arrives. It then waits so long inside the server before it executes, with the
  /// clock as it was on arrival.
  /// Such a wait is for a lock of the storage, for example: the command has been read, and $$NOW
  /// and maxTimeMS count from its arrival.
  struct Request {
    std::shared_ptr<const Object> command;
    std::string tag = {};  ///< goes into the oplog's entry, for the harness
    std::int64_t waits_ns = 0;
  };
  /// `reply` is called once: at once, later, or never if the member is stopped for ever.
  void command(int member, Request request, Reply reply);
  /// Equal tokens are taken: one holder writes several times. Refused writes wait for a majority
  /// too.
  void fenced_write(int member, const FencedWrite& write, Reply reply);

  /// The member that a client takes for the primary: the one of the highest term among those that
  /// it reaches and that say so; -1: none. One that is stopped said so before, and is sent to: what
  /// it is sent waits in its sockets, and is executed when it goes on.
  [[nodiscard]] int primary_for(const std::array<bool, kMembers>& reachable) const;

  // Faults. Members are numbered 0, 1, 2.
  // Each takes effect at once, within the event that asks for it.
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
  /// Both directions. Links of clients are the network's; cutting these does not touch them.
  void set_link(int a, int b, bool up);
  /// One way, on top of the usual. It does not delay heartbeats, so nobody is elected for it.
  void set_replication_delay(int member, std::int64_t delay_ns);
  /// So far from true time now, and running that much fast. A secondary that jumps by more than the
  /// election timeout takes the primary for dead at once.
  /// In ms and parts in a million. Of the wall clock alone: messages, the journal and a command's
  /// wait inside go by true time.
  void set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm);
  /// The monitor goes on sleeping and waking, so switching it on does not begin a new period.
  void set_ttl(int member, bool on);
  /// Whether a secondary fetches what is new; heartbeats and votes go on either way.
  void set_fetching(int member, bool on);
  /// The next `count` commands at whichever primary, whoever sends them; 0 ends it.
  void fail_next(int count, int code, bool after_execution);

  // What an administrator does, at once on all members.
  [[nodiscard]] std::optional<TtlIndex> ttl_index() const;
  void set_ttl_index(const std::optional<TtlIndex>& index);
  /// At the primary: whether there was one.
  bool drop_locks();
  /// The name that was deleted; empty: none.
  std::string delete_lock(std::int64_t pick);

  /// Two members may take themselves for primary at once: one that is cut off does so until its
  /// election timeout is over.
  [[nodiscard]] int primary() const;  ///< the running one of the highest term, or -1
  [[nodiscard]] std::int64_t elections() const { return elections_; }
  /// Entries, not rollbacks.
  [[nodiscard]] std::int64_t rolled_back() const { return rolled_back_; }
  [[nodiscard]] std::int64_t ttl_deletions() const { return ttl_deletions_; }
  [[nodiscard]] std::int64_t injected_errors() const { return injected_errors_; }
  /// What its wall clock shows, since 1970.
  [[nodiscard]] std::int64_t clock_ms(int member) const;
  [[nodiscard]] std::int64_t waited_for_majority_in_vain() const { return wtimeouts_; }

 private:
  /// A time of a member's wall clock, counted as the queue counts, and the error when it comes
  /// first.
  /// A wall clock may be moved while somebody waits for it; that is why this is no time of the
  /// queue.
  struct Deadline {
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    std::int64_t wall_ns = 0;
    int code = 0;
  };
  /// Both are fixed when the member reads the command and kept while it waits inside.
  struct Arrival {
    Date now;           ///< $$NOW of the command
    Deadline max_time;  ///< by its maxTimeMS
  };
  /// A client whose write waits for a majority. Found again by `id`: what waits changes meanwhile.
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
  /// INVARIANT: `locks` and `fences` are `log`, applied from the beginning.
  /// INVARIANT: `journaled` and `committed` are lengths of the log; only after a loss of data may a
  /// rollback leave `committed` beyond its end.
  /// INVARIANT: entries up to `committed` are in the logs of a majority, so no primary elected
  /// later lacks them, unless a majority's data were lost.
  struct Member {
    bool alive = true, running = true, is_primary = false, ttl = true;
    bool copies = false;  ///< it is to copy all data, and has none before
    std::optional<TtlIndex> ttl_index;
    std::int64_t term = 1;
    // The clock is true time plus the offset, plus the rate since `clock_set_ns`.
    std::int64_t clock_offset_ms = 0, clock_rate_ppm = 0, clock_set_ns = 0;
    std::int64_t delay_ns = 0;  ///< of replication to it, beyond the usual
    // INVARIANT: times of hearing are of this member's wall clock, as its election timers are.
    std::int64_t heard_primary = 0;   ///< when a primary last reached it
    std::int64_t heard_majority = 0;  ///< as primary: when a majority last answered
    bool fetches = true;
    std::uint64_t life = 0;  ///< rises with each death: timers of a former life are void
    std::vector<Entry> log;
    std::size_t journaled = 0;        ///< of the log: what a SIGKILL leaves at least
    std::int64_t journal_period = 0;  ///< in which the last write was
    std::size_t committed = 0;
    // As lengths of the primary's own log. They begin at 0 with each office: what a member has is
    // only known once it says so in this one.
    std::array<std::size_t, kMembers> match{};  ///< as primary: how much the others have
    // INVARIANT: one message at a time is on its way to each.
    std::array<bool, kMembers> sending{};
    // The newest cluster time that it has seen, its own or another's. It never goes back, whatever
    // its clock does.
    Timestamp logical;
    Collection locks, fences;
    Transactions transactions;  ///< open ones, as primary
    ChangeStreams streams;
    std::vector<Waiter> waiters;
    std::vector<HeldBack> held_back;  ///< while it is stopped
  };

  [[nodiscard]] bool reaches(int a, int b) const { return links_[at(a)][at(b)]; }
  // A stopped member keeps its office and its memory; a dead one has neither.
  [[nodiscard]] bool works(int m) const { return members_[at(m)].alive && members_[at(m)].running; }
  static std::size_t at(int m) { return static_cast<std::size_t>(m); }
  [[nodiscard]] std::int64_t wall_ns(int member) const;
  [[nodiscard]] Deadline max_time_of(int member, const Object& command) const;
  /// Now, or when it goes on; never after a death.
  /// `life` is that of when it was asked for, so what a dead process was to do is not done by its
  /// successor.
  void when_running(int member, std::uint64_t life, std::function<void()> run);
  /// When the member's wall clock shows this. As a timed wait of mongod: it looks again once the
  /// time that it saw left has passed, so a clock that goes back makes it longer, and one that goes
  /// forward does not make it shorter.
  void at_wall(int member, std::int64_t wall_ns, std::function<void()> run);
  /// By term, as a driver decides between two that both say so.
  [[nodiscard]] int latest_primary(const std::function<bool(int)>& counts) const;
  /// REQUIRES: a write of this member as primary takes the time at once, so no time is used twice.
  Timestamp tick(Member& m, int index);
  void write(int member, Change change, std::shared_ptr<const FencedWrite> fenced,
             const std::string& tag = {});
  void journal_by_time(Member& m) const;
  // What is in the log and what is in the collections changes together, in these.
  void apply(Member& m, const Entry& entry);
  void rebuild(Member& m);
  void replicate(int from);
  void receive(int from, int to, std::size_t upto);
  void acknowledge(int from, int to, std::size_t has, std::int64_t term);
  // Moves what a majority has, and notifies all who wait for that.
  void advance(int primary);
  static void tell_streams(Member& m, std::size_t from);
  static Document before_entry(const Member& m, std::size_t index);
  void go_on_inside(int member, const Request& request, const Arrival& arrival, Reply reply);
  void execute_command(int member, const Request& request, const Arrival& arrival,
                       Reply reply);
  void arrive(int member, Request request, bool as_primary, Reply reply);
  void serve_stream(int member, const Object& command, Reply reply);
  void wait_for_majority(int member, Object answer, const Deadline& deadline, Reply reply);
  void end_waiting(int member, std::uint64_t waiter, int code);
  void answer(Member& m, Object reply, const Reply& to) const;
  // All members beat in one event of the queue.
  void beat();
  void heartbeat(int from, int to);
  /// False: it was not elected.
  bool stand(int member);
  void stand_if_overdue(int member);
  void become_secondary(int member);
  void ttl_pass(int member);
  void ttl_sleep(int member, std::int64_t span_ns);
  void catch_up(int member, const Member& from);
  /// Whether `a` has at least what `b` has: the later term wins, then the longer log.
  [[nodiscard]] static bool up_to_date(const std::vector<Entry>& a, const std::vector<Entry>& b);

  EventQueue& queue_;
  Random& random_;
  const Settings settings_;
  const std::function<void(const Entry&)> on_committed_;
  std::array<Member, kMembers> members_;
  // INVARIANT: symmetric, and true for a member itself.
  std::array<std::array<bool, kMembers>, kMembers> links_{};
  // INVARIANT: never goes back, so `on_committed` hears each write once, whichever primary finds
  // out.
  Timestamp announced_;  ///< of the last write that a majority was seen to have
  std::uint64_t last_waiter_ = 0;
  int failing_ = 0, failing_code_ = 0;
  bool failing_after_ = false;
  std::int64_t elections_ = 0, rolled_back_ = 0, ttl_deletions_ = 0, injected_errors_ = 0,
               wtimeouts_ = 0;
};

}  // namespace leasehold::sim::simulated
