#include "core/bounded_map.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace leasehold::core {
namespace {

/// A key that counts how often keys are compared.
struct Counted {
  int number;
  static inline int compared = 0;
  bool operator<(const Counted& other) const {
    ++compared;
    return number < other.number;
  }
};

TEST(BoundedMap, AUseCostsTheSameAfterAHundredThousandKeys) {
  constexpr std::size_t kMost = 1'000;
  BoundedMap<Counted, int, kMost> map;
  Counted::compared = 0;
  int most = 0;
  for (int key = 0; key < 100'000; ++key) {
    const int before = Counted::compared;
    map.keep({key}, key);
    most = std::max(most, Counted::compared - before);
  }
  // Three walks from the root of a tree that is at most twice as high as need be, and their ends.
  EXPECT_LE(most, 3 * (2 * std::bit_width(kMost) + 2));
  EXPECT_EQ(map.find({98'999}), nullptr);
  ASSERT_NE(map.find({99'000}), nullptr);
  EXPECT_EQ(*map.find({99'000}), 99'000);
}

RC_GTEST_PROP(BoundedMap, KeepsWhatWasUsedLast, ()) {
  BoundedMap<int, int, 4> map;
  std::vector<std::pair<int, int>> model;  // the newest last
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 7), rc::gen::inRange(-3, 100)));
  for (const auto& [key, value] : steps) {
    std::erase_if(model, [key = key](const auto& kept) { return kept.first == key; });
    if (value < 0) {
      map.erase(key);
    } else {
      map.keep(key, value);
      model.emplace_back(key, value);
      if (model.size() > 4) model.erase(model.begin());
    }
    for (int k = 0; k < 7; ++k) {
      const auto kept =
          std::find_if(model.begin(), model.end(), [k](const auto& one) { return one.first == k; });
      RC_ASSERT((map.find(k) != nullptr) == (kept != model.end()));
      if (kept != model.end()) RC_ASSERT(*map.find(k) == kept->second);
    }
  }
}

}  // namespace
}  // namespace leasehold::core
