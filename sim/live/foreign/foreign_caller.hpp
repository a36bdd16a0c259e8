#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "sim/live/foreign/foreign_process.hpp"
#include "sim/record/held_answers.hpp"

namespace leasehold::sim::live {

/// One caller of a worker around a lock that is not ours. It runs the workload by asking the
/// worker's process, and writes to the fenced resource if the lock promises tokens. It decides what
/// an answer means to its user, and what the history says of it.
///
/// INVARIANT: it has `answers_` from the grant until its release is asked for.
///
/// Not thread-safe: it is its thread's. It shares its `Home` with the others.
class ForeignCaller {
 public:
  /// What the callers of one worker share.
  struct Home {
    const ForeignSetting& setting;
    ForeignProcess& process;
    std::atomic<std::int64_t> ids = 0, writes = 0;
    std::atomic<int> holdings = 0;  ///< granted and not released
  };

  ForeignCaller(Home& home, int number);

  /// Until the faults are over and it has finished, or the worker broke off.
  void live();

 private:
  void work();
  void follow_script();
  bool hold_until(std::int64_t end_ns, bool wakes_when_healed);
  void ask();
  void write_fenced();
  void flush();
  void emit_granted(const ForeignProcess::Heard& heard);
  void emit_ended(const ForeignProcess::Heard& heard);
  model::Event event(model::Kind kind) const;
  model::Event event_at(model::Kind kind, const ForeignProcess::Heard& heard) const;

  Workload::Event perform(const Workload::Rest& rest);
  Workload::Event perform(const Workload::Hold& hold);
  Workload::Event perform(const Workload::Acquire& acquire);
  Workload::Event perform(const Workload::Receive& receive);
  Workload::Event perform(const Workload::Write& write);
  Workload::Event perform(const Workload::Release& release);
  template <typename Other>
  Workload::Event perform(const Other&) {
    return Workload::TimePassed{};  // of scripted and doomed callers
  }

  Home& home_;
  const int number_;
  Random random_;
  Workload workload_;
  std::int64_t id_ = 0;
  std::string name_;
  std::int64_t token_ = 0;
  bool knows_of_end_ = false;
  bool relies_on_lost_ = false;               ///< no `ask` during this holding
  std::shared_ptr<FencedResource> resource_;  ///< if the lock has tokens
  std::unique_ptr<HeldAnswers> answers_;
};

}  // namespace leasehold::sim::live
