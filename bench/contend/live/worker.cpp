#include "bench/contend/live/worker.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iostream>
#include <latch>
#include <leasehold/leasehold.hpp>
#include <memory>
#include <mutex>
#include <thread>

#include "bench/boot_clock.hpp"
#include "bench/contend/live/worker_process.hpp"
#include "bench/contend/requests.hpp"
#include "bench/contend/strategies.hpp"
#include "bench/live_bench.hpp"

namespace leasehold::bench {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int kWorkers = 4;
constexpr milliseconds kConnectLimit{20'000};

/// The state that the threads of one process share. Thread safety: all of it.
class Shared {
 public:
  explicit Shared(const WorkerOrder& order)
      : end_ns_(order.load.end_ns()),
        requests_(order.load, order.first_client * order.load.callers,
                  order.clients * order.load.callers, order.arrivals_per_s) {}

  /// Before that, `now` is long before the measured time.
  void start(std::int64_t at_ns) { start_ns_ = at_ns; }
  [[nodiscard]] std::int64_t now() const { return boot_ns() - start_ns_.load(); }

  std::optional<Request> next(int caller) {
    const std::lock_guard lock(mutex_);
    return requests_.next(caller, now());
  }
  void count(const std::string& command) {
    const std::lock_guard lock(mutex_);
    result_.wire.count(command, now(), end_ns_);
  }
  void add(const Sample& sample) {
    const std::lock_guard lock(mutex_);
    result_.samples.push_back(sample);
  }
  void count_nothing() {
    const std::lock_guard lock(mutex_);
    result_.wire.counted = false;
  }
  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (result_.error.empty()) result_.error = why;
  }
  WorkerResult take() {
    const std::lock_guard lock(mutex_);
    return std::move(result_);
  }

 private:
  std::atomic<std::int64_t> start_ns_ = INT64_MAX;
  const std::int64_t end_ns_;
  std::mutex mutex_;  // protects the rest
  Requests requests_;
  WorkerResult result_;
};

/// One client, and a thread for each of its callers.
class Client {
 public:
  Client(const WorkerOrder& order, const std::shared_ptr<Shared>& shared, int number)
      : load_(order.load),
        shared_(shared),
        number_(number),
        first_caller_((number - order.first_client) * order.load.callers),
        open_(Arrivals::parse(order.load.arrivals).kind == Arrivals::Kind::open) {}
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Connects; this is not measured.
  virtual void prepare() = 0;

  void run_caller(int number) {
    while (const auto request = shared_->next(first_caller_ + number)) {
      sleep_until(request->at_ns);
      Sample sample{number_ * load_.callers + number, request->lock, shared_->now()};
      if (open_) sample.asked_ns = request->at_ns;
      const auto left = nanoseconds(load_.given_up_ns() - shared_->now());
      if (left > nanoseconds(0)) {
        acquire("contended-" + std::to_string(request->lock),
                std::chrono::ceil<milliseconds>(left), *request, sample);
      }
      shared_->add(sample);
    }
  }

 protected:
  /// Its grant and release go into `sample`, if there are any.
  virtual void acquire(const std::string& name, milliseconds timeout, const Request& request,
                       Sample& sample) = 0;
  [[nodiscard]] std::string own_lock() const { return "client-" + std::to_string(number_); }
  void hold(const Request& request, Sample& sample) const {
    sample.granted_ns = shared_->now();
    std::this_thread::sleep_for(nanoseconds(request.hold_ns));
    sample.released_ns = shared_->now();
  }

  const Load& load_;
  const std::shared_ptr<Shared> shared_;
  const int number_;

 private:
  void sleep_until(std::int64_t at_ns) const {
    const auto left = at_ns - shared_->now();
    if (left > 0) std::this_thread::sleep_for(nanoseconds(left));
  }

  const int first_caller_;
  const bool open_;
};

/// A provider of our own lock.
class ProviderClient final : public Client {
 public:
  ProviderClient(const WorkerOrder& order, const std::shared_ptr<Shared>& shared, int number)
      : Client(order, shared, number),
        provider_(told_provider(order.uri, order.database, kWorkers,
                                [shared](const std::string& name) { shared->count(name); })) {
    const bool beside = number == order.load.clients;
    options_.waiting = strategy_named(beside ? order.load.beside : order.load.strategy);
  }

  void prepare() override {
    auto handle = lock(own_lock()).try_acquire(kConnectLimit);
    if (!handle) return shared_->fail(handle.error().message);
    handle->release();
  }

 private:
  [[nodiscard]] Lock lock(const std::string& name) const {
    return std::move(provider_.create_lock(name, options_)).value();
  }
  void acquire(const std::string& name, milliseconds timeout, const Request& request,
               Sample& sample) override {
    auto handle = lock(name).try_acquire(timeout);
    if (!handle) {
      if (handle.error().kind != ErrorKind::timed_out) shared_->fail(handle.error().message);
      return;
    }
    hold(request, sample);
    handle->release();
  }

  LockOptions options_;
  LockProvider provider_;
};

/// A worker around the user's lock. What it sends cannot be counted from here.
class WorkerClient final : public Client {
 public:
  WorkerClient(const WorkerOrder& order, const std::shared_ptr<Shared>& shared, int number)
      : Client(order, shared, number),
        worker_(worker_command(order.load.strategy),
                {own_lock(), order.uri, order.database, LockOptions().expiry.count()}) {
    shared->count_nothing();
  }

  void prepare() override {
    told([this] {
      worker_.await_ready(kConnectLimit);
      const auto [id, answer] = worker_.acquire(own_lock(), kConnectLimit);
      if (granted(answer)) (void)worker_.release(id);
    });
  }

 private:
  void acquire(const std::string& name, milliseconds timeout, const Request& request,
               Sample& sample) override {
    told([&] {
      const auto [id, answer] = worker_.acquire(name, timeout);
      if (!granted(answer)) return;
      hold(request, sample);
      (void)worker_.release(id);
    });
  }
  bool granted(const sim::live::Answer& answer) {
    using Is = sim::live::Answer::Is;
    if (answer.is == Is::granted) return true;
    if (answer.is == Is::refused) shared_->fail("it refused: only a lock that waits is compared");
    if (answer.is == Is::failed) shared_->fail("it failed: " + answer.why);
    return false;
  }
  void told(const std::function<void()>& ask) {
    try {
      ask();
    } catch (const std::runtime_error& error) {
      shared_->fail(error.what());
    }
  }

  WorkerProcess worker_;
};

std::unique_ptr<Client> make_client(const WorkerOrder& order,
                                    const std::shared_ptr<Shared>& shared, int number) {
  const bool beside = number == order.load.clients;
  if (!beside && is_worker(order.load.strategy)) {
    return std::make_unique<WorkerClient>(order, shared, number);
  }
  return std::make_unique<ProviderClient>(order, shared, number);
}

json time_or_null(std::int64_t ns) { return ns == kNever ? json() : json(ns); }
std::int64_t time_of(const json& value) {
  return value.is_null() ? kNever : value.get<std::int64_t>();
}

int report(const WorkerResult& result, std::ostream& out) {
  out << json(result).dump() << std::endl;
  return result.error.empty() ? 0 : 1;
}

}  // namespace

void to_json(json& j, const WorkerResult& result) {
  j = {{"samples", json::array()},
       {"writes", result.wire.writes},
       {"reads", result.wire.reads},
       {"attempts", json::array()},
       {"error", result.error}};
  if (!result.wire.counted) j["writes"] = j["reads"] = nullptr;
  for (const Sample& s : result.samples) {
    j["samples"].push_back(
        {s.client, s.lock, s.asked_ns, time_or_null(s.granted_ns), time_or_null(s.released_ns)});
  }
  for (const auto& [second, count] : result.wire.attempts) j["attempts"].push_back({second, count});
}

void from_json(const json& j, WorkerResult& result) {
  for (const auto& s : j.at("samples")) {
    result.samples.push_back({s.at(0).get<int>(), s.at(1).get<int>(), s.at(2).get<std::int64_t>(),
                              time_of(s.at(3)), time_of(s.at(4))});
  }
  result.wire.counted = !j.at("writes").is_null();
  if (result.wire.counted) {
    result.wire.writes = j.at("writes").get<std::int64_t>();
    result.wire.reads = j.at("reads").get<std::int64_t>();
  }
  for (const auto& a : j.at("attempts")) {
    result.wire.attempts[a.at(0).get<std::int64_t>()] += a.at(1).get<std::int64_t>();
  }
  result.error = j.at("error").get<std::string>();
}

int run_worker(const std::string& text, std::istream& in, std::ostream& out) {
  const auto order = json::parse(text).get<WorkerOrder>();
  const auto shared = std::make_shared<Shared>(order);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < order.clients; ++i) {
    clients.push_back(make_client(order, shared, order.first_client + i));
  }
  {
    std::vector<std::jthread> threads;
    for (const auto& client : clients) threads.emplace_back([&client] { client->prepare(); });
  }
  if (auto early = shared->take(); !early.error.empty()) return report(early, out);
  std::latch begun(1);
  std::vector<std::jthread> threads;
  for (const auto& client : clients) {
    for (int i = 0; i < order.load.callers; ++i) {
      threads.emplace_back([&begun, &client, i] {
        begun.wait();
        client->run_caller(i);
      });
    }
  }
  out << "ready" << std::endl;
  std::int64_t start = 0;
  const bool asked = static_cast<bool>(in >> start);
  shared->start(asked ? start : INT64_MIN / 2);  // the result is not read: it is over at once
  std::this_thread::sleep_for(nanoseconds(start - boot_ns()) - milliseconds(order.load.warm_up_ms));
  begun.count_down();
  threads.clear();
  return report(shared->take(), out);
}

}  // namespace leasehold::bench
