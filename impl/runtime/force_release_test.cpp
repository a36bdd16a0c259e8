#include "runtime/force_release.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace leasehold::runtime {
namespace {

using core::Outcome;
using core::Reply;
using std::chrono::milliseconds;

/// A lock with a lease of 10 s.
const core::ForcedRelease kForce = *core::forced_release(
    {.name = "l", .lock_id = core::format_lock_id({{1, 2}, 10'000, 7}), .acquired_at = {},
     .corruption = {}, .expires_at = {90'000}, .read_at = {30'000}},
    {3, 4});

Reply taken(Outcome outcome) {
  return {.outcome = outcome, .documents = {{kForce.take.name, kForce.take.lock_id}}};
}

/// What is said if these are the replies, of which all but the last are followed by a wait.
Error error_after(std::deque<Reply> replies) {
  std::size_t waits = 0;
  const auto expected = replies.size() - 1;
  const auto error = force_release(kForce, {[&replies](auto) {
                                              auto reply = replies.front();
                                              replies.pop_front();
                                              return reply;
                                            },
                                            [&waits](milliseconds) { return ++waits > 0; }});
  EXPECT_EQ(waits, expected) << error.value().message;
  return error.value();
}

TEST(ForceSteps, EndWhereACommandFails) {
  EXPECT_EQ(error_after({taken(Outcome::unknown)}).kind, ErrorKind::unavailable) << "no majority";
  const auto kind_after = [](Outcome outcome) { return error_after({{.outcome = outcome}}).kind; };
  EXPECT_EQ(kind_after(Outcome::unknown), ErrorKind::unavailable);
  EXPECT_EQ(kind_after(Outcome::not_executed), ErrorKind::unavailable);
  EXPECT_EQ(kind_after(Outcome::configuration), ErrorKind::configuration);
  EXPECT_EQ(kind_after(Outcome::duplicate_key), ErrorKind::refused);
  EXPECT_EQ(error_after({{.outcome = Outcome::unknown, .documents = {{"l", "another's"}}}}).kind,
            ErrorKind::refused);
}

TEST(ForceSteps, AReleaseThatNoMajorityConfirmsIsSaid) {
  auto freed = taken(Outcome::unknown);
  freed.message = "w: timeout";
  EXPECT_EQ(error_after({taken(Outcome::done), freed}).message,
            "no majority confirmed the release of lock 'l'; it frees itself in 42 s: w: timeout");
}

}  // namespace
}  // namespace leasehold::runtime
