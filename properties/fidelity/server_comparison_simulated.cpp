#include <deque>

#include "properties/fidelity/server_comparison.hpp"
#include "sim/virtual/cluster.hpp"

namespace leasehold::properties {
namespace {

using sim::simulated::EventQueue;
using sim::simulated::FencedWrite;
using sim::simulated::kMs;
using sim::simulated::Object;
using sim::simulated::ReplicaSet;

class SimulatedSet final : public ComparedSet {
 public:
  explicit SimulatedSet(std::uint64_t seed) : random_(seed) { pass(1'000); }

  sim::ServerControl control() override { return faults_.control(); }
  void hold_replication(bool on) override {
    const int primary = servers_.primary();
    for (int m = 0; m < ReplicaSet::kMembers; ++m) {
      if (!on || m != primary) servers_.set_fetching(m, !on);
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
    return ReplicaSet::Settings{}.epoch_ms + queue_.now() / kMs;
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

std::unique_ptr<ComparedSet> simulated_set(std::uint64_t seed) {
  return std::make_unique<SimulatedSet>(seed);
}

}  // namespace leasehold::properties
