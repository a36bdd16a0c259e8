#include <gtest/gtest.h>
#include <signal.h>

/// For tests with children that may end before they have read all that they are given.
int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
