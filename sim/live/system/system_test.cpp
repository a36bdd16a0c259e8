#include "sim/live/system/child_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "sim/live/system/process_tree.hpp"

namespace leasehold::sim::live {
namespace {

class Lines : public testing::Test {
 protected:
  Lines() { EXPECT_EQ(pipe2(ends_, O_NONBLOCK | O_CLOEXEC), 0); }
  ~Lines() override {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }
  void write_text(const std::string& text) {
    EXPECT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  bool read_once() { return lines_.read_from(ends_[0]); }

  int ends_[2];
  LineReader lines_;
};

TEST_F(Lines, AreGivenOnceTheyAreWhole) {
  EXPECT_FALSE(read_once());
  write_text("one\ntw");
  EXPECT_TRUE(read_once());
  EXPECT_EQ(lines_.next(), "one");
  EXPECT_EQ(lines_.next(), std::nullopt);
  EXPECT_EQ(lines_.waiting(), 2u);
  EXPECT_EQ(lines_.rest(1), "t");
  write_text("o\n\n");
  EXPECT_TRUE(read_once());
  EXPECT_EQ(lines_.next(), "two");
  EXPECT_EQ(lines_.next(), "");
  EXPECT_EQ(lines_.next(), std::nullopt);
  EXPECT_FALSE(lines_.ended());
}

TEST_F(Lines, EndWithTheirWriter) {
  write_text("last\nunfinished");
  close(ends_[1]);
  ends_[1] = -1;
  EXPECT_TRUE(read_once());
  EXPECT_FALSE(read_once());
  EXPECT_TRUE(lines_.ended());
  EXPECT_EQ(lines_.next(), "last");
  EXPECT_EQ(lines_.next(), std::nullopt);
}

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

/// As a shell that starts a program, of which the child is stopped first.
TEST(ProcessTree, AParentThatWaitsForItsVforkedChildIsAsGoodAsStopped) {
  const pid_t root = fork();
  if (root == 0) {
    if (vfork() == 0) {
      pause();
      _exit(0);
    }
    _exit(0);
  }
  while (ProcessTable().tree(root).size() < 2 || !waits_in_kernel(root)) usleep(1'000);
  stop_tree(root);
  EXPECT_TRUE(waits_in_kernel(root));
  kill_trees({root});
  EXPECT_EQ(waitpid(root, nullptr, 0), root);
}

TEST(ProcessTree, StopsResumesAndKillsTheChildrensChildrenInTheirOwnSessionsToo) {
  const auto one = family(), two = family();
  const auto first = whole(one), second = whole(two);
  EXPECT_EQ(ProcessTable().parent(one.pid()), getpid());
  stop_tree(one.pid());
  EXPECT_TRUE(std::all_of(first.begin(), first.end(), [](pid_t pid) {
    return is_stopped(pid) || waits_in_kernel(pid);  // a shell that has just called vfork
  }));
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
