#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <leasehold/lock_options.hpp>

#include "core/document/utf8.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

std::string broken_rule(const LockOptions& options) {
  const auto error = check(options);
  return error ? error->message : "";
}

TEST(LockOptions, DefaultsAreTheDocuments) {
  const LockOptions o;
  EXPECT_EQ(o.expiry, milliseconds(30'000));
  EXPECT_EQ(o.effective_cadence(), milliseconds(10'000));
  EXPECT_EQ(o.effective_operation_timeout(), milliseconds(10'000));
  EXPECT_TRUE(o.waiting->renewal(milliseconds(0))) << "calls queue";
  EXPECT_EQ(o.clock_margin, milliseconds(30'000));
  EXPECT_EQ(o.max_drift, 0.005);
  EXPECT_EQ(o.max_holding, std::nullopt);
  EXPECT_EQ(o.hand_overs_in_a_row, 8);
  EXPECT_FALSE(check(o));
  const LockOptions longer{.expiry = milliseconds(60'000)};
  EXPECT_EQ(longer.effective_cadence(), milliseconds(20'000));
  EXPECT_EQ(longer.effective_operation_timeout(), milliseconds(10'000)) << "at most";
  const LockOptions shorter{.expiry = milliseconds(6'000)};
  EXPECT_EQ(shorter.effective_operation_timeout(), milliseconds(2'000));
}

TEST(LockOptions, ErrorsNameTheOptionTheValueAndTheRule) {
  EXPECT_EQ(broken_rule({.expiry = milliseconds(0)}), "expiry is 0 ms: it must be 100 ms to 24 h");
  EXPECT_NE(broken_rule({.expiry = milliseconds(99)}), "");
  EXPECT_EQ(broken_rule({.extension_cadence = milliseconds(30'000)}),
            "extension_cadence is 30000 ms: it must be positive and below expiry (30000 ms)");
  EXPECT_EQ(broken_rule({.extension_cadence = milliseconds(29'850)}),
            "extension_cadence is 29850 ms: it must be below expiry less its max_drift (29849 ms), "
            "when held() turns false");
  EXPECT_EQ(broken_rule({.extension_cadence = milliseconds(29'849)}), "");
  EXPECT_EQ(broken_rule({.operation_timeout = milliseconds(15'000)}),
            "operation_timeout is 15000 ms: it must be positive and below half of expiry (30000 "
            "ms)");
  EXPECT_NE(broken_rule({.operation_timeout = milliseconds::max()}), "") << "twice it would be";
  EXPECT_EQ(broken_rule({.clock_margin = milliseconds(-1)}),
            "clock_margin is -1 ms: it must be 0 to 24 h");
  EXPECT_EQ(broken_rule({.max_holding = milliseconds(0)}),
            "max_holding is 0 ms: it must be 1 ms to 10 years");
  EXPECT_NE(broken_rule({.max_holding = milliseconds::max()}), "");
  EXPECT_NE(broken_rule({.max_drift = 0.2}).find("max_drift"), std::string::npos);
  EXPECT_EQ(broken_rule({.hand_overs_in_a_row = 1'001}),
            "hand_overs_in_a_row is 1001: it must be 0 to 1000");
  EXPECT_NE(broken_rule({.waiting = nullptr}).find("waiting"), std::string::npos);
}

TEST(LockName, HasOneTo1024BytesOfUtf8WithoutNul) {
  EXPECT_FALSE(check_name("a"));
  EXPECT_FALSE(check_name(std::string(1024, 'x')));
  EXPECT_FALSE(check_name("r\xC3\xA9sum\xC3\xA9 \xF0\x9F\x94\x92"));
  EXPECT_TRUE(check_name(""));
  EXPECT_TRUE(check_name(std::string(1025, 'x')));
  EXPECT_TRUE(check_name(std::string("a\0b", 3)));
  for (const char* bad : {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80",
                          "\xE0\x80\x80", "\x80", "\xF4\x90\x80\x80"}) {
    EXPECT_TRUE(check_name(bad)) << bad;
  }
}

TEST(Holder, HasAtMost256BytesOfUtf8WithoutNul) {
  EXPECT_FALSE(check_holder(""));
  EXPECT_FALSE(check_holder("host:1:r\xC3\xA9sum\xC3\xA9"));
  EXPECT_FALSE(check_holder(std::string(256, 'x')));
  EXPECT_EQ(check_holder(std::string(257, 'x'))->message,
            "holder is 257 bytes long: it must have at most 256 bytes");
  EXPECT_EQ(check_holder("\xFF")->message, "holder is 1 bytes long: it must be valid UTF-8");
  EXPECT_EQ(check_holder(std::string("a\0b", 3))->message,
            "holder is 3 bytes long: it must not contain NUL");
}

TEST(Utf8, APrefixEndsBeforeACharacterThatWasCut) {
  EXPECT_EQ(core::valid_utf8_prefix("caf\xC3"), "caf");
  EXPECT_EQ(core::valid_utf8_prefix("caf\xC3\xA9 \xF0\x9F\x94"), "caf\xC3\xA9 ");
  EXPECT_EQ(core::valid_utf8_prefix("\xFFx"), "");
}

RC_GTEST_PROP(Utf8, APrefixOfAnyBytesIsValid, (const std::string& text)) {
  const auto prefix = core::valid_utf8_prefix(text);
  RC_ASSERT(text.starts_with(prefix));
  RC_ASSERT(core::valid_utf8_prefix(prefix) == prefix);
}

}  // namespace
}  // namespace leasehold
