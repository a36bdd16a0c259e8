#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/explorer.hpp"

/// The lock in small scope: clients, one document, messages that are late or lost, a primary and
/// its successor, clocks that are off, the TTL monitor, a fenced resource. Written from the design,
/// not from the lock's code, with which it shares nothing.
///
/// Time runs in ticks, without end: only distances from now are kept, and what is long past is
/// alike; of tokens only their order, of beats only which are the same. A lease lasts kLease ticks.
/// The worst that drift may do is built in: a holder's clock lags by one tick in a lease, an
/// observer's runs ahead by one, and each side keeps a margin of one tick against it.
namespace leasehold::model {

/// One-line errors of the protocol, each named after what was forgotten. `none` is the lock.
enum class Variant : std::uint8_t {
  none,
  no_owner_check_on_release,
  no_owner_check_on_extension,
  no_check_of_the_winner,
  deadline_from_the_reply,
  deadline_moved_by_an_unknown_extension,
  late_extension_revives_a_lost_handle,
  belief_until_the_release_is_answered,
  beat_not_raised_by_a_retry,
  beat_kept_by_an_extension,
  beat_restarted_by_an_extension,
  observation_from_the_sending,
  observed_beat_not_compared,
  observed_string_not_compared,
  owner_used_on_after_its_delete,
  owner_per_process,
  older_own_write_lowers_expires_at,
  margin_kept_by_the_waiter,
  margin_forgotten_by_an_extension,
  extension_inserts_when_missing,
  expiry_ignored,
  token_from_cluster_time,
  token_counter_in_the_document,
  majority_not_awaited,
  no_drift_margin_of_the_holder,
  no_drift_margin_of_the_observer,
};

struct VariantInfo {
  Variant variant;
  std::string_view name;
  std::string_view breaks;  ///< the guarantees of which one must break, e.g. "G1 G2"
};
[[nodiscard]] const std::vector<VariantInfo>& variants();

/// The variant of this name; "none" is the lock itself. Nothing for any other name.
[[nodiscard]] std::optional<Variant> variant_named(std::string_view name);

/// How much of everything there is.
struct Scope {
  int clients = 2;
  int messages = 1;      ///< in flight, for each client
  int acquisitions = 2;  ///< for each client
  int clock_margin = 1;
  int skew = 1;  ///< by how much the successor's clock is ahead
  int failovers = 1;
  int crashes = 1;
  int pauses = 1;
  int ttl_passes = 1;
  int losses = 1;           ///< of requests or replies
  bool late_starts = true;  ///< commands may wait inside the server with the time of their start
  Variant variant = Variant::none;
};

[[nodiscard]] std::string describe(const Scope& scope);

/// A scope in which the error shows: the default one, unless it needs two messages of one client.
[[nodiscard]] Scope scope_for(Variant variant);

class LockSystem {
 public:
  static constexpr int kLease = 3;
  static constexpr int kNow = 16;  ///< where every state puts its present
  static constexpr int kMaxClients = 3;
  static constexpr int kMaxMessages = 2;

  static constexpr int kGenerations = 8;       ///< owners of one client that anything may name
  static constexpr int kHorizon = kLease + 3;  ///< what is further back makes no difference

  using Byte = std::uint8_t;

  static constexpr Byte byte(int value) { return static_cast<Byte>(value); }
  /// Owners are client * kGenerations + generation + 1; 0 is none.
  static constexpr int client_of(Byte owner) { return (owner - 1) / kGenerations; }
  static constexpr int generation_of(Byte owner) { return (owner - 1) % kGenerations; }

  /// A document: who holds it (0: there is none), by which beat, until when by server clocks.
  struct Document {
    Byte owner = 0, beat = 0, expires = 0, counter = 0;
    bool operator==(const Document&) const = default;
  };

  enum Slot : Byte { kEmpty, kAcquire, kExtend, kDelete, kWon, kRefused, kExtended, kNoMatch };

  /// A request on its way or inside the server, or the reply to it.
  struct Message {
    Byte slot = kEmpty, owner = 0, beat = 0;
    Byte seen_owner = 0, seen_beat = 0;  ///< request: observed dead; reply: who holds
    Byte started = 0;                    ///< server time at its start, plus one; 0: not started
    Byte clock = 0;                      ///< the cluster time at its start
    Byte sent = 0;
    Byte token = 0, order = 0;  ///< of the write; the order is the truth
    Byte committed = 0;         ///< a majority has what the reply says
  };

  enum Phase : Byte { kIdle, kWaiting, kAttempting, kHeld, kReleasing, kCrashed };

  struct Client {
    Byte phase = kIdle, generation = 0, newest = 0, beat = 0, attempt_beat = 0;
    Byte awaited = 0;     ///< 1 + the message slot whose reply is awaited; 0: none
    Byte belief_end = 0;  ///< real time; what its clock may lag is added
    Byte token = 0, order = 0;
    Byte sight_owner = 0, sight_beat = 0, sight_at = 0;
    Byte doubtful = 0;   ///< an attempt of this owner was never answered
    Byte to_delete = 0;  ///< an owner that is to be cleaned up; 0: none
    Byte deleted = 0;    ///< bits of generations whose delete was sent
    Byte paused = 0, acquired = 0;
    Message message[kMaxMessages];
  };

  /// All bytes: no padding, so equal worlds are equal words.
  struct World {
    Byte now = kNow, failed_over = 0, crashes = 0, pauses = 0, ttl_passes = 0, losses = 0;
    Byte order = 0;  ///< of the last write; never goes back
    Byte dirty = 0;  ///< the last write is not yet a majority's
    Document document, committed;
    Byte lease_owner = 0,
         lease_end = 0;                 ///< truth: the lease last given, as its holder may count it
    Byte fence = 0, fence_order = 0;    ///< the resource: greatest token, and its holder's order
    Byte top_token = 0, top_order = 0;  ///< the latest grant
    Byte violation = 0;
    Byte committed_lease_owner = 0, committed_lease_end = 0;
    Client client[kMaxClients];
  };

  using State = PackedState<(sizeof(World) + 7) / 8>;

  enum class Act : Byte {
    tick,
    commit,
    failover,
    ttl_pass,
    start,
    execute,
    lose,
    deliver,
    ask,
    attempt,
    time_out,
    give_up,
    extend,
    release,
    clean_up,
    write,
    crash,
    pause,
    resume
  };
  struct Action {
    Act act;
    Byte client;
    Byte slot;
  };

  explicit LockSystem(const Scope& scope) : scope_(scope) {}

  template <typename Emit>
  void initial(Emit emit) const {
    emit(pack(World{}));
  }

  template <typename Emit>
  void successors(const State& state, Emit emit) const {
    std::vector<std::pair<World, Action>>& out = scratch_;
    out.clear();
    collect(unpack(state), out);
    for (const auto& [world, action] : out) emit(pack(canonical(world)), action);
  }

  [[nodiscard]] const char* broken(const State& state) const;
  [[nodiscard]] std::uint64_t reached(const State& state) const;
  /// The path told with the clients' own names, which sorting exchanges.
  [[nodiscard]] std::vector<std::string> story(const std::vector<State>& path) const;

  /// What `reached` bits mean.
  [[nodiscard]] static const std::vector<std::string_view>& sometimes();

 private:
  using Out = std::vector<std::pair<World, Action>>;

  [[nodiscard]] std::string tell(int time, const World& from, Action action, const World& to) const;
  static State pack(const World& world);
  static World unpack(const State& state);
  [[nodiscard]] World canonical(const World& world) const { return sort_clients(tidied(world)); }
  [[nodiscard]] World tidied(World world) const;
  static void forget_the_past(World& w);
  void drop_what_nobody_needs(World& w) const;
  void number_generations(World& w) const;
  void rank_orders(World& w) const;
  void number_beats(World& w) const;
  [[nodiscard]] World sort_clients(const World& world) const;
  [[nodiscard]] World arranged(const World& world, const int* order) const;
  [[nodiscard]] bool is_the_same(const World& world, const State& state) const;

  [[nodiscard]] bool is(Variant variant) const { return scope_.variant == variant; }
  [[nodiscard]] int server_now(const World& w) const {
    return w.now + (w.failed_over != 0 ? scope_.skew : 0);
  }
  [[nodiscard]] Byte owner_of(int client, const Client& c) const;
  [[nodiscard]] bool believes(const World& w, const Client& c) const;
  [[nodiscard]] int free_slot(const Client& c) const;

  void collect(const World& w, Out& out) const;
  void client_steps(const World& w, int i, Out& out) const;
  void message_steps(const World& w, int i, int k, Out& out) const;
  void send(World& w, int i, int k, Message m) const;
  void attempt(World& w, int i, int k) const;
  void execute(World& w, int i, int k) const;
  void execute_acquire(World& w, Message& m, int server_time) const;
  void execute_extend(World& w, Message& m, int server_time) const;
  void execute_delete(World& w, Message& m) const;
  void wrote(World& w) const;
  void give_lease(World& w, Byte owner, int end) const;
  void deliver(World& w, int i, int k) const;
  void won(World& w, int i, const Message& m) const;

  const Scope scope_;
  mutable Out scratch_;
};

}  // namespace leasehold::model
