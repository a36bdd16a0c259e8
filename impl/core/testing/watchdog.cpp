#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

/// Ends a test program that hangs, with the name of the test: whoever kills it from outside does
/// not know that. Part of each program of unit and virtual tests.
namespace {

/// Below ctest's limit.
const unsigned longest_test_s = [] {
  const char* limit = std::getenv("LEASEHOLD_TEST_LIMIT_S");
  return (limit == nullptr ? 600 : static_cast<unsigned>(std::atoi(limit))) - 50;
}();
char said[512];

void end(int) {
  (void)!write(STDERR_FILENO, said, std::strlen(said));
  std::abort();
}

class Watchdog final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(said, sizeof said, "%s.%s has not ended after %u s\n", test.test_suite_name(),
                  test.name(), longest_test_s);
    signal(SIGALRM, end);
    alarm(longest_test_s);
  }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }
};

[[maybe_unused]] const bool watches = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
  return true;
}();

}  // namespace
