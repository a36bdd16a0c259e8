#include "cli/command_line.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace leasehold::cli
