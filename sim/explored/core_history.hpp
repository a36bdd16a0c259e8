#pragma once

#include <array>
#include <cstdint>
#include <variant>

#include "core/provider_core.hpp"
#include "model/history.hpp"
#include "sim/explored/core_scope.hpp"
#include "sim/explored/core_states.hpp"
#include "sim/recorder.hpp"
#include "sim/virtual/written_locks.hpp"

/// A path of an exploration as a history, as if it were a run: so what checks runs, refinement too,
/// checks it.
namespace leasehold::sim::explored {

/// An event that a process's core took, and what it did at once.
struct CoreStep {
  unsigned who;
  core::Event event;
  core::Effects effects;
};
/// A write that a majority has: the documents before and after, by number, and the place of its
/// first entry in the oplog.
struct CoreWrite {
  std::uint32_t before, after;
  unsigned order;
};
/// A process crashes, is paused, goes on.
struct CoreFate {
  unsigned who;
  model::Kind kind;
};
/// What `held()` answers who has a handle.
struct CoreAnswer {
  unsigned who;
  core::SessionId session;
  std::size_t lock;
  bool held;
};
using Happening = std::variant<CoreStep, CoreWrite, CoreFate, CoreAnswer>;

class CoreHistory {
 public:
  /// `faults`: the bits of those that befall the path; each lasts for all of it, since what it left
  /// on its way may come at any time. The others must outlive it.
  CoreHistory(const CoreScope& scope, const CoreStates& states, unsigned faults);
  CoreHistory(const CoreHistory&) = delete;  // its recorders refer to it
  CoreHistory& operator=(const CoreHistory&) = delete;

  /// What happens in this tick, in its order.
  void add(unsigned tick, const Happening& happening);
  /// All of it; it has nothing then.
  [[nodiscard]] model::History finish(unsigned tick);

 private:
  void go_to(unsigned tick);
  void add(const CoreStep& step);
  void add(const CoreWrite& write);
  void add(const CoreFate& fate);
  void add(const CoreAnswer& answer);
  void emit(model::Event&& event);
  void emit_of(unsigned who, model::Event&& event);

  const CoreScope& scope_;
  const CoreStates& states_;
  unsigned tick_ = 0;
  model::History history_;
  simulated::WrittenLocks written_;
  std::int64_t now_ns_;
  std::array<Recorder, 2> recorders_;
};

}  // namespace leasehold::sim::explored
