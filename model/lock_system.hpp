#pragma once

#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "model/lock_world.hpp"

/// The lock in small scope: clients, one document, messages that are late or lost, a primary and
/// its successor, an old primary that does not know it, clocks that are off, the TTL monitor, a
/// fenced resource that sees each grant as soon as its holder does.
///
/// A paused client is one that takes no step, which any client may do at any time, as long as it
/// likes. The worst that drift may do is built in: each side keeps a margin of one tick against it,
/// and the tick is lost. Thread-safe.
namespace leasehold::model {

namespace arrow {
using Set = std::array<std::uint64_t, 2>;  ///< bit n: the nth arrow of all tables, in their order
}

class LockSystem {
 public:
  using State = lock_world::State;
  using World = lock_world::World;
  using Byte = lock_world::Byte;

  enum class Act : Byte {
    tick,
    commit,
    failover,
    step_down,
    ttl_pass,
    start,
    execute,
    execute_stale,
    lose,
    deliver,
    attempt,
    time_out,
    give_up,
    extend,
    release,
    clean_up,
    crash,
    hand_over,
    hear,
    lose_notice,
    read_stream
  };
  struct Action {
    Act act;
    Byte client;
    Byte slot;
    Byte waited;  ///< ticks inside the server before it was executed; hand-over: the receiver
  };
  using Out = std::vector<std::pair<World, Action>>;

  /// Throws std::invalid_argument for a scope whose states do not fit.
  explicit LockSystem(const Scope& scope);

  template <typename Emit>
  void initial(Emit emit) const {
    emit(lock_world::pack(World{}, scope_));
  }

  template <typename Emit>
  void successors(const State& state, Emit emit) const {
    thread_local Out next;
    next.clear();
    steps(lock_world::unpack(state, scope_), next);
    for (auto& [world, action] : next) {
      lock_world::make_canonical(world, scope_);
      emit(lock_world::pack(world, scope_), action);
    }
  }

  [[nodiscard]] Judgement judge(const State& state) const;
  /// The path in words, with the clients' own names, which sorting exchanges.
  [[nodiscard]] std::vector<std::string> story(const std::vector<State>& path) const;

  /// Every step that this world can take, with the world after it, clients keeping their names.
  void steps(const World& world, Out& out) const;
  /// One step in the words of the published diagrams.
  [[nodiscard]] std::string tell(const World& from, Action action, const World& to) const;
  /// The guarantee that this world breaks, or null.
  [[nodiscard]] const char* broken_in(const World& world) const;
  /// Whether the fenced resource, which saw every grant, takes a write of this client.
  [[nodiscard]] bool resource_takes(const World& world, int client) const;

  /// The bits of what comes about somewhere, and is true here; what they mean.
  [[nodiscard]] std::uint64_t reached_in(const World& world) const;
  [[nodiscard]] static const std::vector<std::string_view>& sometimes();
  /// The arrows of the diagrams that the steps so far have taken, by their names.
  [[nodiscard]] std::vector<std::string> arrows_taken() const;

 private:
  using Client = lock_world::Client;
  using Message = lock_world::Message;
  using Document = lock_world::Document;

  void world_steps(const World& w, Out& out) const;
  void client_steps(const World& w, int i, Out& out) const;
  void holder_steps(const World& w, int i, int free, Out& out) const;
  void hand_over_steps(const World& w, int i, Out& out) const;
  void queue_steps(const World& w, int i, Out& out) const;
  void message_steps(const World& w, int i, int k, Out& out) const;
  void run_out(const World& w) const;
  void fail_over(World& w) const;
  void attempt(World& w, int i, int k) const;
  void execute(World& w, int i, int k, bool stale, int waited, bool clock_off) const;
  void execute_acquire(World& w, int i, Message& m, Document& d, int waited, bool clock_off) const;
  void execute_hand_over(World& w, int i, Message& m, Document& d, int waited) const;
  void take(World& w, Message& m, Document& d, const Rules& rules, int until) const;
  void execute_extend(World& w, int i, Message& m, Document& d, int waited) const;
  void execute_delete(World& w, int i, Message& m, Document& d, int waited) const;
  void execute_renewal(World& w, int i, Message& m, Document& d, int waited) const;
  void enlist(const Message& m, Document& d, int waited) const;
  bool pass_on(World& w, Document& d, const Rules& rules, int waited) const;
  void hear(World& w, int i) const;
  Byte token_for(World& w, const Rules& rules, const Document& d, Byte order, bool stale) const;
  void answers_by_stale(const World& w, const Rules& rules, const Message& m,
                        std::vector<Message>& out) const;
  void refuse(Message& m, const Rules& rules, const Document& d) const;
  void wrote(World& w, const Document& d) const;
  void check_grant(World& w, int i, const Document& before) const;
  void deliver(World& w, int i, int k) const;
  void won(World& w, int i, const Message& m, Byte counted) const;
  void violate(World& w, int violation) const;
  [[nodiscard]] int margin(const Rules& rules, bool extension) const;
  [[nodiscard]] int waiter_margin(const Rules& rules) const;
  [[nodiscard]] Byte token_of(const Client& c) const;
  Byte next_token(World& w, Byte World::*clock) const;
  [[nodiscard]] Byte next_order(const World& w) const;
  [[nodiscard]] bool holds(const World& w, int i) const;
  [[nodiscard]] bool counts_on_a_lease(const World& w, int i) const;
  [[nodiscard]] bool looks_at(Guarantee guarantee) const {
    return scope_.guarantees.contains(guarantee);
  }
  void took(const arrow::Set& arrows) const {
    for (std::size_t i = 0; i < arrows.size(); ++i) {
      // Nearly always it is there already, and a word that is only read stays with all threads.
      if ((arrows[i] & ~arrows_[i].load(std::memory_order_relaxed)) == 0) continue;
      arrows_[i].fetch_or(arrows[i], std::memory_order_relaxed);
    }
  }

  const Scope scope_;
  mutable std::array<std::atomic<std::uint64_t>, std::tuple_size_v<arrow::Set>> arrows_{};
};

}  // namespace leasehold::model
