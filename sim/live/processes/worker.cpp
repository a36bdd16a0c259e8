#include "sim/live/processes/worker.hpp"

#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <latch>
#include <leasehold/leasehold.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "api/access.hpp"
#include "mongo/client/mongo_transport.hpp"
#include "published/recipe_provider.hpp"
#include "sim/candidate.hpp"
#include "sim/live/processes/handle_watch.hpp"
#include "sim/live/processes/sabotage.hpp"
#include "sim/live/processes/worker_clock.hpp"
#include "sim/live/run/resource.hpp"
#include "sim/live/run/stall_watch.hpp"
#include "sim/live/system/child_process.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/plan/lock_registry.hpp"
#include "sim/plan/plan_json.hpp"
#include "sim/plan/workload.hpp"
#include "sim/record/recorder.hpp"
#include "sim/user_calls.hpp"

namespace leasehold::sim::live {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerConfig, name, uri, database, lock, locks, clock_margin_ms,
                                   seed, doomed, plan, steps, began_ns, suspended_file)

namespace {

using model::Event;
using model::Kind;
using std::chrono::milliseconds;

constexpr milliseconds kLookAtThreadsEvery{50};
constexpr int kLooksUntilDisks = 4;
constexpr std::chrono::hours kForEver{24};
constexpr int kLookForEndEvery_ms = 50;
constexpr int kTrimEvery = 100;  ///< of these looks
constexpr const char* kWallWord = "wall ";

/// A driver forgets a primary after an injected error that says it shuts down, and hears from it
/// again only by the next heartbeat, because the primary did not really end. So it asks often.
std::string uri_of(const WorkerConfig& order) {
  if (order.uri.find("heartbeatFrequencyMS=") != std::string::npos) return order.uri;
  return with_option(order.uri, "heartbeatFrequencyMS=1000");
}

Workload::Setting workload_for(const WorkerConfig& order, const LockOptions& options) {
  return {order.plan, order.locks, long_holding(order.plan, options),
          order.doomed ? grave_name(order.name) : ""};
}

std::jthread cancel_after(std::stop_source stop, const std::optional<milliseconds>& after) {
  if (!after) return {};
  return std::jthread(
      [stop = std::move(stop), after = *after](const std::stop_token& quit) mutable {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock guard(mutex);
        if (!wake.wait_for(guard, quit, after, [&] { return quit.stop_requested(); })) {
          stop.request_stop();
        }
      });
}

/// What the harness says by standard input, one order a line: that faults are over, or by how much
/// the wall clock is off. A worker ends when its standard input ends, because then the harness is
/// gone. Thread safety: all but `listen` from any thread.
class HarnessOrders {
 public:
  explicit HarnessOrders(WorkerClock& clock) : clock_(clock) {}

  /// Listens from now on, until this ends. To be called once.
  void listen() {
    listener_ = std::jthread([this](const std::stop_token& stop) { read_orders(stop); });
  }
  /// Waits for this time, but at most until faults are over.
  void wait(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, time, [this] { return healed_.load(); });
  }
  [[nodiscard]] bool healed() const { return healed_; }

 private:
  void read_orders(const std::stop_token& stop) {
    LineReader lines;
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      // Then resident memory is memory in use, because the soak looks for growth. Not in the
      // watchdog, which would take the time for a stall.
      if (turn % kTrimEvery == 0) malloc_trim(0);
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (poll(&input, 1, kLookForEndEvery_ms) <= 0) continue;
      if (!lines.read_from(STDIN_FILENO)) _exit(1);
      while (const auto line = lines.next()) obey(*line);
    }
  }

  void obey(const std::string& line) {
    if (line.starts_with(kWallWord)) {
      return clock_.set_wall_offset(std::stoll(line.substr(std::strlen(kWallWord))));
    }
    const std::lock_guard lock(mutex_);
    healed_ = true;
    wake_.notify_all();
  }

  WorkerClock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> healed_ = false;
  std::jthread listener_;  ///< last: it ends before what it uses
};

class Worker {
 public:
  explicit Worker(const WorkerConfig& order)
      : order_(order),
        uri_(uri_of(order)),
        clock_(std::make_shared<WorkerClock>(order.plan.drift_ppm, order.suspended_file)),
        recorder_(std::make_shared<Recorder>(order.name,
                                             [this](const Event& e) { emit(by_true_time(e)); })),
        watch_(clock_, order.name, [this](const Event& e) { emit(e); }) {
    const auto uri = with_option(uri_, "socketTimeoutMS=3000&serverSelectionTimeoutMS=3000");
    for (int i = 0; i < (order.doomed ? 1 : order.plan.callers); ++i) {
      callers_.push_back(std::make_unique<Caller>(i, order, uri, *recorder_, *clock_));
    }
  }

  int run() {
    Event started = event(Kind::start);
    started.clock_drift_ppm = order_.plan.drift_ppm;
    started.workers = workers_of(order_.plan);
    started.leads = order_.plan.leads;
    emit(started);
    orders_.listen();
    const StandstillWatch standstills([this] { return clock_->now().time_since_epoch().count(); },
                                      [this](const Standstills::Span& span) {
                                        note_stall({clock_->true_ns_of(span.from_ns),
                                                    clock_->true_ns_of(span.to_ns)});
                                      });
    const std::jthread waits([this](const std::stop_token& stop) { watch_threads(stop); });
    {
      LockProvider provider = detail::Access::provider(start_driver());
      std::vector<std::jthread> threads;
      for (const auto& caller : callers_) {
        threads.emplace_back([this, &provider, &caller] { live(provider, *caller); });
      }
    }
    recorder_->emit_wire_counts(clock_->now());
    return 0;
  }

 private:
  /// What a caller has of a lock from the grant until the release.
  struct Holding {
    LockHandle handle;  ///< empty: its candidate leads
    std::string name;
    Recorder::Grant grant;
    std::unique_ptr<HandleWatch::Watched> watched = nullptr;  ///< the handle, where it stays
  };

  /// A candidate, and the thread on which it stands for election.
  struct Candidature {
    Candidate candidate;
    std::mutex mutex = {};  ///< of the rest
    std::condition_variable changed = {};
    std::optional<FencingToken> begun = {};
    bool over = false;
    std::jthread thread = {};
  };

  /// One thread of the workload, with what it alone uses. A scripted one acquires beside its steps,
  /// on a thread of its own.
  struct Caller {
    Caller(int number_, const WorkerConfig& order, const std::string& uri, Recorder& recorder,
           const runtime::Clock& clock)
        : number(number_),
          options(options_of(order.plan, order.lock, order.clock_margin_ms, number)),
          calls(recorder, options, [&clock] { return clock.now(); }),
          random(order.seed + static_cast<std::uint64_t>(number)),
          workload(workload_for(order, options)),
          resource(uri, order.database) {}

    const int number;
    const LockOptions options;
    const UserCalls calls;
    Random random;
    Workload workload;
    MongoResource resource;
    std::vector<Holding> holdings;
    std::unique_ptr<Candidature> candidature;  ///< until its term is over
    std::stop_source stop;                     ///< of the acquire that waits
    bool knows_of_end = false;

    std::mutex mutex;  ///< of all of it, if it is scripted
    std::jthread asking;
  };

  void live(const LockProvider& provider, Caller& caller) {
    if (order_.plan.scripted && !order_.doomed) return follow_script(provider, caller);
    auto action = caller.workload.next(Workload::Started{}, caller.random);
    while (!caller.workload.ended()) {
      auto happened =
          std::visit([&](const auto& now) { return perform(provider, caller, now); }, action);
      // Between two acquires: none that is asked for from here on has a short timeout.
      if (std::holds_alternative<Workload::Rest>(action)) hear_of_end(caller);
      action = caller.workload.next(happened, caller.random);
    }
  }

  /// The phase is one of the process, so all callers wait for each other.
  void hear_of_end(Caller& caller) {
    if (!orders_.healed() || caller.knows_of_end) return;
    caller.knows_of_end = true;
    cycled_.arrive_and_wait();
    recorder_->heal();
    (void)caller.workload.next(Workload::FaultsEnded{}, caller.random);
  }

  Event event(Kind kind) const {
    return {.at_ns = clock_->true_ns(), .kind = kind, .process = order_.name};
  }

  /// The recorder sees this process's own clock; a history has the harness's.
  Event by_true_time(Event e) const {
    e.at_ns = clock_->true_ns_of(e.at_ns);
    set_true_times(e, [this](auto shown) { return clock_->true_ns_of(shown); });
    return e;
  }

  std::shared_ptr<runtime::Driver> start_driver() {
    auto made = mongo::make_transport(
        {.uri = uri_,
         .database = order_.database,
         .collection = kLockCollection,
         .server_selection_timeout = milliseconds(2'000),
         .on_wire = [recorder = recorder_](const std::string& name) { recorder->wire(name); }});
    auto transport = std::move(made).value();
    const auto& lock = lock_under_test(order_.lock);
    const Changes changes{lock.sabotage, order_.plan.old_release,
                          static_cast<std::size_t>(order_.plan.queue_room)};
    if (changes != Changes()) {
      transport = changed_transport(transport, changes, with_option(uri_, "socketTimeoutMS=2000"),
                                    order_.database, kLockCollection);
    }
    const int workers = workers_of(order_.plan);
    auto parts = runtime::production_parts(
        std::move(transport), published::provider_named(lock.provider(), order_.name, workers),
        clock_);
    parts.workers = workers;
    parts.observer = recorder_;
    return runtime::Driver::make(std::move(parts));
  }

  // Each does what the workload says, and returns what happened.
  Workload::Event perform(const LockProvider&, Caller&, const Workload::Rest& rest) {
    return wait(rest.time);
  }
  Workload::Event perform(const LockProvider&, Caller& caller, const Workload::Hold& hold) {
    const auto began = clock_->true_ns();
    for (const Holding& holding : caller.holdings) {
      if (caller.candidature || !UserCalls::ensures(holding.handle)) continue;
      caller.calls.ensure(holding.handle);
    }
    return wait(hold.time - std::chrono::nanoseconds(clock_->true_ns() - began));
  }
  Workload::Event perform(const LockProvider& provider, Caller& caller,
                          const Workload::Acquire& acquire) {
    caller.stop = {};
    const auto canceller = cancel_after(caller.stop, acquire.cancel_after);
    return asked(provider, caller, acquire, caller.stop.get_token());
  }
  Workload::Event asked(const LockProvider& provider, Caller& caller,
                        const Workload::Acquire& acquire, const std::stop_token& stop) {
    if (acquire.leads) return stand_for_election(provider, caller, acquire, stop);
    if (!acquire.also.empty()) return all(provider, caller, acquire, stop);
    auto handle = acquire.permits > 0
                      ? permit(provider, caller, acquire, stop)
                      : caller.calls.try_acquire(
                            provider.create_lock(acquire.lock, caller.options).value(),
                            acquire.timeout, stop);
    if (handle) hold(caller, std::move(*handle));
    return granted(caller);
  }
  Workload::Event all(const LockProvider& provider, Caller& caller,
                      const Workload::Acquire& acquire, const std::stop_token& stop) {
    std::vector<Lock> locks{provider.create_lock(acquire.lock, caller.options).value()};
    for (const auto& name : acquire.also) {
      locks.push_back(provider.create_lock(name, caller.options).value());
    }
    auto got = caller.calls.acquire_all(locks, acquire.timeout, stop);
    if (got) {
      for (auto& handle : *got) hold(caller, std::move(handle));
    }
    return granted(caller);
  }
  /// A candidate has no time-out of its own: a user gives up.
  Workload::Event stand_for_election(const LockProvider& provider, Caller& caller,
                                     const Workload::Acquire& acquire,
                                     const std::stop_token& stop) {
    const auto lock = provider.create_lock(acquire.lock, caller.options).value();
    auto& executor = detail::Access::driver(lock)->executor();
    caller.candidature.reset(new Candidature{{lock, executor, [&caller](FencingToken token) {
      const std::lock_guard guard(caller.candidature->mutex);
      caller.candidature->begun = token;
      caller.candidature->changed.notify_all();
    }}});
    auto& stands = *caller.candidature;
    stands.thread = std::jthread([&stands] {
      stands.candidate.run();
      const std::lock_guard guard(stands.mutex);
      stands.over = true;
      stands.changed.notify_all();
    });
    const std::stop_callback cancel(stop, [&stands] { stands.candidate.give_up(); });
    const auto known = [&stands] { return stands.begun || stands.over; };
    std::unique_lock guard(stands.mutex);
    if (!stands.changed.wait_for(guard, acquire.timeout, known)) {
      guard.unlock();
      stands.candidate.give_up();
      guard.lock();
      stands.changed.wait(guard, known);
    }
    const auto token = stands.begun;
    guard.unlock();
    if (token) {
      caller.holdings.push_back({{}, acquire.lock, recorder_->grant_of(acquire.lock, *token)});
    } else {
      caller.candidature.reset();
    }
    return granted(caller);
  }
  Result<LockHandle> permit(const LockProvider& provider, const Caller& caller,
                            const Workload::Acquire& acquire, const std::stop_token& stop) {
    const auto slots =
        Semaphore::create(provider, acquire.lock, acquire.permits, caller.options).value();
    const Recorder::PermitAsked asked{acquire.lock, acquire.permits, acquire.timeout};
    const auto call = recorder_->permit_asked(asked, caller.options, clock_->now());
    auto got = slots.try_acquire(acquire.timeout, stop);
    recorder_->permit_answered(call, asked, got ? got->handle.name() : "",
                               got ? "" : to_string(got.error().kind), clock_->now());
    if (!got) return got.error();
    return std::move(got->handle);
  }
  /// A caller that waits for its call has no callback that could keep a thread.
  Workload::Event perform(const LockProvider&, Caller& caller, const Workload::Receive& receive) {
    for (Holding& holding : caller.holdings) {
      holding.watched = std::make_unique<HandleWatch::Watched>(
          watch_, as_its_user_has_it(caller, holding), receive.relies_on_lost);
    }
    return Workload::TimePassed{};
  }
  static HandleWatch::Handle as_its_user_has_it(const Caller& caller, const Holding& holding) {
    if (!caller.candidature) {
      return {[&holding] { return holding.handle.held(); },
              [&holding] { return holding.handle.remaining(); }, holding.handle.lost(),
              holding.name, holding.grant.session};
    }
    const Candidate& candidate = caller.candidature->candidate;
    return {[&candidate, token = holding.grant.token] { return candidate.leads(token); },
            [] { return std::chrono::nanoseconds(0); }, candidate.lost(), holding.name,
            holding.grant.session};
  }
  Workload::Event perform(const LockProvider&, Caller& caller, const Workload::Write&) {
    for (Holding& holding : caller.holdings) write_fenced(caller, holding);
    return Workload::Written{};
  }
  /// Asks once more between the request for the release and its answer: it is not held then.
  Workload::Event perform(const LockProvider&, Caller& caller, const Workload::Release&) {
    for (Holding& holding : caller.holdings) {
      holding.watched->ask();
      holding.handle.begin_release();
      if (!caller.candidature) holding.watched->ask();
      holding.watched.reset();
    }
    for (Holding& holding : caller.holdings) {
      if (!caller.candidature) caller.calls.release(holding.handle);
    }
    if (caller.candidature) caller.candidature->candidate.end_term();
    caller.candidature.reset();  // waits for its thread, hence for the release
    caller.holdings.clear();
    return Workload::Released{};
  }
  Workload::Event perform(const LockProvider&, Caller& caller, const Workload::Cancel&) {
    caller.stop.request_stop();
    return Workload::TimePassed{};
  }
  /// Only a doomed caller that holds its lock has nothing to do.
  Workload::Event perform(const LockProvider&, Caller&, const Workload::Nothing&) {
    while (!orders_.healed()) wait(kForEver);
    return Workload::FaultsEnded{};
  }
  Workload::Event perform(const LockProvider&, Caller&, const Workload::End&) {
    return Workload::TimePassed{};
  }

  void hold(Caller& caller, LockHandle handle) {
    const auto name = handle.name();
    const auto grant = recorder_->grant_of(name, handle.fencing_token());
    caller.holdings.push_back({std::move(handle), name, grant});
  }
  static Workload::Event granted(const Caller& caller) {
    if (caller.holdings.empty()) return Workload::NotGranted{};
    return Workload::Granted{static_cast<std::uint64_t>(caller.holdings.front().grant.session)};
  }

  void write_fenced(Caller& caller, Holding& holding) {
    holding.watched->ask();
    const auto sent = clock_->true_ns();
    const auto number = ++writes_;
    const auto outcome = caller.resource.write(
        {holding.name, order_.name, number, holding.grant.owner, holding.grant.token});
    Event e = event(Kind::write);
    e.session = holding.grant.session;
    e.write_number = number;
    e.name = holding.name;
    e.token = holding.grant.token.value();
    e.sent_ns = sent;
    e.outcome = outcome;
    emit(e);
    holding.watched->ask();
  }

  /// Each step at its time.
  void follow_script(const LockProvider& provider, Caller& caller) {
    for (const StepPlan& step : order_.steps) {
      if (step.caller != caller.number) continue;
      const auto at = order_.began_ns + step.at_ms * 1'000'000;
      wait(std::chrono::nanoseconds(std::max<std::int64_t>(at - clock_->true_ns(), 0)));
      if (orders_.healed()) break;
      happened(provider, caller, Workload::StepDue{step});
    }
    wait(kForEver);
    recorder_->heal();
    caller.asking = {};  // waits for the acquire under way
    happened(provider, caller, Workload::FaultsEnded{});
  }

  /// Does what a scripted caller does then, up to an acquire, because that waits beside the steps
  /// after it.
  void happened(const LockProvider& provider, Caller& caller, Workload::Event event) {
    const std::lock_guard guard(caller.mutex);
    for (;;) {
      const auto action = caller.workload.next(event, caller.random);
      if (std::holds_alternative<Workload::Nothing>(action)) return;
      if (std::holds_alternative<Workload::End>(action)) return;
      if (const auto* acquire = std::get_if<Workload::Acquire>(&action)) {
        return acquire_beside(provider, caller, *acquire);
      }
      event = std::visit([&](const auto& now) { return perform(provider, caller, now); }, action);
    }
  }

  void acquire_beside(const LockProvider& provider, Caller& caller,
                      const Workload::Acquire& acquire) {
    caller.stop = {};
    caller.asking = std::jthread([this, &provider, &caller, acquire, stop = caller.stop] {
      happened(provider, caller, asked(provider, caller, acquire, stop.get_token()));
    });
  }

  Workload::Event wait(std::chrono::nanoseconds time) {
    orders_.wait(time);
    return Workload::TimePassed{};
  }

  /// On a busy machine that a thread of this process did not run is no fault of the lock.
  void watch_threads(const std::stop_token& stop) {
    ThreadWaits threads;
    Standstills waits;
    for (int looks = 1; !stop.stop_requested(); ++looks) {
      std::this_thread::sleep_for(kLookAtThreadsEvery);
      const auto waited = threads.look(clock_->true_ns(), looks % kLooksUntilDisks == 0);
      if (!waited) continue;
      for (const auto& span : waits.add(*waited)) note_stall(span);
    }
  }

  /// One line, one write: a killed process loses at most the line it was writing. Where the harness
  /// is slow to read, the write keeps its thread, and that is no fault of the lock.
  void emit(const Event& event) {
    constexpr std::int64_t kKept_ns = 50'000'000;
    const std::string line = model::to_json(event) + '\n';
    const auto began_ns = clock_->true_ns();
    std::size_t done = 0;
    while (done < line.size()) {
      const auto n = write(STDOUT_FILENO, line.data() + done, line.size() - done);
      if (n <= 0) _exit(1);  // the harness is gone
      done += static_cast<std::size_t>(n);
    }
    const auto written_ns = clock_->true_ns();
    if (written_ns - began_ns >= kKept_ns) note_stall({began_ns, written_ns});
  }

  void note_stall(const Standstills::Span& span) {
    Event e = event(Kind::stall);
    e.from_ns = span.from_ns;
    e.at_ns = span.to_ns;
    emit(e);
  }

  const WorkerConfig order_;
  const std::string uri_;
  const std::shared_ptr<WorkerClock> clock_;
  const std::shared_ptr<Recorder> recorder_;
  HarnessOrders orders_{*clock_};
  HandleWatch watch_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::latch cycled_{order_.doomed ? 1 : order_.plan.callers};
  std::atomic<std::int64_t> writes_ = 0;
};

}  // namespace

std::string to_json(const WorkerConfig& order) { return nlohmann::json(order).dump(); }

WorkerConfig order_from_json(const std::string& text) {
  return nlohmann::json::parse(text).get<WorkerConfig>();
}

int run_worker(const WorkerConfig& order) {
  init_driver();
  return Worker(order).run();
}

}  // namespace leasehold::sim::live
