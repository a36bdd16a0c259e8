#include "sim/live/system/child_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "sim/live/system/listener_test.hpp"

namespace leasehold::sim::live {
namespace {

TEST(Lines, AreGivenOnceTheyAreWholeAndEndWithTheirWriter) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  LineReader lines;
  const auto read_after = [&](const std::string& text) {
    EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    return lines.read_from(ends[0]);
  };
  EXPECT_FALSE(lines.read_from(ends[0]));
  EXPECT_TRUE(read_after("one\ntw"));
  EXPECT_EQ(lines.next(), "one");
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_EQ(lines.waiting(), 2u);
  EXPECT_EQ(lines.rest(1), "t");
  EXPECT_TRUE(read_after("o\n\nunfinished"));
  EXPECT_EQ(lines.next(), "two");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_FALSE(lines.ended());
  close(ends[1]);
  EXPECT_FALSE(lines.read_from(ends[0]));
  EXPECT_TRUE(lines.ended());
  EXPECT_EQ(lines.next(), std::nullopt);
  close(ends[0]);
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

/// A process that connects, and stays until the end of this.
class Connected {
 public:
  Connected(const std::string& before, const Listener& to, const std::string& family = "AF_INET",
            const std::string& host = "127.0.0.1")
      : process_({"/bin/sh", "-c", before + "/usr/bin/python3 -c \"$0\"; exit $?",
                  "import socket, time; s = socket.socket(socket." + family + "); s.connect(('" +
                      host + "', " + std::to_string(to.port) + ")); time.sleep(60)"},
                 ChildProcess::Io::nothing, true) {}
  ~Connected() { kill_trees({process_.pid()}); }
  Connected(const Connected&) = delete;
  Connected& operator=(const Connected&) = delete;

  [[nodiscard]] pid_t pid() const { return process_.pid(); }

 private:
  ChildProcess process_;
};

TEST(SocketOwners, AConnectionHasTheNameOfTheProcessThatStartedItsOwner) {
  const Listener listener;
  SocketOwners owners;
  const Connected one("", listener);
  owners.add("p0.1", one.pid());
  const int from_one = listener.accept_one().from_port;
  const Connected other("setsid ", listener);
  owners.add("member-1", other.pid());
  const int from_other = listener.accept_one().from_port;
  EXPECT_EQ(owners.of(from_one, listener.port), "p0.1");
  EXPECT_EQ(owners.of(from_other, listener.port), "member-1") << "in a session of its own";
  EXPECT_EQ(owners.of(from_one, listener.port + 1), "") << "to another port";
}

TEST(SocketOwners, ThoseThatAreConnectedToAPortAreNamed) {
  const Listener listener, other;
  SocketOwners owners;
  const Connected one("", listener), java("", listener, "AF_INET6", "::ffff:127.0.0.1"),
      elsewhere("", other), stranger("", listener);
  owners.add("p0.1", one.pid());
  owners.add("p1.1", java.pid());
  owners.add("p2.1", elsewhere.pid());
  for (int i = 0; i < 3; ++i) (void)listener.accept_one();
  (void)other.accept_one();
  EXPECT_EQ(owners.connected_to({listener.port}), (std::set<std::string>{"p0.1", "p1.1"}));
  EXPECT_EQ(owners.connected_to({listener.port, other.port}),
            (std::set<std::string>{"p0.1", "p1.1", "p2.1"}));
  EXPECT_EQ(owners.connected_to({}), std::set<std::string>());
}

TEST(SocketOwners, StrangersAndTheDeadHaveNoName) {
  const Listener listener;
  SocketOwners owners;
  const Connected stranger("", listener);
  const int from = listener.accept_one().from_port;
  EXPECT_EQ(owners.of(from, listener.port), "");
  owners.add("p0.1", 1);  // runs, and is no child of this process
  EXPECT_EQ(owners.of(from, listener.port), "");
}

}  // namespace
}  // namespace leasehold::sim::live
