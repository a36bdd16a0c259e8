#include "properties/campaigns/single_faults.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

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

/// All of them with --long; else each of a few hundred parts, another kind and time each.
TEST(SingleFaults, NoneBreaksAGuaranteeAtAnyEvent) {
  constexpr std::size_t kUsually = 61;
  const bool all = std::getenv("LEASEHOLD_LONG") != nullptr;
  const auto plans = single_fault_plans(all ? 1 : kUsually);
  Tally tally;
  on_all_cores(plans.size(), [&](std::uint64_t i) {
    tally.add(plans[i], simulate(plans[i]));
    return true;
  });
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
