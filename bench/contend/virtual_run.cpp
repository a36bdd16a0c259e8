#include <deque>
#include <stdexcept>

#include "bench/contend/run.hpp"
#include "published/recipe_provider.hpp"
#include "sim/virtual/network.hpp"

namespace leasehold::bench {
namespace {

using namespace sim::simulated;

constexpr std::int64_t kVirtualSecond = 1'000 * kMs;
constexpr int kCommandsAtOnce = 4;  ///< of each client, as in a live run

std::int64_t grained(std::int64_t ns) { return ns / kGrain * kGrain; }

/// A majority write takes about as long as on one machine.
ServerSettings quick_servers() {
  ServerSettings s;
  s.replication_ns = kMs;
  s.ttl_period_ns = 60 * kVirtualSecond;
  return s;
}

class World {
 public:
  explicit World(const Load& load)
      : load_(load),
        start_ns_(kVirtualSecond + load.warm_up_ms * kMs),
        open_(Arrivals::parse(load.arrivals).kind == Arrivals::Kind::open),
        requests_(load, 0, load.all_clients(), load.arrivals_per_s) {
    for (int i = 0; i < load.all_clients(); ++i) {
      clients_.emplace_back(*this, i, i == load.clients ? load.beside : load.strategy);
    }
  }
  ~World() {
    over_ = true;
    for (Client& client : clients_) {
      client.driver->begin_close();  // a call that waits owns it
      client.machine.let_go();
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  RunResult run() {
    queue_.at(start_ns_ - load_.warm_up_ms * kMs, [this] {
      for (Client& client : clients_) plan_next(client);
    });
    while (finished_ < load_.all_clients() && now_ns() < load_.given_up_ns() && error_.empty() &&
           queue_.step()) {
    }
    if (!error_.empty()) throw std::runtime_error("an acquire ended in virtual time: " + error_);
    for (const Client& client : clients_) {
      if (client.waits) out_.samples.push_back(client.sample);  // never served
    }
    return std::move(out_);
  }

 private:
  /// A process of the virtual world with one caller.
  struct Client {
    Client(World& world, int number_, const std::string& strategy)
        : number(number_),
          machine(world.queue_, 0, ServerSettings{}.epoch_ms, world.random_.draw()),
          network({.machine = machine,
                   .queue = world.queue_,
                   .servers = world.servers_,
                   .recorder = world.recorder_,
                   .changes = {},
                   .seed = world.random_.draw(),
                   .stray_commands = false,
                   .slowest_way_ns = 200 * kGrain,
                   .stream_behind_ns = 5 * kMs / 2,
                   .on_wire = [&world](const std::string& command) {
                     world.out_.wire.count(command, world.now_ns(), world.load_.end_ns());
                   }}) {
      const bool other_lock = is_lock(strategy);  // it waits as its options say by default
      options.waiting = other_lock ? published::default_options(strategy).waiting
                                   : strategy_named(strategy);
      auto provider =
          published::provider_named(other_lock ? strategy : "leasehold", "", kCommandsAtOnce);
      driver = runtime::Driver::make(network.driver_parts(std::move(provider), kCommandsAtOnce,
                                                          world.random_.draw()));
    }
    const int number;
    LockOptions options;
    Machine machine;
    Network network;
    std::shared_ptr<runtime::Driver> driver;
    std::optional<runtime::Handle> handle;  ///< not in an event, because it owns the driver
    Sample sample;
    bool waits = false;
  };

  [[nodiscard]] std::int64_t now_ns() const { return queue_.now() - start_ns_; }

  void plan_next(Client& client) {
    const auto request = requests_.next(client.number, now_ns());
    if (!request) return void(++finished_);
    queue_.at(start_ns_ + grained(request->at_ns),
              [this, &client, request] { ask(client, *request); });
  }

  void ask(Client& client, const Request& request) {
    const auto asked = open_ ? grained(request.at_ns) : now_ns();
    client.sample = {client.number, request.lock, asked};
    client.sample.reads = request.reads;
    client.waits = true;
    const auto answered = [this, &client, request](Result<runtime::Handle> got) {
      if (over_) return;
      if (!got) return void(error_ = got.error().message);
      client.handle = std::move(*got);
      client.sample.granted_ns = now_ns();
      client.waits = false;
      client.machine.later(grained(request.hold_ns), [this, &client] { release(client); });
    };
    const bool reads = request.reads && load_.strategy != kExclusive;
    client.machine.run([&] {
      client.driver->acquire_async("contended-" + std::to_string(request.lock), client.options,
                                   std::nullopt, answered, reads ? core::kReaders : core::Room());
    });
  }

  void release(Client& client) {
    client.sample.released_ns = now_ns();
    out_.samples.push_back(client.sample);
    client.handle->begin_release([this, &client](ReleaseResult) {
      if (!over_) plan_next(client);
    });
  }

  const Load& load_;
  const std::int64_t start_ns_;
  const bool open_;
  EventQueue queue_;
  Requests requests_;
  Random random_{load_.seed};
  Shards servers_{queue_, random_, quick_servers(), {}};
  sim::Recorder recorder_{"", [](model::Event&&) {}};
  RunResult out_;
  std::string error_;
  bool over_ = false;
  int finished_ = 0;
  std::deque<Client> clients_;
};

}  // namespace

RunResult run_virtual(const Load& load) {
  auto result = World(load).run();
  result.write_ms = virtual_write_ms();
  return result;
}

double virtual_write_ms() {
  Load alone;
  alone.clients = 1;
  alone.hold = "constant:0ms";
  const auto samples = World(alone).run().samples;
  std::int64_t sum_ns = 0;
  for (const Sample& s : samples) sum_ns += s.granted_ns - s.asked_ns;
  return static_cast<double>(sum_ns) * 1e-6 / static_cast<double>(samples.size());
}

}  // namespace leasehold::bench
