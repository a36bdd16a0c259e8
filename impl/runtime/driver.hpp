#pragma once

#include <condition_variable>
#include <functional>
#include <leasehold/lock_event.hpp>
#include <leasehold/lock_options.hpp>
#include <leasehold/result.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/provider.hpp"
#include "runtime/errands.hpp"
#include "runtime/handle_state.hpp"
#include "runtime/lock_event_translator.hpp"
#include "runtime/threads/callbacks.hpp"
#include "runtime/threads/clock.hpp"
#include "runtime/threads/executor.hpp"
#include "runtime/threads/fork.hpp"
#include "runtime/threads/timers.hpp"
#include "runtime/threads/workers.hpp"

namespace leasehold::detail {

/// What a LockProvider and its locks share: a runtime::Driver and nothing else. Shared pointers
/// own it that were made of a Driver's, so they destroy the whole.
class Engine {
 protected:
  Engine() = default;
};

}  // namespace leasehold::detail

namespace leasehold::runtime {

/// Gets every step of the core, in order, under the driver's lock: be quick, and do not call back.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void step(const core::Event& event, const core::Effects& effects,
                    core::LocalInstant now) = 0;
};

/// What a driver is made of.
struct DriverParts {
  Carriers carriers;
  std::shared_ptr<const Clock> clock;
  std::shared_ptr<Executor> executor;
  std::unique_ptr<core::Entropy> entropy;
  std::unique_ptr<core::Provider> provider;
  int workers = 4;
  bool inspects = true;  ///< its documents are those of the production lock
  std::function<void(const std::string&)> on_warning;
  std::function<void(const LockEvent&)> on_event;  ///< may be empty
  std::shared_ptr<Observer> observer;              ///< may be empty
};

/// The same for production: connections of `transport`, real threads, the system's clock and
/// entropy.
[[nodiscard]] DriverParts production_parts(std::shared_ptr<core::Transport> transport,
                                           std::unique_ptr<core::Provider> provider,
                                           std::shared_ptr<const Clock> clock = boottime_clock());

/// Runs a provider: moves its commands to workers, its timers to the clock, its results to handles
/// and users. It decides nothing. The same code runs on threads (ThreadExecutor) and, with one
/// thread and virtual time, in the simulation. Errands, with a lock of its own, does what the core
/// is not notified of. DESIGN.md, "Threads and ownership", has the pictures.
///
/// The last owner of a driver is never a worker or the timers' thread: those own only what they
/// share with the driver's parts. It may be a user's function, called by Callbacks;
/// `destroy` then has a thread of its own do it, because the driver waits for such functions.
/// So it does where a thread must not wait.
/// Users' functions are called and destroyed outside every lock, there and nowhere else.
///
/// An acquire costs two thread switches only: the thread with an event steps the core itself.
/// Thread safety: all calls from any thread.
class Driver : public detail::Engine, public std::enable_shared_from_this<Driver> {
 public:
  /// Called once, under the driver's lock: be quick, and own no user's function.
  using Answered = std::function<void(Result<std::shared_ptr<HandleState>>)>;

  /// Throws std::system_error where there are no threads for it.
  [[nodiscard]] static std::shared_ptr<Driver> make(DriverParts parts);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Starts an acquire. No timeout: waits for ever; zero: one attempt. `downgraded`, unless it is
  /// 0: the session that the call gets the lock from, which is released next.
  core::SessionId acquire(const std::string& name, const LockOptions& options,
                          std::optional<std::chrono::milliseconds> timeout, Answered answered,
                          core::Room room = 0, core::SessionId downgraded = 0);

  /// The same, but `done` is called as a user's function. It keeps the driver until then.
  using Done = std::function<void(Result<Handle>)>;
  core::SessionId acquire_async(const std::string& name, const LockOptions& options,
                                std::optional<std::chrono::milliseconds> timeout, Done done,
                                core::Room room = 0);

  void cancel(core::SessionId session);
  void release(core::SessionId session);
  void deadline_seen(core::SessionId session);
  /// Has the lock of this handle extended before that is due, and waits until its deadline has
  /// moved or it is not held any more, at most until then: false.
  [[nodiscard]] bool extend(const HandleState& handle, core::LocalInstant until);

  /// Has a user's function called as Callbacks calls.
  void call_back(Callbacks::Function function) { callbacks_.post(std::move(function)); }
  /// What the core is not notified of.
  [[nodiscard]] Errands& errands() { return errands_; }

  [[nodiscard]] std::uint64_t draw();

  /// Gives up an owner on a thread that must not wait: if it is the last owner, another thread
  /// destroys the driver.
  static void drop_without_waiting(std::shared_ptr<Driver> driver);

  /// Whether this process is a child of the one that made the driver: without its threads. Then
  /// acquires fail at once, nothing is sent, and the object must not be destroyed.
  [[nodiscard]] bool forked() const { return forks_ != fork_generation(); }

  /// What a call about this lock returns then.
  [[nodiscard]] static Error forked_error(const std::string& name);

  /// Ends all waiting acquires.
  void begin_close();
  /// How many deletes no majority has acknowledged.
  [[nodiscard]] std::size_t departures_left();
  /// Ends all waiting acquires; waits for clean-ups, at most the longest operation timeout in use.
  void close();
  /// Nothing steps any more, and no call is answered; what calls own goes. A call owns the driver,
  /// so the end of a simulated process that was killed needs this.
  void forget_calls();

  [[nodiscard]] core::LocalInstant now() const { return clock_->now(); }
  /// For calls that wait.
  [[nodiscard]] Executor& executor() const { return *executor_; }

 private:
  explicit Driver(DriverParts parts);
  ~Driver();
  static void destroy(Driver* driver);

  /// An exception here would leave a torn core behind: it ends the process.
  void step(const core::Event& event) noexcept;
  void apply(core::Send& effect) { workers_.submit(std::move(effect.command)); }
  void apply(const core::Abandon& effect) { workers_.abandon(effect.command); }
  void apply(const core::SetTimer& effect) { timers_.set(effect.timer, effect.at); }
  void apply(const core::ClearTimer& effect) { timers_.clear(effect.timer); }
  void apply(const core::Granted& effect);
  void apply(const core::Extended& effect);
  void apply(const core::Lost& effect);
  void apply(const core::Ended& effect) { answer(effect.session, effect.error); }
  void apply(const core::Released& effect);
  void apply(const core::Warned& effect) { warn(effect.message); }
  void apply(const core::Congested&) {}  // for observers
  void answer(core::SessionId session, Result<std::shared_ptr<HandleState>> result);
  void warn(const std::string& message);
  void replied(core::CommandId command, core::Reply reply);
  void due(core::Timer timer);

  const int forks_ = fork_generation();
  const std::shared_ptr<const Clock> clock_;
  const std::shared_ptr<Executor> executor_;
  const std::unique_ptr<core::Entropy> entropy_;
  const std::shared_ptr<Observer> observer_;

  std::mutex mutex_;  // protects all down to the parts that have threads
  std::condition_variable stepped_;
  const std::unique_ptr<core::Provider> core_;
  core::Effects effects_;
  core::SessionId last_session_ = 0;
  std::chrono::milliseconds longest_timeout_{0};
  bool stopped_ = false;  ///< nothing steps any more

  Callbacks callbacks_;  ///< of users
  Timers timers_;
  Workers workers_;
  Errands errands_;

  const std::function<void(const std::string&)> on_warning_;
  const std::shared_ptr<const std::function<void(const LockEvent&)>> on_event_;  ///< may be null
  // Under mutex_, too. INVARIANT: a session has a call that waits, then a handle, then neither: the
  // core says each once.
  struct Call {
    LockOptions options;
    Answered answered;
  };
  LockEventTranslator translator_;
  std::map<core::SessionId, Call> waiting_;
  std::map<core::SessionId, std::shared_ptr<HandleState>> handles_;
};

}  // namespace leasehold::runtime
