#include "cli/command_line.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include "cli/output.hpp"
#include "core/document/utf8.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

TEST(Duration, HasAUnitOrIsInSecondsAsOtherCommandsHaveIt) {
  EXPECT_EQ(duration_of("wait", "250ms"), milliseconds(250));
  EXPECT_EQ(duration_of("wait", "30s"), milliseconds(30'000));
  EXPECT_EQ(duration_of("wait", "5m"), milliseconds(300'000));
  EXPECT_EQ(duration_of("wait", "2h"), milliseconds(7'200'000));
  EXPECT_EQ(duration_of("wait", "10"), milliseconds(10'000));
  EXPECT_EQ(duration_of("wait", "0.5"), milliseconds(500));
  EXPECT_EQ(duration_of("wait", "1.5m"), milliseconds(90'000));
  EXPECT_EQ(duration_of("wait", "0"), milliseconds(0));
}

TEST(Duration, AnythingElseIsNamedWithItsOption) {
  for (const char* text : {"", "s", "soon", "-1s", "5 s", "5d", "1e3", "inf", "nan", "0x10",
                           "1.2.3", "99999999h", "99999999999999999999999999s"}) {
    try {
      (void)duration_of("wait", text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find("--wait is '" + std::string(text) + "'"), 0u);
    }
  }
}

/// Boost looks for such a place in its sentence until there is none, so it would never end.
TEST(Words, WithAPlaceOfBoostsSentencesAreRefusedAsAnyOthers) {
  for (const char* word : {"--%option%", "-n%value%", "--number=%original_token%", "-%prefix%"}) {
    int number = 0;
    po::options_description options("Options");
    options.add_options()("number,n", po::value(&number), "");
    try {
      parse("program", options, {word}, {});
      ADD_FAILURE() << word;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("'" + std::string(word) + "'"), std::string::npos);
    }
  }
}

TEST(Help, IsAskedForInTheWaysOfOtherCommands) {
  const auto run = [](const std::vector<std::string>& words) {
    parse("p thing", po::options_description("Options"), words, {});
    return 0;
  };
  const Subcommand all[] = {{"thing", run, "does it"}};
  const auto help = [&](const std::vector<std::string>& words) {
    try {
      dispatch("p", all, "", words);
    } catch (const HelpAsked& asked) {
      return asked.text.substr(0, asked.text.find('\n'));
    }
    return std::string("none");
  };
  EXPECT_EQ(help({"--help"}), "usage: p SUBCOMMAND [OPTIONS]");
  EXPECT_EQ(help({"help"}), help({"--help"}));
  EXPECT_EQ(help({"help", "thing"}), "usage: p thing");
  EXPECT_EQ(help({"thing"}), "none");
  EXPECT_THROW(help({"help", "other"}), UsageError);
}

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
