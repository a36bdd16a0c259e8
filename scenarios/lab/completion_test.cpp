#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "scenarios/lab/run_program.hpp"

/// The bash completion of `leasehold` against its --help.
namespace leasehold::lab {
namespace {

std::set<std::string> found(const std::string& text, const std::regex& pattern) {
  std::set<std::string> all;
  for (std::sregex_iterator one(text.begin(), text.end(), pattern), end; one != end; ++one) {
    all.insert((*one)[1]);
  }
  return all;
}

/// What a shell offers after these words.
std::set<std::string> offered(const std::string& words, int at) {
  const auto ran = run_program({"bash", "-c",
                                "source '" LEASEHOLD_COMPLETION "'; COMP_WORDS=(" + words +
                                    " ''); COMP_CWORD=" + std::to_string(at) +
                                    "; _leasehold; printf '%s\\n' \"${COMPREPLY[@]}\""});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  return found(ran.out, std::regex("(\\S+)\n"));
}

std::string help_of(const std::vector<std::string>& words) {
  auto command = words;
  command.insert(command.begin(), LEASEHOLD_COMMAND_PROGRAM);
  command.emplace_back("--help");
  return run_program(command).out;
}

TEST(Completion, OffersTheSubcommandsThatTheHelpLists) {
  auto listed = found(help_of({}), std::regex("\n  ([a-z]+)\t"));
  ASSERT_GT(listed.size(), 4u);
  listed.insert({"--help", "--version"});
  EXPECT_EQ(offered("leasehold", 1), listed);
}

TEST(Completion, OffersEachSubcommandsOptionsAndNoOthers) {
  for (const auto& name : found(help_of({}), std::regex("\n  ([a-z]+)\t"))) {
    // As the help has them: "  --json", or "  -w [ --wait ] DURATION".
    const auto listed = found(help_of({name}), std::regex("\n  (?:-[a-zA-Z] \\[ )?(--[a-z-]+)"));
    auto words = offered("leasehold " + name, 2);
    words.erase("--");
    EXPECT_EQ(words, listed) << name;
  }
}

}  // namespace
}  // namespace leasehold::lab
