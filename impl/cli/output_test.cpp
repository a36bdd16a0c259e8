#include "cli/output.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/document/utf8.hpp"

namespace leasehold::cli {
namespace {

TEST(Printable, WhatATerminalActsOnIsEscapedAndAllElseStays) {
  EXPECT_EQ(printable("night\u00e9-\u8a9e-\U0001F512 a~b\\"),
            "night\u00e9-\u8a9e-\U0001F512 a~b\\");
  EXPECT_EQ(printable("evil\x1b[31m\rgood\nlock\t\x7f"),
            "evil\\x1b[31m\\x0dgood\\x0alock\\x09\\x7f");
  EXPECT_EQ(printable("\u009b2J"), "\\xc2\\x9b2J") << "CSI in one character";
  EXPECT_EQ(printable("\u202egnp"), "\\xe2\\x80\\xaegnp") << "written from right to left";
  EXPECT_EQ(printable("a\xff\xfe\xc3"), "a\\xff\\xfe\\xc3");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

RC_GTEST_PROP(Printable, IsUtf8WithoutControlCharactersWhateverItGets, (const std::string& text)) {
  const auto shown = printable(text);
  RC_ASSERT(core::valid_utf8_prefix(shown) == shown);
  for (const char c : shown) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
}

TEST(Column, IsAsWideAsItsCharacters) {
  EXPECT_EQ(column("\u8a9e", 3), "\u8a9e  ");
  EXPECT_EQ(width_of("\x1b"), 4u);
}

}  // namespace
}  // namespace leasehold::cli
