#include "properties/campaigns/single_faults.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "properties/campaigns/simulate.hpp"

namespace leasehold::properties {
namespace {

/// What became of all runs with a fault of one kind.
struct OfKind {
  std::int64_t runs = 0, bit = 0;
};

struct Tally {
  std::map<std::string, OfKind> kinds;
  std::vector<std::string> failed;  ///< plans, and what they broke
  std::mutex mutex;

  void add(const sim::Plan& plan, const Simulated& one) {
    const std::string kind = to_string(plan.faults[0].kind);
    std::string broken;
    for (const auto& f : one.judgement.findings) {
      if (f.verdict != model::Verdict::holds && !f.never_tested())
        broken += std::string("# ") + to_string(f.check) + ": " + f.why + '\n';
    }
    const std::scoped_lock lock(mutex);
    ++kinds[kind].runs;
    if (one.run.took_effect.contains(kind)) ++kinds[kind].bit;
    if (!broken.empty()) failed.push_back(broken + sim::to_scn(plan));
  }
};

void run_all(const std::vector<sim::Plan>& plans, Tally& tally) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (auto at = next++; at < plans.size(); at = next++) {
        tally.add(plans[at], simulate(plans[at]));
      }
    });
  }
}

/// All of them with --long; else each of a few hundred parts, another kind and time each.
TEST(SingleFaults, NoneBreaksAGuaranteeAtAnyEvent) {
  constexpr std::size_t kUsually = 61;
  const bool all = std::getenv("LEASEHOLD_LONG") != nullptr;
  const auto plans = single_fault_plans(all ? 1 : kUsually);
  Tally tally;
  run_all(plans, tally);
  std::printf("%zu runs\n", plans.size());
  for (const auto& [kind, seen] : tally.kinds) {
    std::printf("%8lld runs, took effect in %lld: %s\n", static_cast<long long>(seen.runs),
                static_cast<long long>(seen.bit), kind.c_str());
    EXPECT_GE(seen.bit * 3, seen.runs) << kind << " took effect in fewer than a third of its runs";
  }
  EXPECT_EQ(tally.kinds.size(), sim::fault_kinds(sim::Harm::alone).size());
  EXPECT_TRUE(tally.failed.empty()) << tally.failed.size() << " broke something; the first:\n"
                                    << tally.failed.front();
}

TEST(SingleFaults, BasePlansAreBusyAndHoldWithoutFaults) {
  for (const sim::Plan& plan : base_plans()) {
    const auto one = simulate(plan);
    for (const auto& f : one.judgement.findings) {
      EXPECT_TRUE(f.verdict == model::Verdict::holds || f.never_tested())
          << to_string(f.check) << ": " << f.why;
    }
    EXPECT_GT(totals_of(one.run.history, one.judgement.findings).at("acquisitions"), 10);
    EXPECT_GT(event_times_ms(plan).size(), 50u);
  }
}

}  // namespace
}  // namespace leasehold::properties
