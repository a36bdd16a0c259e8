#include "sim/live/processes/live_processes.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "sim/live/processes/worker_clock.hpp"
#include "sim/live/run/stall_watch.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;

constexpr int kReapLimit_ms = 5'000;  ///< from the end of its output to that of a process
/// malloc's caches of each thread are twenty times the memory in use and fill up for hours, which
/// would hide whether a process grows.
constexpr const char* kNoThreadCaches =
    "GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";

/// With the functions' names in a backtrace, which has a program's own functions as
/// "FILE(+0x1234)": the place at which each will go on. Without binutils it stays as it is.
std::string with_functions(const std::string& words) {
  static const std::regex place("(\\S+)\\(\\+0x([0-9a-f]+)\\)");
  std::string named;
  std::istringstream in(words);
  for (std::string line; std::getline(in, line); named += line + '\n') {
    std::smatch found;
    if (!std::regex_search(line, found, place)) continue;
    std::ostringstream call;
    call << "0x" << std::hex << std::stoull(found[2], nullptr, 16) - 1;
    try {
      ChildProcess names({"addr2line", "-Cfps", "-e", found[1], call.str()},
                         ChildProcess::Io::pipes);
      names.wait_ms(5'000);
      LineReader answer;
      while (answer.read_from(names.out())) {
      }
      if (const auto name = answer.next()) line = "  " + *name;
    } catch (const std::runtime_error&) {
      return words;
    }
  }
  return named;
}

/// Whether a process gets this signal for what it does. The others come from outside, as SIGKILL
/// from a kernel that is out of memory.
bool is_of_its_own(int signal) {
  return std::set{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}.contains(signal);
}

/// A process of the worker around our lock. One that ends unasked is an `exit` event.
class OwnProcess final : public LiveProcess {
 public:
  /// `file`: its order, beside which stand its standard error and what its clock leaves out.
  OwnProcess(WorkerConfig order, const std::string& file,
             const std::function<void(pid_t)>& on_start, Emit emit)
      : LiveProcess(order.name),
        emit_(std::move(emit)),
        doomed_(order.doomed),
        errors_(file + ".errors"),
        suspended_file_(file + ".suspended") {
    order.suspended_file = suspended_file_;
    std::ofstream(file) << nlohmann::json(order).dump();
    child_ = ChildProcess({"env", kNoThreadCaches, beside_this_program("leasehold-worker"), file},
                          ChildProcess::Io::pipes, false, errors_);
    on_start(child_.pid());
  }

  [[nodiscard]] bool running() override { return started_ && !done_ && !stopped_; }
  [[nodiscard]] bool holds() override { return !holding_.empty(); }
  [[nodiscard]] bool over() override { return done_; }
  [[nodiscard]] bool failed() override { return failed_; }

  [[nodiscard]] int out() override { return done_ ? -1 : child_.out(); }
  /// Reads once and not until nothing is left, because on a busy machine one process may write as
  /// fast as this one reads, and the others would wait for it.
  void attend() override {
    if (!done_) listen();
  }
  void heal() override {
    healed_ = true;
    child_.say("heal\n");
  }

  /// A machine on which that takes long stands still.
  bool kill() override {
    constexpr std::int64_t kSlowDeath_ns = 500'000'000;
    killed_ = child_.running();  // else the harness did not kill it
    const auto from_ns = boot_ns();
    child_.kill();
    const auto to_ns = boot_ns();
    if (to_ns - from_ns > kSlowDeath_ns) emit_(stall_of(model::kMachine, {from_ns, to_ns}));
    read_rest();
    if (!killed_) return false;
    done_ = true;
    holding_.clear();
    child_ = {};  // closes its pipes, because a run may have many successors
    emit_(event(Kind::crash));
    return true;
  }
  /// It was stopped and did not end.
  void end_by_force() override {
    killed_ = true;
    child_.kill();
    read_rest();
    Event e = event(Kind::exit);
    e.outcome = "did not end";
    e.message = last_words(errors_);
    emit_(std::move(e));
    failed_ = true;
  }

  void pause(bool suspends) override {
    Event e = event(Kind::pause);
    e.suspended = suspends;
    emit_(std::move(e));
    stopped_ = true;
    child_.send_signal(SIGSTOP);
    if (!suspends) return;
    until_true("stopping a process", [this] { return is_stopped(child_.pid()); });
    suspended_at_ = boot_ns();
  }
  void resume() override {
    if (!std::exchange(stopped_, false)) return;
    const auto from = std::exchange(suspended_at_, 0);
    if (from != 0) SuspendedTimes(suspended_file_).add({from, boot_ns() - from});
    child_.send_signal(SIGCONT);
    Event e = event(Kind::resume);
    e.suspended = from != 0;
    emit_(std::move(e));
  }
  void set_wall_clock(std::int64_t offset_ms) override {
    child_.say("wall " + std::to_string(offset_ms) + "\n");
  }

 private:
  [[nodiscard]] Event event(Kind kind) const {
    return {.at_ns = boot_ns(), .kind = kind, .process = name()};
  }

  /// Returns whether there was anything.
  bool listen() {
    const bool any = lines_.read_from(child_.out());
    while (const auto line = lines_.next()) hear(model::event_from_json(*line));
    if (lines_.ended()) output_ended();
    return any;
  }

  /// REQUIRES: it is dead.
  void read_rest() {
    while (listen()) {
    }
  }

  void hear(Event e) {
    if (e.kind == Kind::start) started_ = true;
    if (e.kind == Kind::granted) holding_.insert(e.session);
    if (e.kind == Kind::lost || e.kind == Kind::release) holding_.erase(e.session);
    emit_(std::move(e));
  }

  /// A process that ended by itself is in the history, with its last words.
  void output_ended() {
    done_ = true;
    holding_.clear();
    if (killed_) return;
    child_.wait_ms(kReapLimit_ms);
    child_.kill();
    const int status = child_.exit_status();
    const bool may_end = healed_ || doomed_;  // a doomed may have found no lock to take
    if (may_end && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    Event e = event(Kind::exit);
    tell_ending(e, status, errors_);
    if (!started_) e.outcome = "ended at its start";
    emit_(std::move(e));
    failed_ = true;
  }

  const Emit emit_;
  const bool doomed_;
  const std::string errors_;  ///< the file of its standard error
  const std::string suspended_file_;
  ChildProcess child_;
  LineReader lines_;
  std::set<std::int64_t> holding_;  ///< sessions granted and not over
  std::int64_t suspended_at_ = 0;   ///< while its machine is
  bool started_ = false;            ///< it said that it started
  bool stopped_ = false;
  bool healed_ = false;
  bool killed_ = false;  ///< by us
  bool done_ = false;    ///< its output ended
  bool failed_ = false;
};

}  // namespace

std::string last_words(const std::string& file) {
  constexpr std::size_t kMost = 8'000;  // both sides of a race
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto report = text.find("Sanitizer");
  if (report == std::string::npos) return text.substr(text.size() - std::min(text.size(), kMost));
  const auto line = text.rfind('\n', report);
  return text.substr(line == std::string::npos ? 0 : line + 1, kMost);
}

std::string doomed_name(int number) { return "grave" + std::to_string(number); }

void tell_ending(Event& e, int status, const std::string& words_file) {
  const bool by_signal = WIFSIGNALED(status);
  e.outcome = !by_signal ? "exited" : is_of_its_own(WTERMSIG(status)) ? "crashed" : "killed";
  (by_signal ? e.signal : e.exit_status) = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  e.message = with_functions(last_words(words_file));
}

void LiveProcesses::hand_over() {
  std::vector<Event> taken;
  {
    const std::lock_guard guard(mutex_);
    taken.swap(taken_);
  }
  for (Event& e : taken) emit_(std::move(e));
}

void LiveProcesses::start_all(std::int64_t began_ns, int doomed) {
  began_ns_ = began_ns;
  processes_.resize(plan_.processes.size());
  for (std::size_t i = 0; i < processes_.size(); ++i) start(i);
  for (int i = 0; i < doomed && !run_.foreign; ++i) {
    doomed_.push_back(begin(doomed_name(i), 0, true));
  }
}

void LiveProcesses::start(std::size_t place) {
  const auto name = "p" + std::to_string(place) + "." + std::to_string(++lives_[place]);
  if (processes_[place]) replaced_.push_back(std::move(processes_[place]));
  processes_[place] = begin(name, place, false);
}

std::unique_ptr<LiveProcess> LiveProcesses::begin(const std::string& name, std::size_t place,
                                                  bool doomed) {
  WorkerConfig order{.name = name,
                     .uri = store_.uri_for(name),
                     .database = run_.database,
                     .plan = plan_,
                     .doomed = doomed,
                     .began_ns = began_ns_};
  order.plan.seed = plan_.seed * 1'000'003 + ++seeds_;
  order.plan.processes = {plan_.processes[place]};
  order.plan.faults.clear();
  std::erase_if(order.plan.steps, [&](const StepPlan& step) {
    return step.process != static_cast<std::int64_t>(place);
  });
  for (StepPlan& step : order.plan.steps) step.process = 0;
  const auto began = [&](pid_t pid) {
    run_.janitor->watch(pid);
    store_.began(name, pid);
    if (run_.on_start) run_.on_start(pid);
  };
  const auto emit = [this](Event e) {
    const std::lock_guard guard(mutex_);
    taken_.push_back(std::move(e));
  };
  if (!run_.foreign) {
    const auto file = run_.folder + "/" + name + ".order";
    return std::make_unique<OwnProcess>(std::move(order), file, began, emit);
  }
  const bool named =
      std::ranges::any_of(plan_.faults, [](const FaultPlan& f) { return f.member >= 0; });
  order.plan.clock_margin_ms = named ? 0 : clock_margin_ms(plan_, run_);
  return start_foreign({std::move(order), *run_.foreign, run_.folder, store_}, began, emit);
}

void LiveProcesses::listen_ms(int limit_ms) {
  std::vector<pollfd> waits;
  std::vector<LiveProcess*> all;
  for (const auto* group : {&processes_, &doomed_}) {
    for (const auto& process : *group) {
      waits.push_back({process->out(), POLLIN, 0});  // if it is negative, nothing is waited for
      all.push_back(process.get());
    }
  }
  poll(waits.data(), waits.size(), limit_ms);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].fd < 0 || waits[i].revents != 0) all[i]->attend();
  }
  hand_over();
}

int LiveProcesses::kill_doomed() {
  return static_cast<int>(std::ranges::count_if(doomed_, [](const auto& one) {
    return one->holds() && one->kill();
  }));
}

void LiveProcesses::heal() {
  for (const auto& process : processes_) process->heal();
}

bool LiveProcesses::all_done() const {
  return std::ranges::all_of(processes_, [](const auto& p) { return p->over(); });
}

/// Waiters of a lock without hand-overs may be late without end.
void LiveProcesses::end_by_force() {
  for (const auto& process : processes_) {
    if (!process->over()) process->end_by_force();
  }
  for (const auto* all : {&processes_, &replaced_}) {
    for (const auto& process : *all) process->join();
  }
  hand_over();
}

bool LiveProcesses::somebody_died() const {
  const auto failed = [](const auto& process) { return process->failed(); };
  return std::ranges::any_of(processes_, failed) || std::ranges::any_of(doomed_, failed);
}

std::vector<ProcessView> LiveProcesses::running() {
  std::vector<ProcessView> views;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i]->running()) continue;
    views.push_back({.name = processes_[i]->name(),
                     .place = static_cast<std::int64_t>(i),
                     .holds = processes_[i]->holds(),
                     .scripted = plan_.processes[i].scripted});
  }
  return views;
}

LiveProcesses::Processes::iterator LiveProcesses::find(const std::string& name) {
  return std::ranges::find(processes_, name, &LiveProcess::name);
}

/// Null: it has a successor by now.
LiveProcess* LiveProcesses::named(const std::string& name) {
  const auto found = find(name);
  return found == processes_.end() ? nullptr : found->get();
}

bool LiveProcesses::kill(const std::string& name) { return named(name)->kill(); }

void LiveProcesses::start_successor(const std::string& name) {
  start(static_cast<std::size_t>(find(name) - processes_.begin()));
}

void LiveProcesses::set_wall_clock(const std::string& name, std::int64_t offset_ms) {
  if (auto* process = named(name)) process->set_wall_clock(offset_ms);
}

bool LiveProcesses::saw_its_wall_clock(const std::string& name) {
  auto* process = named(name);
  return process == nullptr ? !run_.foreign : process->saw_its_wall_clock();
}

void LiveProcesses::pause(const std::string& name, bool suspends) { named(name)->pause(suspends); }

void LiveProcesses::resume(const std::string& name) {
  if (auto* process = named(name)) process->resume();
}

}  // namespace leasehold::sim::live
