#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "runtime/driver.hpp"
#include "runtime/testing/fake_server.hpp"

namespace leasehold::runtime {

/// The parts of a driver with real threads and a FakeServer, without the core. A test says what
/// timers and replies lead to before it sets or sends any.
struct RuntimeParts {
  RuntimeParts() = default;
  RuntimeParts(const RuntimeParts&) = delete;
  RuntimeParts& operator=(const RuntimeParts&) = delete;
  ~RuntimeParts() { stop(); }

  /// As the driver stops them: from here on nothing is called any more.
  void stop() {
    timers.stop();
    workers.stop();
  }

  std::function<void(core::Timer)> on_due = [](core::Timer) {};
  std::function<void(core::CommandId, Reply)> on_reply = [](core::CommandId, const Reply&) {};
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
  std::shared_ptr<const Clock> clock = boottime_clock();
  std::shared_ptr<Executor> executor = thread_executor(clock);
  Timers timers{executor, clock, [this](core::Timer timer) { on_due(timer); }};
  Workers workers{executor, carriers_of(server), 2,
                  [this](core::CommandId id, Reply reply) { on_reply(id, std::move(reply)); }};
};

}  // namespace leasehold::runtime
