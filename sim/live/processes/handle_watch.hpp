#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "sim/live/processes/worker_clock.hpp"
#include "sim/record/held_answers.hpp"
#include "sim/user.hpp"

namespace leasehold::sim::live {

/// Asks the handles of a process as their user would, by `held()`, every few ms, and listens to
/// `lost()`. Writes the answers down with the times of the harness's clock before and after. Thread
/// safety: all calls from any thread.
class HandleWatch {
 public:
  using Emit = HeldAnswers::Emit;

  HandleWatch(std::shared_ptr<const WorkerClock> clock, std::string process, Emit emit)
      : clock_(std::move(clock)),
        process_(std::move(process)),
        emit_(std::move(emit)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  /// Watches what a user holds, from `begin` to `end`. A silent one is asked only on request: its
  /// user relies on `lost()` alone, and a question at the deadline would do what a timer has to do.
  class Watched final : public Watch {
   public:
    /// REQUIRES: both outlive it.
    Watched(HandleWatch& watch, const Holding& holding)
        : watch_(watch),
          holding_(holding),
          answers_(watch.process_, holding.session, holding.name) {}
    ~Watched() override { leave(); }

    void begin() override {
      on_lost_.emplace(holding_.lost(), [this] {
        watch_.emit_({.at_ns = watch_.clock_->true_ns(),
                      .kind = model::Kind::notified,
                      .process = watch_.process_,
                      .session = holding_.session,
                      .name = holding_.name});
      });
      ask();
      // At once, because a kill must not hide that the handle got to its user.
      flush();
      if (holding_.silent) return;
      const std::lock_guard lock(watch_.mutex_);
      watch_.watched_.push_back(this);
      watch_.changed_.notify_all();
    }
    void wrote() override { ask(); }
    /// Also before and after writes, at the beginning and at the end.
    void ask() override {
      const std::lock_guard lock(watch_.mutex_);
      ask_once();
    }
    void flush() override {
      const std::lock_guard lock(watch_.mutex_);
      answers_.flush(watch_.clock_->true_ns(), watch_.emit_);
    }
    void end() override {
      if (holding_.handle) ask();
      leave();
    }

   private:
    friend class HandleWatch;

    void leave() {
      {
        const std::lock_guard lock(watch_.mutex_);
        watch_.watched_.remove(this);
      }
      flush();
      on_lost_.reset();
    }

    /// REQUIRES: the watch's mutex is held.
    void ask_once() {
      const auto& clock = *watch_.clock_;
      const auto before = clock.true_ns();
      const bool held = holding_.held();
      const auto asked = clock.now().time_since_epoch().count();
      const auto left = holding_.remaining().count();
      const auto after = clock.true_ns();
      const auto until = left > 0 ? clock.true_ns_of(asked + left) : 0;
      answers_.add(held, before, after, watch_.emit_, until);
      if (answers_.count() >= kFlushEvery) answers_.flush(after, watch_.emit_);
    }

    HandleWatch& watch_;
    const Holding& holding_;
    HeldAnswers answers_;
    std::optional<std::stop_callback<std::function<void()>>> on_lost_;
  };

 private:
  static constexpr std::chrono::milliseconds kPeriod{3};
  /// A killed process loses the answers that it has not written down: this many at most.
  static constexpr std::int64_t kFlushEvery = 16;

  /// Sleeps without a limit while no handle is held.
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (!changed_.wait(lock, stop, [this] { return !watched_.empty(); })) return;
      for (Watched* one : watched_) one->ask_once();
      changed_.wait_for(lock, stop, kPeriod, [] { return false; });
    }
  }

  const std::shared_ptr<const WorkerClock> clock_;
  const std::string process_;
  const Emit emit_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Watched*> watched_;  ///< protected by mutex_
  std::jthread thread_;
};

}  // namespace leasehold::sim::live
