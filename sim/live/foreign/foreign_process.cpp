#include "sim/live/foreign/foreign_process.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "model/history/from_outside.hpp"
#include "sim/live/foreign/conversation.hpp"
#include "sim/live/servers/member_clock.hpp"
#include "sim/plan/workload.hpp"
#include "sim/record/held_answers.hpp"

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
    return "it was killed by signal " + std::to_string(told.signal) +
           ", unasked" +
           (told.message.empty() ? "" : ": " + told.message);
  }
  const auto why = may_end ? " when asked to stop" : ", unasked";
  return "it exited with status " + std::to_string(told.exit_status) + why +
         (told.message.empty() ? "" : ": " + told.message);
}

class ForeignProcess;
/// One caller of a worker, by its number: until the faults are over and it has finished, or the
/// worker broke off.
void live_as_caller(ForeignProcess& process, int number);

/// One process around a lock that is not ours. Its callers, each on a thread of its own, decide
/// what is asked (`live_as_caller`).
///
/// A line that breaks the protocol, a death that no fault caused and a hang are `protocol` events
/// and end the process. They are no violation if it never was ready. Answers are stamped with their
/// arrival.
///
/// INVARIANT: `ended_ns_` never rises, and no event of the process stands after it.
///
/// Thread safety: callers ask from any thread; one thread attends, kills, stops and heals.
class ForeignProcess final : public LiveProcess, public Conversation {
 public:
  ForeignProcess(ForeignSetting setting, const std::function<void(pid_t)>& on_start, Now now_ns,
                 Emit emit)
      : LiveProcess(setting.order.name),
        Conversation(std::move(now_ns), milliseconds(setting.lock.promises.answers_within_ms)),
        setting_(std::move(setting)),
        emit_(std::move(emit)),
        clock_(file_of(setting_, ".clock")),
        at_work_(setting_.order.plan.callers) {
    // The janitor knows it by the folder in its environment: its command line is the user's.
    ChildProcess child(
        {"env", clock_.preload(), clock_.file_variable(), "sh", "-c", setting_.lock.command},
        ChildProcess::Io::pipes, false, file_of(setting_, ".errors"));
    on_start(child.pid());
    emit_(event(Kind::start));
    const auto& order = setting_.order;
    start(std::move(child), {name(), order.uri, order.database, order.plan.expiry_ms});
    for (int i = 0; i < order.plan.callers; ++i) {
      callers_.emplace_back([this, i] { live_as_caller(*this, i); });
    }
  }

  ~ForeignProcess() override {
    kill();
    callers_.clear();
  }

  [[nodiscard]] bool running() override {
    const std::lock_guard guard(mutex_);
    return phase_ == Phase::works && !stopped_;
  }

  [[nodiscard]] bool holds() override { return holdings > 0; }
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
    if (may_end && now() - stopping_since_ns_ > limit_ns) {
      break_off("hang", "it did not end when asked to stop");
    }
    if (phase_ != Phase::broken) return;
    guard.unlock();
    kill();
  }

  void heal() override {
    const std::lock_guard guard(mutex_);
    healed_ = true;
    changed_.notify_all();
  }

  std::optional<std::int64_t> kill() override {
    const bool alive = child_.running();
    const auto at = stamp();
    ended_ns_ = at;
    if (alive) ::kill(-child_.pid(), SIGKILL);
    child_.kill();
    {
      const std::lock_guard guard(mutex_);
      phase_ = Phase::over;
      changed_.notify_all();
    }
    stop_reading();
    return alive ? std::optional(at) : std::nullopt;
  }

  void end_by_force() override {
    const auto killed = kill();
    if (killed) emit({.at_ns = *killed, .kind = Kind::crash, .process = name()});
  }

  /// A write to the resource may still be on its way.
  void join() override { callers_.clear(); }
  void pause(bool) override {
    const std::lock_guard guard(mutex_);
    stopped_ = true;
    if (child_.running()) ::kill(-child_.pid(), SIGSTOP);
  }

  std::optional<bool> resume() override {
    const std::lock_guard guard(mutex_);
    if (!std::exchange(stopped_, false)) return std::nullopt;
    if (child_.running()) ::kill(-child_.pid(), SIGCONT);
    return false;
  }

  void set_wall_clock(std::int64_t offset_ms) override { clock_.set(milliseconds(offset_ms)); }
  /// Whether it read its wall clock since, and was shown another time than the true one.
  [[nodiscard]] bool saw_its_wall_clock() override { return clock_.was_shown(); }

  // For its callers:
  [[nodiscard]] const ForeignSetting& setting() const { return setting_; }
  std::atomic<std::int64_t> ids = 0, writes = 0;
  std::atomic<int> holdings = 0;  ///< granted and not released

  [[nodiscard]] bool healed() {
    const std::lock_guard guard(mutex_);
    return healed_;
  }

  /// Returns whether the time passed; else it broke off before. `until_healed`: at most until then.
  bool rest(std::chrono::nanoseconds time, bool until_healed) {
    std::unique_lock guard(mutex_);
    changed_.wait_for(guard, time,
                      [&] { return phase_ != Phase::works || (until_healed && healed_); });
    return phase_ == Phase::works;
  }

  /// One caller has nothing to do any more. When the last one ends, the worker is stopped.
  void caller_ended() {
    const std::lock_guard guard(mutex_);
    if (--at_work_ > 0 || phase_ != Phase::works) return;
    phase_ = Phase::stopping;
    stopping_since_ns_ = now();
    child_.say(stop_line());
  }

  /// An event stamped with the present time.
  [[nodiscard]] Event event(Kind kind, std::int64_t session = 0,
                            const std::string& lock = "") const {
    return {
        .at_ns = stamp(), .kind = kind, .process = name(), .session = session, .name = lock};
  }

  /// The present time, or the time of its end, if it has ended: no event of it stands after that.
  [[nodiscard]] std::int64_t stamp() const { return std::min(now(), ended_ns_.load()); }
  void emit(Event&& event) const { emit_(std::move(event)); }

 private:
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
  // Protected by the mutex of the conversation:
  bool healed_ = false;
  int at_work_;  ///< callers
  std::int64_t stopping_since_ns_ = 0;
  /// Killed or broken off.
  std::atomic<std::int64_t> ended_ns_ = std::numeric_limits<std::int64_t>::max();
  std::vector<std::jthread> callers_;  ///< last: they end before what they use
};

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr milliseconds kAskEvery{5};

/// A caller that waits so long for a free lock will wait for ever: it is certain by then that it is
/// late, also when servers were busy with a fault at first.
std::int64_t longest_wait_ms(const ForeignSetting& setting) {
  constexpr std::int64_t kSpare_ms = 6'000;
  const auto& promised = setting.lock.promises;
  const auto leases = promised.passes_on_leases.value_or(1);
  return promised.polls_within_ms + 2 * promised.clock_margin_ms.value_or(0) + kSpare_ms +
         static_cast<std::int64_t>(leases * static_cast<double>(setting.order.plan.expiry_ms));
}

/// One caller of a worker around a lock that is not ours. It runs the workload by asking the
/// worker's process, and writes to the fenced resource if the lock promises tokens. It decides what
/// an answer means to its user, and what the history says of it.
///
/// INVARIANT: it has `answers_` from the grant until its release is asked for.
class ForeignCaller {
 public:
  ForeignCaller(ForeignProcess& process, int number)
      : process_(process),
        setting_(process.setting()),
        number_(number),
        random_(setting_.order.seed + static_cast<std::uint64_t>(number)),
        workload_({setting_.order.plan, setting_.order.locks,
                   long_holding(setting_.order.plan,
                                options_of(setting_.order.plan, "leasehold", 0))}) {}

  void live() {
    const bool ready = process_.await_ready();
    if (ready) setting_.order.plan.scripted ? follow_script() : work();
    flush();
    process_.caller_ended();
  }

 private:
  void work() {
    auto action = workload_.next(Workload::Started{}, random_);
    while (!workload_.ended() && process_.works()) {
      const auto happened = std::visit([&](const auto& now) { return perform(now); }, action);
      const bool between = std::holds_alternative<Workload::Rest>(action);
      action = workload_.next(happened, random_);
      // Between two acquires, because no acquire from here on has a short timeout.
      if (!between || !process_.healed() || std::exchange(knows_of_end_, true)) continue;
      (void)workload_.next(Workload::FaultsEnded{}, random_);
    }
  }

  /// Each step at its time. One that comes while an acquire is under way does not fit, and an
  /// acquire cannot be cancelled: both are left out. A holder answers what its user asks until its
  /// release.
  void follow_script() {
    constexpr std::int64_t kLate_ns = 50 * kNsPerMs;
    for (const StepPlan& step : setting_.order.steps) {
      if (step.caller != number_ || step.action == StepPlan::Action::cancel) continue;
      const auto at = setting_.order.began_ns + step.at_ms * kNsPerMs;
      if (process_.now() > at + kLate_ns) continue;
      if (!hold_until(at, true)) break;
      const bool holds = answers_ != nullptr;
      if (step.action == StepPlan::Action::acquire && !holds) {
        perform(Workload::Acquire{lock_name(step.lock), milliseconds(step.acquire_timeout_ms)});
      } else if (step.action == StepPlan::Action::write && holds) {
        perform(Workload::Write{});
      } else if (step.action == StepPlan::Action::release && holds) {
        perform(Workload::Release{});
      }
    }
    hold_until(kNever, true);
    if (answers_) perform(Workload::Release{});
  }

  /// True: the time has come; else faults are over, or the worker broke off before. Its user asks
  /// meanwhile.
  bool hold_until(std::int64_t end_ns, bool wakes_when_healed) {
    for (;;) {
      const auto now = process_.now();
      if (now >= end_ns) return true;
      const auto pause = std::min<nanoseconds>(kAskEvery, nanoseconds(end_ns - now));
      if (!process_.rest(pause, wakes_when_healed)) return false;
      ask();
      if (process_.healed()) return false;
    }
  }

  Workload::Event perform(const Workload::Rest& rest) {
    process_.rest(rest.time, true);
    return Workload::TimePassed{};
  }

  Workload::Event perform(const Workload::Acquire& acquire) {
    id_ = ++process_.ids;
    name_ = acquire.lock;
    const auto timeout_ms = std::min(acquire.timeout.count(), longest_wait_ms(setting_));
    Event asked = event(Kind::ask);
    asked.single_attempt = timeout_ms == 0;
    if (timeout_ms > 0) asked.give_up_ns = asked.at_ns + timeout_ms * kNsPerMs;
    asked.expiry_ms = setting_.order.plan.expiry_ms;
    asked.clock_margin_ms = setting_.order.clock_margin_ms;
    asked.healed = knows_of_end_;
    process_.emit(std::move(asked));
    const auto heard = process_.question(Dialogue::Question::acquire, id_,
                                         acquire_line(id_, name_, timeout_ms), timeout_ms);
    if (!heard) return Workload::NotGranted{};
    if (heard->answer.is != Answer::Is::granted) {
      Event e = event_at(Kind::ended, *heard);
      e.outcome = to_string(heard->answer.is);
      e.message = heard->answer.why;
      process_.emit(std::move(e));
      return Workload::NotGranted{};
    }
    emit_granted(*heard);
    ++process_.holdings;
    return Workload::Granted{static_cast<std::uint64_t>(id_)};
  }

  /// Its user may rely on it from the stamp on, or else from the question.
  void emit_granted(const ForeignProcess::Heard& heard) {
    Event e = event_at(Kind::granted, heard);
    e.token = token_ = heard.answer.token.value_or(0);
    if (heard.answer.remaining_ms) {
      e.deadline_ns =
          heard.answer.at_ns.value_or(heard.asked_ns) + *heard.answer.remaining_ms * kNsPerMs;
    }
    process_.emit(std::move(e));
    answers_ = std::make_unique<HeldAnswers>(process_.name(), id_, name_);
  }

  /// A lock that tells of its loss has to do so without being asked.
  Workload::Event perform(const Workload::Receive& receive) {
    relies_on_lost_ = receive.relies_on_lost && setting_.lock.promises.tells_loss;
    ask();
    return Workload::TimePassed{};
  }

  Workload::Event perform(const Workload::Write&) {
    ask();
    if (token_ > 0 && setting_.lock.promises.tokens == model::Promises::Tokens::rising) {
      write_fenced();
      ask();
    }
    return Workload::Written{};
  }

  /// Nothing is written for a worker that ended meanwhile.
  void write_fenced() {
    if (!resource_) resource_ = setting_.resource();
    Event e = event(Kind::write);
    e.sent_ns = e.at_ns;
    e.token = token_;
    if (!process_.works()) return;
    e.write_number = ++process_.writes;
    e.outcome = resource_->write({name_, process_.name(), e.write_number,
                                  process_.name() + "/" + std::to_string(id_),
                                  FencingToken(token_)});
    const auto answered = process_.now();
    e.at_ns = process_.stamp();
    if (e.at_ns < answered) e.outcome = "unknown";
    process_.emit(std::move(e));
  }

  Workload::Event perform(const Workload::Hold& hold) {
    hold_until(process_.now() + nanoseconds(hold.time).count(), false);
    return Workload::TimePassed{};
  }

  Workload::Event perform(const Workload::Release&) {
    ask();
    flush();
    process_.emit(event(Kind::release));
    const auto heard =
        process_.question(Dialogue::Question::release, id_, release_line(id_), 0);
    if (heard) {
      Event e = event_at(Kind::released, *heard);
      e.outcome = to_string(heard->answer.is);
      process_.emit(std::move(e));
    }
    --process_.holdings;
    return Workload::Released{};
  }

  /// What only scripted and doomed callers do.
  template <typename Other>
  Workload::Event perform(const Other&) {
    return Workload::TimePassed{};
  }

  /// A "held" was true at some time between its stamp, or else the question, and its arrival; after
  /// a "not_held" no more is asked.
  void ask() {
    if (!answers_ || answers_->said_no() || relies_on_lost_) return;
    const auto asked = process_.now();
    const auto heard = process_.question(Dialogue::Question::ask, id_, ask_line(id_), 0);
    if (!heard) return;
    answers_->add(heard->answer.is == Answer::Is::held, heard->answer.at_ns.value_or(asked),
                  heard->received_ns, [this](Event&& e) { process_.emit(std::move(e)); });
  }

  void flush() {
    if (!answers_) return;
    answers_->flush(process_.stamp(), [this](Event&& e) { process_.emit(std::move(e)); });
    answers_.reset();
  }

  [[nodiscard]] Event event(Kind kind) const { return process_.event(kind, id_, name_); }
  /// An event of what the worker said, stamped no later than when it was received.
  [[nodiscard]] Event event_at(Kind kind, const ForeignProcess::Heard& heard) const {
    Event e = event(kind);
    e.at_ns = std::min(e.at_ns, heard.received_ns);
    return e;
  }

  ForeignProcess& process_;
  const ForeignSetting& setting_;
  const int number_;
  Random random_;
  Workload workload_;
  std::int64_t id_ = 0;
  std::string name_;
  std::int64_t token_ = 0;
  bool knows_of_end_ = false;
  bool relies_on_lost_ = false;               ///< no `ask` during this holding
  std::shared_ptr<FencedResource> resource_;  ///< if the lock has tokens
  std::unique_ptr<HeldAnswers> answers_;
};

void live_as_caller(ForeignProcess& process, int number) { ForeignCaller(process, number).live(); }

}  // namespace

std::unique_ptr<LiveProcess> start_foreign(ForeignSetting setting,
                                           const std::function<void(pid_t)>& on_start,
                                           LiveProcess::Now now_ns, LiveProcess::Emit emit) {
  return std::make_unique<ForeignProcess>(std::move(setting), on_start, std::move(now_ns),
                                          std::move(emit));
}

}  // namespace leasehold::sim::live
