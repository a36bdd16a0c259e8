#include "sim/live/foreign_worker.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sim/live/live_processes.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;
using std::chrono::milliseconds;

constexpr std::int64_t kMs = 1'000'000;
constexpr milliseconds kAskEvery{5};
/// A wait counts in slices: of the time that the laboratory itself did not run, one at most.
constexpr milliseconds kSlice{50};
constexpr std::int64_t kStartLimit_ms = 60'000;  ///< a virtual machine or an interpreter starts
constexpr std::size_t kLongestLine = 1 << 16;

/// The janitor knows it by the folder in its environment: its command line is its own.
std::vector<std::string> command_of(const ForeignWorker::Setting& setting,
                                    const MemberClock& clock) {
  return {"env", MemberClock::preload(),   clock.file_variable(), "sh",
          "-c",  "exec " + setting.command};
}

/// Who waits so long for a lock that nobody has any more will wait for ever.
std::int64_t longest_wait_ms(const ForeignWorker::Setting& setting) {
  constexpr double kSpare_ms = 12'000;
  const auto& promised = setting.promises;
  const auto leases = promised.passes_on_leases.value_or(1);
  return promised.polls_within_ms +
         static_cast<std::int64_t>(leases * static_cast<double>(setting.order.lease_ms) +
                                   kSpare_ms);
}

std::string file_of(const ForeignWorker::Setting& setting, const char* what) {
  return setting.folder + "/" + setting.order.process + what;
}

}  // namespace

ForeignWorker::ForeignWorker(Setting setting, Now now_ns, Emit emit)
    : setting_(std::move(setting)),
      now_(std::move(now_ns)),
      emit_(std::move(emit)),
      clock_(file_of(setting_, ".clock")),
      child_(command_of(setting_, clock_), ChildProcess::Io::pipes, false,
             file_of(setting_, ".errors")) {
  emit_(event(Kind::start));
  dialogue_.started(now_());
  child_.say(start_line(setting_.order));
  at_work_ = setting_.workload.process.callers;
  reader_ = std::jthread([this](const std::stop_token& stop) { read_answers(stop); });
  for (int i = 0; i < setting_.workload.process.callers; ++i) {
    callers_.emplace_back([this, i] { live(i); });
  }
}

ForeignWorker::~ForeignWorker() {
  kill();
  callers_.clear();
}

/// So that nothing of it stands after its end.
std::int64_t ForeignWorker::stamp() const { return std::min(now_(), ended_ns_.load()); }

Event ForeignWorker::event(Kind kind, std::int64_t session, const std::string& lock) const {
  Event e;
  e.at_ns = stamp();
  e.kind = kind;
  e.process = setting_.order.process;
  e.session = session;
  e.name = lock;
  return e;
}

bool ForeignWorker::running() {
  const std::lock_guard guard(mutex_);
  return works() && !stopped_;
}

bool ForeignWorker::holds() {
  const std::lock_guard guard(mutex_);
  return holdings_ > 0;
}

bool ForeignWorker::over() {
  const std::lock_guard guard(mutex_);
  return phase_ == Phase::over;
}

/// REQUIRES: the mutex is held. Only the first reason counts.
void ForeignWorker::break_off(const std::string& outcome, const std::string& why) {
  if (phase_ != Phase::starting && phase_ != Phase::works && phase_ != Phase::stopping) return;
  phase_ = Phase::broken;
  Event e = event(Kind::protocol);
  e.outcome = outcome;
  e.message = why;
  ended_ns_ = e.at_ns;
  emit_(std::move(e));
  changed_.notify_all();
}

void ForeignWorker::attend() {
  std::unique_lock guard(mutex_);
  if (phase_ == Phase::over) return;
  const bool may_end = phase_ == Phase::stopping;
  if (output_ended_ || (may_end && !child_.running())) {
    guard.unlock();
    child_.wait_ms(2'000);
    const bool closed_only = child_.running();
    if (closed_only) ::kill(-child_.pid(), SIGKILL);
    child_.kill();
    guard.lock();
    const int status = child_.exit_status();
    if (!may_end || closed_only || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      Event told;
      tell_ending(told, status, file_of(setting_, ".errors"));
      break_off("ended", closed_only ? "it closed its standard output and went on"
                         : WIFSIGNALED(status)
                             ? "it was killed by signal " + std::to_string(told.signal) +
                                   ", and nobody had asked it to end: " + told.message.str()
                             : "it exited with status " + std::to_string(told.exit_status) +
                                   (may_end ? " when asked to stop: "
                                            : ", and nobody had asked it to end: ") +
                                   told.message.str());
    }
    phase_ = Phase::over;
    changed_.notify_all();
    return;
  }
  if (may_end && now_() - stopping_since_ns_ > setting_.promises.answers_within_ms * kMs) {
    break_off("hang", "it did not end when asked to stop");
  }
  if (phase_ != Phase::broken) return;
  guard.unlock();
  kill();
}

std::optional<std::int64_t> ForeignWorker::kill() {
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
  reader_ = {};
  return alive ? std::optional(at) : std::nullopt;
}

void ForeignWorker::pause() {
  const std::lock_guard guard(mutex_);
  stopped_ = true;
  if (child_.running()) ::kill(-child_.pid(), SIGSTOP);
}

bool ForeignWorker::resume() {
  const std::lock_guard guard(mutex_);
  if (!std::exchange(stopped_, false)) return false;
  if (child_.running()) ::kill(-child_.pid(), SIGCONT);
  return true;
}

void ForeignWorker::set_wall_clock(std::int64_t offset_ms) { clock_.set(milliseconds(offset_ms)); }

void ForeignWorker::heal() {
  const std::lock_guard guard(mutex_);
  healed_ = true;
  changed_.notify_all();
}

void ForeignWorker::read_answers(const std::stop_token& stop) {
  std::string rest;
  char buffer[1 << 12];
  while (!stop.stop_requested()) {
    pollfd output{child_.out(), POLLIN, 0};
    if (poll(&output, 1, static_cast<int>(kSlice.count())) <= 0) continue;
    const auto n = read(child_.out(), buffer, sizeof buffer);
    if (n < 0) continue;
    const std::lock_guard guard(mutex_);
    if (n == 0) {
      output_ended_ = true;
      changed_.notify_all();
      return;
    }
    rest.append(buffer, static_cast<std::size_t>(n));
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      hear(rest.substr(0, end));
      rest.erase(0, end + 1);
    }
    if (rest.size() > kLongestLine) {
      rest.clear();
      break_off("line", "it said a line of more than 64 KiB");
    }
  }
}

/// REQUIRES: the mutex is held.
void ForeignWorker::hear(const std::string& line) {
  if (phase_ == Phase::broken || phase_ == Phase::over) return;
  try {
    const auto answer = answer_from(line);
    const auto received = now_();
    dialogue_.heard(answer, received);
    if (answer.is == Answer::Is::ready) {
      ready_ = true;
    } else if (answer.is != Answer::Is::lost) {
      const auto asked = asked_ns_[answer.id];
      heard_[answer.id] = {answer, received, asked};
      said_after_ns_ = std::max(said_after_ns_, asked);
    } else {
      note_loss({answer, received});
    }
    changed_.notify_all();
  } catch (const std::runtime_error& error) {
    break_off("line", error.what());
  }
}

/// REQUIRES: the mutex is held. It was said after the lines before it, and so after their
/// questions.
void ForeignWorker::note_loss(const Heard& heard) {
  Event e = event(Kind::notified, heard.answer.id);
  e.sent_ns = heard.answer.at_ns.value_or(said_after_ns_);
  emit_(std::move(e));
}

bool ForeignWorker::await_ready() {
  std::unique_lock guard(mutex_);
  milliseconds waited{0};
  while (!ready_ && phase_ == Phase::starting) {
    changed_.wait_for(guard, kSlice);
    waited += stopped_ ? milliseconds(0) : kSlice;
    if (waited.count() > kStartLimit_ms) break_off("hang", "it was not ready within 60 s");
  }
  if (phase_ == Phase::starting) phase_ = Phase::works;
  return works();
}

/// The answer; nothing: there will be none. It writes the question itself, so that no question of
/// another caller stands between the two.
std::optional<ForeignWorker::Heard> ForeignWorker::question(Dialogue::Question kind,
                                                            std::int64_t id,
                                                            const std::string& line,
                                                            std::int64_t limit_ms) {
  std::unique_lock guard(mutex_);
  if (!works()) return std::nullopt;
  const auto asked = now_();
  dialogue_.asked(kind, id, asked);
  asked_ns_[id] = asked;
  child_.say(line);
  const milliseconds limit(limit_ms + setting_.promises.answers_within_ms);
  for (milliseconds waited{0}; works();) {
    const auto answer = heard_.extract(id);
    if (!answer.empty()) return answer.mapped();
    const auto before = now_();
    changed_.wait_for(guard, kSlice);
    const auto passed = std::min(milliseconds((now_() - before) / kMs + 1), kSlice);
    if (!stopped_ && !output_ended_) waited += passed;
    if (waited > limit) {
      break_off("hang", "it did not answer within " + std::to_string(limit.count()) +
                            " ms of running: " + line.substr(0, line.size() - 1));
    }
  }
  return std::nullopt;
}

void ForeignWorker::live(int number) {
  Caller caller{.random = Random(setting_.seed + static_cast<std::uint64_t>(number)),
                .workload = Workload(setting_.workload)};
  const bool ready = await_ready();
  if (ready && setting_.workload.process.scripted) follow_script(caller, number);
  if (ready && !setting_.workload.process.scripted) work(caller);
  flush(caller);
  const std::lock_guard guard(mutex_);
  if (--at_work_ > 0 || !works()) return;
  phase_ = Phase::stopping;
  stopping_since_ns_ = now_();
  child_.say(stop_line());
}

void ForeignWorker::work(Caller& caller) {
  auto action = caller.workload.next(Workload::Started{}, caller.random);
  while (!caller.workload.ended()) {
    {
      const std::lock_guard guard(mutex_);
      if (!works()) break;
    }
    auto happened = std::visit([&](const auto& now) { return perform(caller, now); }, action);
    const bool between = std::holds_alternative<Workload::Rest>(action);
    action = caller.workload.next(happened, caller.random);
    const std::lock_guard guard(mutex_);
    if (!between || !healed_ || std::exchange(caller.knows_of_end, true)) continue;
    (void)caller.workload.next(Workload::FaultsEnded{}, caller.random);
  }
}

/// Each step at its time. One that comes while an acquire is under way does not fit, and nobody can
/// cancel an acquire: both are left out. A holder answers what its user asks until its release.
void ForeignWorker::follow_script(Caller& caller, int number) {
  constexpr std::int64_t kLate_ns = 50 * kMs;
  for (const StepPlan& step : setting_.steps) {
    if (step.caller != number || step.action == StepPlan::Action::cancel) continue;
    const auto at = setting_.began_ns + step.at_ms * kMs;
    if (now_() > at + kLate_ns) continue;
    if (!hold_until(caller, at)) break;
    const bool holds = caller.answers != nullptr;
    if (step.action == StepPlan::Action::acquire && !holds) {
      const Workload::Acquire acquire{lock_name(step.lock),
                                      milliseconds(step.acquire_timeout_ms)};
      perform(caller, acquire);
    } else if (step.action == StepPlan::Action::write && holds) {
      perform(caller, Workload::Write{});
    } else if (step.action == StepPlan::Action::release && holds) {
      perform(caller, Workload::Release{});
    }
  }
  hold_until(caller, kNever);
  if (caller.answers) perform(caller, Workload::Release{});
}

/// Whether the time has come; else faults are over, or it broke off before.
bool ForeignWorker::hold_until(Caller& caller, std::int64_t end_ns) {
  for (;;) {
    if (now_() >= end_ns) return true;
    const auto left = std::chrono::nanoseconds(end_ns - now_());
    if (!rest(std::min<std::chrono::nanoseconds>(kAskEvery, left), true)) return false;
    ask(caller);
    const std::lock_guard guard(mutex_);
    if (healed_) return false;
  }
}

/// Whether the time passed; else it broke off before.
bool ForeignWorker::rest(std::chrono::nanoseconds time, bool until_healed) {
  std::unique_lock guard(mutex_);
  changed_.wait_for(guard, time, [&] { return !works() || (until_healed && healed_); });
  return works();
}

Workload::Event ForeignWorker::perform(Caller&, const Workload::Rest& pause) {
  rest(pause.time, true);
  return Workload::TimePassed{};
}

Workload::Event ForeignWorker::perform(Caller& caller, const Workload::Acquire& acquire) {
  {
    const std::lock_guard guard(mutex_);
    caller.id = ++ids_;
  }
  caller.name = acquire.lock;
  const auto timeout_ms = std::min(acquire.timeout.count(), longest_wait_ms(setting_));
  Event asked = event(Kind::ask, caller.id, caller.name);
  asked.single_attempt = timeout_ms == 0;
  if (timeout_ms > 0) asked.give_up_ns = asked.at_ns + timeout_ms * kMs;
  asked.expiry_ms = setting_.order.lease_ms;
  asked.healed = caller.knows_of_end;
  emit_(std::move(asked));
  const auto heard = question(Dialogue::Question::acquire, caller.id,
                              acquire_line(caller.id, caller.name, timeout_ms), timeout_ms);
  if (!heard) return Workload::NotGranted{};
  if (heard->answer.is != Answer::Is::granted) {
    emit_ended(caller, *heard);
    return Workload::NotGranted{};
  }
  emit_granted(caller, *heard);
  const std::lock_guard guard(mutex_);
  ++holdings_;
  return Workload::Granted{static_cast<std::uint64_t>(caller.id)};
}

/// Its user may rely on it from the stamp on, or else from the question.
void ForeignWorker::emit_granted(Caller& caller, const Heard& heard) {
  Event e = event(Kind::granted, caller.id, caller.name);
  e.at_ns = std::min(e.at_ns, heard.received_ns);
  e.token = caller.token = heard.answer.token.value_or(0);
  if (heard.answer.remaining_ms) {
    e.deadline_ns = heard.answer.at_ns.value_or(heard.asked_ns) + *heard.answer.remaining_ms * kMs;
  }
  emit_(std::move(e));
  caller.answers = std::make_unique<HeldAnswers>(setting_.order.process, caller.id, caller.name);
}

void ForeignWorker::emit_ended(const Caller& caller, const Heard& heard) {
  Event e = event(Kind::ended, caller.id, caller.name);
  e.at_ns = std::min(e.at_ns, heard.received_ns);
  e.outcome = to_string(heard.answer.is);
  e.message = heard.answer.why;
  emit_(std::move(e));
}

/// A lock that says when it is lost has to do so without being asked.
Workload::Event ForeignWorker::perform(Caller& caller, const Workload::Receive& receive) {
  caller.relies_on_lost = receive.relies_on_lost && setting_.promises.tells_loss;
  ask(caller);
  return Workload::TimePassed{};
}

Workload::Event ForeignWorker::perform(Caller& caller, const Workload::Write&) {
  ask(caller);
  if (caller.token > 0 && setting_.promises.tokens == model::Promises::Tokens::rising) {
    write_fenced(caller);
    ask(caller);
  }
  return Workload::Written{};
}

/// Whose worker ended meanwhile knows nothing of it.
void ForeignWorker::write_fenced(Caller& caller) {
  if (!caller.resource) {
    const auto* const limits = "socketTimeoutMS=3000&serverSelectionTimeoutMS=3000";
    caller.resource = std::make_unique<FencedResource>(with_option(setting_.order.uri, limits),
                                                       setting_.order.database);
  }
  Event e = event(Kind::write, caller.id, caller.name);
  e.sent_ns = e.at_ns;
  e.token = caller.token;
  {
    const std::lock_guard guard(mutex_);
    if (!works()) return;
    e.write_number = ++writes_;
  }
  e.outcome = caller.resource->write({caller.name, setting_.order.process, e.write_number,
                                      setting_.order.process + "/" + std::to_string(caller.id),
                                      FencingToken(caller.token)});
  e.at_ns = now_();
  if (e.at_ns > ended_ns_) {
    e.at_ns = ended_ns_;
    e.outcome = "unknown";
  }
  emit_(std::move(e));
}

Workload::Event ForeignWorker::perform(Caller& caller, const Workload::Hold& hold) {
  const auto end = now_() + std::chrono::nanoseconds(hold.time).count();
  while (now_() < end &&
         rest(std::min<std::chrono::nanoseconds>(kAskEvery, std::chrono::nanoseconds(end - now_())),
              false)) {
    ask(caller);
    const std::lock_guard guard(mutex_);
    if (healed_) break;
  }
  return Workload::TimePassed{};
}

Workload::Event ForeignWorker::perform(Caller& caller, const Workload::Release&) {
  ask(caller);
  flush(caller);
  emit_(event(Kind::release, caller.id, caller.name));
  const auto heard = question(Dialogue::Question::release, caller.id, release_line(caller.id), 0);
  if (heard) {
    Event e = event(Kind::released, caller.id, caller.name);
    e.at_ns = std::min(e.at_ns, heard->received_ns);
    e.outcome = to_string(heard->answer.is);
    emit_(std::move(e));
  }
  const std::lock_guard guard(mutex_);
  --holdings_;
  return Workload::Released{};
}

/// A "held" was true somewhere from its stamp, or else from the question, until it arrived; after a
/// "not_held" it is asked no more.
void ForeignWorker::ask(Caller& caller) {
  if (!caller.answers || caller.answers->said_no() || caller.relies_on_lost) return;
  const auto asked = now_();
  const auto heard = question(Dialogue::Question::ask, caller.id, ask_line(caller.id), 0);
  if (!heard) return;
  caller.answers->add(heard->answer.is == Answer::Is::held, heard->answer.at_ns.value_or(asked),
                      heard->received_ns, [this](Event&& e) { emit_(std::move(e)); });
}

void ForeignWorker::flush(Caller& caller) {
  if (!caller.answers) return;
  caller.answers->flush(stamp(), [this](Event&& e) { emit_(std::move(e)); });
  caller.answers.reset();
}

}  // namespace leasehold::sim::live
