#include "sim/live/harness.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/clock.hpp"
#include "sim/fault_injector.hpp"
#include "sim/live/attribute_writes.hpp"
#include "sim/live/oplog.hpp"
#include "sim/live/real_servers.hpp"
#include "sim/live/resource.hpp"
#include "sim/live/stall_watch.hpp"
#include "sim/live/suspended_times.hpp"
#include "sim/live/worker.hpp"
#include "sim/lock_registry.hpp"
#include "sim/recorder.hpp"

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kStartUp = 300 * kMs;  ///< until the processes run
/// Two waits of a minute for each caller, twice over: where servers are slower than the operation
/// timeouts, they all time out.
constexpr std::int64_t kHealLimit = 240'000 * kMs;
constexpr std::int64_t kTtlSlack = 2'500 * kMs;  ///< the monitor's own work, and our reading of it
// What the checkers allow this world.
constexpr std::int64_t kLateness = 400 * kMs;    ///< of a process on a busy machine
constexpr std::int64_t kTruthLag = 1'000 * kMs;  ///< from a commit to our reading of it
constexpr std::int64_t kFaultEcho_ms = 3'000;    ///< servers are busy with a fault for so long
constexpr int kGraves = 2;
constexpr const char* kDoomed = "grave";
constexpr const char* kMachine = "machine";
constexpr int kReapLimit_ms = 5'000;  ///< from the end of its output to that of a process
/// What malloc keeps for each thread is twenty times what is in use and fills up for hours: that
/// would hide whether a process grows.
constexpr const char* kNoThreadCaches =
    "GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";

/// A simulated process as the harness sees it.
struct Actor {
  std::string name;
  ChildProcess child;
  std::string rest;                ///< an unfinished line
  std::set<std::int64_t> holding;  ///< sessions granted and not over
  bool stopped = false;
  std::int64_t suspended_at = 0;  ///< while its machine is
  std::string errors;             ///< the file of its standard error
  std::string suspended_file;     ///< what its clock leaves out
  bool started = false;           ///< it said so
  bool killed = false;            ///< by us
  bool done = false;              ///< its output ended
  [[nodiscard]] bool is_doomed() const { return name.starts_with(kDoomed); }
};

/// The end of a text file, from a sanitizer's report on if there is one.
std::string last_words(const std::string& file) {
  constexpr std::size_t kMost = 8'000;  // both sides of a race
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto report = text.find("Sanitizer");
  if (report == std::string::npos) return text.substr(text.size() - std::min(text.size(), kMost));
  const auto line = text.rfind('\n', report);
  return text.substr(line == std::string::npos ? 0 : line + 1, kMost);
}

/// `status` is waitpid(2)'s.
void tell_ending(Event& e, int status, const std::string& words_file) {
  const bool by_signal = WIFSIGNALED(status);
  e.outcome = by_signal ? "killed" : "exited";
  (by_signal ? e.signal : e.exit_status) = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  e.message = last_words(words_file);
}

class Harness final : ProcessControl {
 public:
  Harness(const Plan& plan, const LiveRun& run)
      : plan_(plan),
        run_(run),
        clock_(runtime::boottime_clock()),
        oplog_(run.uri, run.database, lock_under_test(plan.lock).collection(), kResourceCollection,
               [this] { return now(); }),
        began_(now()) {
    if (run.servers != nullptr) {
      servers_.emplace(*run.servers, run.database + "." + lock_under_test(plan.lock).collection());
    }
    faults_.emplace(
        ClusterControl{
            .processes = *this,
            .servers = servers_ ? &*servers_ : nullptr,
            .now_ns = [this] { return now(); },
            .call_at = [this](std::int64_t at, auto call) { calls_.emplace(at, std::move(call)); },
            .emit = [this](Event e) { keep(std::move(e)); },
            .count_effect = [this](FaultPlan::Kind kind) { ++progress_.faults[to_string(kind)]; },
            .insist = [](const std::string& what,
                         const auto& attempt) { until_true(what, attempt); }},
        plan.clock_margin_ms);
  }

  RunResult go() {
    Event header = event(Kind::run);
    header.lock = plan_.lock;
    header.live = true;
    header.seed = plan_.seed;
    header.ttl_period_ms = run_.ttl_period_ms;
    header.lateness_ns = kLateness;
    header.truth_lag_ns = kTruthLag;
    header.fault_echo_ms = kFaultEcho_ms;
    keep(header);
    prepare();
    phase_ = "faults";
    inject_until(began_ + kStartUp + plan_.faulty_ms * kMs);
    heal();
    wait_for_graves();
    read_truth_to_its_end();
    take_stalls();
    keep(event(Kind::finish));
    model::sort_by_time(history_);
    put_ends_last();
    if (lock_under_test(plan_.lock).is_published()) attribute_writes(history_);
    return {std::move(history_), std::move(progress_.faults), now() - began_};
  }

 private:
  std::int64_t now() const { return clock_->now().time_since_epoch().count(); }

  Event event(Kind kind, const std::string& process = "") const {
    Event e;
    e.at_ns = now();
    e.kind = kind;
    e.process = process;
    return e;
  }

  void keep(Event e) { history_.push_back(std::move(e)); }

  void prepare() {
    std::vector<std::string> names;
    for (int i = 0; i < plan_.locks; ++i) names.push_back(lock_name(i));
    FencedResource(run_.uri, run_.database).create(names);
    // A story tells who is primary at its beginning.
    if (is_scripted(plan_) && run_.servers != nullptr) run_.servers->step_up(0);
    began_ = now();
    actors_.resize(plan_.processes.size());
    for (std::size_t i = 0; i < actors_.size(); ++i) start(i);
    for (int i = 0; i < kGraves && !is_scripted(plan_); ++i) start_grave(i);
  }

  Actor spawn(WorkerConfig order) {
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

  WorkerConfig order_for(const std::string& name, const ProcessPlan& plan) {
    WorkerConfig order;
    order.name = name;
    order.uri = run_.uri;
    order.database = run_.database;
    order.lock = plan_.lock;
    order.locks = plan_.locks;
    order.clock_margin_ms = plan_.clock_margin_ms;
    order.seed = plan_.seed * 1'000'003 + ++seeds_;
    order.plan = plan;
    return order;
  }

  void start(std::size_t i) {
    const auto name = "p" + std::to_string(i) + "." + std::to_string(++lives_[i]);
    auto order = order_for(name, plan_.processes[i]);
    std::copy_if(plan_.steps.begin(), plan_.steps.end(), std::back_inserter(order.steps),
                 [i](const StepPlan& s) { return s.process == static_cast<std::int64_t>(i); });
    order.began_ns = began_ + kStartUp;
    actors_[i] = spawn(order);
  }

  /// A process that takes a lock which nobody else wants, and dies with it: its document is for the
  /// TTL monitor.
  void start_grave(int i) {
    auto order = order_for(kDoomed + std::to_string(i), plan_.processes[0]);
    order.doomed = true;
    doomed_.push_back(spawn(order));
  }

  void inject_until(std::int64_t end) {
    std::size_t next = 0;
    while (now() < end && !stopping() && !somebody_died_) {
      const auto elapsed = (now() - began_ - kStartUp) / kMs;
      while (next < plan_.faults.size() && plan_.faults[next].at_ms <= elapsed) {
        inject(plan_.faults[next++]);
      }
      turn();
    }
  }

  bool stopping() const { return run_.stop && run_.stop(); }

  /// Reads what the processes say, wakes who slept enough, reports progress.
  void turn() {
    std::vector<pollfd> waits;
    std::vector<Actor*> speakers;
    for (auto* group : {&actors_, &doomed_}) {
      for (Actor& actor : *group) {
        if (actor.done || actor.child.out() < 0) continue;
        waits.push_back({actor.child.out(), POLLIN, 0});
        speakers.push_back(&actor);
      }
    }
    poll(waits.data(), waits.size(), 10);
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents != 0) listen(*speakers[i]);
    }
    for (Actor& doomed : doomed_) {
      if (!doomed.holding.empty() && crash(doomed)) ++progress_.faults[kDoomed];
    }
    look_at_members();
    make_calls();
    take_truth();
    report();
  }

  void listen(Actor& actor) {
    char buffer[1 << 16];
    for (;;) {
      const auto n = read(actor.child.out(), buffer, sizeof buffer);
      if (n == 0) kill_doomed(actor);
      if (n <= 0) return;
      actor.rest.append(buffer, static_cast<std::size_t>(n));
      std::size_t from = 0;
      for (auto end = actor.rest.find('\n'); end != std::string::npos;
           end = actor.rest.find('\n', from)) {
        hear(actor, model::event_from_json(actor.rest.substr(from, end - from)));
        from = end + 1;
      }
      actor.rest.erase(0, from);
    }
  }

  /// Its output ended. Who was not stopped by the harness is in the history, with its last words.
  void kill_doomed(Actor& actor) {
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
    keep(std::move(e));
    somebody_died_ = true;
  }

  /// Of members, only those that a fault killed may be dead.
  void look_at_members() {
    for (int i = 0; run_.servers != nullptr && i < run_.servers->size(); ++i) {
      Mongod& member = run_.servers->mongod(i);
      if (!member.died()) continue;
      Event e = event(Kind::exit);
      e.victim = member_name(i);
      tell_ending(e, member.exit_status(), member.log_file());
      keep(std::move(e));
      somebody_died_ = true;
    }
  }

  /// So that the rest of the run can be distinguished from what is dead.
  void restart_members() {
    for (int i = 0; somebody_died_ && run_.servers != nullptr && i < run_.servers->size(); ++i) {
      run_.servers->mongod(i).restart();
    }
  }

  void hear(Actor& actor, Event e) {
    switch (e.kind) {
      case Kind::start: actor.started = true; break;
      case Kind::granted:
        actor.holding.insert(e.session);
        ++progress_.acquisitions;
        break;
      case Kind::lost: ++progress_.losses; [[fallthrough]];
      case Kind::release: actor.holding.erase(e.session); break;
      default: break;
    }
    keep(std::move(e));
  }

  void report() {
    if (!run_.on_progress || now() - reported_ < 200 * kMs) return;
    reported_ = now();
    progress_.elapsed_s = static_cast<double>(now() - began_) / 1e9;
    progress_.phase = phase_;
    run_.on_progress(progress_);
  }

  void take_truth() {
    auto truth = oplog_.take();
    history_.insert(history_.end(), std::make_move_iterator(truth.begin()),
                    std::make_move_iterator(truth.end()));
  }

  void read_truth_to_its_end() {
    const bool read = oplog_.catch_up();
    auto again = oplog_.read_again();
    take_truth();
    if (!read) {
      again.push_back(event(Kind::reread));
      again.back().outcome = "unread";
      again.back().message = "no primary showed its oplog within 30 s of the end";
    }
    history_.insert(history_.end(), std::make_move_iterator(again.begin()),
                    std::make_move_iterator(again.end()));
  }

  std::vector<StallWatch::Member> watched_members() const {
    std::vector<StallWatch::Member> members;
    for (int i = 0; run_.servers != nullptr && i < run_.servers->size(); ++i) {
      members.push_back({member_name(i), run_.servers->mongod(i).port()});
    }
    return members;
  }

  /// A member that we stopped or killed did not stall.
  void take_stalls() {
    const auto ours = times_of_members_away();
    for (auto& stall : stalls_.take()) {
      const auto is_ours = [&](const Away& a) {
        return (a.member.empty() || a.member == stall.name) && stall.name != kMachine &&
               a.from_ns < stall.at_ns && stall.from_ns < a.to_ns;
      };
      const bool in_the_run = stall.at_ns > history_.front().at_ns;
      if (in_the_run && std::none_of(ours.begin(), ours.end(), is_ours)) keep(std::move(stall));
    }
  }

  struct Away {
    std::string member;  ///< empty: any, for members are started anew while we heal
    std::int64_t from_ns, to_ns;
  };
  std::vector<Away> times_of_members_away() const {
    std::vector<Away> all{{"", healing_from_, healing_to_}};
    for (const Event& e : history_) {
      const auto kind = e.kind == Kind::fault ? fault_named(e.fault) : std::nullopt;
      if (!kind || !takes_members(*kind)) continue;
      if (e.begins) all.push_back({e.victim, e.at_ns, now()});
      for (Away& a : all) {
        if (e.ends && a.member == e.victim) a.to_ns = std::min(a.to_ns, e.at_ns);
      }
    }
    return all;
  }

  /// Those that are due. One may ask for another.
  void make_calls() {
    while (!calls_.empty() && calls_.begin()->first <= now()) {
      const auto due = calls_.extract(calls_.begin());
      due.mapped()();
    }
  }

  std::vector<ProcessView> running() override {
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
  Actor* named(const std::string& name) {
    const auto found = std::find_if(actors_.begin(), actors_.end(),
                                    [&](const Actor& a) { return a.name == name; });
    return found == actors_.end() ? nullptr : &*found;
  }

  /// Servers in trouble may have no answer for us; then the fault does not take effect.
  void inject(const FaultPlan& fault) {
    try {
      faults_->inject(fault);
    } catch (const std::exception&) {
      ++progress_.faults["not-injected"];
    }
  }

  bool kill(const std::string& name) override { return crash(*named(name)); }

  void start_successor(const std::string& name) override {
    start(static_cast<std::size_t>(named(name) - actors_.data()));
  }

  void set_wall_clock(const std::string& name, std::int64_t offset_ms) override {
    if (Actor* actor = named(name)) actor->child.say("wall " + std::to_string(offset_ms) + "\n");
  }

  /// Kills the process; it is dead for certain when the event is written.
  bool crash(Actor& actor) {
    actor.killed = actor.child.running();  // else it was somebody else
    actor.child.kill();
    listen(actor);
    if (!actor.killed) return false;
    keep(event(Kind::crash, actor.name));
    actor.done = true;
    actor.holding.clear();
    return true;
  }

  void pause(const std::string& name, bool suspends) override {
    Actor& actor = *named(name);
    Event e = event(Kind::pause, name);
    e.suspended = suspends;
    keep(std::move(e));
    actor.stopped = true;
    actor.child.send_signal(SIGSTOP);
    if (!suspends) return;
    until_true("stopping a process", [&] { return is_stopped(actor.child.pid()); });
    actor.suspended_at = now();
  }

  void resume(const std::string& name) override {
    Actor* actor = named(name);
    if (actor == nullptr || !std::exchange(actor->stopped, false)) return;
    Event e = event(Kind::resume, name);
    if (const auto from = std::exchange(actor->suspended_at, 0); from != 0) {
      SuspendedTimes(actor->suspended_file).add({from, now() - from});
      e.suspended = true;
    }
    actor->child.send_signal(SIGCONT);
    e.at_ns = now();
    keep(std::move(e));
  }

  void heal() {
    phase_ = "healing";
    healing_from_ = now();
    restart_members();
    faults_->heal();
    keep(event(Kind::heal));
    healed_ = true;
    healing_to_ = now();
    for (Actor& actor : actors_) actor.child.say("heal\n");
    const auto limit = now() + kHealLimit;
    const auto all_done = [this] {
      return std::all_of(actors_.begin(), actors_.end(), [](const Actor& a) { return a.done; });
    };
    while (!all_done() && now() < limit) turn();
    for (Actor& actor : actors_) {
      if (!actor.done) end_by_force(actor);
    }
  }

  /// It was stopped and did not end.
  void end_by_force(Actor& actor) {
    actor.killed = true;
    actor.child.kill();
    listen(actor);
    Event e = event(Kind::exit, actor.name);
    e.outcome = "did not end";
    e.message = last_words(actor.errors);
    keep(std::move(e));
    somebody_died_ = true;
  }

  /// The last dead documents have to disappear in their time, and are given it.
  void wait_for_graves() {
    phase_ = "cleaning up";
    const auto longest = std::max_element(
        plan_.processes.begin(), plan_.processes.end(),
        [](const ProcessPlan& a, const ProcessPlan& b) { return a.expiry_ms < b.expiry_ms; });
    const auto bound_ms = longest->expiry_ms + 2 * plan_.clock_margin_ms + run_.ttl_period_ms;
    const auto limit = now() + std::min(bound_ms * kMs + kTtlSlack, run_.settle_ms * kMs);
    constexpr int kTurnsPerLook = 20;
    while (now() < limit && documents_left() && !stopping() && !somebody_died_) {
      for (int i = 0; i < kTurnsPerLook; ++i) turn();
    }
  }

  bool documents_left() {
    std::map<std::string, std::int64_t> last;  // by name: the order of the last change
    std::map<std::string, bool> there;
    for (const Event& e : history_) {
      if (e.kind != Kind::put && e.kind != Kind::gone) continue;
      if (e.order < last[e.name]) continue;
      last[e.name] = e.order;
      there[e.name] = e.kind == Kind::put;
    }
    return std::any_of(there.begin(), there.end(), [](const auto& t) { return t.second; });
  }

  /// Nothing of a process may stand after the end, whenever its line was read.
  void put_ends_last() {
    const auto is_finish = [](const Event& e) { return e.kind == Kind::finish; };
    const auto end = std::find_if(history_.begin(), history_.end(), is_finish);
    std::rotate(end, end + 1, history_.end());
    history_.back().at_ns = std::max(history_.back().at_ns, history_[history_.size() - 2].at_ns);
  }

  const Plan& plan_;
  const LiveRun& run_;
  std::shared_ptr<const runtime::Clock> clock_;
  OplogReader oplog_;
  std::int64_t began_;
  StallWatch stalls_{watched_members(), [this] { return now(); }};
  std::optional<RealServers> servers_;
  std::optional<FaultInjector> faults_;
  std::multimap<std::int64_t, std::function<void()>> calls_;  ///< by when they are due
  std::vector<Actor> actors_;
  std::vector<Actor> doomed_;
  std::map<std::size_t, int> lives_;
  std::uint64_t seeds_ = 0;
  model::History history_;
  Progress progress_;
  std::string phase_;
  std::int64_t reported_ = 0;
  std::int64_t healing_from_ = 0, healing_to_ = 0;
  bool healed_ = false;
  bool somebody_died_ = false;
};

}  // namespace

LiveRun LiveRun::on(std::string uri, std::string database, Janitor& janitor,
                    const std::string& folder) {
  LiveRun run;
  run.uri = std::move(uri);
  run.database = std::move(database);
  run.janitor = &janitor;
  run.folder = janitor.folder() + "/" + folder;
  std::filesystem::create_directories(run.folder);
  return run;
}

LiveRun LiveRun::on(ReplicaSet& servers, std::string database, Janitor& janitor,
                    const std::string& folder) {
  auto run = on(servers.uri(), std::move(database), janitor, folder);
  run.servers = &servers;
  return run;
}

RunResult run_live(const Plan& plan, const LiveRun& run) { return Harness(plan, run).go(); }

}  // namespace leasehold::sim::live
