#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/permit_call.hpp"
#include "runtime/driver.hpp"
#include "sim/candidate.hpp"
#include "sim/plan/workload.hpp"
#include "sim/record/held_answers.hpp"
#include "sim/user_calls.hpp"
#include "sim/virtual/machine.hpp"
#include "sim/virtual/network.hpp"

namespace leasehold::sim::simulated {

/// What a caller has from the grant until it asks for the release: the handle, as a user has it, or
/// the term that it leads.
struct Holding {
  /// As the user asks.
  [[nodiscard]] bool held() const { return handle ? handle->held() : term->leads(token); }
  /// Fires when it is lost.
  [[nodiscard]] std::stop_token lost() const {
    return handle ? handle->lost() : term->lost();
  }

  /// Its end releases nothing, because a process that is killed runs no destructor.
  std::shared_ptr<LockHandle> handle;
  std::shared_ptr<Candidate> term;
  std::string name, owner;
  FencingToken token;
  std::int64_t session;
  HeldAnswers answers;
  bool silent = false;  ///< its user relies on `lost()` alone
  // Last, so that it ends first: a callback must not find a holding that is half destroyed.
  using OnLost = std::stop_callback<std::function<void()>>;
  std::unique_ptr<OnLost> on_lost = nullptr;
};

/// One user of a simulated process: it holds or awaits at a time what one call asks for. Its
/// workload decides what it does; here it is done on this machine: with callbacks, and by turns on
/// a thread of the user by calls that wait. It uses its handle as a user would: it asks `held()`
/// while it holds, listens to `lost()`, and has the answers written down. It asks also when the
/// answer should be no, so that a wrong answer is on record.
///
/// INVARIANT: it has a `Holding` of each lock from the grant until the release is asked for, like
/// its workload.
///
/// REQUIRES: it stays where it is once it was started, and outlives the queue's events.
class Caller {
 public:
  /// What it shares with the other callers of its process.
  struct Home {
    const std::string& process;
    EventQueue& queue;
    Machine& machine;
    Network& network;
    Recorder& recorder;
    Random& random;
    const std::function<void(model::Event&&)>& emit;
    /// Any other holder of this name is to be asked now.
    const std::function<void(const std::string& name)>& on_grant;
    /// One of the callers has done all that its workload says.
    std::function<void()> on_end;
    const bool& over;  ///< the run has ended: no caller is notified any more
    std::shared_ptr<runtime::Driver> driver;
    // When functions of users that take their time keep the thread that calls back.
    int keep = 0;  ///< how many, now
    std::int64_t kept_from = 0, kept_to = -1;
    [[nodiscard]] std::int64_t kept_since() const {
      return keep > 0 || kept_to == queue.now() ? kept_from : 0;
    }
    // Numbers their writes to the fence, so that what the oplog has is matched with what was asked.
    std::int64_t writes = 0;
  };

  Caller(Home& home, LockOptions options, Workload workload)
      : home_(&home),
        options_(std::move(options)),
        user_calls_(
            home.recorder, options_, [&home] { return home.machine.clock.now(); },
            [&home] { return home.kept_since(); }),
        workload_(std::move(workload)) {}

  /// Tells its workload that it started, or that a step of the plan is due, and does what the
  /// workload answers. All else it notices itself.
  void happened(const Workload::Event& event);
  /// Faults are over. It knows at once, but acts on it only when the process runs.
  void faults_end();
  /// It has done all that its workload says.
  [[nodiscard]] bool ended() const { return workload_.ended(); }
  /// Cancels a waiting asynchronous call, because it owns the driver and would keep it alive.
  void cancel_call();

  [[nodiscard]] const std::vector<Holding>& holdings() const { return holdings_; }
  /// Asks its handles.
  void ask();
  /// Writes the answers so far down.
  void flush();

 private:
  [[nodiscard]] model::Event event(model::Kind kind) const;
  void perform(const Workload::Action& action);
  void on(const Workload::Rest& rest);
  void on(const Workload::Acquire& acquire);
  void call_for_a_permit(const Workload::Acquire& acquire);
  void call_for_all(const Workload::Acquire& acquire);
  void stand_for_election(const Workload::Acquire& acquire);
  void answered(Result<LockHandle> handle);
  void on(const Workload::Receive& receive);
  void on(const Workload::Write& write);
  void on(const Workload::Hold& hold);
  void on(const Workload::Release& release);
  void on(const Workload::Cancel&) { cancel_call(); }
  void on(const Workload::Nothing&) {}
  void on(const Workload::End&) { home_->on_end(); }
  void hold(LockHandle handle);
  /// Whether the call, and the release after it, wait on a thread of the user.
  [[nodiscard]] bool waits() const;
  void keep_thread_that_calls_back(std::int64_t span_ns);
  void write(Holding& holding, const std::function<void()>& done);
  void keep_asking(std::int64_t session);
  bool ask(Holding& holding) const;
  /// Passes that time, if it still has this holding then.
  void pass_while_held(std::int64_t span_ns);
  // Whether it still has the holding for which an event was asked: it may have released that and
  // got another since.
  [[nodiscard]] Holding* holding_of(std::int64_t session);

  Home* home_;  ///< no reference: callers are moved before they start
  LockOptions options_;
  UserCalls user_calls_;
  Workload workload_;
  std::shared_ptr<runtime::PermitCall> permit_call_;  ///< the one that it waits for
  std::shared_ptr<Candidate> candidate_;              ///< until its term is over
  std::stop_source stop_;                             ///< of its call
  std::int64_t calls_ = 0;                            ///< of every kind
  std::vector<Holding> holdings_;
};

}  // namespace leasehold::sim::simulated
