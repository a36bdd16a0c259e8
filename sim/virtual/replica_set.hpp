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
namespace leasehold::sim::virt {

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

  /// A command that arrives. It waited `waited_ns` inside the server, and has the clock as it was
  /// before.
  struct Request {
    std::shared_ptr<const Object> command;
    std::string tag = {};  ///< goes into the oplog's entry, for the harness
    std::int64_t waited_ns = 0;
  };
  void command(int member, Request request, Reply reply);
  void fenced_write(int member, const FencedWrite& write, Reply reply);

  /// The member that a client would find to be primary: the one of the highest term among those
  /// that answer it and say so; -1: none.
  [[nodiscard]] int primary_for(const std::array<bool, kMembers>& reachable) const;

  // Faults. Members are numbered 0, 1, 2.
  void step_up(int member);  ///< as replSetStepUp: it stands for election now
  void step_down_primary();  ///< without a successor that is ready
  void stop(int member);     ///< SIGSTOP
  void go_on(int member);    ///< SIGCONT
  void kill(int member);     ///< SIGKILL
  void restart(int member);
  void set_link(int a, int b, bool up);
  void set_replication_delay(int member, std::int64_t delay_ns);
  /// So far from true time now, and running that much fast.
  void set_clock(int member, std::int64_t offset_ms, std::int64_t rate_ppm);
  void set_ttl(int member, bool on);
  void fail_next(int count, int code, bool after_execution);

  [[nodiscard]] int primary() const;  ///< the running one of the highest term, or -1
  [[nodiscard]] std::int64_t elections() const { return elections_; }
  [[nodiscard]] std::int64_t rolled_back() const { return rolled_back_; }
  [[nodiscard]] std::int64_t ttl_deletions() const { return ttl_deletions_; }
  [[nodiscard]] std::int64_t injected_errors() const { return injected_errors_; }
  [[nodiscard]] std::int64_t clock_ms(int member) const;
  [[nodiscard]] std::int64_t waited_for_majority_in_vain() const { return wtimeouts_; }

 private:
  struct Waiter {
    std::size_t index = 0;  ///< of the last entry that a majority must have
    std::uint64_t id = 0;
    Object answer;
    Reply reply;
  };
  struct Member {
    bool alive = true, running = true, is_primary = false, ttl = true;
    std::optional<TtlIndex> ttl_index;
    std::int64_t term = 1;
    std::int64_t clock_offset_ms = 0, clock_rate_ppm = 0, clock_set_ns = 0;
    std::int64_t delay_ns = 0;        ///< of replication to it, beyond the usual
    std::int64_t heard_primary = 0;   ///< when a primary last reached it
    std::int64_t heard_majority = 0;  ///< as primary: when a majority last answered
    std::vector<Entry> log;
    std::size_t committed = 0;
    std::array<std::size_t, kMembers> match{};  ///< as primary: how much the others have
    std::array<bool, kMembers> sending{};
    Timestamp logical;
    Collection locks, fences;
    Transactions transactions;  ///< open ones, as primary
    ChangeStreams streams;      ///< as primary
    std::vector<Waiter> waiters;
    std::vector<std::function<void()>> held_back;  ///< while it is stopped
  };

  [[nodiscard]] bool reaches(int a, int b) const { return links_[at(a)][at(b)]; }
  [[nodiscard]] bool works(int m) const { return members_[at(m)].alive && members_[at(m)].running; }
  static std::size_t at(int m) { return static_cast<std::size_t>(m); }
  Timestamp tick(Member& m, int index);
  void write(int member, Change change, std::shared_ptr<const FencedWrite> fenced,
             const std::string& tag = {});
  void apply(Member& m, const Entry& entry);
  void rebuild(Member& m);
  void replicate(int from);
  void receive(int from, int to, std::size_t upto);
  void acknowledge(int from, int to, std::size_t has, std::int64_t term);
  void advance(int primary);
  static void tell_streams(Member& m, std::size_t from);
  void wait_for_majority(int member, Object answer, std::int64_t wtimeout_ms, Reply reply);
  void answer(Member& m, Object reply, const Reply& to) const;
  void beat();
  void heartbeat(int from, int to);
  bool stand(int member);
  void become_secondary(int member);
  void ttl_pass(int member);
  void catch_up(int member, const Member& from);

  EventQueue& queue_;
  Random& random_;
  const Settings settings_;
  const std::function<void(const Entry&)> on_committed_;
  std::array<Member, kMembers> members_;
  std::array<std::array<bool, kMembers>, kMembers> links_{};
  std::size_t announced_ = 0;
  std::uint64_t last_waiter_ = 0;
  int failing_ = 0, failing_code_ = 0;
  bool failing_after_ = false;
  std::int64_t elections_ = 0, rolled_back_ = 0, ttl_deletions_ = 0, injected_errors_ = 0,
               wtimeouts_ = 0;
};

}  // namespace leasehold::sim::virt
