#include "sim/live/run/harness.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "model/history/from_outside.hpp"
#include "sim/faults/fault_injector.hpp"
#include "sim/live/oplog/oplog.hpp"
#include "sim/live/processes/live_processes.hpp"
#include "sim/live/run/stall_watch.hpp"
#include "sim/plan/fault.hpp"
#include "sim/plan/lock_registry.hpp"
#include "sim/plan/workload.hpp"

namespace leasehold::sim::live {

namespace {

using model::Event;
using model::Kind;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kStartUp = 300 * kMs;  ///< until the processes run
/// For workers that follow steps with times: an interpreter starts.
constexpr std::int64_t kForeignStartUp = 3'000 * kMs;
/// Two waits of a minute for each caller, twice over, because all time out if servers are slower
/// than the operation timeouts.
constexpr std::int64_t kHealLimit = 240'000 * kMs;
/// After that a run goes on, and its history says that no member has a majority.
constexpr std::int64_t kMajorityLimit = 30'000 * kMs;
constexpr std::int64_t kTtlSlack = 2'500 * kMs;  ///< the monitor's own work, and our reading of it
// What the checkers allow this world.
constexpr std::int64_t kLateness = 400 * kMs;    ///< of a process on a busy machine
constexpr std::int64_t kTruthLag = 1'000 * kMs;  ///< from a commit to our reading of it
constexpr int kGraves = 2;
constexpr const char* kGrave = "grave";  ///< as progress counts it

/// How long documents of the dead may stay, and we wait for their end.
std::int64_t longest_grave(const Plan& plan, std::int64_t ttl_period_ms) {
  std::int64_t expiry_ms = 0;
  for (const auto& process : plan.processes) expiry_ms = std::max(expiry_ms, process.expiry_ms);
  return (expiry_ms + 2 * plan.clock_margin_ms + ttl_period_ms) * kMs + kTtlSlack;
}

StoreUse use_of(const Plan& plan, const LiveRun& run) {
  StoreUse use{.database = run.database,
               .foreign = run.foreign.has_value(),
               // A story tells which member is primary at its beginning.
               .first_leads = is_scripted(plan)};
  if (run.foreign) use.document = run.foreign->promises.document;
  if (use.document) use.locks = use.document->collection;
  if (!run.foreign) use.locks = lock_under_test(plan.lock).collection();
  const auto most = std::ranges::max_element(plan.processes, {}, &ProcessPlan::permits);
  for (int i = 0; i < plan.locks; ++i) {
    use.resources.push_back(lock_name(i));
    for (int slot = 0; slot < most->permits; ++slot) {
      use.resources.push_back(slot_name(lock_name(i), slot));
    }
  }
  for (int i = 0; i < kGraves; ++i) use.resources.push_back(grave_name(doomed_name(i)));
  return use;
}

/// Measures the ground of a run: notes when the machine, or a member, stood still for longer than a
/// checker may blame on the lock. Thread safety: `take` from any thread.
class StallWatch {
 public:
  /// Watches from now on: each of these URIs is of one member.
  explicit StallWatch(const std::vector<std::string>& members)
      : machine_(boot_ns, [this](const auto& span) { note(model::kMachine, span); }) {
    for (const auto& uri : members) {
      const auto name = member_name(static_cast<int>(threads_.size()));
      threads_.emplace_back(
          [this, uri, name](const std::stop_token& stop) { watch_member(stop, uri, name); });
    }
  }
  ~StallWatch() {
    for (auto& thread : threads_) thread.request_stop();
  }
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  /// `stall` events since the last call, of no process; the victim says of what.
  [[nodiscard]] model::History take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(stalls_, {});
  }

 private:
  /// A ping waits for no lock and no disk.
  void watch_member(const std::stop_token& stop, const std::string& uri, const std::string& name) {
    constexpr std::chrono::milliseconds kPingEvery{100};
    MongoClient client(with_option(uri, "serverSelectionTimeoutMS=1000&connectTimeoutMS=1000"
                                        "&socketTimeoutMS=2000&appName=stall-watch"));
    while (!stop.stop_requested()) {
      const auto asked = boot_ns();
      try {
        (void)client.run_once("admin", {{"ping", 1}});
      } catch (const std::exception&) {
        // The ping failed; its time counts all the same.
      }
      const auto now = boot_ns();
      if (now - asked > Standstills::kLongFrom_ns) note(name, {asked, now});
      std::this_thread::sleep_for(kPingEvery);
    }
  }

  void note(const std::string& victim, const Standstills::Span& span) {
    const std::lock_guard lock(mutex_);
    stalls_.push_back(stall_of(victim, span));
  }

  std::mutex mutex_;
  model::History stalls_;  ///< protected by mutex_
  StandstillWatch machine_;
  std::vector<std::jthread> threads_;
};

class Harness {
 public:
  Harness(const Plan& plan, const LiveRun& run)
      : plan_(plan),
        run_(run),
        store_(run.store.open(use_of(plan, run))),
        began_(boot_ns()),
        processes_(plan, run, *store_, [this](Event e) { keep(std::move(e)); }) {
    faults_.emplace(
        ClusterControl{
            .processes = processes_,
            .servers = store_->control(),
            .now_ns = boot_ns,
            .call_at = [this](std::int64_t at, auto call) { calls_.emplace(at, std::move(call)); },
            .emit = [this](Event e) { keep(std::move(e)); },
            .count_effect = [this](FaultPlan::Kind kind) { ++progress_.faults[to_string(kind)]; },
            .insist = [](const std::string& what,
                         const auto& attempt) { until_true(what, attempt); }},
        clock_margin_ms(plan, run));
  }

  RunResult go() {
    Event header = event(Kind::run);
    header.lock = run_.foreign ? run_.foreign->promises.name : plan_.lock;
    header.live = true;
    header.seed = plan_.seed;
    header.ttl_period_ms = run_.ttl_period_ms;
    header.lateness_ns = kLateness;
    header.truth_lag_ns = kTruthLag;
    header.fault_echo_ms = store_->fault_echo_ms();
    keep(header);
    began_ = boot_ns();
    processes_.start_all(began_ + start_up_ns_, is_scripted(plan_) ? 0 : kGraves);
    phase_ = "faults";
    inject_until(began_ + start_up_ns_ + plan_.faulty_ms * kMs);
    heal();
    wait_for_graves();
    take(store_->rest_of_truth());
    take_stalls();
    take_spans();
    keep(event(Kind::finish));
    for (Event& e : history_) model::make_valid_utf8(e);
    model::sort_by_time(history_);
    put_end_last(history_);
    if (!run_.foreign && lock_under_test(plan_.lock).is_published()) attribute_writes(history_);
    return {std::move(history_), std::move(progress_.faults), boot_ns() - began_};
  }

 private:
  Event event(Kind kind, const std::string& process = "") const {
    return {.at_ns = boot_ns(), .kind = kind, .process = process};
  }

  void keep(Event e) {
    if (e.kind == Kind::granted) ++progress_.acquisitions;
    if (e.kind == Kind::lost) ++progress_.losses;
    note_lasting(e);
    history_.push_back(std::move(e));
  }

  void note_lasting(const Event& e) {
    const auto one = e.kind == Kind::fault ? std::pair(e.fault, e.victim)
                                           : std::pair(std::string("pause"), e.process);
    const bool over = e.ends || e.kind == Kind::resume || e.kind == Kind::crash;
    if (e.begins || e.kind == Kind::pause) lasting_.insert(one);
    const auto found = over ? lasting_.find(one) : lasting_.end();
    if (found != lasting_.end()) lasting_.erase(found);
  }

  void inject_until(std::int64_t end) {
    std::size_t next = 0;
    while (boot_ns() < end && !stopping() && !somebody_died()) {
      const auto elapsed = (boot_ns() - began_ - start_up_ns_) / kMs;
      while (next < plan_.faults.size() && plan_.faults[next].at_ms <= elapsed) {
        inject(plan_.faults[next++]);
      }
      turn();
    }
  }

  bool somebody_died() const { return member_died_ || processes_.somebody_died(); }
  bool stopping() const { return run_.stop && run_.stop(); }

  /// Reads what the processes say, makes the calls that are due, reports progress.
  void turn() {
    processes_.listen_ms(10);
    for (int killed = processes_.kill_doomed(); killed > 0; --killed) ++progress_.faults[kGrave];
    look_at_members();
    make_calls();
    take(store_->truth());
    report();
  }

  /// Only members that a fault killed may be dead.
  void look_at_members() {
    for (Event& e : store_->exits()) {
      keep(std::move(e));
      member_died_ = true;
    }
  }

  void report() {
    if (!run_.on_progress || boot_ns() - reported_ < 200 * kMs) return;
    reported_ = boot_ns();
    progress_.elapsed_s = static_cast<double>(boot_ns() - began_) / 1e9;
    progress_.phase = phase_;
    progress_.active.clear();
    for (const auto& [kind, victim] : lasting_) ++progress_.active[kind];
    run_.on_progress(progress_);
  }

  void take(model::History&& truth) {
    history_.insert(history_.end(), std::make_move_iterator(truth.begin()),
                    std::make_move_iterator(truth.end()));
  }

  /// Spans that ended before the run began do not count, nor do those of processes of an earlier
  /// run, and of other clients.
  void take_spans() {
    std::set<std::string> ours;
    for (const Event& e : history_) {
      if (e.kind == Kind::start) ours.insert(e.process);
    }
    for (auto& span : store_->take_spans()) {
      const bool in_the_run =
          (span.kind == Kind::slow ? span.from_ns : span.at_ns) > history_.front().at_ns;
      span.at_ns = std::min(span.at_ns, boot_ns());
      if (in_the_run && (span.process.empty() || ours.contains(span.process))) {
        keep(std::move(span));
      }
    }
  }

  /// A member that the run stopped or killed did not stall.
  void take_stalls() {
    auto away = members_away(history_, boot_ns());
    away.push_back({"", healing_from_, healing_to_});
    for (auto& stall : stalls_.take()) {
      const bool in_the_run = stall.at_ns > history_.front().at_ns;
      if (in_the_run && !is_ours(stall, away)) keep(std::move(stall));
    }
  }

  /// Makes the calls that are due. A call may ask for another.
  void make_calls() {
    while (!calls_.empty() && calls_.begin()->first <= boot_ns()) {
      const auto due = calls_.extract(calls_.begin());
      due.mapped()();
    }
  }

  /// Servers in trouble may not answer; then the fault has no effect.
  void inject(const FaultPlan& fault) {
    try {
      faults_->inject(fault);
    } catch (const std::exception&) {
      ++progress_.faults["not-injected"];
    }
  }

  void heal() {
    look_past_proxies();
    phase_ = "healing";
    healing_from_ = boot_ns();
    // So that the rest does not fail of it.
    if (somebody_died()) store_->restart_members();
    faults_->heal();
    wait_for_a_majority();
    healing_to_ = boot_ns();
    // Members that lacked data were restarted.
    keep({.at_ns = healing_to_, .kind = Kind::no_majority, .from_ns = healing_from_});
    keep(event(Kind::heal));
    processes_.heal();
    const auto limit = boot_ns() + kHealLimit;
    while (!processes_.all_done() && boot_ns() < limit) turn();
    processes_.end_by_force();
  }

  /// A member that failed to fetch asks its source again only after ten seconds.
  void wait_for_a_majority() {
    const auto limit = boot_ns() + kMajorityLimit;
    while (!store_->has_majority() && boot_ns() < limit && !stopping()) {
      phase_ = "healing: no majority has what the primary wrote";
      turn();
    }
    phase_ = "healing";
  }

  /// While the processes are still connected.
  void look_past_proxies() {
    std::vector<std::string> names;
    for (const auto& process : processes_.running()) names.push_back(process.name);
    progress_.past_proxies = store_->past_proxies(names);
  }

  /// The last dead documents get the time in which they have to disappear.
  void wait_for_graves() {
    phase_ = "cleaning up";
    // No author promises that documents of another lock go away.
    if (run_.foreign) return;
    const auto limit =
        boot_ns() + std::min(longest_grave(plan_, run_.ttl_period_ms), run_.settle_ms * kMs);
    constexpr int kTurnsPerLook = 20;
    while (boot_ns() < limit && documents_left(history_) && !stopping() && !somebody_died()) {
      for (int i = 0; i < kTurnsPerLook; ++i) turn();
    }
  }

  const Plan& plan_;
  const LiveRun& run_;
  const std::unique_ptr<Store> store_;
  const std::int64_t start_up_ns_ = run_.foreign && is_scripted(plan_) ? kForeignStartUp : kStartUp;
  std::int64_t began_;
  LiveProcesses processes_;
  StallWatch stalls_{store_->watched_members()};
  std::optional<FaultInjector> faults_;
  std::multimap<std::int64_t, std::function<void()>> calls_;  ///< by when they are due
  model::History history_;
  Progress progress_;
  std::multiset<std::pair<std::string, std::string>> lasting_;  ///< faults, and what they hit
  std::string phase_;
  std::int64_t reported_ = 0;
  std::int64_t healing_from_ = 0, healing_to_ = 0;
  bool member_died_ = false;
};

}  // namespace

LiveRun LiveRun::on(StoreAt store, std::string database, Janitor& janitor,
                    const std::string& folder) {
  LiveRun run{std::move(store)};
  run.database = std::move(database);
  run.janitor = &janitor;
  run.folder = janitor.folder() + "/" + folder;
  std::filesystem::create_directories(run.folder);
  return run;
}

std::int64_t clock_margin_ms(const Plan& plan, const LiveRun& run) {
  const auto promised = run.foreign ? run.foreign->promises.clock_margin_ms : std::nullopt;
  return std::min(plan.clock_margin_ms, promised.value_or(plan.clock_margin_ms));
}

RunResult run_live(const Plan& plan, const LiveRun& run) { return Harness(plan, run).go(); }

bool documents_left(const model::History& history) {
  std::map<std::string, std::int64_t> last;  // by name: the order of the last change
  std::map<std::string, bool> there;
  for (const Event& e : history) {
    if (e.kind != Kind::put && e.kind != Kind::gone) continue;
    if (e.order < last[e.name]) continue;
    last[e.name] = e.order;
    there[e.name] = e.kind == Kind::put;
  }
  return std::ranges::any_of(there, [](const auto& t) { return t.second; });
}

void put_end_last(model::History& history) {
  const auto end = std::ranges::find(history, Kind::finish, &Event::kind);
  std::rotate(end, end + 1, history.end());
  history.back().at_ns = std::max(history.back().at_ns, history[history.size() - 2].at_ns);
}

std::vector<Away> members_away(const model::History& history, std::int64_t now_ns) {
  std::vector<Away> all;
  for (const Event& e : history) {
    const auto kind = e.kind == Kind::fault ? fault_named(e.fault) : std::nullopt;
    if (!kind || !takes_members(*kind)) continue;
    if (e.begins) all.push_back({e.victim, e.at_ns, now_ns});
    for (Away& a : all) {
      if (e.ends && a.member == e.victim) a.to_ns = std::min(a.to_ns, e.at_ns);
    }
  }
  return all;
}

bool is_ours(const Event& stall, const std::vector<Away>& away) {
  if (stall.victim == model::kMachine) return false;
  return std::ranges::any_of(away, [&](const Away& a) {
    return (a.member.empty() || a.member == stall.victim) && a.from_ns < stall.at_ns &&
           stall.from_ns < a.to_ns;
  });
}

}  // namespace leasehold::sim::live
