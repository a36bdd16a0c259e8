#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/virtual/commands/change_streams.hpp"
#include "sim/virtual/event_queue.hpp"
#include "sim/virtual/servers/member_data.hpp"

/// The members of the simulated replica set: which run, which reach each other, what each one's
/// clock shows, and how an action is put off until a member can do it. Layers on these, each a
/// class derived from the one below, decide what members do: `Replication`, `Elections`,
/// `ClientCommands`, `ReplicaSet`.
namespace leasehold::sim::simulated {

/// The wall clock of one member, which a fault may move or let drift. What it shows is counted as
/// the queue counts: in ns from the start of the run.
///
/// It decides what the manual's `$$NOW` is, and when a member's timers are due; no message and no
/// order of writes depends on it.
///
/// INVARIANT: a time on the grain is shown as a time on the grain, so that rounding is the same on
/// all machines.
class MemberClock {
 public:
  /// From now on it shows true time plus the offset, and runs fast by `rate_ppm`.
  void set(std::int64_t now_ns, std::int64_t offset_ms, std::int64_t rate_ppm) {
    offset_ms_ = offset_ms;
    rate_ppm_ = rate_ppm;
    // The rate counts from here; what it added before is replaced by the new offset.
    set_at_ns_ = now_ns;
  }

  [[nodiscard]] std::int64_t shown(std::int64_t now_ns) const {
    // In whole ms, so that the clock stays on the grain; multiplied before it is divided.
    const auto drifted_ms = (now_ns - set_at_ns_) / kMs * rate_ppm_ / 1'000'000;
    return now_ns + (offset_ms_ + drifted_ms) * kMs;
  }

 private:
  std::int64_t offset_ms_ = 0, rate_ppm_ = 0, set_at_ns_ = 0;
};

inline constexpr int kMembers = 3;

/// One for each member, by its number.
template <typename T>
struct PerMember : std::array<T, kMembers> {
  using Base = std::array<T, kMembers>;
  T& operator[](int member) { return Base::operator[](static_cast<std::size_t>(member)); }
  const T& operator[](int member) const {
    return Base::operator[](static_cast<std::size_t>(member));
  }
};

/// mongod's defaults are 10 s for elections, 2 s for heartbeats and 60 s for the TTL monitor.
/// These are shorter, as in the live world, so that a run sees many of each.
struct ServerSettings {
  std::int64_t replication_ns = kMs / 2;  ///< one way, between members
  std::int64_t election_timeout_ns = 1'000 * kMs;
  std::int64_t heartbeat_ns = 200 * kMs;
  std::int64_t ttl_period_ns = 1'000 * kMs;
  bool ttl_deletes_at_once = false;  ///< as since 6.1: one oplog entry for all of a pass
  std::int64_t epoch_ms = 1'700'000'000'000;  ///< wall clock at virtual time 0
  /// How often a secondary fails to fetch when its link to the primary breaks.
  int failed_fetch_percent = 0;
  std::int64_t stream_lag_ms = 0;  ///< of change streams; below 0: none may be opened
};

/// The answer to a client: a reply, or nothing if the connection broke. `refused` is certain:
/// nothing was executed. `broken` leaves that open.
enum class ServerAnswer { reply, broken, refused };
using ServerReply = std::function<void(ServerAnswer, Object)>;

/// A client with a write that waits for a majority. Found again by `id`: others come and go.
struct Waiter {
  std::size_t index = 0;  ///< of the last entry that a majority must have
  std::uint64_t id = 0;
  Object answer;
  ServerReply reply;
};

/// What a stopped member will do when it goes on, or will never do.
struct HeldBack {
  std::function<void()> run;
  ServerReply client = nullptr;  ///< the client that waits for it, if any
};

/// One mongod.
///
/// A stopped one keeps its office and its memory; a dead one has neither, and keeps `data`.
struct Member {
  // Its process.
  bool alive = true, running = true;
  std::uint64_t life = 0;           ///< rises with each death: timers of a former life do nothing
  std::vector<HeldBack> held_back;  ///< while it is stopped
  MemberClock clock;

  // Its office.
  bool is_primary = false;
  std::int64_t term = 1;
  // INVARIANT: times of hearing are of this member's wall clock, like its election timers.
  std::int64_t heard_primary = 0;   ///< when a primary last reached it
  std::int64_t heard_majority = 0;  ///< as primary: when a majority last answered

  // As primary, of the others. Lengths of its own log, which begin at 0 with each office, because
  // it knows what a member has only once the member said so in this one.
  PerMember<std::size_t> match{};  ///< how much the others have
  // INVARIANT: one message at a time is on its way to each.
  PerMember<bool> sending{};

  // Its data.
  MemberData data;
  bool copies = false;  ///< it has to copy all data, and has none yet
  std::optional<TtlIndex> ttl_index;
  // The newest cluster time that it has seen, its own or another's. It never goes back, whatever
  // its clock does.
  Timestamp logical;
  Timestamp elsewhere;  ///< of its last write to another collection, whose entry is left out
  bool fetches = true;
  PerMember<std::int64_t> shuns_until{};  ///< it fetches nothing from that one before
  std::int64_t delay_ns = 0;  ///< of replication to it, beyond the usual

  // What clients have there. INVARIANT: transactions and waiters are a primary's alone; streams
  // outlive its office.
  Transactions transactions;  ///< open ones
  ChangeStreams streams;
  std::vector<Waiter> waiters;

  [[nodiscard]] bool works() const { return alive && running; }
  /// The `operationTime` of a reply: the time of the newest write, also of another client's.
  [[nodiscard]] Timestamp operation_time() const {
    return data.log().empty() ? logical : std::max(elsewhere, data.log().back().time);
  }
};

/// Where the database of the locks is, as the members of a shard know it.
struct Residence {
  enum class Is { here, leaving, elsewhere };
  Is is = Is::here;
  std::int64_t since_term = 0;  ///< members of earlier terms do not know it
};

/// What a primary does with a command on that database.
enum class Serves { now, later, never };

/// All of them, by number. Member 0 is primary at the start.
///
/// REQUIRES: it outlives the queue's events; all of them refer to it.
class Members {
 public:
  /// A time of a wall clock that never comes.
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  Members(EventQueue& queue_, const ServerSettings& settings_)
      : queue(queue_), settings(settings_) {
    for (auto& row : links_) row.fill(true);
    for (int i = 0; i < kMembers; ++i) {
      all_[i].streams.number_as(i, kMembers);
      all_[i].streams.lag(queue, settings.stream_lag_ms);
    }
    all_[0].is_primary = true;
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  [[nodiscard]] Member& at(int member) { return all_[member]; }
  [[nodiscard]] const Member& at(int member) const { return all_[member]; }
  [[nodiscard]] bool works(int member) const { return at(member).works(); }
  [[nodiscard]] bool reaches(int a, int b) const { return links_[a][b]; }
  /// Both directions.
  void set_link(int a, int b, bool up) { links_[a][b] = links_[b][a] = up; }

  /// A member's wall clock, counted as the queue counts.
  [[nodiscard]] std::int64_t wall_ns(int member) const {
    return at(member).clock.shown(queue.now());
  }
  /// What its wall clock shows, since 1970.
  [[nodiscard]] std::int64_t clock_ms(int member) const {
    return (settings.epoch_ms * kMs + wall_ns(member)) / kMs;
  }

  /// Now, or when it goes on; never after a death. `life` is the member's when the call was asked
  /// for, so that a successor does not do what a dead process was to do.
  /// SIGSTOP keeps a process's timers as they are: they are overdue when it goes on.
  void when_running(int member, std::uint64_t life, std::function<void()> run) {
    Member& m = at(member);
    if (m.life != life) return;
    if (m.running) return run();
    // When it goes on, these run in the order in which they came due.
    m.held_back.push_back({std::move(run)});
  }

  /// When the member's wall clock shows this. As a timed wait of mongod: it looks again once the
  /// time left has passed, so a clock that goes back makes it longer, and a clock that goes forward
  /// does not make it shorter.
  void at_wall(int member, std::int64_t wall, std::function<void()> run) {
    if (wall == kNever) return;
    const auto left = wall - wall_ns(member);
    if (left <= 0) return run();
    // Nothing is withdrawn or moved when the clock is set: the event comes when the time that was
    // left then is over, and looks again. So a step ahead makes a wait no shorter, a step back
    // longer (measured: wtimeout, maxTimeMS and the TTL monitor's sleep alike).
    const auto life = at(member).life;
    queue.after(left, [this, member, life, wall, run = std::move(run)] {
      when_running(member, life, [this, member, wall, run] { at_wall(member, wall, run); });
    });
  }

  /// The primary becomes a secondary. Its log does not change: if another goes on without its end,
  /// replication rolls that back.
  /// Clients keep their connections, and are notified by the answers that they wait for.
  void leave_office(int member) {
    Member& m = at(member);
    m.is_primary = false;
    // They are in no log, so no successor has them.
    m.transactions = {};
    m.heard_primary = wall_ns(member);
    // ok: 1, and 11602: interrupted by the change of state. The successor may have the write, or
    // not.
    const auto waiters = std::exchange(m.waiters, {});
    for (const Waiter& w : waiters) {
      w.reply(ServerAnswer::reply,
              write_concern_error(w.answer, kInterruptedByStateChange, "stepped down"));
    }
  }

  /// By what this member knows. One that was cut off goes on as before a move.
  [[nodiscard]] Serves serves(int member) const {
    const bool knows = at(member).term >= residence.since_term;
    switch (residence.is) {
      case Residence::Is::here: return knows ? Serves::now : Serves::never;
      case Residence::Is::leaving: return knows ? Serves::later : Serves::now;
      default: return knows ? Serves::never : Serves::now;
    }
  }

  EventQueue& queue;
  const ServerSettings settings;
  Residence residence;

 protected:
  PerMember<Member> all_;

 private:
  // INVARIANT: symmetric, and true for a member itself.
  PerMember<PerMember<bool>> links_{};
};

}  // namespace leasehold::sim::simulated
