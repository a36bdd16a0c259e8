#include "sim/live/processes/worker.hpp"

#include <execinfo.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <latch>
#include <leasehold/leasehold.hpp>
#include <list>
#include <mutex>
#include <thread>

#include "api/access.hpp"
#include "mongo/client/mongo_transport.hpp"
#include "mongo/replies.hpp"
#include "published/recipe_provider.hpp"
#include "sim/live/processes/job_thread.hpp"
#include "sim/live/processes/worker_clock.hpp"
#include "sim/live/run/resource.hpp"
#include "sim/live/run/stall_watch.hpp"
#include "sim/live/system/child_process.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/own_calls.hpp"
#include "sim/plan/lock_registry.hpp"
#include "sim/record/held_answers.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;
using std::chrono::milliseconds;

constexpr std::int64_t kKept_ns = 50'000'000;  ///< what is kept for less is not noted
constexpr milliseconds kLookAtThreadsEvery{50};
constexpr int kLooksUntilDisks = 4;
constexpr int kLookForEndEvery_ms = 50;
constexpr int kTrimEvery = 100;  ///< of these looks
constexpr const char* kWallWord = "wall ";
/// Every so many-th call waits on a thread of the user; the others are asynchronous.
constexpr std::int64_t kWaitsEvery = 2;

/// A driver forgets a primary after an injected error that says it shuts down, and hears from it
/// again only by the next heartbeat, because the primary did not really end. So it asks often.
std::string uri_of(const WorkerConfig& order) {
  if (order.uri.find("heartbeatFrequencyMS=") != std::string::npos) return order.uri;
  return with_option(order.uri, "heartbeatFrequencyMS=1000");
}

/// A transport whose commands the harness executes in its own way, each connection's in `make()`'s.
class ChangedTransport final : public core::Transport {
 public:
  using Execute = std::function<core::Reply(core::Connection& real, const core::Command&)>;
  ChangedTransport(std::shared_ptr<core::Transport> real, std::function<Execute()> make)
      : real_(std::move(real)), make_(std::move(make)) {}
  std::unique_ptr<core::Connection> connect() override {
    return std::make_unique<Changed>(real_->connect(), make_());
  }

 private:
  struct Changed final : core::Connection {
    Changed(std::unique_ptr<core::Connection> one, Execute how)
        : real(std::move(one)), change(std::move(how)) {}
    core::Reply execute(const core::Command& command) override { return change(*real, command); }
    void interrupt(core::CommandId command) noexcept override { real->interrupt(command); }
    const std::unique_ptr<core::Connection> real;
    const Execute change;
  };

  const std::shared_ptr<core::Transport> real_;
  const std::function<Execute()> make_;
};

/// Changes commands to a collection on their way. Those with changed bytes go by a connection of
/// their own.
struct Sabotage {
  Changes changes;
  std::string uri, database, collection;
  MongoClient client{uri};

  core::Reply operator()(core::Connection& real, core::Command command) {
    if (auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
      acquire->queue_room = changes.queue_room;
    }
    core::Reply reply = execute(real, command);
    if (changes.old_release) hide_queue(reply);
    return reply;
  }

 private:
  core::Reply execute(core::Connection& real, const core::Command& command) {
    const Json bytes = changed(command, collection, changes);
    if (bytes.is_null()) return real.execute(command);
    core::Reply out;
    try {
      client.run_once(database, bytes,
                      [&](const bson_t& reply) { out = mongo::read_reply(command, reply); });
    } catch (const NoReply& error) {
      out.message = error.what();
    }
    return out;
  }
};

/// Since when the driver keeps this thread's command from the wire; zero: it keeps none.
thread_local std::int64_t kept_since_ns = 0;

/// Asks the handles of a process as their user would, by `held()`, every few ms, and listens to
/// `lost()`. Writes the answers down with the times of the harness's clock before and after. Thread
/// safety: all calls from any thread.
class HandleWatch {
 public:
  explicit HandleWatch(std::shared_ptr<const WorkerClock> clock)
      : clock_(std::move(clock)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  /// Watches what a user holds, from `begin` to `end`. A silent one is asked only on request: its
  /// user relies on `lost()` alone, and a question at the deadline would do what a timer has to do.
  class Watched final : public Watch {
   public:
    /// REQUIRES: all outlive it.
    Watched(HandleWatch& watch, OwnHome& home, const Holding& holding)
        : watch_(watch),
          home_(home),
          holding_(holding),
          answers_([&home](Event&& e) { home.emit(std::move(e)); }, home.name(), holding.session,
                   holding.name) {}
    ~Watched() override { leave(); }

    void begin() override {
      on_lost_.emplace(holding_.lost(),
                       [this] { home_.emit(home_.event_of(holding_, Kind::notified)); });
      ask();
      // At once, because a kill must not hide that the handle got to its user.
      flush();
      if (holding_.silent) return;
      const std::lock_guard lock(watch_.mutex_);
      watch_.watched_.push_back(this);
      watch_.changed_.notify_all();
    }
    void wrote() override { ask(); }
    /// Also before and after writes, at the beginning and at the end.
    void ask() override {
      const std::lock_guard lock(watch_.mutex_);
      ask_once();
    }
    void flush() override {
      const std::lock_guard lock(watch_.mutex_);
      answers_.flush(home_.true_ns());
    }
    void end() override {
      if (holding_.handle) ask();
      leave();
    }

   private:
    friend class HandleWatch;

    void leave() {
      {
        const std::lock_guard lock(watch_.mutex_);
        watch_.watched_.remove(this);
      }
      flush();
      on_lost_.reset();
    }

    /// REQUIRES: the watch's mutex is held.
    void ask_once() {
      const auto& clock = *watch_.clock_;
      const auto before = clock.true_ns();
      const bool held = holding_.held();
      const auto asked = clock.now().time_since_epoch().count();
      const auto left = holding_.remaining().count();
      const auto after = clock.true_ns();
      const auto until = left > 0 ? clock.true_ns_of(asked + left) : 0;
      answers_.add(held, before, after, until);
      if (answers_.count() >= kFlushEvery) answers_.flush(after);
    }

    HandleWatch& watch_;
    OwnHome& home_;
    const Holding& holding_;
    HeldAnswers answers_;
    std::optional<std::stop_callback<std::function<void()>>> on_lost_;
  };

 private:
  static constexpr std::chrono::milliseconds kPeriod{3};
  /// A killed process loses the answers that it has not written down: this many at most.
  static constexpr std::int64_t kFlushEvery = 16;

  /// Sleeps without a limit while no handle is held.
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (!changed_.wait(lock, stop, [this] { return !watched_.empty(); })) return;
      for (Watched* one : watched_) one->ask_once();
      changed_.wait_for(lock, stop, kPeriod, [] { return false; });
    }
  }

  const std::shared_ptr<const WorkerClock> clock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Watched*> watched_;  ///< protected by mutex_
  std::jthread thread_;
};

/// The body of a simulated process: an OS process of its own, which can be killed and stopped. It
/// writes its events to standard output, a line each, at once. From standard input it hears "wall
/// N": its wall clock is off by so many ms from now on; and "heal": it acquires and releases twice
/// more, with a long timeout, and ends, or, if scripted, releases what it has. When standard input
/// closes it ends at once.
class Worker {
 public:
  explicit Worker(const WorkerConfig& order)
      : order_(order),
        uri_(uri_of(order)),
        clock_(std::make_shared<WorkerClock>(order.process().drift_ppm, order.suspended_file)),
        recorder_(std::make_shared<Recorder>(order.name,
                                             [this](const Event& e) { emit(by_true_time(e)); })),
        watch_(clock_),
        users_(order.doomed ? 1 : order.process().callers) {}

  int run() {
    Event started = event(Kind::start);
    started.clock_drift_ppm = order_.process().drift_ppm;
    started.workers = workers_of(order_.process());
    started.leads = order_.process().leads;
    emit(started);
    const StandstillWatch standstills([this] { return clock_->now().time_since_epoch().count(); },
                                      [this](const Standstills::Span& span) {
                                        note_stall({clock_->true_ns_of(span.from_ns),
                                                    clock_->true_ns_of(span.to_ns)});
                                      });
    const std::jthread waits([this](const std::stop_token& stop) { watch_threads(stop); });
    driver_ = start_driver();
    {
      const LockProvider provider = detail::Access::provider(driver_);
      std::vector<std::unique_ptr<Seat>> seats;
      for (std::ptrdiff_t i = 0; i < users_; ++i) {
        seats.push_back(std::make_unique<Seat>(*this, static_cast<int>(i)));
      }
      const std::jthread orders(
          [&, this](const std::stop_token& stop) { obey_harness(stop, seats); });
      ended_.wait();
    }
    recorder_->emit_wire_counts(clock_->now());
    driver_.reset();
    return 0;
  }

 private:
  /// One user of the process, with what it alone uses.
  class Seat final : public OwnHome {
   public:
    Seat(Worker& worker, int number)
        : worker_(worker),
          resource_(
              with_option(worker.uri_, "socketTimeoutMS=3000&serverSelectionTimeoutMS=3000"),
              worker.order_.database),
          random_(worker.order_.plan.seed + static_cast<std::uint64_t>(number)),
          user_(user(number)) {
      thread_.post([this] { user_.happened(Workload::Started{}); });
      for (const StepPlan& step : worker.order_.plan.steps) {
        if (step.caller != number) continue;
        const auto at = worker.order_.began_ns + step.at_ms * 1'000'000;
        thread_.later(std::chrono::nanoseconds(at - worker.clock_->true_ns()), [this, step] {
          if (!healed_) user_.happened(Workload::StepDue{step});
        });
      }
    }

    /// The phase is one of the process, so all users wait for each other: none that is asked for
    /// from there on has a short timeout.
    void heal() {
      thread_.post([this] {
        worker_.knows_of_end_.arrive_and_wait();
        worker_.recorder_->heal();
        healed_ = true;
        user_.faults_end()();
      });
    }

   private:
    User user(int number) {
      const auto& order = worker_.order_;
      auto options =
          options_of(order.process(), order.plan.lock, order.plan.clock_margin_ms, number);
      Workload workload({order.process(), order.plan.locks,
                         long_holding(order.process(), options),
                         order.doomed ? grave_name(order.name) : ""});
      return {*this,
              std::make_unique<OwnCalls>(*this, std::move(options), kWaitsEvery,
                                         order.process().reads_percent > 0),
              std::move(workload), random_};
    }

    void later(std::chrono::nanoseconds span, Job job) override {
      thread_.later(span, std::move(job));
    }
    void notify(Job job) override { thread_.post(std::move(job)); }
    void start_thread(Job job) override { waits_.post(std::move(job)); }
    [[nodiscard]] core::LocalInstant now() const override { return worker_.clock_->now(); }
    [[nodiscard]] Recorder& recorder() override { return *worker_.recorder_; }
    [[nodiscard]] const std::shared_ptr<runtime::Driver>& driver() override {
      return worker_.driver_;
    }
    [[nodiscard]] std::unique_ptr<Watch> watch(const HoldingPointer& holding) override {
      return std::make_unique<HandleWatch::Watched>(worker_.watch_, *this, *holding);
    }
    [[nodiscard]] const std::string& name() const override { return worker_.order_.name; }
    [[nodiscard]] std::int64_t true_ns() const override { return worker_.clock_->true_ns(); }
    void emit(Event&& event) override { worker_.emit(event); }
    [[nodiscard]] std::int64_t next_write() override { return ++worker_.writes_; }
    void write(const FencedWrite& write, Outcome done) override { done(resource_.write(write)); }
    void ended() override { worker_.ended_.count_down(); }

    Worker& worker_;
    MongoResource resource_;
    Random random_;
    bool healed_ = false;
    User user_;
    JobThread thread_;  ///< runs all but what blocks
    JobThread waits_;   ///< runs that. Last: it notifies the other, which outlives it
  };

  Event event(Kind kind) const {
    return {.at_ns = clock_->true_ns(), .kind = kind, .process = order_.name};
  }

  /// What the harness says by standard input, one order a line: that faults are over, or by how
  /// much the wall clock is off. A worker ends when its standard input ends, because then the
  /// harness is gone.
  void obey_harness(const std::stop_token& stop, const std::vector<std::unique_ptr<Seat>>& seats) {
    LineReader lines;
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      // Then resident memory is memory in use, because the soak looks for growth. Not in the
      // watchdog, which would take the time for a stall.
      if (turn % kTrimEvery == 0) malloc_trim(0);
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (poll(&input, 1, kLookForEndEvery_ms) <= 0) continue;
      if (!lines.read_from(STDIN_FILENO)) _exit(1);
      while (const auto line = lines.next()) {
        if (line->starts_with(kWallWord)) {
          clock_->set_wall_offset(std::stoll(line->substr(std::strlen(kWallWord))));
        } else {
          for (const auto& seat : seats) seat->heal();
        }
      }
    }
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
         .on_wire =
             [this](const std::string& name) {
               left_driver();
               recorder_->wire(name);
             }});
    std::shared_ptr<core::Transport> transport = std::make_shared<ChangedTransport>(
        std::move(made).value(), [this] { return std::bind_front(&Worker::by_driver, this); });
    const auto& lock = lock_under_test(order_.plan.lock);
    const Changes changes{lock.sabotage, order_.process().old_release,
                          static_cast<std::size_t>(order_.process().queue_room)};
    if (changes != Changes()) {
      transport = std::make_shared<ChangedTransport>(transport, [this, changes] {
        return [place = std::make_shared<Sabotage>(changes,
                                                   with_option(uri_, "socketTimeoutMS=2000"),
                                                   order_.database, kLockCollection)](
                   auto& real, const auto& command) { return (*place)(real, command); };
      });
    }
    const int workers = workers_of(order_.process());
    auto parts = runtime::production_parts(
        std::move(transport), published::provider_named(lock.provider(), order_.name, workers),
        clock_);
    parts.workers = workers;
    parts.observer = recorder_;
    return runtime::Driver::make(std::move(parts));
  }

  core::Reply by_driver(core::Connection& real, const core::Command& command) {
    kept_since_ns = clock_->true_ns();
    core::Reply reply = real.execute(command);
    left_driver();
    return reply;
  }

  /// A command has left the driver, on the wire or as a failure.
  void left_driver() {
    const auto from = std::exchange(kept_since_ns, 0);
    Event e = event(Kind::slow);
    e.from_ns = from;
    if (from != 0 && e.at_ns - from >= kKept_ns) emit(e);
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
    Event e = stall_of("", span);
    e.process = order_.name;
    emit(e);
  }

  const WorkerConfig order_;
  const std::string uri_;
  const std::shared_ptr<WorkerClock> clock_;
  const std::shared_ptr<Recorder> recorder_;
  HandleWatch watch_;
  std::shared_ptr<runtime::Driver> driver_;
  const std::ptrdiff_t users_;
  std::latch knows_of_end_{users_}, ended_{users_};
  std::atomic<std::int64_t> writes_ = 0;
};

constexpr int kMostFrames = 64;

/// Where a crash happened goes into the history, with the other last words. Then it goes on.
void say_where(int signal) {
  void* frames[kMostFrames];
  backtrace_symbols_fd(frames, backtrace(frames, kMostFrames), STDERR_FILENO);
  raise(signal);
}

/// Sanitizers say it themselves.
void say_where_it_crashes() {
  void* frames[1];
  backtrace(frames, 1);  // loads what it needs: a crash is too late for that
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    struct sigaction before {}, now {};
    now.sa_handler = say_where;
    now.sa_flags = static_cast<int>(SA_RESETHAND);
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      sigaction(signal, &now, nullptr);
    }
  }
}

}  // namespace
}  // namespace leasehold::sim::live

/// The program of a simulated process: `leasehold-worker FILE`, started by the harness only. It is
/// a program of its own so that it has the allocator that users have.
int main(int argc, char** argv) {
  using namespace leasehold::sim::live;
  if (argc != 2) {
    std::fputs("leasehold-worker: started by the harness only\n", stderr);
    return 64;
  }
  signal(SIGPIPE, SIG_IGN);
  say_where_it_crashes();
  try {
    std::ifstream in(argv[1]);
    init_driver();
    // Never destroyed: a connection that hangs may use it as long as the process lives.
    static auto* const worker = new Worker(nlohmann::json::parse(in).get<WorkerConfig>());
    return worker->run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "leasehold-worker: %s\n", error.what());
    return 2;
  }
}
