#include "sim/live/foreign/foreign_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "model/history/from_outside.hpp"
#include "sim/live/processes/live_processes.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;
using std::chrono::milliseconds;

constexpr std::int64_t kNsPerMs = 1'000'000;
/// A wait counts in slices: a time in which the laboratory did not run counts as one at most.
constexpr milliseconds kSlice{50};
constexpr std::int64_t kStartLimit_ms = 60'000;  ///< a virtual machine or an interpreter starts
constexpr std::size_t kLongestLine = 1 << 16;
constexpr std::size_t kMostShown = 200;  ///< of a line that has no end

/// The janitor knows it by the folder in its environment, because its command line is the user's.
std::vector<std::string> command_of(const ForeignSetting& setting, const MemberClock& clock) {
  return {"env", clock.preload(), clock.file_variable(), "sh", "-c", setting.command};
}

std::string file_of(const ForeignSetting& setting, const char* what) {
  return setting.folder + "/" + setting.order.process + what;
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

}  // namespace

ForeignProcess::ForeignProcess(const ForeignSetting& setting, Now now_ns, Emit emit)
    : setting_(setting),
      now_(std::move(now_ns)),
      emit_(std::move(emit)),
      clock_(file_of(setting_, ".clock")),
      child_(command_of(setting_, clock_), ChildProcess::Io::pipes, false,
             file_of(setting_, ".errors")),
      at_work_(setting_.workload.process.callers) {
  if (setting_.on_start) setting_.on_start(child_.pid());
  emit_(event(Kind::start));
  dialogue_.started(now_());
  child_.say(start_line(setting_.order));
  reader_ = std::jthread([this](const std::stop_token& stop) { read_answers(stop); });
}

/// So that no event of it stands after its end.
std::int64_t ForeignProcess::stamp() const { return std::min(now_(), ended_ns_.load()); }

Event ForeignProcess::event(Kind kind, std::int64_t session, const std::string& lock) const {
  return {.at_ns = stamp(),
          .kind = kind,
          .process = setting_.order.process,
          .session = session,
          .name = lock};
}

bool ForeignProcess::running() {
  const std::lock_guard guard(mutex_);
  return phase_ == Phase::works && !stopped_;
}

bool ForeignProcess::over() {
  const std::lock_guard guard(mutex_);
  return phase_ == Phase::over;
}

bool ForeignProcess::works() {
  const std::lock_guard guard(mutex_);
  return phase_ == Phase::works;
}

bool ForeignProcess::healed() {
  const std::lock_guard guard(mutex_);
  return healed_;
}

/// REQUIRES: the mutex is held. Only the first reason counts.
void ForeignProcess::break_off(const std::string& outcome, const std::string& why) {
  if (phase_ != Phase::starting && phase_ != Phase::works && phase_ != Phase::stopping) return;
  phase_ = Phase::broken;
  Event e = event(Kind::protocol);
  e.outcome = ready_ ? outcome : model::kNeverReady;
  e.message = ready_ || outcome == "hang" ? why : "it never said that it is ready: " + why;
  ended_ns_ = e.at_ns;
  emit_(std::move(e));
  changed_.notify_all();
}

void ForeignProcess::attend() {
  std::unique_lock guard(mutex_);
  if (phase_ == Phase::over) return;
  const bool may_end = phase_ == Phase::stopping;
  if (output_ended_ || (may_end && !child_.running())) return see_off(guard, may_end);
  if (may_end && now_() - stopping_since_ns_ > setting_.promises.answers_within_ms * kNsPerMs) {
    break_off("hang", "it did not end when asked to stop");
  }
  if (phase_ != Phase::broken) return;
  guard.unlock();
  kill();
}

/// It ended, or closed its standard output. REQUIRES: the guard holds the mutex.
void ForeignProcess::see_off(std::unique_lock<std::mutex>& guard, bool may_end) {
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

std::optional<std::int64_t> ForeignProcess::kill() {
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

void ForeignProcess::pause() {
  const std::lock_guard guard(mutex_);
  stopped_ = true;
  if (child_.running()) ::kill(-child_.pid(), SIGSTOP);
}

bool ForeignProcess::resume() {
  const std::lock_guard guard(mutex_);
  if (!std::exchange(stopped_, false)) return false;
  if (child_.running()) ::kill(-child_.pid(), SIGCONT);
  return true;
}

void ForeignProcess::set_wall_clock(std::int64_t offset_ms) {
  shown_before_ = clock_.times_shown();
  clock_.set(milliseconds(offset_ms));
}

bool ForeignProcess::saw_its_wall_clock() const { return clock_.times_shown() > shown_before_; }

void ForeignProcess::heal() {
  const std::lock_guard guard(mutex_);
  healed_ = true;
  changed_.notify_all();
}

void ForeignProcess::read_answers(const std::stop_token& stop) {
  LineReader lines;
  while (!stop.stop_requested()) {
    pollfd output{child_.out(), POLLIN, 0};
    if (poll(&output, 1, static_cast<int>(kSlice.count())) <= 0) continue;
    const bool came = lines.read_from(child_.out());
    if (!came && !lines.ended()) continue;
    const std::lock_guard guard(mutex_);
    if (!came) {
      output_ended_ = true;
      changed_.notify_all();
      return;
    }
    while (const auto line = lines.next()) hear(*line);
    unfinished_ = lines.rest(kMostShown);
    if (lines.waiting() > kLongestLine) {
      lines = {};
      break_off("line", "it said a line of more than 64 KiB");
    }
  }
}

/// REQUIRES: the mutex is held.
void ForeignProcess::hear(const std::string& line) {
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

/// Output without an end of line: its worker may have forgotten it. REQUIRES: the mutex is held.
std::string ForeignProcess::without_end() const {
  return unfinished_.empty() ? "" : "; it said, without the end of a line: " + unfinished_;
}

/// REQUIRES: the mutex is held. A loss was said after the lines before it, and so after their
/// questions.
void ForeignProcess::note_loss(const Heard& heard) {
  Event e = event(Kind::notified, heard.answer.id);
  e.sent_ns = heard.answer.at_ns.value_or(said_after_ns_);
  emit_(std::move(e));
}

bool ForeignProcess::await_ready() {
  std::unique_lock guard(mutex_);
  milliseconds waited{0};
  while (!ready_ && phase_ == Phase::starting) {
    changed_.wait_for(guard, kSlice);
    waited += stopped_ ? milliseconds(0) : kSlice;
    if (waited.count() > kStartLimit_ms) {
      break_off("hang", "it was not ready within 60 s" + without_end());
    }
  }
  if (phase_ == Phase::starting) phase_ = Phase::works;
  return phase_ == Phase::works;
}

/// It writes the question itself, so that no other caller's question comes between.
std::optional<ForeignProcess::Heard> ForeignProcess::question(Dialogue::Question kind,
                                                              std::int64_t id,
                                                              const std::string& line,
                                                              std::int64_t limit_ms) {
  std::unique_lock guard(mutex_);
  if (phase_ != Phase::works) return std::nullopt;
  const auto asked = now_();
  dialogue_.asked(kind, id, asked);
  asked_ns_[id] = asked;
  child_.say(line);
  const milliseconds limit(limit_ms + setting_.promises.answers_within_ms);
  for (milliseconds waited{0}; phase_ == Phase::works;) {
    const auto answer = heard_.extract(id);
    if (!answer.empty()) return answer.mapped();
    const auto before = now_();
    changed_.wait_for(guard, kSlice);
    const auto passed = std::min(milliseconds((now_() - before) / kNsPerMs + 1), kSlice);
    if (!stopped_ && !output_ended_) waited += passed;
    if (waited > limit) {
      break_off("hang", "it did not answer within " + std::to_string(limit.count()) +
                            " ms of running: " + line.substr(0, line.size() - 1) +
                            without_end());
    }
  }
  return std::nullopt;
}

void ForeignProcess::caller_ended() {
  const std::lock_guard guard(mutex_);
  if (--at_work_ > 0 || phase_ != Phase::works) return;
  phase_ = Phase::stopping;
  stopping_since_ns_ = now_();
  child_.say(stop_line());
}

bool ForeignProcess::rest(std::chrono::nanoseconds time, bool until_healed) {
  std::unique_lock guard(mutex_);
  changed_.wait_for(guard, time,
                    [&] { return phase_ != Phase::works || (until_healed && healed_); });
  return phase_ == Phase::works;
}

}  // namespace leasehold::sim::live
