#pragma once

#include <condition_variable>
#include <functional>
#include <leasehold/lock_options.hpp>
#include <leasehold/result.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/provider.hpp"
#include "core/transport.hpp"
#include "runtime/alarm.hpp"
#include "runtime/clock.hpp"
#include "runtime/fork.hpp"
#include "runtime/holding.hpp"
#include "runtime/notifier.hpp"
#include "runtime/teller.hpp"
#include "runtime/workers.hpp"

namespace leasehold::runtime {

/// Hears every step of the core, in order, under the driver's lock: be quick, and do not call back.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void step(const core::Event& event, const core::Effects& effects,
                    core::LocalInstant now) = 0;
};

/// What a driver is made of.
struct DriverParts {
  std::shared_ptr<core::Transport> transport;
  std::shared_ptr<const Clock> clock;
  std::unique_ptr<core::Entropy> entropy;
  std::unique_ptr<core::Provider> provider;
  int workers = 4;
  std::function<void(const std::string&)> on_warning;
  std::function<void(const LockEvent&)> on_event;  ///< may be empty
  std::shared_ptr<Observer> observer;              ///< may be empty
};

/// Runs a provider in real time: moves its commands to workers, its timers to the alarm, its
/// news to handles. It decides nothing.
///
/// Whoever has an event steps the core itself, under one lock that is never held across I/O, so an
/// acquire costs two thread switches and no more.
/// Thread safety: all calls from any thread.
class Driver : public std::enable_shared_from_this<Driver> {
 public:
  using Done = std::function<void(Result<std::shared_ptr<Holding>>)>;

  explicit Driver(DriverParts parts);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Starts an acquire; `done` is called once, under the driver's lock: be quick.
  /// No timeout: waits for ever; zero: one attempt.
  core::SessionId acquire(const std::string& name, const LockOptions& options,
                          std::optional<std::chrono::milliseconds> timeout, Done done);
  void cancel(core::SessionId session);
  void release(core::SessionId session);
  void deadline_seen(core::SessionId session);

  /// Whether this process is a child of the one that made the driver: without its threads. Then
  /// acquires fail at once, nothing is sent, and the object must not be destroyed.
  [[nodiscard]] bool forked() const { return forks_ != forks(); }

  /// Ends all waiting acquires; waits for clean-ups, at most the longest operation timeout in use.
  void close();

  [[nodiscard]] core::LocalInstant now() const { return clock_->now(); }
  Notifier& notifier() { return notifier_; }

 private:
  void step(const core::Event& event);
  void tell(const core::Event& event, core::LocalInstant at);
  void apply(core::Send& effect);
  void apply(const core::Abandon& effect);
  void apply(const core::SetTimer& effect);
  void apply(const core::Granted& effect);
  void apply(const core::Extended& effect);
  void apply(const core::Lost& effect);
  void apply(const core::Ended& effect);
  void apply(const core::Released& effect);
  void apply(const core::Warned& effect);

  const int forks_ = forks();
  const std::shared_ptr<const Clock> clock_;
  const std::unique_ptr<core::Entropy> entropy_;
  const std::function<void(const std::string&)> on_warning_;
  const std::function<void(const LockEvent&)> on_event_;
  const std::shared_ptr<Observer> observer_;

  std::mutex mutex_;  // protects all down to the threads
  std::condition_variable stepped_;
  const std::unique_ptr<core::Provider> core_;
  core::Effects effects_;
  Teller teller_;
  core::SessionId last_session_ = 0;
  std::map<core::SessionId, Done> acquiring_;
  std::map<core::SessionId, std::weak_ptr<Holding>> holding_;
  std::chrono::milliseconds longest_timeout_{0};

  // The threads, last: they end before what they use.
  Notifier notifier_;
  Alarm alarm_;
  Workers workers_;
};

}  // namespace leasehold::runtime
