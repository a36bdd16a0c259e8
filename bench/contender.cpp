#include "bench/contender.hpp"

#include <algorithm>
#include <atomic>
#include <leasehold/leasehold.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "bench/live_bench.hpp"
#include "runtime/clock.hpp"

namespace leasehold::bench {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Load, strategy, processes, providers, callers, hand_overs,
                                   hold_us, pause_us, busy_percent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ContenderOrder, load, process, arrival_us, uri, database,
                                   from_ns, to_ns)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Taken, caller, asked, granted, released)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Contended, taken, commands)

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Strategy = std::shared_ptr<const WaitingStrategy>;

const std::map<std::string, Strategy>& named_strategies() {
  static const std::map<std::string, Strategy> all{
      {"uniform", uniform_waiting()},
      {"uniform-1-50", uniform_waiting(milliseconds(1), milliseconds(50))},
      {"uniform-100-3000", uniform_waiting(milliseconds(100), milliseconds(3'000))},
      {"fixed-100", fixed_waiting(milliseconds(100))},
      {"exponential-full", exponential_waiting(Jitter::full)},
      {"exponential-decorrelated", exponential_waiting(Jitter::decorrelated)},
      {"adaptive", adaptive_waiting()},
      {"push", push_waiting()},
  };
  return all;
}

constexpr const char* kName = "contended";
constexpr int kWorkers = 4;

void sleep_until_ns(std::int64_t at) {
  const auto left = at - boot_ns();
  if (left > 0) std::this_thread::sleep_for(nanoseconds(left));
}

/// The open loop of one OS process: when somebody asks next. Thread safety: by its own lock.
class Arrivals {
 public:
  explicit Arrivals(const ContenderOrder& order)
      : random_(static_cast<std::uint64_t>(order.process) + 1),
        apart_us_(1.0 / static_cast<double>(std::max<std::int64_t>(order.arrival_us, 1))),
        next_(boot_ns()) {}

  std::int64_t take() {
    const std::lock_guard lock(mutex_);
    return next_ += static_cast<std::int64_t>(apart_us_(random_) * 1'000);
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> apart_us_;
  std::int64_t next_;
};

/// One provider with its callers.
class Client {
 public:
  Client(const ContenderOrder& order, Arrivals& arrivals, int first_caller)
      : order_(order),
        arrivals_(arrivals),
        provider_(connect()),
        lock_(make_lock()),
        first_(first_caller) {}

  void start(std::vector<std::jthread>& threads) {
    taken_.resize(static_cast<std::size_t>(order_.load.callers));
    for (int i = 0; i < order_.load.callers; ++i) {
      threads.emplace_back([this, i] { run_caller(i); });
    }
  }
  void add_to(Contended& out) const {
    out.commands += commands_->load();
    for (const auto& of_one : taken_)
      out.taken.insert(out.taken.end(), of_one.begin(), of_one.end());
  }

 private:
  LockProvider connect() {
    return told_provider(
        order_.uri, order_.database, kWorkers,
        [count = commands_, from = order_.from_ns, to = order_.to_ns](const std::string&) {
          const auto now = boot_ns();
          if (now >= from && now < to) ++*count;
        });
  }

  Lock make_lock() {
    LockOptions options;
    options.waiting = named_strategies().at(order_.load.strategy);
    options.hand_overs_in_a_row = order_.load.hand_overs;
    return std::move(provider_.create_lock(kName, options)).value();
  }

  void run_caller(int number) {
    const Load& load = order_.load;
    const int caller = first_ + number;
    std::mt19937_64 random(static_cast<std::uint64_t>(caller) + 1);
    std::uniform_int_distribution<std::int64_t> pause(0, load.pause_us);
    for (;;) {
      const bool open = order_.arrival_us > 0;
      const auto next = open ? arrivals_.take() : boot_ns() + pause(random) * 1'000;
      sleep_until_ns(next);
      const auto asked = open ? next : boot_ns();
      const auto left = order_.to_ns - boot_ns();
      if (left <= 0) return;
      auto handle = lock_.try_acquire(std::chrono::ceil<milliseconds>(nanoseconds(left)));
      if (!handle) continue;
      const auto granted = boot_ns();
      std::this_thread::sleep_for(microseconds(load.hold_us));
      const auto released = boot_ns();
      handle->release();
      taken_[static_cast<std::size_t>(number)].push_back({caller, asked, granted, released});
    }
  }

  const ContenderOrder& order_;
  Arrivals& arrivals_;
  const std::shared_ptr<std::atomic<std::int64_t>> commands_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
  LockProvider provider_;
  Lock lock_;
  const int first_;
  std::vector<std::vector<Taken>> taken_;  ///< by caller
};

}  // namespace

std::string to_json(const ContenderOrder& order) { return nlohmann::json(order).dump(); }
ContenderOrder order_from_json(const std::string& text) {
  return nlohmann::json::parse(text).get<ContenderOrder>();
}
std::string to_json(const Contended& contended) { return nlohmann::json(contended).dump(); }
Contended contended_from_json(const std::string& text) {
  return nlohmann::json::parse(text).get<Contended>();
}

const std::vector<std::string>& strategies() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, strategy] : named_strategies()) list.push_back(name);
    return list;
  }();
  return names;
}

std::int64_t boot_ns() {
  static const auto clock = runtime::boottime_clock();
  return clock->now().time_since_epoch().count();
}

Contended contend(const ContenderOrder& order) {
  Arrivals arrivals(order);
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::jthread> threads;
  for (int p = 0; p < order.load.providers; ++p) {
    const int first = (order.process * order.load.providers + p) * order.load.callers;
    clients.push_back(std::make_unique<Client>(order, arrivals, first));
  }
  for (const auto& client : clients) client->start(threads);
  threads.clear();
  Contended out;
  for (const auto& client : clients) client->add_to(out);
  return out;
}

}  // namespace leasehold::bench
