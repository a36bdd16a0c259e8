#include "model/workers/promises.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace leasehold::model {
namespace {

TEST(Promises, AreReadWithWhatIsUsual) {
  const auto p = promises_from_json(
      R"({"name":"ShedLock 6","language":"Java","tokens":"none","tells_loss":false,
          "waits":"polls","passes_on_after":"lease","clock_margin_ms":250,
          "document":{"collection":"shedLock","id":"_id","owner":"lockedBy"}})");
  EXPECT_EQ(p.name, "ShedLock 6");
  EXPECT_EQ(p.waits, Promises::Waits::polls);
  EXPECT_EQ(p.passes_on_leases, 1);
  EXPECT_EQ(p.clock_margin_ms, 250);
  EXPECT_EQ(p.document->owner, "lockedBy");
  EXPECT_EQ(promises_from_json(to_json(p)), p);
}

TEST(Promises, BadOnesAreRefusedInASentence) {
  const auto error = [](const char* json) -> std::string {
    try {
      (void)promises_from_json(json);
    } catch (const std::runtime_error& refused) {
      return refused.what();
    }
    return "";
  };
  EXPECT_EQ(error("[]"), "the promises are no JSON object");
  EXPECT_EQ(error("{}"), "the promises: 'name' is missing; it must be there");
  EXPECT_EQ(error(R"({"name":"x","tokens":"some"})"),
            R"(tokens is "some": it must be one of 'none', 'rising')");
  EXPECT_EQ(error(R"({"name":"x","tells_loss":"yes"})"),
            R"(tells_loss is "yes": it must be true or false)");
  EXPECT_EQ(error(R"({"name":"x","passes_on_after":0})"),
            "passes_on_after is 0: it must be 'lease', 'never', or how many leases, from 1 to 100");
  EXPECT_EQ(error(R"({"name":"x","clock_margin_ms":0})"),
            "clock_margin_ms is 0: it must be a number from 1 to 3600000");
  EXPECT_EQ(error(R"({"name":"x","colour":"red"})")
                .rfind("the promises: 'colour' is unknown; there may be name, ", 0),
            0);
  EXPECT_EQ(error(R"({"name":"x","document":{"collection":"c","id":"_id"}})"),
            "document: 'owner' is missing; it must be there");
}

TEST(Promises, ThePagesExampleIsUnderstood) {
  std::ifstream in(LEASEHOLD_WORKERS_PAGE);
  std::string promises;
  for (std::string line; std::getline(in, line);) {
    const bool shown = line.starts_with("    ") && !line.starts_with("    build/");
    const bool whole = shown && line[4] == '{' && line.back() == '}';
    if (shown && !whole) promises += line;
  }
  EXPECT_EQ(promises_from_json(promises).document->expires, "lockUntil");
}

}  // namespace
}  // namespace leasehold::model
