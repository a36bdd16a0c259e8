#include "core/held/index_creation.hpp"

#include <gtest/gtest.h>

#include "core/testing/core_world.hpp"

namespace leasehold::core {
namespace {

struct IndexWorld : PartWorld {
  [[nodiscard]] std::size_t asked() const { return sent<EnsureIndexCommand>().size(); }
  IndexCreation index;
};

TEST(IndexCreation, IsAskedForAgainFiveTimesInAllAndThenWarned) {
  for (const auto outcome : {Outcome::unknown, Outcome::not_executed}) {
    IndexWorld w;
    auto lost = CoreWorld::with(outcome);
    lost.message = "no reply";
    for (int i = 0; i < 10; ++i) {
      const auto before = w.asked();
      w.index.ensure(w.step());
      w.index.ensure(w.step());
      EXPECT_LE(w.asked(), before + 1) << "one at a time";
      if (w.asked() > before) w.index.answered(lost, w.step());
    }
    EXPECT_EQ(w.asked(), 5u) << static_cast<int>(outcome);
    ASSERT_TRUE(std::holds_alternative<Warned>(w.effects.back()));
    EXPECT_EQ(std::get<Warned>(w.effects.back()).message, "TTL index: no reply");
  }
}

TEST(IndexCreation, IsSettledByAnAnswer) {
  IndexWorld w;
  w.index.ensure(w.step());
  w.index.answered(CoreWorld::with(Outcome::done), w.step());
  w.index.ensure(w.step());
  EXPECT_EQ(w.asked(), 1u);
}

/// The collection may have been dropped meanwhile, and made again by an upsert.
TEST(IndexCreation, IsAskedForAgainTenMinutesLaterAndWarnsOnce) {
  IndexWorld w;
  auto refused = CoreWorld::with(Outcome::done);
  refused.message = "no permission";
  for (std::size_t period = 1; period <= 3; ++period) {
    w.index.ensure(w.step());
    w.index.answered(refused, w.step());
    w.index.ensure(w.step());
    EXPECT_EQ(w.asked(), period);
    w.now += std::chrono::minutes(10);
  }
  EXPECT_EQ(std::count_if(w.effects.begin(), w.effects.end(),
                          [](const auto& e) { return std::holds_alternative<Warned>(e); }),
            1);
}

}  // namespace
}  // namespace leasehold::core
