#include <gtest/gtest.h>

#include <algorithm>

#include "model/proof/prove.hpp"

namespace leasehold::model::proof {
namespace {

TEST(Proof, EveryObligationIsProvedForAnyNumberOfClients) {
  const auto results = prove(rules());
  double seconds = 0;
  for (const auto& result : results) {
    EXPECT_EQ(result.verdict, Verdict::holds) << result.name << ": " << result.words;
    seconds += result.seconds;
  }
  // Each step against each part of the invariant, and more.
  EXPECT_GE(results.size(), steps().size() * invariants().size());
  EXPECT_LE(seconds, 60);
}

TEST(Proof, IsNotVacuous) {
  const auto results = reach(rules());
  for (const auto& result : results) EXPECT_EQ(result.verdict, Verdict::holds) << result.name;
  EXPECT_EQ(results.size(), steps().size() + situations().size());
}

TEST(Proof, SaysWhatCannotBeReached) {
  Rules changed = rules();
  changed.at("expired") = "false";
  const auto results = reach(changed);
  const auto ttl = std::find_if(results.begin(), results.end(),
                                [](const auto& r) { return r.name == "step: TTL"; });
  ASSERT_NE(ttl, results.end());
  EXPECT_EQ(ttl->verdict, Verdict::violated);
}

std::string test_name(const testing::TestParamInfo<Ablation>& tested) {
  std::string text = tested.param.name;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

class WeakerDesign : public testing::TestWithParam<Ablation> {};

TEST_P(WeakerDesign, IsRefutedByTheObligationNamedBeforehand) {
  EXPECT_EQ(refute(GetParam()).verdict, Verdict::holds) << GetParam().refuted_by;
}

INSTANTIATE_TEST_SUITE_P(All, WeakerDesign, testing::ValuesIn(ablations()), test_name);

class HarmlessChange : public testing::TestWithParam<Ablation> {};

TEST_P(HarmlessChange, LeavesEveryObligationProved) {
  for (const auto& result : prove(weakened(GetParam()))) {
    EXPECT_EQ(result.verdict, Verdict::holds) << result.name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HarmlessChange, testing::ValuesIn(harmless_changes()), test_name);

}  // namespace
}  // namespace leasehold::model::proof
