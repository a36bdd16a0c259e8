#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "api/permit_call.hpp"
#include "core/provider_core.hpp"
#include "sim/virtual/machine.hpp"
#include "sim/virtual/network.hpp"
#include "sim/virtual/servers/replica_set.hpp"

/// The semaphore of production, of several processes, in the virtual world with faults.
namespace leasehold::sim::simulated {
namespace {

using runtime::PermitCall;
using std::chrono::milliseconds;

constexpr int kSlots = 3, kProcesses = 5, kCallers = 2;
constexpr std::int64_t kFaulty = 20'000 * kMs, kHealed = 25'000 * kMs;

template <typename T>
std::shared_ptr<T> borrowed(T& part) {
  return {std::shared_ptr<void>(), &part};
}

std::vector<std::string> slots() {
  std::vector<std::string> names;
  for (int i = 0; i < kSlots; ++i) names.push_back("s#" + std::to_string(i));
  return names;
}

/// A process whose callers acquire, hold and release permits, again and again.
class Process {
 public:
  Process(EventQueue& queue, ReplicaSet& servers, Random& random, const LockOptions& options,
          Sabotage sabotage, std::function<void(int slot, FencingToken)> on_grant)
      : queue_(queue),
        random_(random.draw()),
        options_(options),
        on_grant_(std::move(on_grant)),
        machine(queue, random_.between(-4'500, 4'500),
                ReplicaSet::Settings{}.epoch_ms, random_.draw()),
        recorder_("p", [](model::Event&&) {}),
        network({machine, queue, servers, recorder_, sabotage, random_.draw(), false}),
        driver_(runtime::Driver::make({.carriers = network.carriers(),
                                       .clock = borrowed<const runtime::Clock>(machine.clock),
                                       .executor = borrowed<runtime::Executor>(machine),
                                       .entropy = std::make_unique<Random>(random_.draw()),
                                       .provider = std::make_unique<core::ProviderCore>("p", 4),
                                       .workers = 4,
                                       .on_warning = [](const std::string&) {}})),
        callers_(kCallers) {
    for (auto& caller : callers_) {
      machine.later(in(1'000), [this, &caller] { acquire(caller); });
    }
  }
  ~Process() {
    for (auto& caller : callers_) {
      if (caller.call) caller.call->cancel();
    }
    machine.let_go();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The slots that it holds by its own account.
  std::vector<int> held() {
    std::vector<int> all;
    if (machine.killed() || machine.paused()) return all;
    for (const auto& caller : callers_) {
      if (caller.permit && caller.permit->handle.held()) all.push_back(caller.permit->slot);
    }
    return all;
  }
  [[nodiscard]] int fewest_grants() const {
    int fewest = 1'000'000;
    for (const auto& caller : callers_) fewest = std::min(fewest, caller.grants);
    return fewest;
  }
  void count_anew() {
    for (auto& caller : callers_) caller.grants = 0;
  }

 private:
  struct Caller {
    std::shared_ptr<PermitCall> call;
    std::optional<PermitCall::Got> permit;
    int grants = 0;
  };

  std::int64_t in(std::int64_t most_ms) { return random_.between(1, most_ms) * kMs; }
  void acquire(Caller& caller) {
    const milliseconds timeout(random_.chance(10) ? 0 : random_.between(20, 15'000));
    caller.call = PermitCall::start(driver_, {slots(), options_, timeout},
                                    [this, &caller](Result<PermitCall::Got> got) {
                                      answered(caller, std::move(got));
                                    });
    if (!random_.chance(12)) return;
    machine.later(in(3'000), [call = std::weak_ptr(caller.call)] {
      if (const auto waits = call.lock()) waits->cancel();
    });
  }
  void answered(Caller& caller, Result<PermitCall::Got> got) {
    caller.call.reset();
    if (!got) return machine.later(in(200), [this, &caller] { acquire(caller); });
    caller.permit = std::move(*got);
    ++caller.grants;
    on_grant_(caller.permit->slot, caller.permit->handle.token());
    machine.later(in(1'500), [this, &caller] {
      caller.permit->handle.release_async(nullptr);
      caller.permit.reset();
      machine.later(in(100), [this, &caller] { acquire(caller); });
    });
  }

  EventQueue& queue_;
  Random random_;
  const LockOptions options_;
  const std::function<void(int, FencingToken)> on_grant_;

 public:
  Machine machine;

 private:
  Recorder recorder_;

 public:
  Network network;

 private:
  const std::shared_ptr<runtime::Driver> driver_;
  std::vector<Caller> callers_;
};

class World {
 public:
  World(std::uint64_t seed, const LockOptions& options, Sabotage sabotage = Sabotage::none)
      : random_(seed),
        options_(options),
        sabotage_(sabotage),
        servers_(queue_, random_, {}, {}) {}

  void run() {
    queue_.at(1'000 * kMs, [this] {
      for (int i = 0; i < kProcesses; ++i) start();
    });
    queue_.at(1'000 * kMs, [this] { watch(); });
    for (int i = 0; i < 14; ++i) {
      queue_.at(below(kFaulty / kMs) * kMs + 2'000 * kMs, [this] { harm(); });
    }
    queue_.at(kFaulty + 7'000 * kMs, [this] {
      for (auto& p : processes_) p->count_anew();
    });
    while (queue_.now() < kFaulty + 7'000 * kMs + kHealed && queue_.step()) {
    }
  }

  int most_held = 0, grants = 0, kills = 0;
  std::vector<std::string> wrong;

  /// Of those that live, since the faults were over.
  int fewest_grants() {
    int fewest = 1'000'000;
    for (const auto& p : processes_) {
      if (!p->machine.killed()) fewest = std::min(fewest, p->fewest_grants());
    }
    return fewest;
  }

 private:
  std::int64_t below(std::int64_t n) { return random_.between(0, n - 1); }
  void start() {
    processes_.push_back(std::make_unique<Process>(
        queue_, servers_, random_, options_, sabotage_, [this](int slot, FencingToken token) {
          ++grants;
          if (token <= last_[slot]) wrong.push_back("tokens of slot " + std::to_string(slot));
          last_[slot] = token;
          look();
        }));
  }
  /// At each grant, and every 5 ms.
  void look() {
    std::map<int, int> of_slot;
    int all = 0;
    for (const auto& p : processes_) {
      for (const int slot : p->held()) {
        ++all;
        if (++of_slot[slot] > 1) wrong.push_back("two hold slot " + std::to_string(slot));
      }
    }
    if (all > kSlots) wrong.push_back(std::to_string(all) + " hold");
    most_held = std::max(most_held, all);
  }
  void watch() {
    look();
    queue_.after(5 * kMs, [this] { watch(); });
  }
  void harm() {
    auto& p = *processes_[static_cast<std::size_t>(
        below(static_cast<std::int64_t>(processes_.size())))];
    const auto member = static_cast<int>(below(ReplicaSet::kMembers));
    const auto span = (100 + below(3'000)) * kMs;
    switch (below(6)) {
      case 0:
        if (p.machine.killed()) return;
        p.machine.kill();
        ++kills;
        return start();
      case 1:
        if (p.machine.paused()) return;
        p.machine.pause();
        return queue_.after(span, [&p] { p.machine.resume(); });
      case 2: return servers_.step_up(member);
      case 3:
        servers_.stop(member);
        return queue_.after(span, [=, this] { servers_.go_on(member); });
      case 4: return servers_.fail_next(5, 91, below(2) == 0);  // ShutdownInProgress
      default: {
        const auto at = static_cast<std::size_t>(member);
        p.network.link.rules[at].hold_replies = true;
        return queue_.after(span, [&p, at] { p.network.link.rules[at] = {}; });
      }
    }
  }

  EventQueue queue_;
  Random random_;
  const LockOptions options_;
  const Sabotage sabotage_;
  std::map<int, FencingToken> last_;
  ReplicaSet servers_;
  std::vector<std::unique_ptr<Process>> processes_;  ///< the dead, too
};

LockOptions options_with(std::shared_ptr<const WaitingStrategy> waiting) {
  LockOptions options;
  options.expiry = milliseconds(1'000);
  options.clock_margin = milliseconds(500);
  options.waiting = std::move(waiting);
  return options;
}

TEST(SemaphoreInTheVirtualWorld, NeverMoreThanItsPermitsAndEveryoneGetsOne) {
  const int seeds = std::getenv("LEASEHOLD_LONG") != nullptr ? 2'000 : 16;
  int full = 0, grants = 0, kills = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    World world(static_cast<std::uint64_t>(seed),
                options_with(seed % 2 == 0 ? queue_waiting()
                                           : uniform_waiting(milliseconds(10), milliseconds(200))));
    world.run();
    EXPECT_TRUE(world.wrong.empty()) << "seed " << seed << ": " << world.wrong.front();
    EXPECT_GT(world.fewest_grants(), 0) << "seed " << seed << ": someone waited in vain";
    full += world.most_held == kSlots ? 1 : 0;
    grants += world.grants;
    kills += world.kills;
  }
  EXPECT_GT(full, seeds * 9 / 10) << "else the bound was not put to the test";
  EXPECT_GT(kills, seeds / 2);
  std::cout << seeds << " runs, " << grants << " permits granted, " << kills << " kills\n";
}

TEST(SemaphoreInTheVirtualWorld, APlantedErrorIsFound) {
  for (int seed = 1; seed <= 40; ++seed) {
    World world(static_cast<std::uint64_t>(seed), options_with(uniform_waiting()),
                Sabotage::deletes_without_owner);
    world.run();
    if (!world.wrong.empty()) return;
  }
  FAIL() << "deletes without an owner in 40 runs";
}

}  // namespace
}  // namespace leasehold::sim::simulated
