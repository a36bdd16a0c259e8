#include <gtest/gtest.h>

#include "sim/live/run/harness.hpp"
#include "sim/live/run/resource.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;

TEST(MemoryResource, RefusesALowerTokenOfTheSameLockAndReportsWhatItAcceptedInOrder) {
  MemoryResource resource;
  const auto write = [&](const char* name, std::int64_t token, std::int64_t number) {
    return resource.write({name, "p0.1", "p0.1/7", number, token});
  };
  EXPECT_EQ(write("a", 5, 1), "accepted");
  EXPECT_EQ(write("a", 4, 2), "refused");
  EXPECT_EQ(write("b", 4, 3), "accepted") << "another lock";
  EXPECT_EQ(write("a", 5, 4), "accepted") << "the same holder again";
  const auto stored = resource.take();
  ASSERT_EQ(stored.size(), 3u);
  EXPECT_EQ(stored[1].name, "b");
  EXPECT_EQ(stored[2].write_number, 4);
  EXPECT_EQ(stored[2].token, 5);
  EXPECT_EQ(stored[2].owner, "p0.1/7");
  EXPECT_LT(stored[0].order, stored[1].order);
  EXPECT_LT(stored[1].order, stored[2].order);
  EXPECT_TRUE(resource.take().empty());
}

Event truth(Kind kind, std::int64_t order) {
  return {.kind = kind, .name = "lock-0", .order = order};
}

TEST(RunHistory, ADocumentIsLeftIfItsLastChangeIsNoDeletion) {
  EXPECT_FALSE(documents_left({}));
  EXPECT_TRUE(documents_left({truth(Kind::put, 1)}));
  EXPECT_FALSE(documents_left({truth(Kind::put, 1), truth(Kind::gone, 2)}));
  // Read again later: the oplog's order counts, not the history's.
  EXPECT_FALSE(documents_left({truth(Kind::gone, 2), truth(Kind::put, 1)}));
}

TEST(RunHistory, TheEndComesAfterWhatWasReadLate) {
  model::History history(3);
  history[0].at_ns = 10;
  history[1].kind = Kind::finish;
  history[1].at_ns = 20;
  history[2].at_ns = 30;
  put_end_last(history);
  EXPECT_EQ(history.back().kind, Kind::finish);
  EXPECT_EQ(history.back().at_ns, 30);
}

TEST(RunHistory, AStallOfAMemberThatWeKilledIsOurs) {
  const auto kill = [](std::int64_t at_ns, bool begins) {
    return Event{.at_ns = at_ns, .kind = Kind::fault, .victim = "member-1", .fault = "kill-member",
                 .begins = begins, .ends = !begins};
  };
  const auto away = members_away({kill(100, true), kill(200, false)}, 1'000);
  const auto stall = [](const char* victim, std::int64_t from_ns) {
    return Event{.at_ns = 250, .kind = Kind::stall, .victim = victim, .from_ns = from_ns};
  };
  EXPECT_TRUE(is_ours(stall("member-1", 150), away));
  EXPECT_FALSE(is_ours(stall("member-2", 150), away));
  EXPECT_FALSE(is_ours(stall("machine", 150), {{"", 0, 1'000}}));
  EXPECT_FALSE(is_ours(stall("member-1", 201), away));
}

}  // namespace
}  // namespace leasehold::sim::live
