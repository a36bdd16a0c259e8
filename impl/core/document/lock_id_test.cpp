#include "core/document/lock_id.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace leasehold::core {
namespace {

RC_GTEST_PROP(LockId, WhatIsWrittenIsReadBack,
              (std::uint64_t high, std::uint64_t low, std::uint64_t beat, bool with_holder)) {
  const LockId parts{{high, low},
                     *rc::gen::inRange<std::int64_t>(100, 86'400'001),
                     beat,
                     with_holder ? "host.name:1:app" : ""};
  const auto text = format_lock_id(parts);
  RC_ASSERT(parse_lock_id(text) == std::optional(parts));
}

RC_GTEST_PROP(LockId, AnyTextIsParsedOrRefusedWithoutHarm, (const std::string& text)) {
  (void)parse_lock_id(text);
}

TEST(LockId, AQueueIsNoPartOfTheHolder) {
  const std::string text = std::string(32, 'a') + ".30000.7.host.name:1:app~entry~entry";
  const auto id = parse_lock_id(text);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->holder, "host.name:1:app");
  EXPECT_EQ(id->queue, "entry~entry");
  EXPECT_EQ(holder_for_people(text), "host.name:1:app");
  EXPECT_EQ(holder_for_people("theirs~entry"), "theirs");
  EXPECT_EQ(holder_for_people("~entry"), "");
}

TEST(LockId, ForeignFormsAreNotOurs) {
  const std::string owner(32, 'a');
  for (const auto& id :
       {owner, owner + ".3000", owner + ".3000.", owner + "..1", owner + ".-5.1", owner + ".99.1",
        owner + ".86400001.1", owner + ".3000.x", "A" + owner.substr(1) + ".3000.1",
        owner + "a.3000.1", owner.substr(1) + ".3000.1", std::string(), owner + ".0x30.1",
        owner + ".99999999999999999999.1"}) {
    EXPECT_FALSE(parse_lock_id(id)) << id;
  }
}

}  // namespace
}  // namespace leasehold::core
