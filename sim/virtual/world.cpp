#include "sim/virtual/world.hpp"

#include <algorithm>
#include <set>

#include "sim/faults/fault_injector.hpp"
#include "sim/record/lock_truth.hpp"
#include "sim/virtual/cluster.hpp"
#include "sim/virtual/process.hpp"

namespace leasehold::sim::simulated {
namespace {

using model::Event;
using model::Kind;

// A time of zero in an event means that it was not said. By then each member has heard the others.
constexpr std::int64_t kStartUp = 1'000 * kMs;    ///< histories do not begin at zero
/// After the healing: two minutes, or so many leases and margins if that is more.
constexpr std::int64_t kLongest_ms = 120'000, kLongestLeases = 10;
constexpr std::int64_t kTruthLag = 10 * kMs;      ///< a majority has a write by then, undisturbed
constexpr std::int64_t kFollows_ms = 1'000;       ///< an election: heartbeats, clients, copies
constexpr std::int64_t kSettle_ms = 6'000;        ///< for late clean-ups, beside two TTL passes
/// Longer than a member shuns its source.
constexpr std::int64_t kMajorityLimit = 15'000 * kMs;
/// Heartbeats until a primary is there again for certain.
constexpr std::int64_t kBeatsToHeal = 15;
constexpr std::size_t kUsualEvents = 8'192;       ///< of a history, so that few have to be moved

/// A damaged document may have another type there; the checkers then see nothing.
template <typename T>
const T* field(const Object& document, const Key& key) {
  const Value* value = document.find(key);
  return value == nullptr ? nullptr : value->as<T>();
}

LockDocument lock_in(const Object& document, const std::string& command) {
  LockDocument lock;
  if (const auto* id = field<std::string>(document, "lockId"_key)) lock.lock_id = *id;
  lock.of_nobody = field<Null>(document, "LockId"_key) != nullptr;
  lock.command = command;
  if (const auto* date = field<Date>(document, "acquiredAt"_key)) lock.acquired_at_ms = date->ms;
  if (const auto* date = field<Date>(document, "expiresAt"_key)) lock.expires_at_ms = date->ms;
  if (const auto* token = field<std::int64_t>(document, "fencingToken"_key)) {
    lock.stored_token = *token;
  }
  return lock;
}

/// One run. REQUIRES: the plan outlives it.
class World final : public ProcessControl {
 public:
  explicit World(const Plan& plan)
      : plan_(plan),
        random_(plan.seed),
        servers_(queue_, random_,
                 {.election_timeout_ns = plan.election_timeout_ms * kMs,
                  .heartbeat_ns = plan.heartbeat_ms * kMs,
                  .ttl_period_ns = plan.ttl_period_ms * kMs,
                  .ttl_deletes_at_once = plan.ttl_at_once,
                  .failed_fetch_percent = plan.failed_fetches,
                  .stream_lag_ms = plan.stream_lag_ms},
                 {[this](const Entry& entry) { committed(entry); },
                  [this](std::int64_t since) { followed(since); }},
                 plan.shards ? std::optional(plan.seed) : std::nullopt),
        server_control_(queue_, servers_,
                        [this](const std::string& name) -> LinkFaults& {
                          return named(name).link();
                        }),
        faults_({.processes = *this,
                 .servers = server_control_.control(),
                 .now_ns = [this] { return queue_.now(); },
                 .call_at = [this](std::int64_t at, auto run) { queue_.at(at, std::move(run)); },
                 .emit = [this](Event&& e) { emit(std::move(e)); },
                 .count_effect = [this](FaultPlan::Kind kind) { count_effect(kind); },
                 .insist = [](const std::string&, const auto& attempt) { (void)attempt(); }},
                plan.clock_margin_ms) {}

  /// A faulty phase, the end of all faults, a healed phase in which every caller must get the lock,
  /// and time for what is left to go.
  RunResult go() {
    Event begin = event(Kind::run);
    begin.lock = plan_.lock;
    begin.seed = plan_.seed;
    begin.ttl_period_ms = plan_.ttl_period_ms;
    // What the checkers allow in this world; a live run says larger numbers.
    begin.lateness_ns = kGrain;  // timers fire on the next grain
    begin.truth_lag_ns = kTruthLag;
    begin.stream_lag_ms = std::max(plan_.stream_lag_ms, 0);
    // One election timeout to notice that the primary is gone, another for an election that fails.
    begin.fault_echo_ms = 2 * plan_.election_timeout_ms + kFollows_ms;
    out_.history.reserve(kUsualEvents);
    emit(std::move(begin));
    // The queue never runs dry, since members beat for ever: `finished_` ends it.
    queue_.at(kStartUp, [this] { start(); });
    while (!finished_ && queue_.step()) {
    }
    out_.elapsed_ns = queue_.now();
    // Two numbers that a run is compared by without its history.
    out_.events = queue_.ran();
    count_servers();
    return std::move(out_);
  }

  /// In the order of their starts, by which a plan's numbers mean the same in each run.
  std::vector<ProcessView> running() override {
    std::vector<ProcessView> views;
    for (const auto& p : processes_) {
      // The doomed one has to hold its lock until it is killed: its takeover must not depend on
      // luck.
      if (p->crashed() || p->paused() || p->is_doomed()) continue;
      views.push_back(
          {p->name(), place_of(p->name()), p->holds(), p->awaits_a_reply(), p->plan().scripted});
    }
    return views;
  }
  /// First the process, then the event: what it says at its death comes before it.
  bool kill(const std::string& name) override {
    Process& p = named(name);
    p.crash();
    Event e = event(Kind::crash, name);
    e.from_ns = p.kept_since();
    emit(std::move(e));
    return true;
  }
  void start_successor(const std::string& name) override {
    // A copy of the plan: where it stands may move when another process is added.
    const ProcessPlan plan = named(name).plan();
    add_process(name + "'", plan, false);
  }
  void pause(const std::string& name, bool suspends) override {
    named(name).pause(suspends);
    if (suspends) suspended_.insert(name);
    note_stop(Kind::pause, name, suspends);
  }
  /// The event comes first, since the process acts at once when it goes on.
  void resume(const std::string& name) override {
    const bool suspends = suspended_.erase(name) > 0;
    // A paused process can be killed; then there is nothing to go on.
    if (named(name).crashed()) return;
    note_stop(Kind::resume, name, suspends);
    named(name).resume();
  }
  /// Only the published locks read that clock, so only they can be harmed by it.
  void set_wall_clock(const std::string& name, std::int64_t offset_ms) override {
    named(name).set_wall_offset(offset_ms);
  }

 private:
  /// REQUIRES: it was started, and may be dead. A few dozen, and faults are rare: no index is worth
  /// its upkeep.
  Process& named(const std::string& name) {
    return **std::ranges::find_if(processes_, [&](const auto& p) { return p->name() == name; });
  }
  void note_stop(Kind kind, const std::string& process, bool suspends) {
    Event e = event(kind, process);
    e.suspended = suspends;
    emit(std::move(e));
  }
  /// It happens now, by the harness's clock, which is the queue's.
  Event event(Kind kind, const std::string& process = "") const {
    return {.at_ns = queue_.now(), .kind = kind, .process = process};
  }
  void emit(Event&& e) {
    const bool is_reply = e.kind == Kind::reply;
    const bool of_plan = (is_reply || e.kind == Kind::send) && e.process.starts_with('p');
    if (of_plan && faults_.awaits_a_command()) {
      faults_.saw_command(place_of(e.process), e.verb, is_reply);
    }
    out_.history.push_back(std::move(e));
  }

  void start() {
    for (std::size_t i = 0; i < plan_.processes.size(); ++i) {
      add_process("p" + std::to_string(i), plan_.processes[i], false);
    }
    // In every generated run: a dead holder's document has to disappear (G8), whatever the faults
    // hit. A story says itself which process dies.
    if (!is_scripted(plan_)) add_process("grave", plan_.processes[0], true);
    // Faults before steps: at equal times the queue keeps the order of asking.
    for (const FaultPlan& fault : plan_.faults) {
      queue_.after(fault.at_ms * kMs, [this, fault] { faults_.inject(fault); });
    }
    for (const StepPlan& step : plan_.steps) {
      queue_.after(step.at_ms * kMs, [this, step] {
        processes_.at(static_cast<std::size_t>(step.process))->perform(step);
      });
    }
    if (has_moves(plan_)) plan_moves();
    // Half of the faulty phase to be granted its lock, the other half for the lock to run out.
    queue_.after(plan_.faulty_ms * kMs / 2, [this] { kill_doomed(); });
    queue_.after(plan_.faulty_ms * kMs, [this] { heal(); });
  }

  /// By numbers of its own, so that the plan's mean the same with and without.
  void plan_moves() {
    Random drawn(plan_.seed);
    auto at = drawn.between(300, 2'000);
    for (; at < plan_.faulty_ms; at += drawn.between(500, 3'000)) {
      queue_.after(at * kMs, [this, span = drawn.between(5, 400) * kMs] { move(span); });
    }
  }

  /// A disturbance as each fault is: what it holds up is late.
  void move(std::int64_t span) {
    const auto note = [this](bool begins) {
      Event e = event(Kind::fault);
      e.fault = "move";
      (begins ? e.begins : e.ends) = true;
      emit(std::move(e));
    };
    std::vector<const Process*> holders;
    for (const auto& p : processes_) {
      if (p->holds() && !p->crashed()) holders.push_back(p.get());
    }
    const bool begun = servers_.move(span, [this, note, holders](bool moved) {
      note(false);
      const bool held = std::ranges::any_of(
          holders, [](const Process* p) { return p->holds() && !p->crashed(); });
      if (moved) ++out_.took_effect["moves"];
      if (moved && held) ++out_.took_effect["moves-while-held"];
    });
    if (begun) note(true);
  }

  /// Also in the middle of a run: the successor of one that was killed.
  void add_process(const std::string& name, const ProcessPlan& plan, bool doomed) {
    processes_.push_back(std::make_unique<Process>(
        Process::World{queue_, servers_, random_, [this](Event&& e) { emit(std::move(e)); },
                       [this](const std::string& lock) {
                         // In the very event of the grant: two that say yes then do so at one time.
                         for (const auto& p : processes_) p->ask_holders_of(lock);
                       },
                       plan_},
        name, plan, doomed));
    // Its events refer to it: it is by pointer, and stays in the list when it is dead.
    processes_.back()->start();
  }

  void count_effect(FaultPlan::Kind kind) { ++out_.took_effect[to_string(kind)]; }

  /// The process that was started to die with its lock.
  void kill_doomed() {
    for (const auto& p : processes_) {
      // Only while it holds: what has to be shown is a takeover from the dead.
      if (!p->is_doomed() || !p->holds()) continue;
      kill(p->name());
      return count_effect(FaultPlan::Kind::crash);
    }
  }

  /// What a majority has is the truth.
  /// In the oplog's order, which is that of the tokens. A write that is rolled back never was.
  void committed(const Entry& entry) {
    if (entry.change.id.empty()) return;  // a term's first entry
    if (!entry.fenced) return committed_lock(entry);
    // A write of the fence is an event of its own kind, whatever the lock is.
    Event e = stored(*entry.fenced, entry.order(), queue_.now());
    e.name = entry.change.id;
    emit(std::move(e));
  }
  void committed_lock(const Entry& entry) {
    const auto& [id, after] = entry.change;
    const auto lock = after ? std::optional(lock_in(*after, entry.tag)) : std::nullopt;
    for (Event& e : truth_.written(id, id, lock ? &*lock : nullptr, entry.order())) {
      e.at_ns = queue_.now();
      emit(std::move(e));
    }
  }

  /// What was written since then had no majority before now.
  void followed(std::int64_t since) {
    if (queue_.now() - since <= kTruthLag) return;
    Event e = event(Kind::no_majority);
    e.from_ns = since;
    emit(std::move(e));
  }

  /// From here on the run has to show that it comes to an end: nothing is disturbed any more.
  void heal() {
    faults_.heal();
    // A primary is there again before the healed phase is measured, and a majority.
    queue_.after(kBeatsToHeal * plan_.heartbeat_ms * kMs,
                 [this] { when_majority_follows(queue_.now() + kMajorityLimit); });
  }

  void when_majority_follows(std::int64_t limit) {
    const auto since = servers_.serving().behind_since();
    if (since != 0 && queue_.now() - since > kTruthLag && queue_.now() < limit) {
      queue_.after(20 * kMs, [this, limit] { when_majority_follows(limit); });
      return;
    }
    emit(event(Kind::heal));
    for (const auto& p : processes_) {
      // All at the same time: the healed phase begins with all of them competing.
      if (!p->crashed()) p->heal();
    }
    // The time limit counts from here. A run that exceeds it ends, and the checkers say why.
    healed_at_ = queue_.now();
    watch();
  }

  [[nodiscard]] std::int64_t longest() const {
    std::int64_t lease_ms = 0;
    for (const auto& p : plan_.processes) {
      lease_ms = std::max({lease_ms, p.expiry_ms, p.other_expiry_ms});
    }
    return std::max(kLongest_ms, kLongestLeases * (lease_ms + plan_.clock_margin_ms)) * kMs;
  }

  void watch() {
    // The doomed one may have survived, if it was not granted its lock in time; it has nothing to
    // do.
    const bool all = std::ranges::all_of(processes_,
                                         [](const auto& p) { return p->done() || p->is_doomed(); });
    if (!all && queue_.now() - healed_at_ < longest()) {
      // Looking changes nothing, so how often decides only when the run ends.
      queue_.after(20 * kMs, [this] { watch(); });
      return;
    }
    queue_.after((kSettle_ms + 2 * plan_.ttl_period_ms) * kMs, [this] {
      if (servers_.serving().behind_since() != 0) followed(servers_.serving().behind_since());
      // After the last chance of the TTL monitor: what is still there now has stayed.
      emit(event(Kind::finish));
      finished_ = true;
    });
  }

  /// Beside the faults that took effect: what the servers did of themselves, so that a run can show
  /// that there were elections and rollbacks.
  void count_servers() {
    const auto count = [this](const char* what, std::int64_t n) {
      // Nothing that did not happen is in the list.
      if (n > 0) out_.took_effect[what] = n;
    };
    count("begun-at-a-command", faults_.begun_at_commands());
    count("elections", servers_.sum(&ReplicaSet::elections));
    count("rolled-back", servers_.sum(&ReplicaSet::rolled_back));
    count("stale-routers", servers_.stale_routers());
    count("ttl-deletions", servers_.sum(&ReplicaSet::ttl_deletions));
    count("wtimeouts", servers_.sum(&ReplicaSet::wtimeouts));
    for (const auto& p : processes_) {
      for (const auto& [what, n] : p->sent()) out_.took_effect[what] += n;
    }
  }

  const Plan& plan_;
  // INVARIANT: declared in the order of use, so each part is destroyed before what it refers to:
  // faults, processes, members, then the queue with the events that are not run any more.
  RunResult out_;
  EventQueue queue_;
  Random random_;
  Shards servers_;
  LockTruth truth_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::set<std::string> suspended_;  ///< and not only paused
  SimulatedServers server_control_;
  FaultInjector faults_;
  std::int64_t healed_at_ = 0;
  bool finished_ = false;
};

}  // namespace

bool has_moves(const Plan& plan) {
  return plan.shards &&
         std::ranges::any_of(plan.faults,
                             [](const FaultPlan& fault) { return !hits_process(fault.kind); });
}

RunResult run(const Plan& plan) {
  // Nothing is kept from one run to the next, but for tables that change no result.
  World world(plan);
  return world.go();
}

std::uint64_t hash(const model::History& history) {
  std::uint64_t h = kFirstHash;
  for (const auto& e : history) h = hash_of(model::to_json(e), h);
  return h;
}

/// In the form of a history's file, so that it can be looked up there.
std::string first_difference(const model::History& a, const model::History& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
    const auto text = [i](const model::History& h) {
      return i < h.size() ? model::to_json(h[i]) : std::string("it ends");
    };
    return "line " + std::to_string(i + 1) + ": " + text(a) + " against " + text(b);
  }
  return "";
}

}  // namespace leasehold::sim::simulated
