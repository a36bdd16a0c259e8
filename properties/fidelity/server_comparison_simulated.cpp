#include <algorithm>
#include <deque>
#include <stdexcept>

#include "properties/fidelity/server_comparison.hpp"
#include "sim/virtual/servers/replica_set.hpp"

namespace leasehold::properties {
namespace {

using sim::Random;
using sim::simulated::EventQueue;
using sim::simulated::FencedWrite;
using sim::simulated::kMs;
using sim::simulated::Object;
using sim::simulated::ReplicaSet;

constexpr std::int64_t kStartUp_ms = 1'000;

class SimulatedCluster final : public Cluster {
 public:
  explicit SimulatedCluster(std::uint64_t seed)
      : random_(seed),
        servers_(
            queue_, random_,
            {.election_timeout_ns = kElectionTimeout_ms * kMs, .heartbeat_ns = kHeartbeat_ms * kMs},
            {}) {
    pass(kStartUp_ms);
  }

  Call send(int member, const Object& command) override {
    calls_.emplace_back();
    Answer& answer = calls_.back();
    servers_.command(member,
                     {.command = std::make_shared<const Object>(command),
                      .waits_ns = std::exchange(next_waits_ms_, 0) * kMs},
                     [&answer](ReplicaSet::Answer kind, const Object& reply) {
                       if (answer.kind != Answer::Kind::silent) return;
                       answer = kind == ReplicaSet::Answer::reply
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

  void isolate(int member, bool on) override {
    for (int other = 0; other < kMembers; ++other) {
      if (other != member) servers_.set_link(member, other, !on);
    }
  }
  void hold_replication(bool on) override {
    const int primary = servers_.primary();
    for (int m = 0; m < kMembers; ++m) {
      if (!on || m != primary) servers_.set_fetching(m, !on);
    }
  }
  void step_up(int member) override {
    for (int tries = 0; servers_.primary() != member; ++tries) {
      if (tries == 100) throw std::runtime_error("no step-up");
      servers_.step_up(member);
      pass(10);
    }
  }
  void step_down() override { servers_.step_down_primary(); }
  void stop(int member) override { servers_.stop(member); }
  void go_on(int member) override { servers_.go_on(member); }
  void kill(int member) override { servers_.kill(member); }
  void move_clock(int member, std::int64_t ahead_ms) override {
    servers_.set_clock(member, ahead_ms, 0);
  }
  void set_ttl(bool on) override {
    for (int m = 0; m < kMembers; ++m) servers_.set_ttl_monitor(m, on);
  }
  std::int64_t wall_ms(int member) override { return servers_.clock_ms(member); }
  int primary() override {
    run(30'000, [this] { return servers_.primary() >= 0; });
    return servers_.primary();
  }
  void catch_up() override {
    const auto write = std::make_shared<const FencedWrite>(
        FencedWrite{.name = "catching up", .token = 1});
    servers_.fenced_write(primary(), write, [](auto, const auto&) {});
    pass(1'000);
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
  Random random_;
  ReplicaSet servers_;
  std::deque<Answer> calls_;  ///< where replies are written to
  std::int64_t next_waits_ms_ = 0;
};

}  // namespace

std::unique_ptr<Cluster> simulated_cluster(std::uint64_t seed) {
  return std::make_unique<SimulatedCluster>(seed);
}

}  // namespace leasehold::properties
