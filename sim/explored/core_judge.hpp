#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/explored/core_scope.hpp"
#include "sim/explored/core_states.hpp"

namespace leasehold::sim::explored {

/// Whether this document may be taken: its `expiresAt` has come. REQUIRES: there is one
[[nodiscard]] bool is_over(const Document& document, std::int64_t now_ms);

/// The guarantees of an exploration, each checked where it can break: at a write, in a state,
/// before time goes on. It marks the first that is broken in the world (`terms::Broken`), and notes
/// in `seen` what happened (`terms::Sight`).
///
/// What users see is checked: `held()` by each process's own clock, and owners of written
/// documents.
class CoreJudge {
 public:
  CoreJudge(const CoreScope& scope, const CoreStates& states, std::uint64_t& seen)
      : scope_(scope), states_(states), seen_(seen) {}

  /// Checks G2 in every state.
  void judge_state(World& to) const;
  /// Checks G1 and G6 after a write was stored.
  void judge_write(World& to, const Message& by, const Documents& before) const;
  /// Checks G5 and G7 before time goes on.
  void judge_tick(World& to) const;

 private:
  struct Change {
    std::size_t lock;
    const Document &before, &after;
  };

  void judge_change(World& to, const Message& by, const Change& change) const;
  void judge_acquire(World& to, const core::AcquireCommand& acquire, const Change& change) const;
  void judge_user(World& to, unsigned process, const User& user) const;
  void judge_left(World& to, unsigned process) const;
  [[nodiscard]] bool holds(const World& w, unsigned process, std::size_t which) const;
  [[nodiscard]] bool two_hold(const World& w) const;
  [[nodiscard]] bool another_holds(const World& w, std::size_t lock, core::Owner owner) const;
  [[nodiscard]] unsigned takeover_ticks() const;

  const CoreScope& scope_;
  const CoreStates& states_;
  std::uint64_t& seen_;
};

}  // namespace leasehold::sim::explored
