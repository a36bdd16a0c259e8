#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <list>
#include <mutex>
#include <string>

#include "sim/live/proxy/fault_proxy.hpp"
#include "sim/live/system/listener_test.hpp"

/// The proxy before servers whose protocol it does not know.
namespace leasehold::sim::live {
namespace {

class Socket {
 public:
  explicit Socket(int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) : fd(fd) {}
  ~Socket() { end(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void say(const std::string& text) const {
    EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<long>(text.size()));
  }
  /// What comes within this time; "end" for an end, "" for nothing.
  [[nodiscard]] std::string hear(int limit_ms) const {
    pollfd input{fd, POLLIN, 0};
    if (poll(&input, 1, limit_ms) <= 0) return "";
    char buffer[100];
    const auto n = recv(fd, buffer, sizeof buffer, 0);
    return n <= 0 ? "end" : std::string(buffer, static_cast<std::size_t>(n));
  }
  void end() {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  int fd;
};

constexpr int kSoon = 5'000, kNothing = 150;

/// One connection of "p0.1" through a proxy to a server of this test.
struct Through {
  Through() {
    const auto address = loopback_address(proxy.add_port(0, listener.port));
    connect(client.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    server.fd = listener.accept_one().fd;
  }
  std::atomic<int> asked = 0;
  FaultProxy proxy{[this](int, int) { return ++asked, "p0.1"; }};
  Listener listener;
  Socket client, server{-1};
};

TEST(PassingProxy, AServerMaySpeakFirst) {
  Through t;
  t.server.say("hello");
  EXPECT_EQ(t.client.hear(kSoon), "hello");
  t.client.say("you too");
  EXPECT_EQ(t.server.hear(kSoon), "you too");
  EXPECT_EQ(t.asked, 1) << "once for a connection";
}

TEST(PassingProxy, AClientsBytesAndItsEndWaitWhileTheLinkIsCut) {
  Through t;
  t.proxy.set_link_rule({"p0.1", 0}, {.hold_requests = true, .hold_replies = true});
  t.client.say("late");
  t.client.end();
  EXPECT_EQ(t.server.hear(kNothing), "") << "neither the bytes nor the end";
  EXPECT_EQ(t.proxy.touched({"p0.1", 0}), 1);
  t.proxy.set_link_rule({"p0.1", 0}, {});
  EXPECT_EQ(t.server.hear(kSoon), "late");
  EXPECT_EQ(t.server.hear(kSoon), "end");
}

/// Some locks are freed by the end of a connection: it must not come later than by itself.
TEST(PassingProxy, AnEndIsPassedOnAtOnce) {
  Through t;
  t.client.end();
  EXPECT_EQ(t.server.hear(kSoon / 5), "end");
}

TEST(PassingProxy, OneSideMayEndAndHearTheOtherToItsEnd) {
  Through t;
  shutdown(t.client.fd, SHUT_WR);
  EXPECT_EQ(t.server.hear(kSoon), "end");
  t.server.say("the rest");
  EXPECT_EQ(t.client.hear(kSoon), "the rest");
  t.server.end();
  EXPECT_EQ(t.client.hear(kSoon), "end");
}

TEST(PassingProxy, ARefusedClientIsResetAndAnotherIsNot) {
  Through t;
  t.proxy.set_link_rule({"p1.1", 0}, {.refuse = true});
  t.client.say("still here");
  EXPECT_EQ(t.server.hear(kSoon), "still here");
  t.proxy.set_link_rule({"p0.1", 0}, {.refuse = true});
  EXPECT_EQ(t.client.hear(kSoon), "end");
  EXPECT_EQ(t.proxy.touched({"p0.1", 0}), 1);
}

/// On a busy machine the next client waits before the one before it is looked at.
TEST(PassingProxy, ClientsThatComeBackAtOnceKeepNobodyElseFromTheProxy) {
  constexpr std::size_t kGivesUp = 500;
  std::atomic<int> port = 0;
  std::mutex mutex;
  std::list<Socket> clients;
  const auto come = [&] {
    const std::lock_guard guard(mutex);
    if (clients.size() == kGivesUp) return;
    const auto address = loopback_address(port);
    connect(clients.emplace_back().fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  };
  FaultProxy proxy([&](int, int) { return come(), "p0.1"; });
  proxy.set_link_rule({"p0.1", 0}, {.refuse = true});
  port = proxy.add_port(0, 1);
  come();
  while (proxy.touched({"p0.1", 0}) == 0) {
  }
  EXPECT_LT(proxy.touched({"p0.1", 0}), static_cast<std::int64_t>(kGivesUp));
}

}  // namespace
}  // namespace leasehold::sim::live
