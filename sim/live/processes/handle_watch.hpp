#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "sim/live/processes/worker_clock.hpp"
#include "sim/record/held_answers.hpp"

namespace leasehold::sim::live {

/// Asks the handles of a process as their user would, by `held()`, every few ms, and listens to
/// `lost()`. Writes the answers down with the times of the harness's clock before and after. Thread
/// safety: all calls from any thread.
class HandleWatch {
 public:
  using Emit = HeldAnswers::Emit;

  HandleWatch(std::shared_ptr<const WorkerClock> clock, std::string process, Emit emit);
  ~HandleWatch();
  HandleWatch(const HandleWatch&) = delete;
  HandleWatch& operator=(const HandleWatch&) = delete;

  /// What a user has of a lock: a handle, or a term that it leads.
  struct Handle {
    std::function<bool()> held;
    std::function<std::chrono::nanoseconds()> remaining;
    std::stop_token lost;
    std::string name;
    std::int64_t session = 0;
  };

  /// Watches a handle until this is destroyed; what `held` asks must outlive it. A
  /// silent one is asked only on request, because its user relies on `lost()` alone, and a question
  /// at the deadline would do what a timer has to do.
  class Watched {
   public:
    Watched(HandleWatch& watch, Handle handle, bool silent = false);
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    /// Asks now as well: before and after writes, at the beginning and at the end.
    void ask();

   private:
    friend class HandleWatch;
    void ask_once();  ///< REQUIRES: the watch's mutex is held

    HandleWatch& watch_;
    const Handle handle_;
    HeldAnswers answers_;
    const std::stop_callback<std::function<void()>> on_lost_;
  };

 private:
  void run(const std::stop_token& stop);
  void notified(std::int64_t session, const std::string& name) const;

  const std::shared_ptr<const WorkerClock> clock_;
  const std::string process_;
  const Emit emit_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Watched*> watched_;  ///< protected by mutex_
  std::jthread thread_;
};

}  // namespace leasehold::sim::live
