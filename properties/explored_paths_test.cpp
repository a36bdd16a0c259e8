#include "properties/explored_paths.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "properties/judgement.hpp"

namespace leasehold::properties {
namespace {

using model::Guarantee;
using model::Verdict;
using sim::explored::CoreScope;
using sim::explored::CoreSystem;

constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();

/// With each kind of fault, old primaries and rollbacks too.
const CoreScope kSmall{
    .ticks = 3, .faults = 1, .kinds = (1u << sim::explored::kCoreFaults) - 1};

class ExploredPathsTest : public testing::Test {
 protected:
  ExploredPathsTest() { (void)explorer_.run(); }

  const model::Finding& finding(const ExploredPaths& paths, Guarantee guarantee) {
    return *std::find_if(paths.findings.begin(), paths.findings.end(),
                         [&](const auto& f) { return f.guarantee == guarantee; });
  }

  CoreSystem system_{kSmall};
  model::Explorer<CoreSystem> explorer_{system_};
};

TEST_F(ExploredPathsTest, AllOfASmallExplorationAreRunsThatHold) {
  const auto paths = check_paths(system_, explorer_, kAll);
  EXPECT_EQ(paths.verdict, Verdict::holds) << paths.why;
  EXPECT_EQ(paths.checked, paths.all);
  for (const auto guarantee :
       {Guarantee::form, Guarantee::G2, Guarantee::G4, Guarantee::G6, Guarantee::deadline,
        Guarantee::ended_owner, Guarantee::compare_and_set, Guarantee::stored_token,
        Guarantee::arrows, Guarantee::refinement}) {
    EXPECT_GT(finding(paths, guarantee).checked, 1'000) << to_string(guarantee);
  }
  const auto& refinement = finding(paths, Guarantee::refinement);
  for (const auto& [what, count] : refinement.counts) {
    std::printf("  %lld %s\n", static_cast<long long>(count), what.c_str());
  }
  EXPECT_GT(refinement.counts.at("old_primaries"), 0);
  EXPECT_GT(refinement.counts.at("hidden_steps"), 0);
}

/// Else a history that says nothing would hold as well.
TEST_F(ExploredPathsTest, EachWriteOfAPathIsNeededByWhatCameOfIt) {
  std::int64_t removed = 0, noticed = 0;
  const auto ends = explorer_.ends();
  for (std::size_t end = 0; end < ends.size(); end += ends.size() / 50) {
    const auto whole = system_.history(explorer_.path_to(ends[end]));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (whole[i].kind != model::Kind::put) continue;
      auto without = whole;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      ++removed;
      noticed += model::overall_tested(judge(without).findings) == Verdict::holds ? 0 : 1;
    }
  }
  std::printf("  %lld writes, of %lld the loss is noticed\n", static_cast<long long>(removed),
              static_cast<long long>(noticed));
  EXPECT_GT(removed, 50);
  EXPECT_GT(noticed * 10, removed * 9);  // of the last one nobody may have heard
}

TEST_F(ExploredPathsTest, AFewAreTakenEvenlyAmongAll) {
  const auto few = check_paths(system_, explorer_, 10);
  EXPECT_EQ(few.checked, 10u);
  EXPECT_GT(few.all, 1'000u);
  const auto none = check_paths(system_, explorer_, 0);
  EXPECT_EQ(none.verdict, Verdict::unknown) << "what was asked of nothing does not hold";
}

TEST_F(ExploredPathsTest, EndUnknownWhereTheyAreInterrupted) {
  const auto paths = check_paths(system_, explorer_, kAll, [](std::uint64_t checked) {
    return checked < 5;
  });
  EXPECT_EQ(paths.checked, 5u);
  EXPECT_EQ(paths.verdict, Verdict::unknown);
  EXPECT_EQ(paths.why, "interrupted");
}

}  // namespace
}  // namespace leasehold::properties
