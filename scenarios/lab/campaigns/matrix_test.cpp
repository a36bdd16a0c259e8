#include "properties/campaigns/campaign.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace leasehold::lab {
namespace {

using model::Check;
using model::Verdict;

std::string read(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// A forced release passes the lock on, so that no lease has to run out first: G1 may not come up.
TEST(TheMatrix, IsCurrentAndLeaseholdKeepsAll) {
  constexpr std::uint64_t kSeeds = 20;
  const auto matrix = properties::run_matrix(kSeeds);
  EXPECT_EQ(read(LEASEHOLD_SCENARIOS "/MATRIX.md"), to_markdown(matrix, kSeeds))
      << "leasehold-lab matrix --markdown scenarios/MATRIX.md makes it anew; explain the change";
  for (const auto& [fault, row] : matrix.at("leasehold")) {
    for (const auto& [guarantee, cell] : row) {
      const bool may_not_come_up = fault == "force-release" && guarantee == Check::G1;
      const bool kept = cell.verdict == Verdict::holds ||
                        (may_not_come_up && cell.verdict == Verdict::unknown);
      EXPECT_TRUE(kept) << fault << ' ' << to_string(guarantee);
    }
  }
}

/// "…-breaks-g3.scn" breaks G3 of its lock in a few steps, and not the production lock's.
TEST(DocumentScenarios, EachBreaksWhatItsNameSaysAndLeaseholdDoesNot) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LEASEHOLD_SCENARIOS "/documents")) {
    ++files;
    const auto name = entry.path().stem().string();
    const auto guarantee = model::check_named("G" + name.substr(name.size() - 1));
    auto plan = sim::plan_from_scn(read(entry.path()));
    const auto finding = [&] {
      const auto one = properties::simulate(plan);
      const auto found =
          std::find_if(one.judgement.findings.begin(), one.judgement.findings.end(),
                       [&](const model::Finding& f) { return f.check == guarantee; });
      return *found;
    };
    EXPECT_TRUE(name.starts_with(plan.lock)) << name;
    EXPECT_LE(properties::entries(plan), 12u) << name;
    EXPECT_EQ(finding().verdict, Verdict::violated) << name;
    plan.lock = "leasehold";
    const auto ours = finding();
    EXPECT_TRUE(ours.verdict == Verdict::holds || ours.never_tested())
        << name << " with leasehold: " << ours.why;
  }
  EXPECT_GE(files, 12);
}

// The table's twenty runs of the row do not meet it.
TEST(Matrix, ARareViolationIsFoundByMoreRuns) {
  const auto seed = properties::first_break("set-on-insert", "slow-majority", Check::G2, 100);
  ASSERT_TRUE(seed);
  EXPECT_GT(*seed, 20u);
  EXPECT_FALSE(properties::first_break("leasehold", "slow-majority", Check::G2, 50));
}

}  // namespace
}  // namespace leasehold::lab
