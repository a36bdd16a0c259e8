#include <map>
#include <regex>

#include "scenarios/lab/ran_fixture.hpp"

/// The tables of what people know from other software: a test for each row.
namespace leasehold::lab {
namespace {

using Rows = std::map<std::string, std::string>;

const Rows kHabits{
    {"one attempt", "FlocksOptionsAreUnderstood"},
    {"wait at most 5 s", "FlocksOptionsAreUnderstood"},
    {"exit code if it is taken", "FlocksOptionsAreUnderstood"},
    {"a name and a command", "FlocksOptionsAreUnderstood"},
    {"hold without a command", "HoldKeepsTheLockUntilItIsEnded"},
    {"lease", "AKilledWrapperTakesTheWholeGroupWithItAndTheLockStaysForItsLease"},
    {"longest holding", "AfterItsLongestHoldingItIsToldToEnd"},
    {"shortest holding", "AShortJobOfManyMachinesRunsOnceIfItsLockIsHeldLongEnough"},
    {"what the command learns", "TheCommandsOwnCodeIsPassedOnAndItHasTheToken"},
    {"the lock is lost", "WithoutServersWhoDoesNotListenIsKilledAtTheEndOfTheLease"},
    {"up to 3 holders at once", "PermitsAreAsManyAsWereAskedFor"},
};

const Rows kAsWrapper{
    {"a signal is ignored", "SignalsThatWereIgnoredAreNotTaken"},
    {"SIGCHLD is ignored", "AnIgnoredSigchldDoesNotHideTheEndOfTheCommand"},
    {"0, 1 or 2 is closed", "ClosedDescriptorsBecomeNoConnections"},
    {"TERM, HUP, USR1, USR2, ALRM, XCPU and others that end it, to the wrapper",
     "SignalsGoToTheCommand"},
    {"Ctrl-C, loop of a shell", "InterruptEndsALoopOfTheShellAndOneOfAScript"},
    {"Ctrl-C, loop of a script", "InterruptEndsALoopOfTheShellAndOneOfAScript"},
    {"Ctrl-Z and `fg`", "StopAndForegroundAreThoseOfAnyJob"},
    {"reads the terminal in a pipe", "ACommandInAPipeReadsTheTerminalAndTheOthersToo"},
    {"in the background", "ABackgroundJobThatReadsTheTerminalIsAStoppedJob"},
    {"is process 1", "AsProcessNumberOneItReapsOrphansAndPassesCodesOn"},
    {"in a pod of 64 MiB and 24 processes that is stopped",
     "InAPodOf64MiBAnd24ProcessesItEndsWhenStoppedAndTheLockIsFree"},
    {"the command is another user's", "ACommandOfAnotherUserIsSaidToRunOn"},
    {"the command left by setsid", "AChildInASessionOfItsOwnIsNotKilledAndANestedRunIs"},
    {"SIGKILL to the wrapper",
     "AKilledWrapperTakesTheWholeGroupWithItAndTheLockStaysForItsLease"},
    {"output to /dev/full", "OutputThatCannotBeWrittenIsAFailure"},
    {"few processes or descriptors are left", "WithFewProcessesItSaysSoAndReleases"},
    {"one inside another", "AChildInASessionOfItsOwnIsNotKilledAndANestedRunIs"},
};

std::vector<std::string> rows_below(const std::string& head, const std::string& file) {
  const auto page = content_of(file);
  const auto begin = page.find(head) + head.size();
  const auto table = page.substr(begin, page.find("\n\n", begin) + 1 - begin);
  std::vector<std::string> rows;
  const std::regex row(R"(\| (.+?) \|.*\n)");
  for (std::sregex_iterator at(table.begin(), table.end(), row), end; at != end; ++at) {
    rows.push_back((*at)[1]);
  }
  return rows;
}

void expect_each_is_shown(const std::vector<std::string>& rows, const Rows& shown_by) {
  EXPECT_EQ(rows.size(), shown_by.size());
  std::string tests;
  for (const auto* of : {"", "_habits", "_process"}) {
    tests += content_of(std::string(LEASEHOLD_SCENARIOS "/command/command") + of +
                        "_live_test.cpp");
  }
  for (const auto& row : rows) {
    const auto shown = shown_by.find(row);
    ASSERT_NE(shown, shown_by.end()) << row;
    EXPECT_TRUE(has(tests, ", " + shown->second + ")")) << row;
  }
}

TEST(Habits, EachRowOfTheTableOfHabitsIsShownByATest) {
  expect_each_is_shown(
      rows_below("| habit | there | here |\n|---|---|---|\n", LEASEHOLD_COMMAND_README), kHabits);
}

TEST(Habits, EachRowOfTheTableOfWrappersIsShownByATest) {
  expect_each_is_shown(
      rows_below("| | leasehold run | flock | timeout |\n|---|---|---|---|\n",
                 LEASEHOLD_COMMAND_README),
      kAsWrapper);
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
