#include <gtest/gtest.h>
#include <signal.h>

#include "scenarios/workers/worker_process.hpp"
#include "sim/live/live_test.hpp"

/// The templates of workers, each in its language, on a real replica set.
namespace leasehold::sim::live {
namespace {

using Is = Answer::Is;

constexpr std::int64_t kShort_ms = 1'500;
constexpr std::int64_t kLong_ms = 60'000;  ///< over before the test by no slowness of the machine

struct Template {
  std::string language;
  std::string command;  ///< for sh
};

void PrintTo(const Template& one, std::ostream* out) { *out << one.language; }

class Templates : public testing::TestWithParam<Template> {
 protected:
  [[nodiscard]] static WorkerProcess start(const std::string& name, const std::string& database,
                                           std::int64_t lease_ms) {
    return {GetParam().command, shared_set().uri(), name, database, lease_ms};
  }
};

TEST_P(Templates, AnswersEachQuestion) {
  undisturbed([] {
    auto p = start("p0.1", fresh_database(), kLong_ms);
    EXPECT_EQ(p.acquire(1, 0), Is::granted);
    EXPECT_EQ(p.ask(1), Is::held);
    EXPECT_EQ(p.acquire(2, 0), Is::refused);
    EXPECT_EQ(p.acquire(3, 300), Is::timed_out);
    EXPECT_EQ(p.release(1), Is::released);
    EXPECT_EQ(p.acquire(4, 0), Is::granted);
    p.ask_for(5, 10'000);
    EXPECT_EQ(p.release(4), Is::released);
    EXPECT_EQ(p.answer(5), Is::granted);
    p.child().say(stop_line());
    EXPECT_TRUE(p.child().wait_ms(10'000));
    EXPECT_EQ(p.child().exit_status(), 0);
  });
}

TEST_P(Templates, PassesOnTheLockOfAProcessThatStops) {
  undisturbed([] {
    const auto database = fresh_database();
    auto stopped = start("p0.1", database, kShort_ms);
    auto other = start("p1.1", database, kShort_ms);
    EXPECT_EQ(stopped.acquire(1, 0), Is::granted);
    stopped.child().send_signal(SIGSTOP);
    EXPECT_EQ(other.acquire(1, 20 * kShort_ms), Is::granted);
    stopped.child().send_signal(SIGCONT);
    EXPECT_EQ(stopped.ask(1), Is::not_held);
    EXPECT_EQ(stopped.release(1), Is::not_owner);
    EXPECT_EQ(other.release(1), Is::released) << "the late release freed it";
    other.child().close_input();
    EXPECT_TRUE(other.child().wait_ms(10'000));
  });
}

const Template kTemplates[] = {
    {"Cpp", LEASEHOLD_WORKER_TEMPLATE},
    {"Python", "/usr/bin/python3 " LEASEHOLD_WORKERS "/templates/python/worker.py"}};

INSTANTIATE_TEST_SUITE_P(Languages, Templates, testing::ValuesIn(kTemplates),
                         [](const auto& one) { return one.param.language; });

}  // namespace
}  // namespace leasehold::sim::live
