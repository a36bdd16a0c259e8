#include <atomic>
#include <iostream>
#include <latch>
#include <leasehold/leasehold.hpp>
#include <memory>
#include <mutex>
#include <thread>

#include "api/access.hpp"
#include "bench/contend/live/live_run.hpp"
#include "core/provider_core.hpp"
#include "mongo/client/mongo_transport.hpp"
#include "sim/live/foreign/conversation.hpp"

namespace leasehold::bench {
namespace {

using sim::live::Answer;
using sim::live::ChildProcess;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int kWorkers = 4;
constexpr milliseconds kConnectLimit{20'000};
constexpr milliseconds kToAnswer{10'000};  ///< a worker, beyond the time that it is asked for

/// The state that the threads of one process share. Thread safety: all of it.
class Shared {
 public:
  explicit Shared(const std::string& text)
      : order(nlohmann::json::parse(text).get<WorkerOrder>()),
        requests_(order.load, order.first_client * order.load.callers,
                  order.clients * order.load.callers, order.arrivals_per_s) {}

  const WorkerOrder order;
  /// Before that, `now` is long before the measured time.
  void start(std::int64_t at_ns) { start_ns_ = at_ns; }
  [[nodiscard]] std::int64_t now() const { return boot_ns() - start_ns_.load(); }

  std::optional<Request> next(int caller) {
    const std::lock_guard lock(mutex_);
    return requests_.next(caller, now());
  }
  void count(const std::string& command) {
    const std::lock_guard lock(mutex_);
    result_.wire.count(command, now(), order.load.end_ns());
  }
  void add(const Sample& sample) {
    const std::lock_guard lock(mutex_);
    result_.samples.push_back(sample);
  }
  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (error_.empty()) error_ = why;
  }
  // These return whether nothing has failed.
  bool say_ready() {
    const std::lock_guard lock(mutex_);
    return say("ready");
  }
  bool say_result() {
    const std::lock_guard lock(mutex_);
    return say(result_);
  }

 private:
  [[nodiscard]] bool say(const nlohmann::json& said) const {
    std::cout << (error_.empty() ? said : nlohmann::json{{"error", error_}}).dump() << std::endl;
    return error_.empty();
  }

  std::atomic<std::int64_t> start_ns_ = INT64_MAX;
  std::mutex mutex_;  // protects the rest
  Requests requests_;
  RunResult result_;
  std::string error_;
};

/// How a client uses its lock: acquires it, calls `held` while it has it, and releases it.
using UseLock = std::function<void(const std::string& name, milliseconds timeout, bool reads,
                                   const std::function<void()>& held)>;

/// By a provider of our own.
UseLock by_provider(const std::shared_ptr<Shared>& shared, const std::string& strategy) {
  LockOptions options;
  options.waiting = strategy_named(strategy);
  const auto provider = std::make_shared<LockProvider>(
      told_provider(shared->order.uri, shared->order.database, kWorkers,
                    [shared](const std::string& command) { shared->count(command); }));
  return [=](const std::string& name, milliseconds timeout, bool reads,
             const std::function<void()>& held) {
    const auto lock = std::move(provider->create_lock(name, options)).value();
    auto handle = (reads && strategy != kExclusive ? lock.shared() : lock).try_acquire(timeout);
    if (handle) {
      held();
      handle->release();
    } else if (handle.error().kind != ErrorKind::timed_out) {
      shared->fail(handle.error().message);
    }
  };
}

/// A worker around the user's lock, which is killed with its owner. The run is worth nothing if it
/// ends, hangs, or says what answers no question of ours.
class Worker final : public sim::live::Conversation {
 public:
  Worker(const std::shared_ptr<Shared>& shared, const std::string& command,
         const std::string& process)
      : Conversation(kToAnswer), shared_(shared) {
    const auto& order = shared->order;
    start(ChildProcess({"sh", "-c", "exec " + command}, ChildProcess::Io::pipes),
          sim::live::start_line(process, order.uri, order.database,
                                LockOptions().expiry.count()));
  }
  ~Worker() { stop_reading(); }

  void use(const std::string& name, milliseconds timeout, const std::function<void()>& held) {
    if (!await_ready()) return;
    const auto id = ++ids_;
    const auto asked = sim::live::acquire_line(id, name, timeout.count());
    const auto heard = question(Question::acquire, id, asked, timeout.count());
    if (!heard) return;
    if (heard->answer.is == Answer::Is::granted) {
      held();
      (void)question(Question::release, id, sim::live::release_line(id), 0);
    } else if (heard->answer.is == Answer::Is::refused) {
      shared_->fail("it refused: only a lock that waits is compared");
    } else if (heard->answer.is == Answer::Is::failed) {
      shared_->fail("it failed: " + heard->answer.why);
    }
  }

 private:
  void on_broken(const std::string&, const std::string& why) override { shared_->fail(why); }

  const std::shared_ptr<Shared> shared_;
  std::atomic<std::int64_t> ids_ = 0;
};

UseLock by_worker(const std::shared_ptr<Shared>& shared, const std::string& command,
                  const std::string& process) {
  return [worker = std::make_shared<Worker>(shared, command, process)](
             const std::string& name, milliseconds timeout, bool,
             const std::function<void()>& held) {
    worker->use(name, timeout, held);
  };
}

/// One of the threads that use a client.
void run_caller(Shared& shared, const UseLock& use, int number) {
  const auto& load = shared.order.load;
  const bool open = Arrivals::parse(load.arrivals).kind == Arrivals::Kind::open;
  while (const auto request = shared.next(number - shared.order.first_client * load.callers)) {
    std::this_thread::sleep_for(nanoseconds(request->at_ns - shared.now()));
    Sample sample{number, request->lock, shared.now()};
    if (open) sample.asked_ns = request->at_ns;
    sample.reads = request->reads;
    const auto left = nanoseconds(load.given_up_ns() - shared.now());
    if (left > nanoseconds(0)) {
      const auto timeout = std::chrono::ceil<milliseconds>(left);
      use("contended-" + std::to_string(request->lock), timeout, request->reads, [&] {
        sample.granted_ns = shared.now();
        std::this_thread::sleep_for(nanoseconds(request->hold_ns));
        sample.released_ns = shared.now();
      });
    }
    shared.add(sample);
  }
}

}  // namespace

LockProvider told_provider(const std::string& uri, const std::string& database, int workers,
                           std::function<void(const std::string&)> on_wire) {
  auto transport = mongo::make_transport({.uri = uri,
                                          .database = database,
                                          .collection = "distributed.locks",
                                          .server_selection_timeout = std::chrono::seconds(5),
                                          .on_wire = std::move(on_wire)});
  auto parts = runtime::production_parts(std::move(transport).value(),
                                         std::make_unique<core::ProviderCore>("bench", workers));
  parts.workers = workers;
  return detail::Access::provider(runtime::Driver::make(std::move(parts)));
}

int run_worker(const std::string& text) {
  const auto shared = std::make_shared<Shared>(text);
  const auto& [load, first, count, arrivals_per_s, uri, database] = shared->order;
  std::vector<std::pair<std::string, UseLock>> clients;
  for (int i = first; i < first + count; ++i) {
    const auto name = "client-" + std::to_string(i);
    const auto& strategy = i == load.clients ? load.beside : load.strategy;
    clients.emplace_back(name, strategy.starts_with(kWorker)
                                   ? by_worker(shared, strategy.substr(kWorker.size()), name)
                                   : by_provider(shared, strategy));
  }
  std::vector<std::jthread> threads;
  for (const auto& [name, use] : clients) {  // Each connects; this is not measured.
    threads.emplace_back([&] {
      bool connected = false;
      use(name, kConnectLimit, false, [&connected] { connected = true; });
      if (!connected) shared->fail("a lock that nobody else wants is not granted");
    });
  }
  threads.clear();
  std::latch begun(1);
  int number = first * load.callers;
  for (const auto& [name, use] : clients) {
    for (int i = 0; i < load.callers; ++i) {
      threads.emplace_back([&, caller = number++] {
        begun.wait();
        run_caller(*shared, use, caller);
      });
    }
  }
  const bool ready = shared->say_ready();
  std::int64_t start = 0;
  const bool asked = ready && std::cin >> start;
  shared->start(asked ? start : INT64_MIN / 2);  // the result is not read: it is over at once
  std::this_thread::sleep_for(nanoseconds(start - boot_ns()) - milliseconds(load.warm_up_ms));
  begun.count_down();
  threads.clear();
  return shared->say_result() ? 0 : 1;
}

}  // namespace leasehold::bench
