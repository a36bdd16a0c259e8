#include "sim/live/processes/live_processes.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <utility>

#include "sim/live/processes/worker_clock.hpp"
#include "sim/live/run/stall_watch.hpp"
#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;

constexpr const char* kDoomed = "grave";
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

std::string doomed_name(int number) { return kDoomed + std::to_string(number); }

void tell_ending(Event& e, int status, const std::string& words_file) {
  const bool by_signal = WIFSIGNALED(status);
  e.outcome = !by_signal ? "exited" : is_of_its_own(WTERMSIG(status)) ? "crashed" : "killed";
  (by_signal ? e.signal : e.exit_status) = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  e.message = with_functions(last_words(words_file));
}

Event exit_of_member(std::int64_t at_ns, int member, int status, const std::string& log_file) {
  Event e{.at_ns = at_ns, .kind = Kind::exit, .victim = member_name(member)};
  tell_ending(e, status, log_file);
  return e;
}

void LiveProcesses::start_all(std::int64_t began_ns, int doomed) {
  began_ns_ = began_ns;
  actors_.resize(plan_.processes.size());
  for (std::size_t i = 0; i < actors_.size(); ++i) start(i);
  for (int i = 0; i < doomed; ++i) start_doomed(i);
}

void LiveProcesses::listen_ms(int limit_ms) {
  std::vector<pollfd> waits;
  std::vector<Actor*> speakers;
  for (auto* group : {&actors_, &doomed_}) {
    for (Actor& actor : *group) {
      if (actor.done || actor.child.out() < 0) continue;
      waits.push_back({actor.child.out(), POLLIN, 0});
      speakers.push_back(&actor);
    }
  }
  poll(waits.data(), waits.size(), limit_ms);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].revents != 0) listen(*speakers[i]);
  }
}

int LiveProcesses::kill_doomed() {
  return static_cast<int>(std::count_if(doomed_.begin(), doomed_.end(), [this](Actor& one) {
    return !one.holding.empty() && crash(one);
  }));
}

void LiveProcesses::heal() {
  healed_ = true;
  for (Actor& actor : actors_) actor.child.say("heal\n");
}

bool LiveProcesses::all_done() const {
  return std::all_of(actors_.begin(), actors_.end(), [](const Actor& a) { return a.done; });
}

void LiveProcesses::end_by_force() {
  for (Actor& actor : actors_) {
    if (!actor.done) end_by_force(actor);
  }
}

LiveProcesses::Actor LiveProcesses::spawn(WorkerConfig order) {
  const std::string file = run_.folder + "/" + order.name + ".order";
  order.suspended_file = file + ".suspended";
  std::ofstream(file) << to_json(order);
  Actor actor;
  actor.name = order.name;
  actor.errors = file + ".errors";
  actor.suspended_file = order.suspended_file;
  actor.child =
      ChildProcess({"env", kNoThreadCaches, beside_this_program("leasehold-worker"), file},
                   ChildProcess::Io::pipes, false, actor.errors);
  run_.janitor->watch(actor.child.pid());
  if (run_.on_start) run_.on_start(actor.child.pid());
  return actor;
}

WorkerConfig LiveProcesses::order_for(const std::string& name, const ProcessPlan& plan) {
  WorkerConfig order;
  order.name = name;
  order.uri = run_.store.uri;
  order.database = run_.database;
  order.lock = plan_.lock;
  order.locks = plan_.locks;
  order.clock_margin_ms = plan_.clock_margin_ms;
  order.seed = next_seed();
  order.plan = plan;
  return order;
}

void LiveProcesses::start(std::size_t i) {
  auto order = order_for(next_name(i), plan_.processes[i]);
  order.steps = steps_of(i);
  order.began_ns = began_ns_;
  actors_[i] = spawn(order);
}

/// A process that takes a lock that no other process wants, and dies with it: its document is for
/// the TTL monitor.
void LiveProcesses::start_doomed(int i) {
  auto order = order_for(doomed_name(i), plan_.processes[0]);
  order.doomed = true;
  doomed_.push_back(spawn(order));
}

/// Reads once and not until nothing is left, because on a busy machine one process may write as
/// fast as this one reads, and the others would wait for it. Returns whether there was anything.
bool LiveProcesses::listen(Actor& actor) {
  const bool any = actor.lines.read_from(actor.child.out());
  while (const auto line = actor.lines.next()) hear(actor, model::event_from_json(*line));
  if (actor.lines.ended()) output_ended(actor);
  return any;
}

/// REQUIRES: it is dead.
void LiveProcesses::read_rest(Actor& actor) {
  while (listen(actor)) {
  }
}

/// Its output ended. A process that ended by itself is in the history, with its last words.
void LiveProcesses::output_ended(Actor& actor) {
  actor.done = true;
  actor.holding.clear();
  if (actor.killed) return;
  actor.child.wait_ms(kReapLimit_ms);
  actor.child.kill();
  const int status = actor.child.exit_status();
  const bool may_end = healed_ || actor.is_doomed();  // a doomed may have found no lock to take
  if (may_end && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  Event e = event(Kind::exit, actor.name);
  tell_ending(e, status, actor.errors);
  if (!actor.started) e.outcome = "ended at its start";
  emit_(std::move(e));
  somebody_died_ = true;
}

void LiveProcesses::hear(Actor& actor, Event e) {
  switch (e.kind) {
    case Kind::start: actor.started = true; break;
    case Kind::granted: actor.holding.insert(e.session); break;
    case Kind::lost:
    case Kind::release: actor.holding.erase(e.session); break;
    default: break;
  }
  emit_(std::move(e));
}

std::vector<ProcessView> LiveProcesses::running() {
  std::vector<ProcessView> views;
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    const Actor& actor = actors_[i];
    if (!actor.started || actor.done || actor.stopped) continue;
    views.push_back({.name = actor.name,
                     .place = static_cast<std::int64_t>(i),
                     .holds = !actor.holding.empty(),
                     .scripted = plan_.processes[i].scripted});
  }
  return views;
}

/// Null: it has a successor by now.
LiveProcesses::Actor* LiveProcesses::named(const std::string& name) {
  const auto found =
      std::find_if(actors_.begin(), actors_.end(), [&](const Actor& a) { return a.name == name; });
  return found == actors_.end() ? nullptr : &*found;
}

bool LiveProcesses::kill(const std::string& name) { return crash(*named(name)); }

void LiveProcesses::start_successor(const std::string& name) {
  start(static_cast<std::size_t>(named(name) - actors_.data()));
}

void LiveProcesses::set_wall_clock(const std::string& name, std::int64_t offset_ms) {
  if (Actor* actor = named(name)) actor->child.say("wall " + std::to_string(offset_ms) + "\n");
}

/// Kills the process; it is certainly dead when the event is written. A machine on which that takes
/// long stands still.
bool LiveProcesses::crash(Actor& actor) {
  constexpr std::int64_t kSlowDeath_ns = 500'000'000;
  actor.killed = actor.child.running();  // else the harness did not kill it
  const auto from_ns = now_();
  actor.child.kill();
  const auto to_ns = now_();
  if (to_ns - from_ns > kSlowDeath_ns) emit_(stall_of(model::kMachine, {from_ns, to_ns}));
  read_rest(actor);
  if (!actor.killed) return false;
  emit_(event(Kind::crash, actor.name));
  actor.done = true;
  actor.holding.clear();
  return true;
}

void LiveProcesses::pause(const std::string& name, bool suspends) {
  Actor& actor = *named(name);
  Event e = event(Kind::pause, name);
  e.suspended = suspends;
  emit_(std::move(e));
  actor.stopped = true;
  actor.child.send_signal(SIGSTOP);
  if (!suspends) return;
  until_true("stopping a process", [&] { return is_stopped(actor.child.pid()); });
  actor.suspended_at = now_();
}

void LiveProcesses::resume(const std::string& name) {
  Actor* actor = named(name);
  if (actor == nullptr || !std::exchange(actor->stopped, false)) return;
  Event e = event(Kind::resume, name);
  if (const auto from = std::exchange(actor->suspended_at, 0); from != 0) {
    SuspendedTimes(actor->suspended_file).add({from, now_() - from});
    e.suspended = true;
  }
  actor->child.send_signal(SIGCONT);
  e.at_ns = now_();
  emit_(std::move(e));
}

/// It was stopped and did not end.
void LiveProcesses::end_by_force(Actor& actor) {
  actor.killed = true;
  actor.child.kill();
  read_rest(actor);
  Event e = event(Kind::exit, actor.name);
  e.outcome = "did not end";
  e.message = last_words(actor.errors);
  emit_(std::move(e));
  somebody_died_ = true;
}

}  // namespace leasehold::sim::live
