#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

/// The README's table of habits of flock, consul lock, etcdctl and ShedLock: a test for each row.
namespace leasehold::lab {
namespace {

/// Of command_live_test and command_habits_live_test.
const std::map<std::string, std::string> kShownBy{
    {"one attempt", "WhoKnowsFlockFindsItsOptions"},
    {"wait so long", "WhoKnowsFlockFindsItsOptions"},
    {"exit code if it is taken", "WhoKnowsFlockFindsItsOptions"},
    {"a name and a command", "WhoKnowsFlockFindsItsOptions"},
    {"hold without a command", "HoldKeepsTheLockUntilItIsEnded"},
    {"lease", "AKilledWrapperTakesTheWholeGroupWithItAndTheLockStaysForItsLease"},
    {"longest holding", "AfterItsLongestHoldingItIsToldToEnd"},
    {"shortest holding", "AShortJobOfManyMachinesRunsOnceIfItsLockIsHeldLongEnough"},
    {"what the command learns", "TheCommandsOwnCodeIsPassedOnAndItHasTheToken"},
    {"the lock is lost", "WithoutServersWhoDoesNotListenIsKilledAtTheEndOfTheLease"},
    {"so many holders at once", "PermitsAreAsManyAsWereAskedFor"},
};

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(text.empty()) << file;
  return text;
}

std::vector<std::string> rows_of_the_table() {
  const auto readme = text_of(LEASEHOLD_README);
  const std::string head = "| habit | there | here |\n|---|---|---|\n";
  const auto begin = readme.find(head) + head.size();
  const auto table = readme.substr(begin, readme.find("\n\n", begin) + 1 - begin);
  std::vector<std::string> rows;
  const std::regex row(R"(\| (.+?) \|.*\n)");
  for (std::sregex_iterator at(table.begin(), table.end(), row), end; at != end; ++at) {
    rows.push_back((*at)[1]);
  }
  return rows;
}

TEST(Habits, EachRowOfTheReadmeIsShownByATest) {
  const auto rows = rows_of_the_table();
  EXPECT_EQ(rows.size(), kShownBy.size());
  const auto tests = text_of(LEASEHOLD_SCENARIOS "/lab/command_live_test.cpp") +
                     text_of(LEASEHOLD_SCENARIOS "/lab/command_habits_live_test.cpp");
  for (const auto& row : rows) {
    const auto shown = kShownBy.find(row);
    ASSERT_NE(shown, kShownBy.end()) << row;
    EXPECT_NE(tests.find(", " + shown->second + ")"), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace leasehold::lab
