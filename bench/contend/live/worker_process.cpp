#include "bench/contend/live/worker_process.hpp"

#include <poll.h>

#include <stdexcept>

#include "bench/boot_clock.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::bench {

using sim::live::Answer;
using sim::live::ChildProcess;
using sim::live::Dialogue;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kToAnswer{10'000};  ///< beyond the time that a question asks for

}  // namespace

WorkerProcess::WorkerProcess(const std::string& command, const sim::live::StartOrder& order)
    : child_({"sh", "-c", "exec " + command}, ChildProcess::Io::pipes) {
  dialogue_.started(boot_ns());
  child_.say(start_line(order));
  reader_ = std::jthread([this](const std::stop_token& stop) { read(stop); });
}

void WorkerProcess::await_ready(milliseconds limit) { (void)answer_to(0, limit); }

WorkerProcess::Acquired WorkerProcess::acquire(const std::string& name, milliseconds timeout) {
  std::int64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++ids_;
  }
  ask(Dialogue::Question::acquire, id, sim::live::acquire_line(id, name, timeout.count()));
  return {id, answer_to(id, timeout + kToAnswer)};
}

Answer WorkerProcess::release(std::int64_t id) {
  ask(Dialogue::Question::release, id, sim::live::release_line(id));
  return answer_to(id, kToAnswer);
}

void WorkerProcess::ask(Dialogue::Question question, std::int64_t id, const std::string& line) {
  const std::lock_guard lock(mutex_);
  if (!error_.empty()) throw std::runtime_error(error_);
  dialogue_.asked(question, id, boot_ns());
  child_.say(line);
}

Answer WorkerProcess::answer_to(std::int64_t id, milliseconds limit) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return answers_.contains(id) || !error_.empty(); };
  const bool in_time = changed_.wait_for(lock, limit, is_over);
  if (!error_.empty()) throw std::runtime_error(error_);
  if (!in_time) throw std::runtime_error("the worker did not answer in time");
  return answers_.extract(id).mapped();
}

void WorkerProcess::read(const std::stop_token& stop) {
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
void WorkerProcess::hear(const std::string& line) {
  try {
    const auto answer = sim::live::answer_from(line);
    const std::lock_guard lock(mutex_);
    dialogue_.heard(answer, boot_ns());
    if (answer.is != Answer::Is::lost) answers_[answer.id] = answer;
    changed_.notify_all();
  } catch (const std::runtime_error& wrong) {
    fail(wrong.what());
  }
}

void WorkerProcess::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (error_.empty()) error_ = why;
  changed_.notify_all();
}

}  // namespace leasehold::bench
