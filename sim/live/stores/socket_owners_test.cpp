#include "sim/live/system/process_tree.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/live/system/child_process.hpp"
#include "sim/live/system/listener_test.hpp"

namespace leasehold::sim::live {
namespace {

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
