#include "cli/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <rapidcheck/gtest.h>

#include "core/document/utf8.hpp"

namespace leasehold::cli {
namespace {

TEST(Printable, EscapesControlCharactersAndKeepsAllOthers) {
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

TEST(FailedOutput, IsPutOffUntilTheEnd) {
  EXPECT_EXIT(
      {
        dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
        put_off_failed_output();
        for (int i = 0; i < 1'000; ++i) print("a line that nobody reads\n");
        std::fprintf(stderr, "all else was done; ");
        try {
          flush_output();
        } catch (const OutputFailed& failed) {
          std::fprintf(stderr, "%s", failed.what());
          _exit(failed.error == ENOSPC ? 0 : 1);
        }
        _exit(2);
      },
      testing::ExitedWithCode(0), "all else was done; standard output cannot be written");
}

}  // namespace
}  // namespace leasehold::cli
