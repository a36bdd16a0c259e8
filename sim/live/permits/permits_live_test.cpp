#include <algorithm>
#include <iostream>
#include <map>

#include "runtime/threads/clock.hpp"
#include "sim/faults/fault_injector.hpp"
#include "sim/live/live_test.hpp"
#include "sim/live/permits/permit_processes.hpp"
#include "sim/live/servers/real_servers.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/plan/random.hpp"

namespace leasehold::sim::live {
namespace {

constexpr int kPermits = 3, kProcesses = 16;
constexpr milliseconds kLease(2'000), kMargin(500);
/// Semaphore's promise to one who waits, where servers and links do what they should.
constexpr milliseconds kComesBack = kLease + kMargin + milliseconds(3'000);
constexpr std::int64_t kMs = 1'000'000;
using K = FaultPlan::Kind;

/// All that a semaphore promises to cope with. It never asks for a wall clock.
std::vector<K> kinds_of_fault() {
  auto kinds = fault_kinds(Harm::none);
  std::erase(kinds, K::wall_clock);
  return kinds;
}

/// Sixteen processes, a replica set with proxies before its members, and faults of all kinds.
class SemaphoreUnderFaults {
 public:
  /// Each kind in turn, a new one about every 0.8 s, which may last longer than that.
  void disturb(seconds time) {
    const auto kinds = kinds_of_fault();
    const auto until = now() + time.count() * 1'000 * kMs;
    for (std::size_t n = 0; now() < until; ++n) {
      inject(kinds[n % kinds.size()]);
      run_for(milliseconds(random_.between(400, 1'200)));
    }
    faults_.heal();
  }

  /// One holder after the other is killed, with nothing else in the way. How long until somebody
  /// else had its permit.
  std::vector<milliseconds> kill_holders(int count) {
    std::vector<milliseconds> waits;
    for (int i = 0; i < count; ++i) {
      const auto before = processes.orphans().size();
      (void)eventually([&] { return kill_a_holder(), processes.orphans().size() > before; });
      if (processes.orphans().size() == before) return waits;
      const auto orphan = processes.orphans().back();
      (void)eventually([&] { return turn(), came_back_ns(orphan) != 0; }, 2 * kComesBack);
      waits.push_back(milliseconds((came_back_ns(orphan) - orphan.died_ns) / kMs));
    }
    return waits;
  }

  void run_for(milliseconds time) {
    (void)eventually([this] { return turn(), false; }, time);
  }

  [[nodiscard]] std::int64_t now() const { return clock_->now().time_since_epoch().count(); }

 private:
  std::shared_ptr<const runtime::Clock> clock_ = runtime::boottime_clock();
  ReplicaSet servers_{{.faulty = true}};
  const std::string database_ = fresh_database();
  const std::string locks_ = database_ + "." + kLockCollection;
  LiveServers control_{
      servers_, {locks_, locks_}, std::make_unique<RealMembers>(servers_, database_)};

 public:
  PermitProcesses processes{
      [this](const std::string& name) {
        return std::vector<std::string>{beside_this_program("permit"),
                                        with_option(servers_.uri(), "appName=" + name), database_,
                                        std::to_string(kPermits), std::to_string(kLease.count())};
      },
      kProcesses, [this] { return now(); }};
  std::map<K, int> took_effect;

 private:
  void turn() {
    processes.read();
    while (!calls_.empty() && calls_.begin()->first <= now()) {
      const auto due = calls_.extract(calls_.begin());
      due.mapped()();
    }
  }

  void inject(K kind) {
    FaultPlan fault{.kind = kind, .pick = random_.between(0, 1'000)};
    const auto& drawn = about(kind);
    fault.for_ms = random_.between(drawn.for_ms.low, drawn.for_ms.high);
    fault.amount = random_.between(drawn.amount.low, drawn.amount.high);
    if (kind == K::clock_jump) fault.amount = random_.between(-kMargin.count(), kMargin.count());
    try {
      faults_.inject(fault);
    } catch (const std::exception&) {
      // A server in trouble has no answer: the fault does not take effect, and is not counted.
    }
  }

  void kill_a_holder() {
    turn();
    for (const auto& process : processes.running()) {
      if (!process.holds) continue;
      if (processes.kill(process.name)) processes.start_successor(process.name);
      return;
    }
  }

  /// When somebody held this slot by its own account, after its holder's death; 0: nobody yet.
  [[nodiscard]] std::int64_t came_back_ns(const PermitProcesses::Orphan& orphan) const {
    const auto& claims = processes.claims();
    const auto next = std::find_if(claims.begin(), claims.end(), [&](const PermitClaim& c) {
      return c.slot == orphan.slot && c.token > orphan.token;
    });
    return next == claims.end() ? 0 : next->at_ns;
  }

  Random random_{2};
  std::multimap<std::int64_t, std::function<void()>> calls_;
  FaultInjector faults_{
      {.processes = processes,
       .servers = control_.control(),
       .now_ns = [this] { return now(); },
       .call_at = [this](std::int64_t at, auto call) { calls_.emplace(at, std::move(call)); },
       .emit = [](model::Event&&) {},
       .count_effect = [this](K kind) { ++took_effect[kind]; },
       .insist = [](const std::string& what, const auto& attempt) { until_true(what, attempt); }},
      kMargin.count()};
};

/// Two minutes with --long.
TEST(LivePermits, NeverMoreThanThreeOfSixteenProcessesUnderAllFaults) {
  const bool is_long = std::getenv("LEASEHOLD_LONG") != nullptr;
  SemaphoreUnderFaults run;
  run.disturb(seconds(is_long ? 120 : 20));
  run.run_for(milliseconds(3'000));  // who comes back from a fault
  const auto waits = run.kill_holders(is_long ? 10 : 2);
  const auto verdict = judge_permits(run.processes.claims());
  const auto& grants = run.processes.grants();
  const double fairness = jains_index(grants);
  std::cout << verdict.grants << " permits, " << run.processes.orphans().size()
            << " holders killed, " << run.processes.losses() << " losses noticed, Jain's index "
            << fairness << ", " << run.took_effect.size() << " of " << kinds_of_fault().size()
            << " kinds of fault took effect; permits of dead holders came back after ";
  for (const auto wait : waits) std::cout << wait.count() << " ms ";
  std::cout << std::endl;
  EXPECT_EQ(verdict.overlaps, 0);
  EXPECT_EQ(verdict.falling, 0);
  EXPECT_EQ(verdict.most, kPermits) << "fewer: the bound was not put to the test";
  EXPECT_EQ(run.processes.ended(), std::vector<std::string>{});
  EXPECT_GT(*std::min_element(grants.begin(), grants.end()), 0);
  if (is_long) {
    EXPECT_GE(fairness, 0.95);
  }
  EXPECT_GE(run.took_effect.size(), is_long ? kinds_of_fault().size() - 2 : 8);
  ASSERT_FALSE(waits.empty()) << "nobody held a permit";
  for (const auto wait : waits) EXPECT_LE(wait, kComesBack);
}

}  // namespace
}  // namespace leasehold::sim::live
