#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <iostream>
#include <latch>
#include <leasehold/leasehold.hpp>
#include <memory>
#include <mutex>
#include <thread>

#include "api/access.hpp"
#include "bench/contend/live/live_run.hpp"
#include "bench/contend/strategies.hpp"
#include "core/provider_core.hpp"
#include "mongo/client/mongo_transport.hpp"
#include "sim/live/foreign/worker_protocol.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::bench {
namespace {

using sim::live::Answer;
using sim::live::ChildProcess;
using sim::live::Dialogue;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int kWorkers = 4;
constexpr milliseconds kConnectLimit{20'000};
constexpr milliseconds kToAnswer{10'000};  ///< a worker, beyond the time that it is asked for

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

/// A worker around the user's lock, by the lines of scenarios/WORKERS.md: it is started, asked, and
/// killed with its owner. The run is worth nothing if it ends, hangs, or says what answers no
/// question of ours.
class WorkerClient final : public Client {
 public:
  WorkerClient(const WorkerOrder& order, const std::shared_ptr<Shared>& shared, int number)
      : Client(order, shared, number),
        child_({"sh", "-c", "exec " + order.load.strategy.substr(kWorker.size())},
               ChildProcess::Io::pipes) {
    dialogue_.started(boot_ns());
    child_.say(sim::live::start_line(
        {own_lock(), order.uri, order.database, LockOptions().expiry.count()}));
    reader_ = std::jthread([this](const std::stop_token& stop) { read(stop); });
  }

  void prepare() override {
    Sample unused;
    if (answer_to(0, kConnectLimit)) acquire(own_lock(), kConnectLimit, {}, unused);
  }

 private:
  void acquire(const std::string& name, milliseconds timeout, const Request& request,
               Sample& sample) override {
    const auto id = ++ids_;
    ask(Dialogue::Question::acquire, id, sim::live::acquire_line(id, name, timeout.count()));
    const auto answer = answer_to(id, timeout + kToAnswer);
    if (!answer || !granted(*answer)) return;
    hold(request, sample);
    ask(Dialogue::Question::release, id, sim::live::release_line(id));
    (void)answer_to(id, kToAnswer);
  }
  bool granted(const Answer& answer) {
    if (answer.is == Answer::Is::granted) return true;
    if (answer.is == Answer::Is::refused) {
      shared_->fail("it refused: only a lock that waits is compared");
    }
    if (answer.is == Answer::Is::failed) shared_->fail("it failed: " + answer.why);
    return false;
  }

  void ask(Dialogue::Question question, std::int64_t id, const std::string& line) {
    const std::lock_guard guard(mutex_);
    if (!error_.empty()) return;
    dialogue_.asked(question, id, boot_ns());
    child_.say(line);
  }
  /// Nothing: there will be none.
  std::optional<Answer> answer_to(std::int64_t id, milliseconds limit) {
    std::unique_lock guard(mutex_);
    const auto is_over = [&] { return answers_.contains(id) || !error_.empty(); };
    const bool in_time = changed_.wait_for(guard, limit, is_over);
    if (in_time && error_.empty()) return answers_.extract(id).mapped();
    shared_->fail(in_time ? error_ : "the worker did not answer in time");
    return std::nullopt;
  }

  void read(const std::stop_token& stop) {
    constexpr int kLookForStop_ms = 50;
    sim::live::LineReader lines;
    while (!stop.stop_requested()) {
      pollfd ready{child_.out(), POLLIN, 0};
      if (poll(&ready, 1, kLookForStop_ms) <= 0) continue;
      lines.read_from(child_.out());
      while (const auto line = lines.next()) hear(*line);
      if (lines.ended()) return fail("the worker ended");
    }
  }
  /// A loss is no answer: a holder here releases its lock soon.
  void hear(const std::string& line) {
    try {
      const auto answer = sim::live::answer_from(line);
      const std::lock_guard guard(mutex_);
      dialogue_.heard(answer, boot_ns());
      if (answer.is != Answer::Is::lost) answers_[answer.id] = answer;
      changed_.notify_all();
    } catch (const std::runtime_error& wrong) {
      fail(wrong.what());
    }
  }
  void fail(const std::string& why) {
    const std::lock_guard guard(mutex_);
    if (error_.empty()) error_ = why;
    changed_.notify_all();
  }

  ChildProcess child_;
  std::atomic<std::int64_t> ids_ = 0;
  std::mutex mutex_;  // protects the rest
  std::condition_variable changed_;
  Dialogue dialogue_;
  std::map<std::int64_t, Answer> answers_;  ///< by id; 0: that it is ready
  std::string error_;  ///< why there will be no answer
  std::jthread reader_;  // ends first
};

std::unique_ptr<Client> make_client(const WorkerOrder& order,
                                    const std::shared_ptr<Shared>& shared, int number) {
  const bool beside = number == order.load.clients;
  if (!beside && order.load.strategy.starts_with(kWorker)) {
    return std::make_unique<WorkerClient>(order, shared, number);
  }
  return std::make_unique<ProviderClient>(order, shared, number);
}

int report(const WorkerResult& result, std::ostream& out) {
  out << nlohmann::json(result).dump() << std::endl;
  return result.error.empty() ? 0 : 1;
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

int run_worker(const std::string& text, std::istream& in, std::ostream& out) {
  const auto order = nlohmann::json::parse(text).get<WorkerOrder>();
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
