#include "sim/candidate.hpp"

#include <gtest/gtest.h>

namespace leasehold::sim {
namespace {

using std::chrono::milliseconds;

constexpr core::Owner kOwn{1, 2}, kGiver{3, 4};
constexpr milliseconds kLease{1'000}, kMargin{500};
constexpr const char* kLockId = "me.1000.1";

template <typename Body>
mongo::Json sent(Body body) {
  core::Command command;
  command.timeout = kLease;
  command.body = std::move(body);
  return changed(command, "locks", {.old_release = true});
}

TEST(OldRelease, WritesItsLockIdAloneWhateverFollowsTheHolders) {
  const core::ExtendStatement statement{1, "l", kOwn, {}, kLockId, kLease, kMargin, {}};
  for (const auto& json :
       {sent(core::AcquireCommand{1, "l", kOwn, kLockId, std::nullopt, kLease, kMargin}),
        sent(core::HandOverCommand{1, "l", kGiver, kOwn, kLockId, kLease, kMargin}),
        sent(core::ExtendCommand{{statement}})}) {
    const auto text = json.dump();
    EXPECT_NE(text.find(R"("lockId":{"$literal":"me.1000.1"})"), std::string::npos) << text;
    EXPECT_EQ(text.find("$reduce"), std::string::npos) << text;
  }
}

TEST(OldRelease, DeletesAsThisOneAndSeesNoQueue) {
  EXPECT_TRUE(sent(core::DeleteCommand{"l", kOwn, std::nullopt}).is_null());
  core::Reply reply;
  reply.documents.emplace_back().queue = "entry";
  hide_queue(reply);
  EXPECT_EQ(reply.documents[0].queue, "");
}

}  // namespace
}  // namespace leasehold::sim
