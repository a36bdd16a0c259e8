#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <utility>

#include "model/history/from_outside.hpp"
#include "sim/live/foreign/conversation.hpp"
#include "sim/live/processes/job_thread.hpp"
#include "sim/live/processes/live_processes.hpp"
#include "sim/live/servers/member_clock.hpp"
#include "sim/record/held_answers.hpp"
#include "sim/user.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::int64_t kNsPerMs = 1'000'000;

std::string file_of(const ForeignSetting& setting, const char* what) {
  return setting.folder + "/" + setting.order.name + what;
}

/// How it ended, with the end of what it wrote to its standard error.
std::string ending(int status, bool may_end, const std::string& errors) {
  Event told;
  tell_ending(told, status, errors);
  if (WIFSIGNALED(status)) {
    return "it was killed by signal " + std::to_string(told.signal) + ", unasked" +
           (told.message.empty() ? "" : ": " + told.message);
  }
  const auto why = may_end ? " when asked to stop" : ", unasked";
  return "it exited with status " + std::to_string(told.exit_status) + why +
         (told.message.empty() ? "" : ": " + told.message);
}

/// One process around a lock that is not ours. Its users, each on a thread of its own, decide
/// what is asked.
///
/// A line that breaks the protocol, a death that no fault caused and a hang are `protocol` events
/// and end the process. They are no violation if it never was ready. Answers are stamped with their
/// arrival.
///
/// INVARIANT: `ended_ns_` never rises, and no event of the process stands after it.
///
/// Thread safety: users ask from any thread; one thread attends, kills, stops and heals.
class ForeignProcess final : public LiveProcess, private Conversation {
 public:
  ForeignProcess(ForeignSetting setting, const std::function<void(pid_t)>& on_start, Emit emit)
      : LiveProcess(setting.order.name),
        Conversation(milliseconds(setting.lock.promises.answers_within_ms)),
        setting_(std::move(setting)),
        emit_(std::move(emit)),
        clock_(file_of(setting_, ".clock")),
        at_work_(setting_.order.process().callers) {
    // The janitor knows it by the folder in its environment: its command line is the user's.
    ChildProcess child(
        {"env", clock_.preload(), clock_.file_variable(), "sh", "-c", setting_.lock.command},
        ChildProcess::Io::pipes, false, file_of(setting_, ".errors"));
    on_start(child.pid());
    emit_(event(Kind::start));
    const auto& order = setting_.order;
    start(std::move(child),
          start_line(name(), order.uri, order.database, order.process().expiry_ms));
    seat_users();
  }

  ~ForeignProcess() override;

  [[nodiscard]] bool running() override {
    const std::lock_guard guard(mutex_);
    return phase_ == Phase::works && !stopped_;
  }

  [[nodiscard]] bool holds() override { return holdings_ > 0; }
  [[nodiscard]] bool over() override {
    const std::lock_guard guard(mutex_);
    return phase_ == Phase::over;
  }

  void attend() override {
    std::unique_lock guard(mutex_);
    if (phase_ == Phase::over) return;
    const bool may_end = phase_ == Phase::stopping;
    if (output_ended_ || (may_end && !child_.running())) return see_off(guard, may_end);
    const auto limit_ns = setting_.lock.promises.answers_within_ms * kNsPerMs;
    if (may_end && boot_ns() - stopping_since_ns_ > limit_ns) {
      break_off("hang", "it did not end when asked to stop");
    }
    if (phase_ != Phase::broken) return;
    guard.unlock();
    end();
  }

  void heal() override;

  bool kill() override {
    const bool alive = end();
    if (alive) emit_(event(Kind::crash));
    return alive;
  }
  void end_by_force() override { kill(); }

  void join() override;
  /// A suspension cannot be hidden from the clocks of a worker that is not ours.
  void pause(bool) override {
    emit_(event(Kind::pause));
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    if (child_.running()) ::kill(-child_.pid(), SIGSTOP);
  }

  void resume() override {
    const std::lock_guard guard(mutex_);
    if (!std::exchange(stopped_, false)) return;
    if (child_.running()) ::kill(-child_.pid(), SIGCONT);
    emit_(event(Kind::resume));
  }

  void set_wall_clock(std::int64_t offset_ms) override { clock_.set(milliseconds(offset_ms)); }
  /// Whether it read its wall clock since, and was shown another time than the true one.
  [[nodiscard]] bool saw_its_wall_clock() override { return clock_.was_shown(); }

 private:
  class Seat;

  void seat_users();

  /// Returns whether it was alive until then.
  bool end() {
    const bool alive = child_.running();
    ended_ns_ = stamp();
    if (alive) ::kill(-child_.pid(), SIGKILL);
    child_.kill();
    {
      const std::lock_guard guard(mutex_);
      phase_ = Phase::over;
      changed_.notify_all();
    }
    stop_reading();
    return alive;
  }

  /// One user has nothing to do any more. When the last one ends, the worker is stopped.
  void caller_ended() {
    const std::lock_guard guard(mutex_);
    if (--at_work_ > 0 || phase_ != Phase::works) return;
    phase_ = Phase::stopping;
    stopping_since_ns_ = boot_ns();
    child_.say(stop_line());
  }

  /// An event stamped with the present time.
  [[nodiscard]] Event event(Kind kind, std::int64_t session = 0,
                            const std::string& lock = "") const {
    return {
        .at_ns = stamp(), .kind = kind, .process = name(), .session = session, .name = lock};
  }

  /// The present time, or the time of its end, if it has ended: no event of it stands after that.
  [[nodiscard]] std::int64_t stamp() const { return std::min(boot_ns(), ended_ns_.load()); }
  void emit(Event&& event) const { emit_(std::move(event)); }

  /// It was said after the lines before it, and so after their questions.
  void on_lost(const Answer& answer) override {
    Event e = event(Kind::notified, answer.id);
    e.sent_ns = answer.at_ns.value_or(said_after_ns_);
    emit_(std::move(e));
  }

  void on_end() override {}  // `attend` sees it off

  void on_broken(const std::string& outcome, const std::string& why) override {
    Event e = event(Kind::protocol);
    e.outcome = ready_ ? outcome : model::kNeverReady;
    e.message = why;
    ended_ns_ = e.at_ns;
    emit_(std::move(e));
  }

  /// It ended, or closed its standard output. REQUIRES: the guard holds the mutex.
  void see_off(std::unique_lock<std::mutex>& guard, bool may_end) {
    guard.unlock();
    child_.wait_ms(2'000);
    const bool closed_only = child_.running();
    if (closed_only) ::kill(-child_.pid(), SIGKILL);
    child_.kill();
    guard.lock();
    const int status = child_.exit_status();
    if (!may_end || closed_only || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      break_off("ended", closed_only ? "it closed its standard output and went on"
                                     : ending(status, may_end, file_of(setting_, ".errors")) +
                                           without_end());
    }
    phase_ = Phase::over;
    changed_.notify_all();
  }

  const ForeignSetting setting_;
  const Emit emit_;
  MemberClock clock_;
  std::atomic<std::int64_t> ids_ = 0, writes_ = 0;
  std::atomic<int> holdings_ = 0;  ///< granted and not released
  // Protected by the mutex of the conversation:
  int at_work_;  ///< users
  std::int64_t stopping_since_ns_ = 0;
  /// Killed or broken off.
  std::atomic<std::int64_t> ended_ns_ = std::numeric_limits<std::int64_t>::max();
  std::vector<std::unique_ptr<Seat>> seats_;  ///< last: they end before what they use
};

constexpr milliseconds kAskEvery{5};

/// A caller that waits so long for a free lock will wait for ever: it is certain by then that it is
/// late, also when servers were busy with a fault at first.
std::int64_t longest_wait_ms(const ForeignSetting& setting) {
  constexpr std::int64_t kSpare_ms = 6'000;
  const auto& promised = setting.lock.promises;
  const auto leases = promised.passes_on_leases.value_or(1);
  return promised.polls_within_ms + 2 * promised.clock_margin_ms.value_or(0) + kSpare_ms +
         static_cast<std::int64_t>(leases * static_cast<double>(setting.order.process().expiry_ms));
}

/// One user of a worker around a lock that is not ours, and its thread. It calls the lock by asking
/// the worker's process, and writes to the fenced resource if the lock promises tokens. It decides
/// what an answer means to its user, and what the history says of it.
class ForeignProcess::Seat final : public UserHome {
 public:
  Seat(ForeignProcess& process, int number)
      : process_(process),
        setting_(process.setting_),
        random_(setting_.order.plan.seed + static_cast<std::uint64_t>(number)),
        user_(*this, std::make_unique<Calls>(*this),
              Workload({setting_.order.process(), setting_.order.plan.locks,
                        long_holding(setting_.order.process(),
                                     options_of(setting_.order.process(), "leasehold", 0))}),
              random_) {
    thread_.post([this, number] {
      if (!process_.await_ready()) return;
      user_.happened(Workload::Started{});
      follow_script(number);
    });
  }

  void heal() {
    thread_.post([this] {
      knows_of_end_ = true;
      user_.faults_end()();
    });
  }

 private:
  class Calls final : public LockCalls {
   public:
    explicit Calls(Seat& seat) : seat_(seat) {}
    void acquire(const Workload::Acquire& acquire, Granted granted) override {
      auto got = seat_.acquire(acquire);
      granted(got ? std::vector{std::move(got)} : std::vector<HoldingPointer>{});
    }
    void cancel() override {}  // it has no such line
    void release(const HoldingPointer& holding, std::function<void()> released) override {
      seat_.release(*holding);
      released();
    }

   private:
    Seat& seat_;
  };

  /// A "held" was true at some time between its stamp, or else the question, and its arrival; after
  /// a "not_held" no more is asked.
  class Asker final : public Watch {
   public:
    Asker(Seat& seat, const HoldingPointer& holding)
        : seat_(seat),
          self_(holding),
          id_(holding->session),
          answers_(seat.process_.emit_, seat.process_.name(), id_, holding->name) {
      // A lock that tells of its loss has to do so without being asked.
      holding->silent = holding->silent && seat.setting_.lock.promises.tells_loss;
    }
    ~Asker() override { flush(); }

    void begin() override {
      ask();
      seat_.later(kAskEvery, [this, self = self_] {
        const auto holding = self.lock();
        if (holding && !holding->over) seat_.process_.works() ? begin() : flush();
      });
    }
    void ask() override {
      const auto holding = self_.lock();
      if (!holding || holding->silent || answers_.said_no()) return;
      const auto asked = boot_ns();
      const auto heard = seat_.process_.question(Question::ask, id_, ask_line(id_), 0);
      if (!heard) return flush();
      answers_.add(heard->answer.is == Answer::Is::held, heard->answer.at_ns.value_or(asked),
                   heard->received_ns);
    }
    void wrote() override { ask(); }
    void flush() override { answers_.flush(seat_.process_.stamp()); }
    void end() override { flush(); }

   private:
    Seat& seat_;
    const std::weak_ptr<Holding> self_;  ///< which owns this
    const std::int64_t id_;
    HeldAnswers answers_;
  };

  /// Each step at its time, unless an acquire was under way then; that cannot be cancelled.
  void follow_script(int number) {
    constexpr std::int64_t kLate_ns = 50 * kNsPerMs;
    for (const StepPlan& step : setting_.order.plan.steps) {
      if (step.caller != number || step.action == StepPlan::Action::cancel) continue;
      const auto at = setting_.order.began_ns + step.at_ms * kNsPerMs;
      later(nanoseconds(at - boot_ns()), [this, step, at] {
        if (knows_of_end_ || !process_.works() || boot_ns() > at + kLate_ns) return;
        user_.happened(Workload::StepDue{step});
      });
    }
  }

  void later(nanoseconds span, Job job) override { thread_.later(span, std::move(job)); }
  [[nodiscard]] bool over() const override { return !process_.works(); }
  [[nodiscard]] std::unique_ptr<Watch> watch(const HoldingPointer& holding) override {
    return std::make_unique<Asker>(*this, holding);
  }
  void ended() override { process_.caller_ended(); }

  /// Null: it was not granted.
  HoldingPointer acquire(const Workload::Acquire& acquire) {
    const auto id = ++process_.ids_;
    const auto timeout_ms = std::min(acquire.timeout.count(), longest_wait_ms(setting_));
    Event asked = process_.event(Kind::ask, id, acquire.lock);
    asked.single_attempt = timeout_ms == 0;
    const bool shared = asked.shared = acquire.reads && setting_.lock.promises.shares;
    if (timeout_ms > 0) asked.give_up_ns = asked.at_ns + timeout_ms * kNsPerMs;
    asked.expiry_ms = setting_.order.process().expiry_ms;
    asked.clock_margin_ms = setting_.order.plan.clock_margin_ms;
    asked.healed = knows_of_end_;
    process_.emit(std::move(asked));
    const auto heard = process_.question(Question::acquire, id,
                                         acquire_line(id, acquire.lock, timeout_ms, shared),
                                         timeout_ms);
    if (!heard) return nullptr;
    const auto& answer = heard->answer;
    const bool granted = answer.is == Answer::Is::granted;
    Event e = heard_event(granted ? Kind::granted : Kind::ended, id, acquire.lock, *heard);
    if (!granted) {
      e.outcome = to_string(answer.is);
      e.message = answer.why;
      process_.emit(std::move(e));
      return nullptr;
    }
    e.token = answer.token.value_or(0);
    e.shared = shared;
    // Its user may rely on it from the stamp on, or else from the question.
    if (answer.remaining_ms) {
      e.deadline_ns = answer.at_ns.value_or(heard->asked_ns) + *answer.remaining_ms * kNsPerMs;
    }
    ++process_.holdings_;
    auto holding = std::make_shared<Holding>(Holding{
        acquire.lock, id, FencingToken(e.token), process_.name() + "/" + std::to_string(id)});
    holding->reads = shared;
    process_.emit(std::move(e));
    return holding;
  }

  [[nodiscard]] const std::string& name() const override { return process_.name(); }
  [[nodiscard]] std::int64_t true_ns() const override { return process_.stamp(); }
  void emit(Event&& event) override { process_.emit(std::move(event)); }
  [[nodiscard]] std::int64_t next_write() override { return ++process_.writes_; }
  /// Nothing is written for a worker that ended meanwhile.
  void write(const FencedWrite& write, Outcome done) override {
    const bool fences =
        write.token > 0 && setting_.lock.promises.tokens == model::Promises::Tokens::rising;
    if (!fences || !process_.works()) return done("");
    if (!resource_) resource_ = setting_.store.resource(setting_.order.uri);
    const auto outcome = resource_->write(write);
    const auto answered = boot_ns();
    done(process_.stamp() < answered ? "unknown" : outcome);
  }

  void release(const Holding& holding) {
    const auto id = holding.session;
    holding.watch->flush();
    process_.emit(process_.event(Kind::release, id, holding.name));
    const auto heard = process_.question(Question::release, id, release_line(id), 0);
    if (heard) {
      Event e = heard_event(Kind::released, id, holding.name, *heard);
      e.outcome = to_string(heard->answer.is);
      process_.emit(std::move(e));
    }
    --process_.holdings_;
  }

  /// An event of what the worker said, stamped no later than when it was received.
  [[nodiscard]] Event heard_event(Kind kind, std::int64_t id, const std::string& lock,
                                  const Heard& heard) const {
    Event e = process_.event(kind, id, lock);
    e.at_ns = std::min(e.at_ns, heard.received_ns);
    return e;
  }

  ForeignProcess& process_;
  const ForeignSetting& setting_;
  Random random_;
  bool knows_of_end_ = false;
  std::shared_ptr<FencedResource> resource_;  ///< if the lock has tokens
  User user_;
  JobThread thread_;  ///< last: it ends before what it uses
};

void ForeignProcess::seat_users() {
  for (int i = 0; i < setting_.order.process().callers; ++i) {
    seats_.push_back(std::make_unique<Seat>(*this, i));
  }
}

ForeignProcess::~ForeignProcess() {
  end();
  seats_.clear();
}

void ForeignProcess::heal() {
  for (const auto& seat : seats_) seat->heal();
}

/// A write to the resource may still be on its way.
void ForeignProcess::join() { seats_.clear(); }

}  // namespace

std::unique_ptr<LiveProcess> start_foreign(ForeignSetting setting,
                                           const std::function<void(pid_t)>& on_start,
                                           LiveProcess::Emit emit) {
  return std::make_unique<ForeignProcess>(std::move(setting), on_start, std::move(emit));
}

}  // namespace leasehold::sim::live
