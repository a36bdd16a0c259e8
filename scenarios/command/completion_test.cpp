#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "scenarios/lab/ran_fixture.hpp"

/// The bash completions of both commands, and the man page of the laboratory, against --help; and
/// the role that pages name.
namespace leasehold::lab {
namespace {

struct Command {
  std::string program, completion, function;
};
const Command kLeasehold{LEASEHOLD_COMMAND_PROGRAM, LEASEHOLD_COMPLETION, "_leasehold"};
const Command kLab{LEASEHOLD_LAB_PROGRAM, LEASEHOLD_LAB_COMPLETION, "_leasehold_lab"};

std::set<std::string> found(const std::string& text, const std::regex& pattern) {
  std::set<std::string> all;
  for (std::sregex_iterator one(text.begin(), text.end(), pattern), end; one != end; ++one) {
    all.insert((*one)[1]);
  }
  return all;
}

/// What a shell offers after these words.
std::set<std::string> offered(const Command& command, const std::string& words, int at) {
  const auto ran = run_program(
      {"bash", "-c",
       "source '" + command.completion + "'; COMP_WORDS=(command " + words + " ''); COMP_CWORD=" +
           std::to_string(at) + "; " + command.function + " '" + command.program +
           "'; printf '%s\\n' \"${COMPREPLY[@]}\""});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  return found(ran.out, std::regex("(\\S+)\n"));
}

std::string help_of(const Command& command, std::vector<std::string> words = {}) {
  words.insert(words.begin(), command.program);
  words.emplace_back("--help");
  return run_program(words).out;
}

std::set<std::string> subcommands(const Command& command) {
  return found(help_of(command), std::regex("\n  ([a-z]+)\t"));
}

/// As the help has them: "  --json", or "  -w [ --wait ] DURATION".
std::set<std::string> options(const Command& command, const std::string& name) {
  return found(help_of(command, {name}), std::regex("\n  (?:-[a-zA-Z] \\[ )?(--[a-z-]+)"));
}

TEST(Completion, OffersTheSubcommandsThatTheHelpLists) {
  for (const auto& command : {kLeasehold, kLab}) {
    auto listed = subcommands(command);
    ASSERT_GT(listed.size(), 4u);
    listed.insert({"--help", "--version"});
    EXPECT_EQ(offered(command, "", 1), listed);
  }
}

TEST(Completion, OffersEachSubcommandsOptionsAndNoOthers) {
  for (const auto& command : {kLeasehold, kLab}) {
    for (const auto& name : subcommands(command)) {
      auto words = offered(command, name, 2);
      std::erase_if(words, [](const auto& word) { return word[0] != '-' || word == "--"; });
      EXPECT_EQ(words, options(command, name)) << name;
    }
  }
}

TEST(Completion, TheLaboratorysOffersStoriesAndLeavesFilesToTheShell) {
  EXPECT_TRUE(offered(kLab, "scenario", 2).contains("run"));
  EXPECT_TRUE(offered(kLab, "scenario run", 3).contains("holder-stopped-past-its-lease"));
  EXPECT_EQ(offered(kLab, "verify --report", 3), std::set<std::string>());
}

/// It is made of them.
TEST(ManPage, TheLaboratorysHasEveryOptionOfEverySubcommand) {
  const auto page =
      std::regex_replace(content_of(LEASEHOLD_LAB_MAN_PAGE), std::regex("\\\\-"), "-");
  for (const auto& name : subcommands(kLab)) {
    const auto from = page.find("\n.SS " + name + '\n');
    ASSERT_NE(from, std::string::npos) << name;
    const auto section = page.substr(from, page.find("\n.S", from + 1) - from);
    EXPECT_EQ(found(section, std::regex("\n\\.TP\n\\.B \"(--[a-z-]+)[^\n]*\"\n[^\n.]")),
              options(kLab, name))
        << section;
    EXPECT_FALSE(has(section, "\n  ")) << "a line of the help as it was";
  }
}

/// security_live_test leaves out each right in turn.
TEST(ManPage, HasTheLeastRoleThatIsTried) {
  const auto tests = content_of(LEASEHOLD_SCENARIOS "/command/security_live_test.cpp");
  const std::string head = "kLeast{";
  const auto begin = tests.find(head) + head.size();
  const auto first = tests.find('"', begin);
  const auto least = "actions: [" + tests.substr(first, tests.find('}', first) - first) + "]}";
  for (const auto* page : {"/../impl/cli/leasehold.1", "/../impl/guide/operate.md"}) {
    EXPECT_NE(content_of(LEASEHOLD_SCENARIOS + std::string(page)).find(least), std::string::npos)
        << page << " lacks " << least;
  }
}

}  // namespace
}  // namespace leasehold::lab
