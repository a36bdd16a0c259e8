#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/plan/lock_registry.hpp"
#include "sim/plan/plan.hpp"
#include "sim/plan/random.hpp"

namespace leasehold::sim {

/// The names of a run's locks: those that are contended, and that of a doomed process.
[[nodiscard]] std::string lock_name(std::int64_t index);
[[nodiscard]] std::string grave_name(const std::string& process);
/// The resource of a semaphore's slot.
[[nodiscard]] std::string slot_name(const std::string& semaphore, int slot);

/// What one caller of a simulated process does, in either world: given what happened to it, it says
/// what it does next. It has no clock, no thread and no handle, so that it can be tested without a
/// world, and both worlds load the lock in the same way.
///
///     start > rest > acquire > receive > write > hold > write > release > rest > acquire ...
///
/// A doomed caller takes its own lock, writes once and holds it until it is killed. A scripted one
/// does what the steps of the plan say. Once faults are over, each acquires a few times more, with
/// a long timeout, and ends.
///
/// It writes to the fenced resource without asking first whether it still holds the lock.
///
/// The draws and their order are part of what a seed means, as those of `Random` are.
class Workload {
 public:
  struct Setting {
    ProcessPlan process;
    int locks = 1;             ///< names that are contended
    LongHolding long_holding;  ///< of that process
    std::string grave = {};    ///< not empty: it is doomed, and takes this lock
  };
  explicit Workload(Setting setting) : setting_(std::move(setting)) {}

  // What happens to a caller.
  struct Started {};
  struct TimePassed {};  ///< the rest, the callback or the holding is over
  struct Granted {
    std::uint64_t session = 0;
  };
  struct NotGranted {};
  struct Written {};  ///< the outcome is known, or never will be
  struct Released {};
  struct FaultsEnded {};
  struct StepDue {
    StepPlan step;
  };
  using Event = std::variant<Started, TimePassed, Granted, NotGranted, Written, Released,
                             FaultsEnded, StepDue>;

  // What it does next. One event answers each when it is over, except for the last three.
  struct Rest {
    std::chrono::microseconds time{};
  };
  struct Acquire {
    std::string lock;
    std::chrono::milliseconds timeout{};  ///< zero: one attempt
    std::optional<std::chrono::milliseconds> cancel_after = {};
    int permits = 0;  ///< not zero: one of so many permits of the semaphore `lock`
    std::vector<std::string> also = {};  ///< not empty: these too, all at once
    bool leads = false;                  ///< by standing for election, for one term
    bool reads = false;                  ///< it shares the lock
  };
  /// The user's function that gets the handle.
  struct Receive {
    bool relies_on_lost = false;  ///< during this holding it never asks `held()` by itself
    /// How long it keeps the callback thread, if there is one.
    std::optional<std::chrono::microseconds> callback_time = {};
  };
  struct Write {};  ///< to the fenced resource, with the token of its handle
  struct Hold {
    std::chrono::microseconds time{};
  };
  struct Release {};
  struct Cancel {};   ///< the acquire that waits
  struct Nothing {};  ///< until the next event
  struct End {};      ///< for ever
  using Action = std::variant<Rest, Acquire, Receive, Write, Hold, Release, Cancel, Nothing, End>;

  /// An event that does not fit is ignored: a minimised plan may lack the step before a step.
  [[nodiscard]] Action next(const Event& event, Random& random);

  [[nodiscard]] bool acquires() const { return phase_ == Phase::acquiring; }
  [[nodiscard]] bool ended() const { return phase_ == Phase::ended; }

 private:
  enum class Phase { idle, acquiring, receiving, holding, releasing, ended };

  [[nodiscard]] bool doomed() const { return !setting_.grave.empty(); }
  [[nodiscard]] bool scripted() const { return setting_.process.scripted; }
  Action on(const Started&, Random& random);
  Action on(const TimePassed&, Random& random);
  Action on(const Granted& granted, Random& random);
  Action on(const NotGranted&, Random& random);
  Action on(const Written&, Random& random);
  Action on(const Released&, Random& random);
  Action on(const FaultsEnded&, Random& random);
  Action on(const StepDue& due, Random& random);
  Action acquire_next(Random& random);
  [[nodiscard]] Acquire call_for(std::int64_t lock, std::chrono::milliseconds timeout,
                                 bool reads) const;
  Action received(Random& random);
  Action go_on(Random& random);
  Action release();
  Action end();

  Setting setting_;
  Phase phase_ = Phase::idle;
  bool faults_ended_ = false;
  int last_acquires_ = 0;             ///< since then
  bool last_write_ = false;           ///< of this holding: it releases after it
  std::chrono::microseconds hold_{};  ///< between the two writes of this holding
};

}  // namespace leasehold::sim
