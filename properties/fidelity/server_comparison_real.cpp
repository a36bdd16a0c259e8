#include "properties/fidelity/server_comparison_real.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "sim/live/servers/replica_set.hpp"
#include "sim/live/system/loopback.hpp"
#include "sim/plan/fault.hpp"

namespace leasehold::properties {
namespace {

using sim::live::Json;
using sim::simulated::Bytes;
using sim::simulated::Object;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr const char* kDatabase = "comparison";
constexpr const char* kHoldInside = "hangBeforeFindAndModifyPerformsUpdate";
constexpr std::int32_t kOpMsg = 2013;
constexpr std::size_t kHeader = 16, kBeforeBody = 21;

/// A connection that sends one command as an OP_MSG and reads one reply. It is no driver, because a
/// driver's additions (sessions, read preferences, retries) are not compared here.
class Wire {
 public:
  explicit Wire(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = sim::live::loopback_address(port);
    broken_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0;
  }
  Wire(Wire&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), broken_(other.broken_), read_(other.read_) {}
  Wire& operator=(Wire&&) = delete;
  ~Wire() { hang_up(); }

  void send(const Object& command) {
    const Bytes bytes(command);
    const bson_t* body = bytes.get();
    const auto length = static_cast<std::int32_t>(kBeforeBody + body->len);
    std::string message(kBeforeBody, '\0');
    std::memcpy(message.data(), &length, sizeof length);
    std::memcpy(message.data() + 12, &kOpMsg, sizeof kOpMsg);
    message.append(reinterpret_cast<const char*>(bson_get_data(body)), body->len);
    const auto sent = ::send(socket_, message.data(), message.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(message.size())) broken_ = true;
  }

  Answer await(SteadyClock::time_point until) {
    while (!complete() && !broken_) {
      const auto left = std::chrono::ceil<milliseconds>(until - SteadyClock::now()).count();
      pollfd waiting{socket_, POLLIN, 0};
      if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) <= 0) return {};
      char buffer[4096];
      const auto got = recv(socket_, buffer, sizeof buffer, 0);
      if (got <= 0) broken_ = true;
      if (got > 0) read_.append(buffer, static_cast<std::size_t>(got));
    }
    if (broken_) return {Answer::Kind::broken};
    bson_t body;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(read_.data());
    if (!bson_init_static(&body, bytes + kBeforeBody, read_.size() - kBeforeBody)) {
      throw std::runtime_error("a reply that is no BSON");
    }
    return {Answer::Kind::reply, known_part(body)};
  }

  void hang_up() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
    broken_ = true;
  }

 private:
  [[nodiscard]] bool complete() const {
    std::int32_t length = 0;
    if (read_.size() < kHeader) return false;
    std::memcpy(&length, read_.data(), sizeof length);
    return read_.size() >= static_cast<std::size_t>(length);
  }
  /// Without members of types that the simulated set does not compute with.
  static Object known_part(const bson_t& body) {
    bson_t known = BSON_INITIALIZER;
    bson_copy_to_excluding_noinit(&body, &known, "$clusterTime", "electionId", "topologyVersion",
                                  "opTime", nullptr);
    Object object = sim::simulated::to_object(known);
    bson_destroy(&known);
    return object;
  }

  int socket_;
  bool broken_ = false;
  std::string read_;
};

sim::live::ReplicaSetOptions options() {
  return {.election_timeout_ms = static_cast<int>(Cluster::kElectionTimeout_ms),
          .heartbeat_ms = static_cast<int>(Cluster::kHeartbeat_ms),
          .faulty = true};
}

class RealCluster final : public Cluster {
 public:
  RealCluster() : set_(options()) {}
  /// Commands that wait for the lock must end before the members do.
  ~RealCluster() override {
    if (holding_ >= 0) let_go();
  }

  Call send(int member, const Object& command) override {
    Object addressed = command;
    const bool on_admin =
        command.find("commitTransaction") != nullptr || command.find("abortTransaction") != nullptr;
    addressed.set("$db", std::string(on_admin ? "admin" : kDatabase));
    calls_.emplace_back(set_.mongod(member).port());
    calls_.back().send(addressed);
    return calls_.size() - 1;
  }

  void hold_next_inside(std::int64_t ms, Hold hold) override {
    holding_ = set_.primary();
    hold_ = hold;
    if (hold == Hold::fail_point) set_.fail_point(holding_, kHoldInside, "alwaysOn");
    if (hold == Hold::lock) set_.member(holding_).must("admin", {{"fsync", 1}, {"lock", true}});
    let_go_ = SteadyClock::now() + milliseconds(ms);
  }

  Answer await(Call call, std::int64_t limit_ms) override {
    const auto until = SteadyClock::now() + milliseconds(limit_ms);
    if (holding_ >= 0 && let_go_ < until) {
      const auto early = calls_.at(call).await(let_go_);
      if (early.kind != Answer::Kind::silent) return early;
      let_go();
    }
    return calls_.at(call).await(until);
  }

  void hang_up(Call call) override { calls_.at(call).hang_up(); }

  void pass(std::int64_t ms) override {
    const auto until = SteadyClock::now() + milliseconds(ms);
    if (holding_ >= 0 && let_go_ < until) {
      std::this_thread::sleep_until(let_go_);
      let_go();
    }
    std::this_thread::sleep_until(until);
  }

  void isolate(int member, bool on) override {
    for (int other = 0; other < kMembers; ++other) {
      if (other == member) continue;
      for (const char* what : {"/beat", "/sync"}) {
        hold(sim::member_name(member) + what, other, on);
        hold(sim::member_name(other) + what, member, on);
      }
    }
  }

  void hold_replication(bool on) override {
    const int primary = set_.primary();
    for (int m = 0; m < kMembers; ++m) {
      if (!on || m != primary) set_.fail_point(m, "stopReplProducer", on ? "alwaysOn" : "off");
    }
  }

  void step_up(int member) override { set_.step_up(member); }
  void step_down() override { (void)set_.step_down(); }
  void stop(int member) override { set_.stop(member); }
  void go_on(int member) override { set_.resume(member); }
  void kill(int member) override { set_.mongod(member).kill(); }
  void move_clock(int member, std::int64_t ahead_ms) override {
    set_.mongod(member).clock().set(milliseconds(ahead_ms));
  }
  void set_ttl(bool on) override {
    for (int m = 0; m < kMembers; ++m) {
      set_.member(m).must("admin", {{"setParameter", 1}, {"ttlMonitorEnabled", on}});
    }
  }

  std::int64_t wall_ms(int member) override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto ahead = set_.mongod(member).clock().ahead();
    return std::chrono::duration_cast<milliseconds>(now + ahead).count();
  }
  int primary() override { return set_.primary(); }
  void catch_up() override {
    sim::live::until_true("a write on every member",
                          [this] { return set_.confirms(kMembers, milliseconds(500)); });
  }

 private:
  void let_go() {
    const int member = std::exchange(holding_, -1);
    if (hold_ == Hold::fail_point) set_.fail_point(member, kHoldInside, "off");
    if (hold_ == Hold::lock) set_.member(member).must("admin", {{"fsyncUnlock", 1}});
  }
  void hold(const std::string& peer, int member, bool on) {
    if (on) return set_.proxy().set(peer, member, {.hold_requests = true, .hold_replies = true});
    set_.proxy().reset(peer, member);
    set_.proxy().set(peer, member, {});
  }

  sim::live::ReplicaSet set_;
  std::vector<Wire> calls_;
  int holding_ = -1;
  Hold hold_ = Hold::lock;
  SteadyClock::time_point let_go_;
};

}  // namespace

std::unique_ptr<Cluster> real_cluster() {
  constexpr int kTries = 3;  // a port that was free may be taken by the time that it is used
  for (int i = 1;; ++i) {
    try {
      return std::make_unique<RealCluster>();
    } catch (const sim::live::NoMongod&) {
      if (i == kTries) throw;
    }
  }
}

}  // namespace leasehold::properties
