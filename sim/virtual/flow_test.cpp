#include <gtest/gtest.h>

#include <deque>

#include "core/provider_core.hpp"
#include "runtime/driver.hpp"
#include "sim/virtual/machine.hpp"
#include "sim/virtual/network.hpp"
#include "sim/virtual/servers/shards.hpp"

/// The runtime and core of production with far more calls than workers: how many it grants, and
/// what becomes of those that it has.
namespace leasehold::sim::simulated {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kWorkers = 4;

/// How long servers are busy with a command. The members of the virtual world take no time.
struct Costs {
  std::int64_t command_ns = kMs;  ///< so 1,000 attempts a second
  std::int64_t extension_ns = 5 * kGrain;  ///< of one lock

  [[nodiscard]] std::int64_t of(const core::Command& command) const {
    const auto* extend = std::get_if<core::ExtendCommand>(&command.body);
    if (extend == nullptr) return command_ns;
    return command_ns + static_cast<std::int64_t>(extend->statements.size()) * extension_ns;
  }
};

/// Carries a command once the servers are done with those that came before.
class BusyCarrier final : public runtime::Carrier {
 public:
  struct Servers {
    Costs costs;
    std::int64_t free_at = 0;
  };
  BusyCarrier(std::unique_ptr<runtime::Carrier> inner, Servers& servers, EventQueue& queue,
              Machine& machine)
      : inner_(std::move(inner)), servers_(servers), queue_(queue), machine_(machine) {}

  void carry(core::Command command, std::function<void(core::Reply)> done) override {
    const auto now = queue_.now();
    servers_.free_at = std::max(servers_.free_at, now) + servers_.costs.of(command);
    waits_ = command.id;
    done_ = done;
    machine_.later(servers_.free_at - now, [this, command, done = std::move(done)] {
      if (std::exchange(waits_, 0) == command.id) inner_->carry(command, std::move(done_));
    });
  }
  void interrupt(core::CommandId command) noexcept override {
    if (waits_ != command) return inner_->interrupt(command);
    waits_ = 0;
    machine_.later(0, [done = std::move(done_)] { done({}); });
  }

 private:
  const std::unique_ptr<runtime::Carrier> inner_;
  Servers& servers_;
  EventQueue& queue_;
  Machine& machine_;
  core::CommandId waits_ = 0;  ///< of the command that the servers have not come to
  std::function<void(core::Reply)> done_;
};

/// One provider, and as many free names as it is asked for.
class World {
 public:
  explicit World(LockOptions options = {}, Costs costs = {})
      : options_(std::move(options)), busy_{costs} {
    auto parts =
        network_.driver_parts(std::make_unique<core::ProviderCore>("", kWorkers), kWorkers, 2);
    parts.carriers = [this, usual = parts.carriers] {
      return std::make_unique<BusyCarrier>(usual(), busy_, queue_, machine_);
    };
    driver_ = runtime::Driver::make(std::move(parts));
  }
  ~World() {
    machine_.kill();  // nothing is released one by one
    handles_.clear();
    driver_.reset();
    machine_.let_go();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void ask(milliseconds timeout = std::chrono::hours(1)) {
    const auto name = "lock-" + std::to_string(++asked);
    machine_.run([&] {
      driver_->acquire_async(name, options_, timeout, [this](Result<runtime::Handle> got) {
        if (got) handles_.push_back(std::move(*got));
        ended += got ? 0 : 1;
      });
    });
  }
  /// All members are stopped and go on.
  void stop(std::int64_t from_ms, std::int64_t for_ms) {
    for (int member = 0; member < kMembers; ++member) {
      queue_.after(from_ms * kMs, [this, member] { servers_.all(&ReplicaSet::stop, member); });
      queue_.after((from_ms + for_ms) * kMs, [this, member] {
        servers_.all(&ReplicaSet::go_on, member);
      });
    }
  }
  void run_until(const std::function<bool()>& over) {
    while (!over() && queue_.step()) {
    }
  }
  void run_for(seconds span) {
    const auto until = queue_.now() + span.count() * 1'000 * kMs;
    run_until([&] { return queue_.now() >= until; });
  }

  [[nodiscard]] double now_s() const { return static_cast<double>(queue_.now()) * 1e-9; }
  [[nodiscard]] int granted() const { return static_cast<int>(handles_.size()); }
  /// How many of those that were granted are lost; what is lost stays so.
  [[nodiscard]] int lost() const {
    int lost = 0;
    for (const auto& handle : handles_) lost += handle.held() ? 0 : 1;
    return lost;
  }
  [[nodiscard]] std::size_t cleanups() const { return driver_->departures_left(); }

  int asked = 0, ended = 0;

 private:
  EventQueue queue_;
  Random random_{1};
  const LockOptions options_;
  BusyCarrier::Servers busy_;
  Shards servers_{queue_, random_, {.ttl_period_ns = 60'000 * kMs}, {}};
  Machine machine_{queue_, 0, ServerSettings{}.epoch_ms, 1};
  Recorder recorder_{"p", [](model::Event&&) {}};
  Network network_{{machine_, queue_, servers_, recorder_, {}, 1, false}};
  std::shared_ptr<runtime::Driver> driver_;
  std::deque<runtime::Handle> handles_;
};

constexpr int kLocks = 10'000;  ///< which the servers can extend in a cadence

/// Goodput: granted a second, asking for so many at a time, until all are granted.
double granted_per_s(World& world, int count, int at_a_time) {
  const auto began = world.now_s();
  world.run_until([&] {
    while (world.asked < count && world.asked - world.granted() < at_a_time) world.ask();
    return world.granted() == count;
  });
  const auto rate = count / (world.now_s() - began);
  testing::Test::RecordProperty("granted_per_s_of_" + std::to_string(at_a_time),
                                std::to_string(rate));
  return rate;
}

/// What waits is more than the servers do in a lease.
TEST(FlowInTheVirtualWorld, AllAtOnceAreGrantedAsFastAsAFewAtATimeAndNoneIsLost) {
  const LockOptions options{.expiry = seconds(9)};
  const Costs costs{.command_ns = 2 * kMs};
  World few(options, costs), all(options, costs);
  const auto of_few = granted_per_s(few, kLocks, 64);
  const auto of_all = granted_per_s(all, kLocks, kLocks);
  EXPECT_GE(of_all, 0.8 * of_few);
  all.run_for(seconds(10));
  EXPECT_EQ(all.granted(), kLocks);
  EXPECT_EQ(all.lost() + all.ended, 0);
  EXPECT_EQ(all.cleanups(), 0u);
}

TEST(FlowInTheVirtualWorld, ServersThatStopForFifteenSecondsCostNoLock) {
  World world({.expiry = seconds(30)});
  world.stop(5'000, 15'000);  // amid the burst
  granted_per_s(world, kLocks, kLocks);
  world.run_for(seconds(30));
  EXPECT_EQ(world.granted(), kLocks);
  EXPECT_EQ(world.lost() + world.ended, 0);
}

/// The servers extend a thousand in a cadence: most calls wait in vain, and what was never sent
/// leaves nothing to clean up.
TEST(FlowInTheVirtualWorld, WhereMoreIsAskedForThanCanBeExtendedWhatIsHeldStaysHeld) {
  World world({.expiry = seconds(3)}, {.extension_ns = kMs});
  constexpr int kAsked = 10'000;
  for (int i = 0; i < kAsked; ++i) world.ask(seconds(20));
  world.run_until([&] { return world.granted() + world.ended == kAsked; });
  EXPECT_LE(world.cleanups(), static_cast<std::size_t>(kWorkers));
  world.run_for(seconds(10));
  EXPECT_EQ(world.lost(), 0);
  EXPECT_GT(world.granted(), 500);
  EXPECT_GT(world.ended, 5'000);
  EXPECT_EQ(world.cleanups(), 0u);
}

}  // namespace
}  // namespace leasehold::sim::simulated
