#include "sim/live/system/process_tree.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {
namespace {

/// A shell with a child, and a grandchild in a session of its own.
ChildProcess family() {
  return ChildProcess(
      {"/bin/sh", "-c", "/bin/sh -c 'setsid sleep 60; exit 1' & sleep 60; exit 1"},
      ChildProcess::Io::nothing, true);
}

std::vector<pid_t> whole(const ChildProcess& root) {
  std::vector<pid_t> tree;
  for (int tries = 0; tries < 1'000 && tree.size() < 4; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    tree = ProcessTable().tree(root.pid());
  }
  EXPECT_EQ(tree.size(), 4u);
  return tree;
}

TEST(ProcessTree, StopsResumesAndKillsTheChildrensChildrenInTheirOwnSessionsToo) {
  const auto one = family(), two = family();
  const auto first = whole(one), second = whole(two);
  EXPECT_EQ(ProcessTable().parent(one.pid()), getpid());
  stop_tree(one.pid());
  EXPECT_TRUE(std::all_of(first.begin(), first.end(), is_stopped));
  EXPECT_TRUE(std::none_of(second.begin(), second.end(), is_stopped));
  resume_tree(one.pid());
  EXPECT_TRUE(std::none_of(first.begin(), first.end(), is_stopped));
  stop_tree(one.pid());
  kill_trees({one.pid(), two.pid()});
  EXPECT_EQ(ProcessTable().tree(one.pid()).size() + ProcessTable().tree(two.pid()).size(), 0u);
  const ProcessTable after;
  const auto lives = [&](pid_t pid) { return !after.is_gone(pid); };
  EXPECT_TRUE(std::none_of(first.begin(), first.end(), lives));
  EXPECT_TRUE(std::none_of(second.begin(), second.end(), lives));
}

}  // namespace
}  // namespace leasehold::sim::live
