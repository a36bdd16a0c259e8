#include "runtime/force_release.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace leasehold::runtime {
namespace {

using core::Outcome;
using core::Reply;
using std::chrono::milliseconds;

/// A lock with a lease of 10 s that is taken by force from replies that a test gives.
struct Forced {
  core::ForcedRelease force = *core::forced_release(
      {.name = "l", .lock_id = core::format_lock_id({{1, 2}, 10'000, 7}), .acquired_at = {},
       .corruption = {}, .expires_at = {90'000}, .read_at = {30'000}},
      {3, 4});
  std::deque<Reply> replies;
  std::vector<milliseconds> waits;
  std::size_t sent = 0;
  bool waits_on = true;

  std::optional<Error> run() {
    return force_release(force, {[this](auto) {
                                   ++sent;
                                   auto reply = replies.front();
                                   replies.pop_front();
                                   return reply;
                                 },
                                 [this](milliseconds wait) {
                                   waits.push_back(wait);
                                   return waits_on;
                                 }});
  }
  [[nodiscard]] Reply taken(Outcome outcome = Outcome::done) const {
    return {.outcome = outcome, .documents = {{force.take.name, force.take.lock_id}}};
  }
};

TEST(ForceSteps, TakeWaitAndFree) {
  Forced f;
  f.replies = {f.taken(), f.taken()};
  EXPECT_EQ(f.run(), std::nullopt);
  EXPECT_EQ(f.waits, std::vector{milliseconds(11'001)});
  EXPECT_EQ(f.sent, 2u);
}

TEST(ForceSteps, EndWhereACommandFails) {
  const auto kind_of = [](Reply reply) {
    Forced f;
    f.replies = {std::move(reply)};
    const auto error = f.run().value();
    EXPECT_TRUE(f.waits.empty()) << error.message;
    return error.kind;
  };
  EXPECT_EQ(kind_of(Forced().taken(Outcome::unknown)), ErrorKind::unavailable) << "no majority";
  EXPECT_EQ(kind_of({.outcome = Outcome::unknown}), ErrorKind::unavailable);
  EXPECT_EQ(kind_of({.outcome = Outcome::not_executed}), ErrorKind::unavailable);
  EXPECT_EQ(kind_of({.outcome = Outcome::configuration}), ErrorKind::configuration);
  EXPECT_EQ(kind_of({.outcome = Outcome::duplicate_key}), ErrorKind::refused);
  EXPECT_EQ(kind_of({.outcome = Outcome::unknown, .documents = {{"l", "another's"}}}),
            ErrorKind::refused);
}

TEST(ForceSteps, AReleaseThatNoMajorityConfirmsIsSaid) {
  Forced f;
  auto freed = f.taken(Outcome::unknown);
  freed.message = "w: timeout";
  f.replies = {f.taken(), freed};
  EXPECT_EQ(f.run().value().message,
            "no majority confirmed the release of lock 'l'; it frees itself in 42 s: w: timeout");
}

TEST(ForceSteps, AWaitThatIsEndedFreesNothing) {
  Forced f;
  f.waits_on = false;
  f.replies = {f.taken()};
  EXPECT_EQ(f.run().value().kind, ErrorKind::cancelled);
  EXPECT_EQ(f.sent, 1u);
}

}  // namespace
}  // namespace leasehold::runtime
