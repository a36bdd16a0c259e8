#include <gtest/gtest.h>

#include <tuple>

#include "core/document/lock_queue.hpp"
#include "mongo/commands.hpp"
#include "sim/virtual/commands/collection.hpp"

/// What the commands do with the tickets of calls that found no room in a lock's queue.
namespace leasehold::sim::simulated::tickets_test {
namespace {

using core::Owner;
using std::chrono::milliseconds;

constexpr std::int64_t kNow_ms = 1'700'000'000'000;
constexpr Owner kHolder{1, 1};
constexpr std::size_t kRoom = 4;

std::string lock_id(Owner owner) { return core::format_lock_id({owner, 3'000, 1}); }

/// A lock whose queue has so many calls: 2 is the first.
class Lock {
 public:
  explicit Lock(int waiting, const std::string& tickets = "") {
    std::string whole = lock_id(kHolder);
    for (int i = 0; i < waiting; ++i) {
      whole += '~' + std::to_string(kNow_ms + 1'000) +
               core::entry_without_until(milliseconds(1'500), milliseconds(3'000),
                                         lock_id({2, static_cast<std::uint64_t>(i)}));
    }
    Object document{{{"_id"_key, std::string("l")}}};
    document.set("lockId", whole + tickets);
    document.set("acquiredAt", Date{kNow_ms});
    document.set("expiresAt", Date{kNow_ms + 3'000});
    document.set("fencingToken", std::int64_t{7});
    collection_.apply({"l", std::make_shared<const Object>(std::move(document))});
  }

  /// An attempt of a call that is not there yet: the tickets after it.
  std::string looks(std::optional<std::int64_t> ticket = {}) {
    core::AcquireCommand look{1, "l", {3, 3}, lock_id({3, 3}), {}, milliseconds(3'000), {}};
    look.queues_for = milliseconds(1'500);
    look.queue_room = kRoom;
    look.ticket = ticket;
    return after(look);
  }
  template <typename Body>
  std::string after(const Body& body) {
    const core::Command command{1, milliseconds(1'000), body};
    const auto done = execute(to_object(*mongo::build(command, "locks").get()), collection_,
                              {Date{kNow_ms + 10}, Timestamp{1'700'000'000, 3}});
    for (const auto& change : done.changes) collection_.apply(change);
    return tickets();
  }

  [[nodiscard]] std::string whole() const {
    return *collection_.find("l")->find("lockId"_key)->as<std::string>();
  }
  [[nodiscard]] std::string tickets() const {
    const auto at = whole().find("~+");
    return at == std::string::npos ? "" : whole().substr(at);
  }
  [[nodiscard]] std::size_t waiting() const {
    return core::owners_in(core::split_queue(whole()).queue).size();
  }

 private:
  Collection collection_;
};

TEST(Tickets, EachThatFindsNoneTakesTheNextOnce) {
  Lock lock(4);
  EXPECT_EQ(lock.looks(), "~+.1.0");
  EXPECT_EQ(lock.looks(), "~+.2.0");
  EXPECT_EQ(lock.looks(1), "~+.2.0") << "it has one";
  EXPECT_EQ(lock.waiting(), 4u);
}

TEST(Tickets, ACallThatFindsRoomTakesNoneAndCountsAsAdmittedWhileOthersAreOutside) {
  const std::tuple<const char*, std::optional<std::int64_t>, const char*> cases[]{
      {"", {}, ""}, {"~+.9.5", 7, "~+.9.6"}, {"~+.9.9", {}, "~+.9.9"}, {"~+.x", {}, "~+.x"}};
  for (const auto& [before, ticket, after] : cases) {
    Lock lock(3, before);
    EXPECT_EQ(lock.looks(ticket), after);
    EXPECT_EQ(lock.waiting(), 4u) << before;
  }
  EXPECT_EQ(Lock(4, "~+.x").looks(), "~+.1.0") << "an odd one is none";
}

TEST(Tickets, HalfOfThePlacesIsForThoseWhoseTurnIsNear) {
  EXPECT_EQ(Lock(2, "~+.9.2").looks(), "~+.10.2") << "others are outside";
  EXPECT_EQ(Lock(2, "~+.9.2").looks(7), "~+.9.2") << "too early";
  EXPECT_EQ(Lock(2, "~+.9.2").looks(6), "~+.9.3");
  EXPECT_EQ(Lock(1, "~+.9.2").looks(), "~+.9.3") << "those outside are late";
}

TEST(Tickets, ARenewalChangesNone) {
  Lock lock(4, "~+.9.2");
  core::AcquireCommand renews{1, "l", {2, 1}, core::format_lock_id({{2, 1}, 3'000, 2}), {},
                              milliseconds(3'000), {}};
  renews.queues_for = milliseconds(1'500);
  renews.queue_room = kRoom;
  EXPECT_EQ(lock.after(renews), "~+.9.2");
  EXPECT_EQ(lock.waiting(), 4u);
}

TEST(Tickets, StayWhileTheLockIsGivenOnAndEndWithTheQueue) {
  Lock lock(2, "~+.9.2");
  EXPECT_EQ(lock.after(core::PassOnCommand{"l", {2, 1}, {}}), "~+.9.2") << "it leaves the queue";
  EXPECT_EQ(lock.after(core::PassOnCommand{"l", kHolder, {}}), "~+.9.2");
  EXPECT_EQ(lock.waiting(), 0u);
  EXPECT_EQ(lock.after(core::HandOverCommand{1, "l", {2, 0}, {4, 4}, lock_id({4, 4}), {}, {}}),
            "~+.9.2");
  EXPECT_EQ(lock.after(core::PassOnCommand{"l", {4, 4}, {}}), "");
  EXPECT_EQ(lock.whole(), "");
}

}  // namespace
}  // namespace leasehold::sim::simulated::tickets_test
