#pragma once

#include <chrono>
#include <functional>
#include <leasehold/lock_handle.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/history/history.hpp"
#include "sim/candidate.hpp"
#include "sim/plan/workload.hpp"
#include "sim/record/lock_truth.hpp"

namespace leasehold::sim {

/// Asks whether a lock is held, as its user does, and has the answers written down; also when the
/// answer should be no, so that a wrong answer is on record.
class Watch {
 public:
  virtual ~Watch() = default;
  /// The user has the lock: from here on it asks by itself, and listens to a loss.
  virtual void begin() {}
  virtual void ask() = 0;
  /// Its user has written to the fenced resource.
  virtual void wrote() {}
  /// Writes the answers so far down.
  virtual void flush() = 0;
  /// Its release was asked for: the answer is no from here on, and no loss is expected.
  virtual void end() = 0;
};

/// What a user has of a lock from the grant until it asks for the release: the handle, or the term
/// that it leads, or, of a lock that is not ours, what its worker said.
struct Holding {
  [[nodiscard]] bool held() const { return handle ? handle->held() : term->leads(token); }
  /// A leader does not know how long it has left.
  [[nodiscard]] std::chrono::nanoseconds remaining() const {
    return handle ? handle->remaining() : std::chrono::nanoseconds(0);
  }
  /// Fires when it is lost.
  [[nodiscard]] std::stop_token lost() const { return handle ? handle->lost() : term->lost(); }

  /// What it writes to: each permit has its own.
  [[nodiscard]] std::string resource() const {
    return handle && handle->slot() >= 0 ? slot_name(name, handle->slot()) : name;
  }

  std::string name;
  std::int64_t session = 0;
  FencingToken token{0};
  std::string owner = {};
  std::chrono::milliseconds lease{0};
  /// Its end releases nothing, because a process that is killed runs no destructor.
  std::shared_ptr<LockHandle> handle = nullptr;
  std::shared_ptr<Candidate> term = nullptr;
  bool reads = false;
  bool silent = false;                    ///< its user relies on `lost()` alone
  bool over = false;                      ///< its release was asked for
  std::unique_ptr<Watch> watch = nullptr;  ///< last: it ends before what it asks
};
using HoldingPointer = std::shared_ptr<Holding>;

/// The lock as a user calls it.
class LockCalls {
 public:
  /// Nothing: it was not granted.
  using Granted = std::function<void(std::vector<HoldingPointer>)>;

  virtual ~LockCalls() = default;
  virtual void acquire(const Workload::Acquire& acquire, Granted granted) = 0;
  /// The acquire under way.
  virtual void cancel() = 0;
  /// Some holdings ask for it; a user that holds meanwhile does not wait for the answer.
  virtual void ensure(const HoldingPointer&) {}
  virtual void release(const HoldingPointer& holding, std::function<void()> released) = 0;
  /// Whether its user goes on to read where it would release.
  [[nodiscard]] virtual bool downgrades(const Holding&) const { return false; }
  virtual void downgrade(const HoldingPointer&, Granted) {}
  /// Whether the last acquire, and the release after it, wait on a thread of the user.
  [[nodiscard]] virtual bool waits() const { return true; }
};

/// What a process of either world is to a user: its time, and all that is not the lock's.
class UserHome {
 public:
  using Job = std::function<void()>;
  using Outcome = std::function<void(const std::string& outcome)>;

  virtual ~UserHome() = default;
  /// The process's.
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// By the harness's clock.
  [[nodiscard]] virtual std::int64_t true_ns() const = 0;
  /// Writes an event down.
  virtual void emit(model::Event&& event) = 0;
  /// In true time, as all that a user does of its own accord; never if the process was killed.
  virtual void later(std::chrono::nanoseconds span, Job job) = 0;
  /// The run has ended: no user is notified any more.
  [[nodiscard]] virtual bool over() const { return false; }
  [[nodiscard]] virtual std::unique_ptr<Watch> watch(const HoldingPointer& holding) = 0;
  /// Writes of the process to the fenced resource are numbered.
  [[nodiscard]] virtual std::int64_t next_write() = 0;
  /// Calls `done` when the outcome is known or never will be; empty: nothing was written.
  virtual void write(const FencedWrite& write, Outcome done) = 0;
  /// The user's function keeps the thread that calls back, if there is one.
  virtual void keep_callback(std::chrono::nanoseconds) {}
  /// The user has done all that its workload says.
  virtual void ended() = 0;

  /// What happens now to a user with this lock.
  [[nodiscard]] model::Event event_of(const Holding& holding, model::Kind kind) const {
    return {.at_ns = true_ns(),
            .kind = kind,
            .process = name(),
            .session = holding.session,
            .name = holding.name};
  }
};

/// One user of a simulated process, in either world and of any lock: it holds or awaits at a time
/// what one call asks for. Its workload decides what it does; its home says when, and its lock is
/// called for it.
///
/// INVARIANT: it has a `Holding` of each lock from the grant until the release is asked for, like
/// its workload.
///
/// Not thread-safe: its home calls it on one thread, and so do its lock and its watches.
/// REQUIRES: it stays where it is once it was started, and outlives what its home has to do later.
class User {
 public:
  User(UserHome& home, std::unique_ptr<LockCalls> lock, Workload workload, Random& random)
      : home_(&home), lock_(std::move(lock)), workload_(std::move(workload)), random_(&random) {}

  /// Tells its workload that it started, or that a step of the plan is due, and does what the
  /// workload answers. All else it notices itself.
  void happened(const Workload::Event& event) { perform(workload_.next(event, *random_)); }
  /// Faults are over: it knows at once, because what its workload draws must not depend on when a
  /// stopped process goes on. Returns what it does about it, once the process runs.
  [[nodiscard]] UserHome::Job faults_end();
  /// It has done all that its workload says.
  [[nodiscard]] bool ended() const { return workload_.ended(); }
  /// Cancels a waiting call.
  void cancel();

  [[nodiscard]] const std::vector<HoldingPointer>& holdings() const { return holdings_; }
  /// Asks whether it holds what it holds.
  void ask();
  /// Writes the answers so far down.
  void flush();

 private:
  void perform(const Workload::Action& action);
  void on(const Workload::Rest& rest);
  void on(const Workload::Acquire& acquire);
  void on(const Workload::Receive& receive);
  void on(const Workload::Write& write);
  void on(const Workload::Hold& hold);
  void on(const Workload::Release& release);
  void let_go(const HoldingPointer& holding, std::function<void()> released);
  void on(const Workload::Cancel&) { cancel(); }
  void on(const Workload::Nothing&) {}
  void on(const Workload::End&) { home_->ended(); }
  /// Passes that time, if it still has what it holds then.
  void pass_while_held(std::chrono::nanoseconds span);

  UserHome* home_;  ///< no reference: users are moved before they start
  std::unique_ptr<LockCalls> lock_;
  Workload workload_;
  Random* random_;
  std::int64_t calls_ = 0;  ///< of every kind
  std::vector<HoldingPointer> holdings_;
};

}  // namespace leasehold::sim
