#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "published/recipe.hpp"
#include "sim/virtual/commands/collection.hpp"

/// What commands do with a lock that readers share: joins, extensions and leaves, and those of
/// clients that know no readers.
namespace leasehold::sim::simulated::readers_test {
namespace {

using core::Owner;
using std::chrono::milliseconds;

constexpr std::int64_t kBegin_ms = 1'700'000'000'000;
constexpr milliseconds kLease{3'000}, kMargin{500}, kPlace{10'000};
constexpr std::int64_t kInForce_ms = (kLease + kMargin).count();
const Owner kAnn{0xA, 1}, kBen{0xB, 2}, kCat{0xC, 3}, kDan{0xD, 4};

class Lock {
 public:
  std::int64_t now_ms = kBegin_ms;

  /// An attempt. Whether the lock is the owner's after it.
  bool reads(Owner owner, std::uint64_t beat = 1, milliseconds lease = kLease) {
    return attempt(owner, beat, lease, core::kReaders);
  }
  /// One of so many permits.
  core::Room of = 0;
  bool takes(Owner owner, std::uint64_t beat = 1, milliseconds lease = kLease) {
    return attempt(owner, beat, lease, of);
  }
  bool writes(Owner owner, std::uint64_t beat = 1) { return attempt(owner, beat, kLease, 0); }

  void leaves(Owner owner) { run(core::PassOnCommand{"kept", owner, {}, false, shares()}); }
  /// As a client that saw no readers releases.
  void passes_on(Owner owner) { run(core::PassOnCommand{"kept", owner, {}, false}); }
  bool extends(Owner owner, std::int64_t since_ms, std::uint64_t beat) {
    return run(core::ExtendCommand{{{1, "kept", owner, core::ServerInstant{since_ms},
                                     lock_id(owner, beat, kLease, shares()), kLease,
                                     kMargin, {}, shares(), reader(owner).slot}}})
               .matched == 1;
  }
  [[nodiscard]] core::Room shares() const { return of == 0 ? core::kReaders : of; }
  core::Reply run(decltype(core::Command::body) body) {
    const core::Command command{1, milliseconds(1'000), std::move(body)};
    const Object reply = execute_bytes(mongo::build(command, "locks"));
    return mongo::read_reply(command, *Bytes(reply).get());
  }
  Object execute_bytes(const mongo::Bson& bytes) {
    const Timestamp time{static_cast<std::uint32_t>(now_ms / 1'000), ++writes_};
    auto done = execute(to_object(*bytes.get()), collection_, {Date{now_ms}, time});
    for (const auto& change : done.changes) collection_.apply(change);
    done.reply.set("operationTime", time);
    return done.reply;
  }

  [[nodiscard]] std::string whole() const {
    return *document()->find("lockId"_key)->as<std::string>();
  }
  [[nodiscard]] std::string holder() const {
    return std::string(core::split_queue(whole()).lock_id);
  }
  /// What a client that knows no readers takes for the holder's.
  [[nodiscard]] std::int64_t lease_ms() const {
    const auto text = holder();
    return core::parse_lock_id(text)->lease_ms;
  }
  [[nodiscard]] std::vector<Owner> readers() const {
    std::vector<Owner> owners;
    const auto text = holder();
    for (const auto& one : core::readers_in(text)) {
      owners.push_back(core::parse_lock_id(one.lock_id)->owner);
    }
    return owners;
  }
  [[nodiscard]] core::Reader reader(Owner owner) const {
    static std::string text;
    text = holder();
    for (const auto& one : core::readers_in(text)) {
      if (core::names_owner(one.lock_id, owner)) return one;
    }
    return {};
  }
  [[nodiscard]] std::vector<Owner> queue() const {
    return core::owners_in(core::split_queue(whole()).queue);
  }
  [[nodiscard]] std::int64_t expires_ms() const {
    return document()->find("expiresAt"_key)->as<Date>()->ms;
  }
  [[nodiscard]] std::int64_t token() const {
    return document()->find("fencingToken"_key)->integer();
  }
  [[nodiscard]] Document document() const { return collection_.find("kept"); }
  void put(const char* field, Value value) {
    Object changed = *document();
    changed.set(field, std::move(value));
    collection_.apply({"kept", std::make_shared<const Object>(std::move(changed))});
  }

  static std::string lock_id(Owner owner, std::uint64_t beat, milliseconds lease, core::Room room) {
    return core::format_lock_id({owner, lease.count(), beat, "host:1", {}, room});
  }

  std::optional<std::string> observed;

 private:
  bool attempt(Owner owner, std::uint64_t beat, milliseconds lease, core::Room room) {
    const auto reply =
        run(core::AcquireCommand{1, "kept", owner, lock_id(owner, beat, lease, room), observed,
                                 lease, kMargin, kPlace, core::kMostInQueue, {}, room});
    return reply.documents.at(0).lock_id == lock_id(owner, beat, lease, room);
  }

  Collection collection_;
  std::uint32_t writes_ = 0;
};

using Owners = std::vector<Owner>;

TEST(Readers, ShareALockAndTheDocumentIsDatedByTheLastToEnd) {
  Lock lock;
  ASSERT_TRUE(lock.reads(kAnn, 1, milliseconds(9'000)));
  const auto first = lock.token();
  lock.now_ms += 100;
  ASSERT_TRUE(lock.reads(kBen));
  EXPECT_EQ(lock.readers(), (Owners{kAnn, kBen}));
  EXPECT_EQ(lock.lease_ms(), 9'000);
  EXPECT_EQ(lock.expires_ms(), kBegin_ms + 9'500);
  EXPECT_EQ(lock.reader(kBen).until.since_1970_ms, kBegin_ms + 100 + kInForce_ms);
  EXPECT_EQ(lock.document()->find("acquiredAt"_key)->as<Date>()->ms, kBegin_ms);
  EXPECT_GT(lock.token(), first);

  lock.leaves(kAnn);
  EXPECT_EQ(lock.readers(), Owners{kBen});
  EXPECT_EQ(lock.expires_ms(), kBegin_ms + 100 + kInForce_ms) << "only a leave lowers it";
  EXPECT_EQ(lock.lease_ms(), 3'000);
  const auto before = lock.document();
  lock.leaves(kAnn);
  EXPECT_EQ(lock.document(), before) << "who is gone is gone";
  lock.leaves(kBen);
  EXPECT_EQ(lock.whole(), "");
  EXPECT_EQ(lock.expires_ms(), 0);
}

TEST(Readers, AnAttemptThatComesAgainOrLateLowersNothingAndKeepsWhenItWasGranted) {
  Lock lock;
  ASSERT_TRUE(lock.reads(kAnn, 1));
  ASSERT_TRUE(lock.reads(kBen, 1));
  lock.now_ms += 1'000;
  EXPECT_TRUE(lock.reads(kAnn, 2));
  EXPECT_EQ(lock.reader(kAnn).until.since_1970_ms, lock.now_ms + kInForce_ms);
  lock.now_ms -= 500;
  EXPECT_TRUE(lock.reads(kAnn, 1)) << "an earlier one is executed late";
  EXPECT_EQ(lock.reader(kAnn).since.since_1970_ms, kBegin_ms);
  EXPECT_EQ(lock.reader(kAnn).until.since_1970_ms, kBegin_ms + 1'000 + kInForce_ms);
  EXPECT_EQ(lock.readers(), (Owners{kBen, kAnn})) << "it stands once";
  EXPECT_TRUE(lock.extends(kAnn, kBegin_ms, 3));
}

TEST(Readers, AnExtensionRenewsTheEntryOfItsGrantAndKeepsTheToken) {
  Lock lock;
  ASSERT_TRUE(lock.reads(kAnn));
  ASSERT_TRUE(lock.reads(kBen));
  ASSERT_FALSE(lock.writes(kCat));
  const auto token = lock.token();
  lock.now_ms += 1'000;
  EXPECT_TRUE(lock.extends(kAnn, kBegin_ms, 2));
  EXPECT_EQ(lock.expires_ms(), lock.now_ms + kInForce_ms);
  EXPECT_EQ(lock.reader(kBen).until.since_1970_ms, kBegin_ms + kInForce_ms);
  EXPECT_EQ(core::parse_lock_id(lock.reader(kAnn).lock_id)->beat, 2);
  EXPECT_EQ(lock.queue(), Owners{kCat});
  EXPECT_EQ(lock.token(), token);
  EXPECT_FALSE(lock.extends(kAnn, kBegin_ms + 1, 3)) << "of another grant";
  EXPECT_FALSE(lock.extends(kDan, kBegin_ms, 1));
  lock.leaves(kAnn);
  EXPECT_FALSE(lock.extends(kAnn, kBegin_ms, 4)) << "it is executed after the leave";
}

TEST(Readers, AReaderThatComesLaterWaitsBehindTheWriter) {
  Lock lock;
  ASSERT_TRUE(lock.reads(kAnn));
  const auto group = lock.holder();
  ASSERT_FALSE(lock.writes(kBen));
  EXPECT_FALSE(lock.reads(kCat));
  EXPECT_EQ(lock.queue(), (Owners{kBen, kCat}));
  EXPECT_EQ(lock.holder(), group) << "who waits changes nothing of those who hold";
  lock.now_ms += 10;
  EXPECT_TRUE(lock.reads(kAnn, 2)) << "who has it renews it";
  lock.leaves(kAnn);
  EXPECT_EQ(lock.holder(), Lock::lock_id(kBen, 1, kLease, 0));
  EXPECT_EQ(lock.queue(), Owners{kCat});
}

TEST(Readers, AReaderWhosePlaceIsBeforeTheWritersJoins) {
  Lock lock;
  ASSERT_TRUE(lock.writes(kAnn));
  ASSERT_FALSE(lock.reads(kBen));
  ASSERT_FALSE(lock.writes(kCat));
  ASSERT_FALSE(lock.reads(kDan));
  const auto queue = lock.whole().substr(lock.holder().size());
  lock.put("lockId", Lock::lock_id(kAnn, 2, kLease, core::kReaders) + queue);
  EXPECT_FALSE(lock.reads(kDan, 2));
  EXPECT_TRUE(lock.reads(kBen, 2));
  EXPECT_EQ(lock.readers(), (Owners{kAnn, kBen}));
  EXPECT_EQ(lock.queue(), (Owners{kCat, kDan}));
}

TEST(Readers, AWritersReleaseAdmitsAllThatReadIfTheFirstDoes) {
  for (const bool reads_first : {true, false}) {
    Lock lock;
    ASSERT_TRUE(lock.writes(kAnn));
    lock.now_ms += 100;
    ASSERT_TRUE(!reads_first || !lock.reads(kBen, 5));
    ASSERT_FALSE(lock.writes(kCat));
    ASSERT_FALSE(lock.reads(kDan, 7));
    const auto token = lock.token();
    lock.now_ms -= 50;  // the release began before they came
    lock.leaves(kAnn);
    EXPECT_GT(lock.token(), token);
    if (!reads_first) {
      EXPECT_EQ(lock.holder(), Lock::lock_id(kCat, 1, kLease, 0));
      EXPECT_EQ(lock.queue(), Owners{kDan});
      continue;
    }
    EXPECT_EQ(lock.readers(), (Owners{kBen, kDan}));
    EXPECT_EQ(lock.queue(), Owners{kCat});
    EXPECT_EQ(lock.reader(kDan).lock_id, Lock::lock_id(kDan, 7, kLease, core::kReaders));
    EXPECT_EQ(lock.reader(kDan).since.since_1970_ms, kBegin_ms + 100) << "when it took its place";
    EXPECT_EQ(lock.expires_ms(), kBegin_ms + 100 + kInForce_ms);
    EXPECT_TRUE(lock.extends(kBen, kBegin_ms + 100, 8));
  }
}

TEST(Readers, OnesThatWaitAreAdmittedWhenTheWriterBeforeThemGoes) {
  Lock lock;
  ASSERT_TRUE(lock.reads(kAnn));
  ASSERT_FALSE(lock.writes(kBen));
  ASSERT_FALSE(lock.reads(kCat));
  const auto token = lock.token();
  lock.passes_on(kBen);
  EXPECT_EQ(lock.readers(), Owners{kAnn}) << "a client that saw no readers admits none";
  EXPECT_EQ(lock.token(), token);
  ASSERT_FALSE(lock.writes(kDan));
  lock.leaves(kBen);
  EXPECT_EQ(lock.readers(), (Owners{kAnn, kCat}));
  EXPECT_EQ(lock.queue(), Owners{kDan});
  lock.leaves(kDan);
  lock.leaves(kAnn);
  EXPECT_EQ(lock.readers(), Owners{kCat});
}

TEST(Readers, ALeaveTakesOutItsOwnersAndAdmitsNobodyWhileAWriterHolds) {
  Lock lock;
  ASSERT_TRUE(lock.writes(kAnn));
  const auto holder = lock.holder();
  ASSERT_FALSE(lock.reads(kBen));
  ASSERT_FALSE(lock.reads(kCat));
  lock.leaves(kCat);
  EXPECT_EQ(lock.holder(), holder);
  EXPECT_EQ(lock.queue(), Owners{kBen});
  lock.leaves(kAnn);
  ASSERT_TRUE(lock.reads(kCat, 2));
  ASSERT_TRUE(lock.reads(kDan));
  lock.run(core::PassOnCommand{"kept", kBen, kDan, false, core::kReaders});
  EXPECT_EQ(lock.readers(), Owners{kCat}) << "a giver and its receiver both go";
}

TEST(Readers, ADeadOneGoesWithTheNextJoinAfterItsTimeAndAllWithAnObservation) {
  Lock lock;
  ASSERT_TRUE(lock.reads(kAnn));
  lock.now_ms += kInForce_ms - 1;
  ASSERT_TRUE(lock.reads(kBen));
  EXPECT_EQ(lock.readers(), (Owners{kAnn, kBen}));
  lock.now_ms += 1;
  ASSERT_TRUE(lock.reads(kCat));
  EXPECT_EQ(lock.readers(), (Owners{kBen, kCat}));
  ASSERT_FALSE(lock.writes(kDan));
  lock.observed = lock.holder();
  ASSERT_TRUE(lock.reads(kAnn, 2));
  EXPECT_EQ(lock.readers(), Owners{kAnn});
  EXPECT_EQ(lock.queue(), Owners{kDan});
  EXPECT_FALSE(lock.writes(kDan, 2)) << "another text than it observed";
  lock.observed = lock.holder();
  EXPECT_TRUE(lock.writes(kDan, 3));
}

TEST(Readers, TheLastOfSoManyWaitsForALeave) {
  Lock lock;
  const auto nth = [](std::uint64_t i) { return Owner{0xE, i}; };
  for (std::uint64_t i = 1; i <= core::kMostReaders; ++i) ASSERT_TRUE(lock.reads(nth(i))) << i;
  EXPECT_FALSE(lock.reads(kAnn));
  EXPECT_FALSE(lock.reads(kBen));
  EXPECT_TRUE(lock.reads(nth(1), 2));
  lock.leaves(kCat);
  EXPECT_EQ(lock.queue(), (Owners{kAnn, kBen}));
  lock.leaves(nth(7));
  EXPECT_EQ(lock.readers().size(), core::kMostReaders);
  EXPECT_EQ(lock.readers().back(), kAnn);
  EXPECT_EQ(lock.queue(), Owners{kBen});
}

TEST(Readers, OneThatAnOlderReleaseOrAHandOverGaveTheLockToIsJoinedAndExtended) {
  Lock lock;
  ASSERT_TRUE(lock.writes(kAnn));
  ASSERT_FALSE(lock.reads(kBen));
  lock.passes_on(kAnn);
  EXPECT_EQ(lock.holder(), Lock::lock_id(kBen, 1, kLease, core::kReaders));
  EXPECT_FALSE(lock.extends(kBen, kBegin_ms + 1, 2));
  lock.now_ms += 100;
  EXPECT_TRUE(lock.extends(kBen, kBegin_ms, 2));
  EXPECT_EQ(lock.expires_ms(), lock.now_ms + kInForce_ms);
  EXPECT_TRUE(lock.reads(kCat));
  EXPECT_EQ(lock.readers(), (Owners{kBen, kCat}));
  EXPECT_TRUE(lock.extends(kBen, kBegin_ms, 3));

  Lock down;
  ASSERT_TRUE(down.writes(kAnn));
  ASSERT_FALSE(down.writes(kDan));
  const auto bens = Lock::lock_id(kBen, 1, kLease, core::kReaders);
  down.run(core::HandOverCommand{1, "kept", kAnn, kBen, bens, kLease, kMargin});
  EXPECT_FALSE(down.reads(kCat)) << "the writer before it waits";
  down.leaves(kDan);
  EXPECT_EQ(down.readers(), (Owners{kBen, kCat}));
  EXPECT_EQ(down.reader(kBen).since.since_1970_ms, kBegin_ms);
}

TEST(Permits, AreAsManyAsThereIsRoomForAndEachHasTheLowestFreeSlot) {
  Lock lock;
  lock.of = 2;
  ASSERT_TRUE(lock.takes(kAnn));
  ASSERT_TRUE(lock.takes(kBen));
  EXPECT_FALSE(lock.takes(kCat));
  EXPECT_FALSE(lock.reads(kDan)) << "nor does anybody read beside them";
  EXPECT_EQ(lock.reader(kAnn).slot, 0);
  EXPECT_EQ(lock.reader(kBen).slot, 1);
  EXPECT_TRUE(lock.extends(kBen, kBegin_ms, 2));
  EXPECT_EQ(lock.reader(kBen).slot, 1);
  EXPECT_TRUE(lock.takes(kBen, 3)) << "it has one";
  EXPECT_EQ(lock.reader(kBen).slot, 1);
  lock.leaves(kAnn);
  EXPECT_EQ(lock.readers(), (Owners{kBen, kCat})) << "one goes to the first that waits";
  EXPECT_EQ(lock.reader(kCat).slot, 0);
  EXPECT_EQ(lock.queue(), Owners{kDan});
  lock.leaves(kCat);
  EXPECT_EQ(lock.readers(), Owners{kBen}) << "who reads waits for all";
  EXPECT_FALSE(lock.takes(kAnn)) << "another waits before it";
  lock.leaves(kDan);
  EXPECT_EQ(lock.readers(), (Owners{kBen, kAnn}));
}

TEST(Permits, ThoseOfDeadHoldersGoToAllThatWaitByOneRelease) {
  Lock lock;
  lock.of = 3;
  ASSERT_TRUE(lock.takes(kAnn) && lock.takes(kBen, 1, milliseconds(9'000)) && lock.takes(kCat));
  ASSERT_FALSE(lock.takes(kDan) || lock.takes({0xE, 5}));
  lock.now_ms += kInForce_ms;
  lock.leaves({0xF, 6});
  EXPECT_EQ(lock.readers(), (Owners{kBen, kDan, {0xE, 5}}));
  EXPECT_EQ(lock.reader(kDan).slot, 0);
  EXPECT_EQ(lock.reader({0xE, 5}).slot, 2);
}

TEST(Permits, ACallForAnotherNumberWaitsUntilAllHaveGone) {
  Lock lock;
  lock.of = 2;
  ASSERT_TRUE(lock.takes(kAnn));
  lock.of = 3;
  EXPECT_FALSE(lock.takes(kBen));
  lock.of = 2;
  lock.leaves(kAnn);
  EXPECT_TRUE(core::names_owner(lock.holder(), kBen)) << "alone";
  lock.of = 3;
  EXPECT_TRUE(lock.takes(kCat));
  EXPECT_EQ(lock.readers(), (Owners{kBen, kCat}));
  EXPECT_EQ(lock.reader(kBen).slot, 0) << "who stood alone has the first";
  EXPECT_EQ(lock.reader(kCat).slot, 1);
}

TEST(Readers, AHoldersNameIsNeitherReaderNorMark) {
  Lock lock;
  ASSERT_TRUE(lock.writes(kAnn));
  const auto odd = core::format_lock_id({kAnn, 3'000, 1, ".0|1800000000000.1.\u00e4|.0"});
  lock.put("lockId", odd);
  EXPECT_FALSE(lock.reads(kBen));
  EXPECT_EQ(lock.holder(), odd);
  lock.leaves(kAnn);
  EXPECT_EQ(lock.readers(), Owners{kBen});
  lock.put("lockId", lock.whole() + "\u00e4|\u00e4|17000000000\u00e4\u00e4.\u00e4.\u00e4.\u00e4");
  EXPECT_TRUE(lock.reads(kCat)) << "what is no entry goes";
  EXPECT_EQ(lock.lease_ms(), 3'000);
}

/// Commands of the release without readers, and of the .NET package.
TEST(Readers, AreOneHolderForClientsThatKnowNone) {
  std::ifstream in(std::string(LEASEHOLD_KEPT) + "/0.1.0.json");
  const auto kept = nlohmann::ordered_json::parse(in);
  for (const auto& [name, command] : kept.items()) {
    Lock lock;
    ASSERT_TRUE(lock.reads(kAnn));
    ASSERT_TRUE(lock.reads(kBen));
    const auto holder = lock.holder();
    const auto expires_ms = lock.expires_ms();
    bson_error_t error;
    const auto text = command.dump();
    const mongo::Bson bytes(bson_new_from_json(
        reinterpret_cast<const std::uint8_t*>(text.data()), static_cast<ssize_t>(text.size()),
        &error));
    const Object reply = lock.execute_bytes(bytes);
    EXPECT_TRUE(reply.find("ok"_key)->truth()) << name;
    EXPECT_EQ(lock.holder(), holder) << name;
    EXPECT_EQ(lock.expires_ms(), expires_ms) << name;
    EXPECT_EQ(lock.queue().empty(), !name.starts_with("wait")) << name;
  }
}

TEST(Readers, AreLeftAsTheyAreByTheDotNetPackageUntilAllAreOver) {
  Lock lock;
  ASSERT_TRUE(lock.reads(kAnn));
  const published::Call call{"kept", kDan, {}};
  const auto acquire = mongo::Bson::of(
      published::command_of(*published::recipe_named("distributed-lock"), "@acquire", call, {}));
  const auto before = lock.document();
  lock.now_ms += kInForce_ms;
  lock.execute_bytes(acquire);
  EXPECT_EQ(lock.document(), before);
  lock.now_ms += 1;
  lock.execute_bytes(acquire);
  EXPECT_EQ(lock.whole(), core::to_hex(kDan));
  EXPECT_FALSE(lock.reads(kBen));
  EXPECT_EQ(lock.whole(), core::to_hex(kDan)) << "its document has no place for a queue";
}

}  // namespace
}  // namespace leasehold::sim::simulated::readers_test
