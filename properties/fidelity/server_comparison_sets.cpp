#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <thread>

#include "properties/fidelity/server_comparison.hpp"
#include "sim/live/servers/real_data.hpp"
#include "sim/live/system/loopback.hpp"
#include "sim/virtual/cluster.hpp"

namespace leasehold::properties {
namespace {

using sim::simulated::Bytes;
using sim::simulated::EventQueue;
using sim::simulated::FencedWrite;
using sim::simulated::kMs;
using sim::simulated::Object;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr const char* kDatabase = "comparison";
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
  return {.election_timeout_ms = static_cast<int>(ComparedSet::kElectionTimeout_ms),
          .heartbeat_ms = static_cast<int>(ComparedSet::kHeartbeat_ms),
          .faulty = true};
}

class RealSet final : public ComparedSet {
 public:
  /// Commands that wait for the lock must end before the members do.
  ~RealSet() override { let_go(); }

  sim::ServerControl control() override { return {set_, &set_, &data_}; }
  void hold_replication(bool on) override {
    const int primary = set_.primary();
    for (int m = 0; m < set_.size(); ++m) {
      if (!on || m != primary) set_.fail_point(m, "stopReplProducer", on ? "alwaysOn" : "off");
    }
  }
  void catch_up() override {
    sim::live::until_true("a write on every member",
                          [this] { return set_.all_have_all_data(); });
  }
  std::int64_t true_ms() override { return sim::live::real_time().count(); }

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
    held_ = set_.primary();
    let_go_at_ = SteadyClock::now() + milliseconds(ms);
    inside_ = std::nullopt;
    if (hold == Hold::lock) {
      set_.member(held_).must("admin", {{"fsync", 1}, {"lock", true}});
    } else {
      inside_ = data_.hold_inside("", ms, ms);
      inside_.value().begin();
    }
  }
  Answer await(Call call, std::int64_t limit_ms) override {
    const auto until = SteadyClock::now() + milliseconds(limit_ms);
    if (held_ >= 0 && let_go_at_ < until) {
      const auto early = calls_.at(call).await(let_go_at_);
      if (early.kind != Answer::Kind::silent) return early;
      let_go();
    }
    return calls_.at(call).await(until);
  }
  void hang_up(Call call) override { calls_.at(call).hang_up(); }
  void pass(std::int64_t ms) override {
    const auto until = SteadyClock::now() + milliseconds(ms);
    if (held_ >= 0 && let_go_at_ < until) {
      std::this_thread::sleep_until(let_go_at_);
      let_go();
    }
    std::this_thread::sleep_until(until);
  }

 private:
  void let_go() {
    const int member = std::exchange(held_, -1);
    if (member < 0) return;
    if (inside_) {
      (void)inside_->end();
    } else {
      set_.member(member).must("admin", {{"fsyncUnlock", 1}});
    }
  }

  sim::live::ReplicaSet set_{options()};
  sim::live::RealData data_{set_, {kDatabase + std::string(".locks"), ""}};
  std::vector<Wire> calls_;
  int held_ = -1;  ///< the member inside which a command waits
  std::optional<sim::DataControl::Inside> inside_;  ///< nothing: it waits for a lock
  SteadyClock::time_point let_go_at_;
};

class SimulatedSet final : public ComparedSet {
 public:
  explicit SimulatedSet(std::uint64_t seed) : random_(seed) { pass(1'000); }

  sim::ServerControl control() override { return faults_.control(); }
  void hold_replication(bool on) override {
    const int primary = servers_.primary();
    for (int m = 0; m < sim::simulated::kMembers; ++m) {
      if (!on || m != primary) servers_.serving().set_fetching(m, !on);
    }
  }
  void catch_up() override {
    const auto write = std::make_shared<const FencedWrite>(
        FencedWrite{.name = "catching up", .token = 1});
    run(30'000, [this] { return servers_.primary() >= 0; });
    servers_.fenced_write(servers_.primary(), write, [](auto, const auto&) {});
    pass(1'000);
  }
  std::int64_t true_ms() override {
    return sim::simulated::ServerSettings{}.epoch_ms + queue_.now() / kMs;
  }

  Call send(int member, const Object& command) override {
    calls_.emplace_back();
    Answer& answer = calls_.back();
    servers_.command(member,
                     {.command = std::make_shared<const Object>(command),
                      .waits_ns = std::exchange(next_waits_ms_, 0) * kMs},
                     [&answer](sim::simulated::ServerAnswer kind, const Object& reply) {
                       if (answer.kind != Answer::Kind::silent) return;
                       answer = kind == sim::simulated::ServerAnswer::reply
                                    ? Answer{Answer::Kind::reply, reply}
                                    : Answer{Answer::Kind::broken};
                     });
    return calls_.size() - 1;
  }
  void hold_next_inside(std::int64_t ms, Hold) override { next_waits_ms_ = ms; }
  Answer await(Call call, std::int64_t limit_ms) override {
    const Answer& answer = calls_.at(call);
    run(limit_ms, [&answer] { return answer.kind != Answer::Kind::silent; });
    return answer;
  }
  void hang_up(Call call) override { calls_.at(call).kind = Answer::Kind::broken; }
  void pass(std::int64_t ms) override {
    run(ms, [] { return false; });
  }

 private:
  /// Until it is so, at most so long.
  template <typename Condition>
  void run(std::int64_t limit_ms, Condition is_so) {
    const auto over = std::make_shared<bool>(false);
    queue_.after(limit_ms * kMs, [over] { *over = true; });
    while (!is_so() && !*over) queue_.step();
  }

  EventQueue queue_;
  sim::Random random_;
  sim::simulated::Shards servers_{queue_,
                                  random_,
                                  {.election_timeout_ns = kElectionTimeout_ms * kMs,
                                   .heartbeat_ns = kHeartbeat_ms * kMs},
                                  {}};
  const sim::simulated::SimulatedProcesses::All none_;
  sim::simulated::SimulatedProcesses processes_{queue_, none_, nullptr, nullptr};
  sim::simulated::SimulatedServers faults_{queue_, servers_, processes_};
  std::deque<Answer> calls_;  ///< where replies are written to
  std::int64_t next_waits_ms_ = 0;
};

}  // namespace

std::unique_ptr<ComparedSet> real_set() {
  constexpr int kTries = 3;  // a port that was free may be taken by the time that it is used
  for (int i = 1;; ++i) {
    try {
      return std::make_unique<RealSet>();
    } catch (const sim::live::NoMongod&) {
      if (i == kTries) throw;
    }
  }
}

std::unique_ptr<ComparedSet> simulated_set(std::uint64_t seed) {
  return std::make_unique<SimulatedSet>(seed);
}

}  // namespace leasehold::properties
