#include "model/spec/diagrams.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace leasehold::model {
namespace {

using Pairs = std::set<std::pair<std::string, std::string>>;

Pairs drawn(const TransitionTable& table) {
  Pairs pairs;
  for (const auto& arrow : table.arrows()) {
    if (arrow.source == Source::document) pairs.emplace(arrow.from, arrow.to);
  }
  return pairs;
}

// The arrows of the published diagrams, copied by hand.
TEST(Tables, HoldTheArrowsOfTheDocumentsAndNoOther) {
  EXPECT_EQ(drawn(lifecycle()), (Pairs{{"[*]", "Waiting"},
                                       {"Waiting", "Acquiring"},
                                       {"Waiting", "Expired"},
                                       {"Acquiring", "Acquired"},
                                       {"Acquiring", "Waiting"},
                                       {"Acquired", "Extending"},
                                       {"Extending", "Acquired"},
                                       {"Extending", "Lost"},
                                       {"Acquired", "Releasing"},
                                       {"Releasing", "Released"},
                                       {"Lost", "[*]"},
                                       {"Released", "[*]"},
                                       {"Expired", "[*]"}}));
  EXPECT_EQ(drawn(document_states()), (Pairs{{"NonExistent", "Active"},
                                             {"Active", "Extending"},
                                             {"Extending", "Active"},
                                             {"Extending", "Expired"},
                                             {"Active", "Deleted"},
                                             {"Expired", "Active"},
                                             {"Expired", "Deleted"}}));
  EXPECT_EQ(
      drawn(flowchart()),
      (Pairs{{"A", "B"}, {"B", "C"}, {"C", "D"}, {"C", "E"}, {"D", "F"}, {"D", "G"}, {"E", "H"},
             {"F", "H"}, {"H", "I"}, {"I", "J"}, {"J", "K"}, {"K", "L"}, {"L", "M"}, {"M", "N"},
             {"M", "O"}, {"G", "P"}, {"O", "P"}, {"P", "Q"}, {"Q", "B"}, {"N", "R"}, {"R", "S"}}));
}

TEST(Tables, AreTotalEveryOtherPairIsRefusedAndGiveAReasonForEveryArrow) {
  for (const auto* table : all_tables()) {
    Pairs leaves;
    for (const auto& arrow : table->arrows()) {
      EXPECT_TRUE(leaves.emplace(arrow.from, arrow.input).second) << "they determine the arrow";
      EXPECT_FALSE(arrow.reason.empty()) << arrow.name();
    }
    EXPECT_FALSE(table->find("Nowhere", table->arrows().front().input));
  }
  EXPECT_FALSE(lifecycle().find("Lost", "Extension Successful")) << "lost is final";
  EXPECT_FALSE(document_states().find("Deleted", "Success")) << "an extension never inserts";
  for (const auto& arrow : flowchart().arrows()) {
    for (const auto state : {arrow.from, arrow.to}) EXPECT_FALSE(flowchart_text(state).empty());
  }
}

TEST(Tables, AreTheDiagramsOfTheReadme) {
  std::ifstream in(LEASEHOLD_MODEL_README);
  const std::string readme{std::istreambuf_iterator<char>(in), {}};
  for (const auto* table : all_tables()) {
    EXPECT_NE(readme.find("```mermaid\n" + to_mermaid(*table) + "```"), std::string::npos)
        << "put the output of `leasehold-lab diagram " << table->name() << "` into model/README.md";
  }
}

}  // namespace
}  // namespace leasehold::model
