#include "sim/explored/core_history.hpp"

#include <string>
#include <utility>

#include "sim/explored/core_server.hpp"
#include "sim/explored/core_terms.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;
using model::Event;
using model::Kind;

std::int64_t ns(core::LocalInstant instant) { return instant.time_since_epoch().count(); }

Event event(Kind kind, unsigned who) {
  Event e;
  e.kind = kind;
  e.process = "p" + std::to_string(who);
  return e;
}

bool are_equal(const Document& a, const Document& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace

CoreHistory::CoreHistory(const CoreScope& scope, const CoreStates& states, unsigned faults)
    : scope_(scope),
      states_(states),
      written_([this](Event&& e) { emit(std::move(e)); }),
      // Before all else, for a fault to disturb what happens at once.
      now_ns_(ns(local(0, 0)) - std::chrono::nanoseconds(kTick).count()),
      recorders_{Recorder("p0", [this](Event&& e) { emit_of(0, std::move(e)); }),
                 Recorder("p1", [this](Event&& e) { emit_of(1, std::move(e)); })} {
  Event run;
  run.kind = Kind::run;
  run.lock = "leasehold";
  run.lateness_ns = run.truth_lag_ns = std::chrono::nanoseconds(kTick).count();
  run.ttl_period_ms = (scope.ticks + 1) * kTick.count();  // how late the monitor is, is free
  emit(std::move(run));
  for (unsigned who = 0; who < 2; ++who) {
    Event start = event(Kind::start, who);
    start.clock_drift_ppm = scope.drift_permille[who] * 1'000;
    emit(std::move(start));
  }
  for (unsigned kind = 0; kind < kCoreFaults; ++kind) {
    if ((faults >> kind & 1) == 0) continue;
    Event fault;
    fault.kind = Kind::fault;
    fault.fault = name_of(static_cast<CoreFault>(kind));
    fault.begins = true;
    emit(std::move(fault));
  }
}

/// The true time.
void CoreHistory::go_to(unsigned tick) {
  tick_ = tick;
  now_ns_ = ns(local(tick, 0));
}

void CoreHistory::add(unsigned tick, const Happening& happening) {
  go_to(tick);
  std::visit([this](const auto& one) { add(one); }, happening);
}

model::History CoreHistory::finish(unsigned tick) {
  go_to(tick);
  // Nothing comes after the faults: the checkers of what has to come about have nothing to check.
  for (const Kind kind : {Kind::heal, Kind::finish}) {
    Event e;
    e.kind = kind;
    emit(std::move(e));
  }
  return std::move(history_);
}

/// Its user's callback comes at once.
void CoreHistory::add(const CoreStep& step) {
  recorders_[step.who].step(step.event, step.effects, scope_.clock(step.who, tick_));
  for (const core::Effect& effect : step.effects) {
    const auto* lost = std::get_if<core::Lost>(&effect);
    if (lost == nullptr) continue;
    Event e = event(Kind::notified, step.who);
    e.session = static_cast<std::int64_t>(lost->session);
    e.name = lost->name;
    emit(std::move(e));
  }
}

/// A command that writes two documents has an entry for each.
void CoreHistory::add(const CoreWrite& write) {
  const Documents& before = states_.documents(write.before);
  const Documents& after = states_.documents(write.after);
  unsigned order = write.order;
  for (std::size_t lock = 0; lock < kLocks; ++lock) {
    if (are_equal(before[lock], after[lock])) continue;
    written_.add({kNames[lock], after[lock]}, CoreServer::order_of(order++));
  }
}

void CoreHistory::add(const CoreFate& fate) {
  emit(event(fate.kind, fate.who));
}

void CoreHistory::add(const CoreAnswer& answer) {
  Event e = event(Kind::held, answer.who);
  e.session = static_cast<std::int64_t>(answer.session);
  e.name = kNames[answer.lock];
  e.outcome = answer.held ? "yes" : "no";
  e.count = 1;
  e.first_asked_ns = e.first_answered_ns = e.last_asked_ns = now_ns_;
  emit(std::move(e));
}

void CoreHistory::emit(Event&& e) {
  e.at_ns = now_ns_;
  history_.push_back(std::move(e));
}

/// Its times are those of its own clock.
void CoreHistory::emit_of(unsigned who, Event&& e) {
  const std::int64_t begin = ns(local(0, 0)), rate = 1'000 + scope_.drift_permille[who];
  set_true_times(e, [&](auto shown) {
    return begin + ((shown - begin) * 1'000 + rate - 1) / rate;
  });
  emit(std::move(e));
}

}  // namespace leasehold::sim::explored
