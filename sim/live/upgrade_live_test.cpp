#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <filesystem>
#include <fstream>

#include "core/document/lock_readers.hpp"
#include "mongo/commands.hpp"
#include "sim/live/live_test.hpp"

/// A rolling upgrade: for a while processes of two releases fight over the same locks. What each
/// release sends is kept, as extended JSON with fixed owners (`impl/mongo/kept`), and stands for
/// it.
namespace leasehold::sim::live {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> releases() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(LEASEHOLD_KEPT)) files.push_back(entry.path());
  return files;
}

/// A process of an older release that obeys its input.
class OldRelease {
 public:
  OldRelease(const std::string& file, std::string database) : database_(std::move(database)) {
    std::ifstream in(file);
    kept_ = Json::parse(in);
  }

  /// Whether it got the lock.
  bool acquire(const char* command = "acquire") {
    const Json reply = client_.run(database_, kept_.at(command));
    const Json& document = reply["value"];
    if (!document.is_object()) return false;
    const bool won = document["lockId"].get<std::string>().starts_with(kOwner);
    if (won) acquired_at_ = document["acquiredAt"]["$date"].dump();
    return won;
  }
  int extend() {
    auto text = kept_.at("extend").dump();
    boost::replace_all(text, R"({"$numberLong":"4070908800000"})", acquired_at_);
    boost::replace_all(text, "1234567890123", "7");  // its token
    return matched(Json::parse(text));
  }
  bool hand_over() { return client_.run(database_, kept_.at("hand_over"))["value"].is_object(); }
  int release(const char* command = "release") { return matched(kept_.at(command)); }

 private:
  static constexpr const char* kOwner = "00000000000000010000000000000002.";

  int matched(const Json& command) {
    const Json reply = client_.run(database_, command);
    EXPECT_EQ(integer(reply["ok"]), 1) << reply;
    EXPECT_FALSE(reply.contains("writeErrors")) << reply;
    return static_cast<int>(integer(reply["n"]));
  }

  const std::string database_;
  Json kept_;
  std::string acquired_at_ = R"({"$numberLong":"0"})";
  MongoClient client_{shared_set().uri()};
};

class Upgrade : public testing::TestWithParam<std::string> {
 protected:
  const std::string database_ = fresh_database();
  OldRelease old_{GetParam(), database_};
  const CountedProvider now_{database_};
  const Lock lock_ = now_.lock("kept", seconds(30));
};

TEST_P(Upgrade, ALockOfTheOldReleaseIsRefusedToTheNewOne) {
  ASSERT_TRUE(old_.acquire());
  EXPECT_EQ(lock_.try_acquire().error().kind, ErrorKind::refused);
  EXPECT_EQ(old_.extend(), 1);
  EXPECT_TRUE(old_.acquire("acquire_again")) << "it recognises its own win";
  EXPECT_EQ(lock_.try_acquire().error().kind, ErrorKind::refused);
  EXPECT_TRUE(old_.hand_over());
  EXPECT_EQ(lock_.try_acquire().error().kind, ErrorKind::refused);
  EXPECT_EQ(old_.release("release_of_receiver"), 1);
  auto held = lock_.try_acquire();
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(now_.warnings(), "") << "its documents are as ours";
}

TEST_P(Upgrade, ALockOfTheNewReleaseIsNeitherTakenNorFreedByTheOldOne) {
  auto held = lock_.try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_FALSE(old_.acquire());
  EXPECT_EQ(old_.extend(), 0);
  EXPECT_FALSE(old_.hand_over());
  EXPECT_EQ(old_.release(), 0);
  EXPECT_TRUE(held->held());
  EXPECT_EQ(held->release(), ReleaseResult::released);
  EXPECT_TRUE(old_.acquire());
  EXPECT_EQ(old_.release(), 1);
}

TEST_P(Upgrade, ADeadHolderOfTheOldReleaseIsTakenOver) {
  const auto brief = now_.lock("kept", milliseconds(600));
  ASSERT_TRUE(old_.acquire());
  MongoClient(shared_set().uri())
      .must(database_,
            {{"update", kLockCollection},
             {"updates",
              Json::array(
                  {{{"q", {{"_id", "kept"}}},
                    {"u", {{"$set", {{"expiresAt", {{"$date", {{"$numberLong", "1"}}}}}}}}}}})},
             {"writeConcern", {{"w", "majority"}}}});
  auto held = brief.try_acquire(seconds(5));
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_EQ(old_.extend(), 0) << "it finds out that it lost";
  EXPECT_EQ(old_.release(), 0);
  EXPECT_TRUE(held->held());
}

TEST_P(Upgrade, ReadersOfTheNewReleaseAreOneHolderForTheOldOne) {
  MongoClient client(shared_set().uri());
  const auto run = [&](decltype(core::Command::body) body) {
    const auto bytes = mongo::build({1, seconds(10), std::move(body)}, kLockCollection);
    return client.run(database_, mongo::to_json(*bytes.get()));
  };
  const auto read = [&](core::Owner owner) {
    const auto id = core::format_lock_id({owner, 30'000, 1, "host:1", {}, core::kReaders});
    return run(core::AcquireCommand{1, "kept", owner, id, {}, seconds(30), seconds(30), {},
                                    core::kMostInQueue, {}, core::kReaders})["value"]["lockId"]
        .get<std::string>();
  };
  const core::Owner one{5, 5}, other{6, 6};
  (void)read(one);
  const auto both = read(other);
  ASSERT_EQ(core::readers_in(both).size(), 2);
  EXPECT_FALSE(old_.acquire());
  EXPECT_EQ(old_.extend(), 0);
  EXPECT_FALSE(old_.hand_over());
  EXPECT_EQ(old_.release(), 0);
  EXPECT_EQ(old_.release("release_of_receiver"), 0);
  run(core::PassOnCommand{"kept", one, {}, false, core::kReaders});
  EXPECT_FALSE(old_.acquire());
  run(core::PassOnCommand{"kept", other, {}, false, core::kReaders});
  EXPECT_TRUE(old_.acquire());
  EXPECT_TRUE(read(one).starts_with("0000000000000001")) << "which refuses readers";
}

INSTANTIATE_TEST_SUITE_P(From, Upgrade, testing::ValuesIn(releases()), [](const auto& of) {
  auto name = "v" + fs::path(of.param).stem().string();
  std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
});

}  // namespace
}  // namespace leasehold::sim::live
