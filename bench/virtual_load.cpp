#include "bench/virtual_load.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "core/provider_core.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "sim/virtual/replica_set.hpp"

namespace leasehold::bench {
namespace {

using sim::Random;
using sim::simulated::Bytes;
using sim::simulated::EventQueue;
using sim::simulated::kGrain;
using sim::simulated::kMs;
using sim::simulated::Object;
using sim::simulated::ReplicaSet;
using sim::simulated::to_object;

constexpr std::int64_t kSecond = 1'000 * kMs;
constexpr std::int64_t kStart = kSecond;
/// What a real change stream is behind the majority commit by.
constexpr std::int64_t kStreamBehind = 5 * kMs / 2;
constexpr const char* kCollection = "distributed.locks";

std::int64_t grained(double ns) { return static_cast<std::int64_t>(ns) / kGrain * kGrain; }

/// Uniform in (0, 1].
double share(Random& random) { return (static_cast<double>(random.draw() >> 11) + 1) * 0x1p-53; }

std::int64_t hold_ns(const VirtualLoad& load, Random& random) {
  const double mean = load.mean_hold_ms * static_cast<double>(kMs);
  switch (load.holding) {
    case Holding::constant: return grained(mean);
    case Holding::exponential: return grained(-std::log(share(random)) * mean);
    case Holding::heavy_tailed:
      return grained(std::min(std::pow(share(random), -1 / 1.5) / 3, 100.0) * mean);
    case Holding::bimodal: return grained(mean * (random.chance(10) ? 6.4 : 0.4));
  }
  return 0;
}

class Load {
 public:
  explicit Load(const VirtualLoad& load)
      : load_(load), random_(load.seed), servers_(queue_, random_, settings(), [](const auto&) {}) {
    for (int i = 0; i < load.clients; ++i) clients_.emplace_back(i, random_.draw());
  }

  VirtualContention run() {
    for (Client& client : clients_) {
      const auto first = load_.times == 1 ? 0 : random_.between(0, pause());
      queue_.at(kStart + first, [this, &client] { ask(client); });
    }
    const auto end = kStart + grained(load_.seconds * static_cast<double>(kSecond));
    while (queue_.now() < end && finished_ < load_.clients && queue_.step()) {
    }
    out_.elapsed_s = static_cast<double>(queue_.now() - kStart) / static_cast<double>(kSecond);
    for (const auto& [second, attempts] : attempts_) {
      out_.most_attempts_per_s = std::max(out_.most_attempts_per_s, attempts);
    }
    std::vector<double> writes;
    for (const auto ns : write_ns_)
      writes.push_back(static_cast<double>(ns) / static_cast<double>(kMs));
    out_.write_ms = quantile(std::move(writes), 0.5);
    return std::move(out_);
  }

 private:
  struct Client {
    Client(int number_, std::uint64_t seed) : number(number_), random(seed) {}
    int number;
    Random random;
    core::ProviderCore core{""};
    core::SessionId session = 0;
    Taken taken;
    int times = 0;
  };

  /// A majority write takes about what it takes on one machine.
  static ReplicaSet::Settings settings() {
    ReplicaSet::Settings s;
    s.replication_ns = kMs;
    s.ttl_period_ns = 60 * kSecond;
    return s;
  }
  [[nodiscard]] std::int64_t pause() const {
    return grained(load_.pause_ms * static_cast<double>(kMs));
  }
  std::int64_t latency() { return random_.between(50, 200) * kGrain; }
  [[nodiscard]] core::LocalInstant now() const {
    return core::LocalInstant(core::Duration(queue_.now()));
  }

  void ask(Client& client) {
    LockOptions options;
    options.waiting = load_.waiting;
    client.taken = {client.number, queue_.now(), 0, 0};
    give(client, core::AcquireAsked{++client.session, "contended", options, std::nullopt});
  }

  void give(Client& client, const core::Event& event) {
    core::Effects effects;
    client.core.next(event, now(), client.random, effects);
    for (const auto& effect : effects) {
      if (const auto* send = std::get_if<core::Send>(&effect)) {
        carry(client, std::make_shared<const core::Command>(send->command));
      } else if (const auto* timer = std::get_if<core::SetTimer>(&effect)) {
        queue_.at(timer->at.time_since_epoch().count(),
                  [this, &client, fired = timer->timer] { give(client, core::TimerFired{fired}); });
      } else if (std::holds_alternative<core::Granted>(effect)) {
        hold(client);
      } else if (std::holds_alternative<core::Released>(effect)) {
        rest(client);
      }
    }
  }

  void carry(Client& client, const std::shared_ptr<const core::Command>& command) {
    count(*command);
    const auto sent = queue_.now();
    const auto object =
        std::make_shared<const Object>(to_object(*mongo::build(*command, kCollection).get()));
    queue_.after(latency(), [this, &client, command, object, sent] {
      servers_.command(0, {object}, [this, &client, command, sent](auto, const Object& reply) {
        auto read = mongo::read_reply(*command, *Bytes(reply).get());
        const bool news = std::holds_alternative<core::StreamCommand>(command->body);
        queue_.after(latency() + (news ? kStreamBehind : 0),
                     [this, &client, command, sent, read = std::move(read)] {
                       if (std::holds_alternative<core::DeleteCommand>(command->body)) {
                         write_ns_.push_back(queue_.now() - sent);
                       }
                       give(client, core::ReplyArrived{command->id, read});
                     });
      });
    });
  }

  void count(const core::Command& command) {
    const auto since = static_cast<double>(queue_.now() - kStart) / static_cast<double>(kSecond);
    if (since >= load_.measure_from) ++out_.commands;
    if (!std::holds_alternative<core::AcquireCommand>(command.body)) return;
    ++out_.attempts;
    ++attempts_[queue_.now() / kSecond];
  }

  void hold(Client& client) {
    client.taken.granted = queue_.now();
    queue_.after(hold_ns(load_, random_), [this, &client] {
      client.taken.released = queue_.now();
      out_.taken.push_back(client.taken);
      give(client, core::ReleaseAsked{client.session});
    });
  }

  void rest(Client& client) {
    if (++client.times == load_.times) {
      ++finished_;
      return;
    }
    queue_.after(random_.between(0, pause()), [this, &client] { ask(client); });
  }

  const VirtualLoad& load_;
  EventQueue queue_;
  Random random_;
  ReplicaSet servers_;
  std::deque<Client> clients_;
  std::map<std::int64_t, std::int64_t> attempts_;  ///< by second
  std::vector<std::int64_t> write_ns_;
  VirtualContention out_;
  int finished_ = 0;
};

}  // namespace

VirtualContention contend(const VirtualLoad& load) { return Load(load).run(); }

}  // namespace leasehold::bench
