#include "sim/live/worker.hpp"

#include <fcntl.h>
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
#include <random>
#include <thread>

#include "mongo/mongo_transport.hpp"
#include "published/recipe_provider.hpp"
#include "runtime/access.hpp"
#include "sim/live/handle_watch.hpp"
#include "sim/live/mongo_client.hpp"
#include "sim/live/resource.hpp"
#include "sim/live/sabotage.hpp"
#include "sim/live/worker_clock.hpp"
#include "sim/lock_options.hpp"
#include "sim/plan_json.hpp"
#include "sim/recorder.hpp"

namespace leasehold::sim::live {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerConfig, name, uri, database, lock, locks, clock_margin_ms,
                                   seed, doomed, plan, steps, began_ns, suspended_file)

namespace {

using model::Event;
using model::Kind;
using std::chrono::milliseconds;

constexpr milliseconds kWatchdogPeriod{50};
constexpr milliseconds kStallFrom{150};
constexpr int kTrimEvery = 100;  ///< waits for a word of the harness
constexpr milliseconds kHealedTimeout{60'000};
constexpr int kHealedAcquires = 2;
constexpr int kSilentPercent = 25;  ///< holders that rely on `lost()` alone
constexpr std::int64_t kForEver_ms = 24 * 3'600'000;
constexpr const char* kWallWord = "wall ";

/// One line, one write: a killed process loses at most the line it was writing.
void emit(const Event& event) {
  const std::string line = model::to_json(event) + '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    const auto n = write(STDOUT_FILENO, line.data() + done, line.size() - done);
    if (n <= 0) _exit(1);  // the harness is gone
    done += static_cast<std::size_t>(n);
  }
}

/// A driver that hears by an injected error that its primary shuts down forgets it, and hears
/// from it again only by the next heartbeat: a real one would have said good-bye. So it asks often.
std::string uri_of(const WorkerConfig& order) {
  auto uri = with_option(order.uri, "appName=" + order.name);
  if (uri.find("heartbeatFrequencyMS=") != std::string::npos) return uri;
  return with_option(uri, "heartbeatFrequencyMS=1000");
}

class Worker {
 public:
  explicit Worker(const WorkerConfig& order)
      : order_(order),
        uri_(uri_of(order)),
        clock_(std::make_shared<WorkerClock>(order.plan.drift_ppm, order.suspended_file)),
        recorder_(std::make_shared<Recorder>(order.name,
                                             [this](const Event& e) { emit(by_true_time(e)); })),
        watch_(clock_, order.name, emit),
        options_(options_of(order.plan, order.lock, order.clock_margin_ms)) {
    const auto uri = with_option(uri_, "socketTimeoutMS=3000&serverSelectionTimeoutMS=3000");
    for (int i = 0; i < (order.doomed ? 1 : order.plan.callers); ++i) {
      callers_.push_back(std::make_unique<Caller>(i, order.seed, uri, order.database));
    }
  }

  int run() {
    Event started = event(Kind::start);
    started.clock_drift_ppm = order_.plan.drift_ppm;
    emit(started);
    std::jthread listener([this](const std::stop_token& stop) { listen(stop); });
    std::jthread watchdog([this](const std::stop_token& stop) { watch(stop); });
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
  struct Script {
    std::mutex mutex;
    std::string name;
    std::optional<LockHandle> handle;               ///< protected by mutex, like the name
    Recorder::Grant grant;                          ///< the handle's, and protected likewise
    std::unique_ptr<HandleWatch::Watched> watched;  ///< the handle, and protected likewise
    std::atomic<bool> busy = false;                 ///< an acquire is under way
    std::stop_source stop;
    std::jthread asking;
  };

  /// One thread of the workload, with what it alone uses.
  struct Caller {
    Caller(int number_, std::uint64_t seed, const std::string& uri, const std::string& database)
        : number(number_),
          random(seed + static_cast<std::uint64_t>(number_)),
          resource(uri, database) {}
    std::int64_t draw(std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, std::max(low, high))(random);
    }
    bool chance(int percent) { return draw(1, 100) <= percent; }

    const int number;
    std::mt19937_64 random;
    FencedResource resource;
    Script script;
  };

  void live(const LockProvider& provider, Caller& caller) {
    if (order_.doomed) return hold_until_killed(provider);
    if (order_.plan.scripted) return follow_script(provider, caller);
    while (!healed_) cycle(provider, caller);
    cycled_.arrive_and_wait();  // from here on no call asks with a short timeout
    recorder_->heal();
    for (int i = 0; i < kHealedAcquires; ++i) {
      hold_once(provider, caller, lock_name(caller.draw(0, order_.locks - 1)), kHealedTimeout,
                false);
    }
  }

  Event event(Kind kind) const {
    Event e;
    e.at_ns = clock_->true_ns();
    e.kind = kind;
    e.process = order_.name;
    return e;
  }

  /// The recorder sees this process's own clock; a history has the harness's.
  Event by_true_time(Event e) const {
    e.at_ns = clock_->true_ns_of(e.at_ns);
    for (auto* time : {&e.sent_ns, &e.deadline_ns, &e.give_up_ns}) {
      if (*time > 0) *time = clock_->true_ns_of(*time);
    }
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
    if (lock.is_sabotaged()) {
      transport =
          sabotaged_transport(transport, lock.sabotage, with_option(uri_, "socketTimeoutMS=2000"),
                              order_.database, kLockCollection);
    }
    auto parts = runtime::production_parts(
        std::move(transport), published::provider_named(lock.provider(), order_.name), clock_);
    parts.workers = workers_of(order_.plan);
    parts.observer = recorder_;
    return runtime::Driver::make(std::move(parts));
  }

  void cycle(const LockProvider& provider, Caller& caller) {
    const auto name = lock_name(caller.draw(0, order_.locks - 1));
    if (caller.chance(order_.plan.single_attempt_percent)) {
      hold_once(provider, caller, name, milliseconds(0), false);
      rest(caller.draw(1, order_.plan.wait_max_ms));
    } else {
      const auto timeout = milliseconds(caller.draw(50, order_.plan.acquire_timeout_ms));
      hold_once(provider, caller, name, timeout, caller.chance(order_.plan.cancel_percent));
      rest(caller.draw(0, order_.plan.hold_ms));
    }
  }

  void hold_once(const LockProvider& provider, Caller& caller, const std::string& name,
                 milliseconds timeout, bool cancel) {
    auto lock = provider.create_lock(name, options_);
    std::stop_source stop;
    std::jthread canceller;
    if (cancel) {
      const auto after = milliseconds(caller.draw(1, order_.plan.wait_max_ms));
      canceller = std::jthread([stop, after](const std::stop_token& quit) mutable {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock guard(mutex);
        if (!wake.wait_for(guard, quit, after, [&] { return quit.stop_requested(); })) {
          stop.request_stop();
        }
      });
    }
    auto handle = lock->try_acquire(timeout, stop.get_token());
    if (!handle) return;
    const auto grant = recorder_->grant_of(name, handle->fencing_token());
    auto watched = std::make_unique<HandleWatch::Watched>(watch_, *handle, grant.session, name,
                                                          caller.chance(kSilentPercent));
    work(caller, name, grant, *watched);
    release(*handle, std::move(watched));
  }

  /// Asks once more when the release is asked for and not yet answered: it is not held then.
  static void release(LockHandle& handle, std::unique_ptr<HandleWatch::Watched> watched) {
    watched->ask();
    handle.begin_release();
    watched->ask();
    watched.reset();
    handle.release();
  }

  /// Writes at the start and at the end of a holding, without asking whether it still holds: a
  /// process that was paused in between writes late, and the fence has to refuse it.
  void work(Caller& caller, const std::string& name, const Recorder::Grant& grant,
            HandleWatch::Watched& watched) {
    write_fenced(caller, name, grant, watched);
    if (caller.chance(order_.plan.long_hold_percent) && !healed_) {
      const auto [least_ms, most_ms] = long_holding(order_.plan, options_);
      rest(caller.draw(least_ms, most_ms));
    } else {
      rest(caller.draw(0, order_.plan.hold_ms));
    }
    write_fenced(caller, name, grant, watched);
  }

  void write_fenced(Caller& caller, const std::string& name, const Recorder::Grant& grant,
                    HandleWatch::Watched& watched) {
    watched.ask();
    const auto sent = clock_->true_ns();
    const auto number = ++writes_;
    const auto outcome =
        caller.resource.write({name, order_.name, number, grant.owner, grant.token});
    Event e = event(Kind::write);
    e.session = grant.session;
    e.write_number = number;
    e.name = name;
    e.token = grant.token.value();
    e.sent_ns = sent;
    e.outcome = outcome;
    emit(e);
    watched.ask();
  }

  /// Each step at its time. An acquire waits beside the steps that come after it.
  void follow_script(const LockProvider& provider, Caller& caller) {
    for (const StepPlan& step : order_.steps) {
      if (step.caller != caller.number) continue;
      const auto at = order_.began_ns + step.at_ms * 1'000'000;
      rest(std::max<std::int64_t>((at - clock_->true_ns()) / 1'000'000, 0));
      if (healed_) break;
      perform(step, provider, caller);
    }
    rest(kForEver_ms);
    recorder_->heal();
    caller.script.asking = {};  // waits for the acquire under way
    let_go(caller.script);
  }

  static void let_go(Script& script) {
    if (script.handle) release(*script.handle, std::move(script.watched));
    script.handle.reset();
  }

  void perform(const StepPlan& step, const LockProvider& provider, Caller& caller) {
    Script& script = caller.script;
    using Action = StepPlan::Action;
    const std::lock_guard guard(script.mutex);
    switch (step.action) {
      case Action::acquire:
        if (script.busy || script.handle) return;
        script.busy = true;
        script.stop = {};
        script.asking =
            std::jthread([this, step, &provider, &script] { ask(step, provider, script); });
        return;
      case Action::write:
        if (script.handle) write_fenced(caller, script.name, script.grant, *script.watched);
        return;
      case Action::release: return let_go(script);
      case Action::cancel: script.stop.request_stop(); return;
    }
  }

  void ask(const StepPlan& step, const LockProvider& provider, Script& script) {
    const auto name = lock_name(step.lock);
    auto handle = provider.create_lock(name, options_)
                      ->try_acquire(milliseconds(step.acquire_timeout_ms), script.stop.get_token());
    const std::lock_guard guard(script.mutex);
    script.name = name;
    if (handle) {
      script.handle = std::move(handle).value();
      script.grant = recorder_->grant_of(name, script.handle->fencing_token());
      script.watched = std::make_unique<HandleWatch::Watched>(watch_, *script.handle,
                                                              script.grant.session, name);
    }
    script.busy = false;
  }

  void hold_until_killed(const LockProvider& provider) {
    auto lock = provider.create_lock("grave-" + order_.name, options_);
    auto handle = lock->try_acquire(milliseconds(10'000));
    if (!handle) return;
    const auto grant = recorder_->grant_of(lock->name(), handle->fencing_token());
    auto watched =
        std::make_unique<HandleWatch::Watched>(watch_, *handle, grant.session, lock->name());
    while (!healed_) rest(1'000);
    release(*handle, std::move(watched));
  }

  void rest(std::int64_t ms) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, milliseconds(ms), [this] { return healed_.load(); });
  }

  void listen(const std::stop_token& stop) {
    char buffer[64];
    std::string heard;
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      // What is resident is then what is in use: the soak looks for growth. Not in the watchdog,
      // which would take the time for a stall.
      if (turn % kTrimEvery == 0) malloc_trim(0);
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (poll(&input, 1, static_cast<int>(kWatchdogPeriod.count())) <= 0) continue;
      const auto n = read(STDIN_FILENO, buffer, sizeof buffer);
      if (n <= 0) _exit(1);
      heard.append(buffer, static_cast<std::size_t>(n));
      for (auto end = heard.find('\n'); end != std::string::npos; end = heard.find('\n')) {
        obey(heard.substr(0, end));
        heard.erase(0, end + 1);
      }
    }
  }

  void obey(const std::string& line) {
    if (line.starts_with(kWallWord)) {
      clock_->set_wall_offset(std::stoll(line.substr(std::strlen(kWallWord))));
      return;
    }
    const std::lock_guard lock(mutex_);
    healed_ = true;
    wake_.notify_all();
  }

  /// Says when this process did not run: on a busy machine that is no fault of the lock.
  void watch(const std::stop_token& stop) {
    auto last = clock_->now();
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(kWatchdogPeriod);
      const auto now = clock_->now();
      if (now - last > kStallFrom) {
        Event e = event(Kind::stall);
        e.from_ns = clock_->true_ns_of(last.time_since_epoch().count());
        emit(e);
      }
      last = now;
    }
  }

  const WorkerConfig order_;
  const std::string uri_;
  const std::shared_ptr<WorkerClock> clock_;
  const std::shared_ptr<Recorder> recorder_;
  HandleWatch watch_;
  const LockOptions options_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::latch cycled_{order_.plan.callers};
  std::atomic<std::int64_t> writes_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> healed_ = false;
};

}  // namespace

std::string to_json(const WorkerConfig& order) { return nlohmann::json(order).dump(); }

WorkerConfig order_from_json(const std::string& text) {
  return nlohmann::json::parse(text).get<WorkerConfig>();
}

std::string lock_name(std::int64_t index) { return "lock-" + std::to_string(index); }

int run_worker(const WorkerConfig& order) {
  init_driver();
  return Worker(order).run();
}

}  // namespace leasehold::sim::live
