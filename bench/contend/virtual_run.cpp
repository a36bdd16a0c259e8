#include "bench/contend/virtual_run.hpp"

#include <deque>
#include <memory>
#include <stdexcept>

#include "bench/contend/requests.hpp"
#include "bench/contend/strategies.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "published/recipe_provider.hpp"
#include "sim/virtual/servers/replica_set.hpp"

namespace leasehold::bench {
namespace {

using sim::simulated::Bytes;
using sim::simulated::EventQueue;
using sim::simulated::kGrain;
using sim::simulated::kMs;
using sim::simulated::Object;
using sim::simulated::ReplicaSet;
using sim::simulated::to_object;

constexpr std::int64_t kVirtualSecond = 1'000 * kMs;
/// How far a real change stream is behind the majority commit.
constexpr std::int64_t kStreamBehind = 5 * kMs / 2;
constexpr const char* kCollection = "distributed.locks";

std::int64_t grained(std::int64_t ns) { return ns / kGrain * kGrain; }

class World {
 public:
  World(const Load& load, std::chrono::milliseconds round_trip)
      : load_(load),
        start_ns_(kVirtualSecond + load.warm_up_ms * kMs),
        half_trip_ns_(std::chrono::nanoseconds(round_trip).count() / 2),
        open_(Arrivals::parse(load.arrivals).kind == Arrivals::Kind::open),
        requests_(load, 0, load.all_clients(), load.arrivals_per_s),
        random_(load.seed),
        servers_(queue_, random_, settings(), {}) {
    options_.waiting = strategy_named(load.strategy);
    const bool other_lock = is_lock(load.beside);  // it waits as its options say by default
    if (!load.beside.empty() && !other_lock) beside_.waiting = strategy_named(load.beside);
    for (int i = 0; i < load.all_clients(); ++i) {
      const bool other = other_lock && i == load.clients;
      clients_.emplace_back(i, random_.draw(), other ? load.beside : "leasehold");
    }
  }

  RunResult run() {
    queue_.at(start_ns_ - load_.warm_up_ms * kMs, [this] {
      for (Client& client : clients_) plan_next(client);
    });
    while (finished_ < load_.all_clients() && now_ns() < load_.given_up_ns() && queue_.step()) {
    }
    for (const Client& client : clients_) {
      if (client.waits) out_.samples.push_back(client.sample);  // never served
    }
    return std::move(out_);
  }

  [[nodiscard]] double mean_attempt_ms() const {
    return static_cast<double>(attempts_ns_) / static_cast<double>(kMs) /
           static_cast<double>(attempts_);
  }

 private:
  struct Client {
    Client(int number_, std::uint64_t seed, const std::string& lock)
        : number(number_),
          random(seed),
          provider(published::provider_named(lock, "", core::PendingCommands::kUnbounded)) {}
    int number;
    Random random;
    std::unique_ptr<core::Provider> provider;
    core::SessionId session = 0;
    Sample sample;
    std::int64_t hold_ns = 0;
    bool waits = false;
  };

  /// A majority write takes about as long as on one machine.
  static ReplicaSet::Settings settings() {
    ReplicaSet::Settings s;
    s.replication_ns = kMs;
    s.ttl_period_ns = 60 * kVirtualSecond;
    return s;
  }
  std::int64_t latency() { return random_.between(50, 200) * kGrain + half_trip_ns_; }
  [[nodiscard]] std::int64_t now_ns() const { return queue_.now() - start_ns_; }

  void plan_next(Client& client) {
    const auto request = requests_.next(client.number, now_ns());
    if (!request) {
      ++finished_;
      return;
    }
    queue_.at(start_ns_ + grained(request->at_ns),
              [this, &client, request] { ask(client, *request); });
  }

  void ask(Client& client, const Request& request) {
    const auto asked = open_ ? grained(request.at_ns) : now_ns();
    client.sample = {client.number, request.lock, asked};
    client.hold_ns = grained(request.hold_ns);
    client.waits = true;
    const auto& options = client.number == load_.clients ? beside_ : options_;
    const auto name = "contended-" + std::to_string(request.lock);
    give(client, core::AcquireAsked{++client.session, name, options, std::nullopt});
  }

  void give(Client& client, const core::Event& event) {
    core::Effects effects;
    const core::LocalInstant now(core::Duration(queue_.now()));
    client.provider->next(event, {now, {}}, client.random, effects);
    for (const auto& effect : effects) {
      if (const auto* send = std::get_if<core::Send>(&effect)) {
        carry(client, std::make_shared<const core::Command>(send->command));
      } else if (const auto* timer = std::get_if<core::SetTimer>(&effect)) {
        queue_.at(timer->at.time_since_epoch().count(),
                  [this, &client, fired = timer->timer] { give(client, core::TimerFired{fired}); });
      } else if (std::holds_alternative<core::Granted>(effect)) {
        hold(client);
      } else if (const auto* ended = std::get_if<core::Ended>(&effect)) {
        throw std::runtime_error("an acquire ended in the virtual world: " + ended->error.message);
      } else if (std::holds_alternative<core::Released>(effect)) {
        plan_next(client);
      }
    }
  }

  void carry(Client& client, const std::shared_ptr<const core::Command>& command) {
    const auto sent = queue_.now();
    const auto object =
        std::make_shared<const Object>(to_object(*mongo::build(*command, kCollection).get()));
    out_.wire.count(object->fields.front().first, now_ns(), load_.end_ns());
    queue_.after(latency(), [this, &client, command, object, sent] {
      servers_.command(0, {object}, [this, &client, command, sent](auto, const Object& reply) {
        auto read = mongo::read_reply(*command, *Bytes(reply).get());
        const bool news = std::holds_alternative<core::StreamCommand>(command->body);
        queue_.after(latency() + (news ? kStreamBehind : 0),
                     [this, &client, command, sent, read = std::move(read)] {
                       if (std::holds_alternative<core::AcquireCommand>(command->body)) {
                         ++attempts_;
                         attempts_ns_ += queue_.now() - sent;
                       }
                       give(client, core::ReplyArrived{command->id, read});
                     });
      });
    });
  }

  void hold(Client& client) {
    client.sample.granted_ns = now_ns();
    client.waits = false;
    queue_.after(client.hold_ns, [this, &client] {
      client.sample.released_ns = now_ns();
      out_.samples.push_back(client.sample);
      give(client, core::ReleaseAsked{client.session});
    });
  }

  const Load& load_;
  const std::int64_t start_ns_, half_trip_ns_;
  const bool open_;
  LockOptions options_, beside_;
  EventQueue queue_;
  Requests requests_;
  Random random_;
  ReplicaSet servers_;
  std::deque<Client> clients_;
  std::int64_t attempts_ = 0, attempts_ns_ = 0;
  RunResult out_;
  int finished_ = 0;
};

}  // namespace

RunResult run_virtual(const Load& load, std::chrono::milliseconds round_trip) {
  auto result = World(load, round_trip).run();
  result.write_ms = virtual_write_ms(round_trip);
  return result;
}

double virtual_write_ms(std::chrono::milliseconds round_trip) {
  Load alone;
  alone.clients = 1;
  alone.hold = "constant:0ms";
  World world(alone, round_trip);
  (void)world.run();
  return world.mean_attempt_ms();
}

}  // namespace leasehold::bench
