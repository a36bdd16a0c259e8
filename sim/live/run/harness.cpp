#include "sim/live/run/harness.hpp"

#include <algorithm>
#include <filesystem>

#include "model/history/from_outside.hpp"
#include "runtime/threads/clock.hpp"
#include "sim/faults/fault_injector.hpp"
#include "sim/live/foreign/foreign_processes.hpp"
#include "sim/live/oplog/attribute_writes.hpp"
#include "sim/live/oplog/majority_watch.hpp"
#include "sim/live/oplog/oplog.hpp"
#include "sim/live/processes/live_processes.hpp"
#include "sim/live/run/resource.hpp"
#include "sim/live/run/run_history.hpp"
#include "sim/live/run/stall_watch.hpp"
#include "sim/live/servers/real_servers.hpp"
#include "sim/plan/lock_registry.hpp"
#include "sim/plan/workload.hpp"
#include "sim/record/recorder.hpp"

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
constexpr std::int64_t kFaultEcho_ms = 3'000;    ///< of servers with an unknown election timeout
constexpr int kGraves = 2;
constexpr const char* kGrave = "grave";  ///< as progress counts it

constexpr const char* kNotTouched = "not.touched";

/// For a lock that is not ours, if its author gave one.
const model::DocumentMapping* mapping_of(const LiveRun& run) {
  const bool said = run.foreign && run.foreign->promises.document;
  return said ? &*run.foreign->promises.document : nullptr;
}

/// Where the lock's documents are.
std::string collection_of(const Plan& plan, const LiveRun& run) {
  if (!run.foreign) return lock_under_test(plan.lock).collection();
  const auto* mapping = mapping_of(run);
  return mapping == nullptr ? kNotTouched : mapping->collection;
}

/// An administrator leaves the documents and indexes of a lock that is not ours alone: no author
/// promises to do without them.
FaultyCollections hit_by_faults(const Plan& plan, const LiveRun& run) {
  const auto locks = run.database + "." + collection_of(plan, run);
  return {run.foreign ? run.database + "." + kNotTouched : locks, locks};
}

OplogReader::Source truth_of(const Plan& plan, const LiveRun& run) {
  OplogReader::Source source{run.uri, run.database, collection_of(plan, run), kResourceCollection};
  if (const auto* mapping = mapping_of(run)) source.documents.emplace(*mapping);
  return source;
}

class Harness {
 public:
  Harness(const Plan& plan, const LiveRun& run)
      : plan_(plan),
        run_(run),
        clock_(runtime::boottime_clock()),
        oplog_(truth_of(plan, run), [this] { return now(); }),
        began_(now()),
        processes_(make_processes()) {
    auto hit = hit_by_faults(plan, run);
    if (run.servers != nullptr) {
      servers_.emplace(*run.servers, std::move(hit),
                       std::make_unique<RealMembers>(*run.servers, run.database));
    }
    if (run.user_set != nullptr) {
      servers_.emplace(*run.user_set, std::move(hit),
                       std::make_unique<UserMembers>(*run.user_set, run.database));
    }
    faults_.emplace(
        ClusterControl{
            .processes = *processes_,
            .servers = servers_ ? std::optional(servers_->control()) : std::nullopt,
            .now_ns = [this] { return now(); },
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
    // One election timeout to notice that the primary is gone, another for an election that fails.
    header.fault_echo_ms =
        run_.servers != nullptr ? 2 * run_.servers->election_timeout_ms() : kFaultEcho_ms;
    keep(header);
    prepare();
    phase_ = "faults";
    inject_until(began_ + start_up_ns_ + plan_.faulty_ms * kMs);
    heal();
    wait_for_graves();
    read_truth_to_its_end();
    take_stalls();
    take_spans_without_a_majority();
    keep(event(Kind::finish));
    for (Event& e : history_) model::make_valid_utf8(e);
    model::sort_by_time(history_);
    put_end_last(history_);
    if (!run_.foreign && lock_under_test(plan_.lock).is_published()) attribute_writes(history_);
    return {std::move(history_), std::move(progress_.faults), now() - began_};
  }

 private:
  std::unique_ptr<RunProcesses> make_processes() {
    const auto clock = [this] { return now(); };
    const auto emit = [this](Event e) { keep(std::move(e)); };
    if (run_.foreign) return std::make_unique<ForeignProcesses>(plan_, run_, clock, emit);
    return std::make_unique<LiveProcesses>(plan_, run_, clock, emit);
  }

  std::int64_t now() const { return clock_->now().time_since_epoch().count(); }

  Event event(Kind kind, const std::string& process = "") const {
    Event e;
    e.at_ns = now();
    e.kind = kind;
    e.process = process;
    return e;
  }

  void keep(Event e) {
    if (e.kind == Kind::granted) ++progress_.acquisitions;
    if (e.kind == Kind::lost) ++progress_.losses;
    note_lasting(e);
    history_.push_back(std::move(e));
  }

  void note_lasting(const Event& e) {
    const auto one = e.kind == Kind::fault ? std::pair(e.fault.str(), std::string(e.victim))
                                           : std::pair(std::string("pause"), e.process);
    const bool over = e.ends || e.kind == Kind::resume || e.kind == Kind::crash;
    if (e.begins || e.kind == Kind::pause) lasting_.insert(one);
    const auto found = over ? lasting_.find(one) : lasting_.end();
    if (found != lasting_.end()) lasting_.erase(found);
  }

  void prepare() {
    std::vector<std::string> names;
    const auto most = std::max_element(
        plan_.processes.begin(), plan_.processes.end(),
        [](const ProcessPlan& a, const ProcessPlan& b) { return a.permits < b.permits; });
    for (int i = 0; i < plan_.locks; ++i) {
      names.push_back(lock_name(i));
      for (int slot = 0; slot < most->permits; ++slot) {
        names.push_back(slot_name(lock_name(i), slot));
      }
    }
    for (int i = 0; i < kGraves; ++i) names.push_back(grave_name(doomed_name(i)));
    FencedResource(run_.uri, run_.database).create(names);
    // A story tells which member is primary at its beginning.
    if (is_scripted(plan_) && run_.servers != nullptr) run_.servers->step_up(0);
    began_ = now();
    processes_->start_all(began_ + start_up_ns_, is_scripted(plan_) ? 0 : kGraves);
  }

  void inject_until(std::int64_t end) {
    std::size_t next = 0;
    while (now() < end && !stopping() && !somebody_died()) {
      const auto elapsed = (now() - began_ - start_up_ns_) / kMs;
      while (next < plan_.faults.size() && plan_.faults[next].at_ms <= elapsed) {
        inject(plan_.faults[next++]);
      }
      turn();
    }
  }

  bool somebody_died() const { return member_died_ || processes_->somebody_died(); }
  bool stopping() const { return run_.stop && run_.stop(); }

  /// Reads what the processes say, makes the calls that are due, reports progress.
  void turn() {
    processes_->listen_ms(10);
    for (int killed = processes_->kill_doomed(); killed > 0; --killed) ++progress_.faults[kGrave];
    look_at_members();
    make_calls();
    take_truth();
    report();
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
      member_died_ = true;
    }
  }

  /// If a process or member died, restarts the members, so that the rest does not fail of it.
  void restart_members() {
    for (int i = 0; somebody_died() && run_.servers != nullptr && i < run_.servers->size(); ++i) {
      run_.servers->mongod(i).restart();
    }
  }

  void report() {
    if (!run_.on_progress || now() - reported_ < 200 * kMs) return;
    reported_ = now();
    progress_.elapsed_s = static_cast<double>(now() - began_) / 1e9;
    progress_.phase = phase_;
    progress_.active.clear();
    for (const auto& [kind, victim] : lasting_) ++progress_.active[kind];
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

  std::vector<std::string> watched_uris() const {
    std::vector<std::string> uris;
    for (int i = 0; run_.servers != nullptr && i < run_.servers->size(); ++i) {
      uris.push_back(direct_uri(run_.servers->mongod(i).port()));
    }
    for (int i = 0; run_.user_set != nullptr && i < run_.user_set->size(); ++i) {
      uris.push_back(run_.user_set->member_uri(i));
    }
    return uris.empty() ? std::vector{run_.uri} : uris;
  }

  /// Spans that ended before the run began do not count.
  void take_spans_without_a_majority() {
    for (auto& span : majority_.events()) {
      if (span.at_ns > history_.front().at_ns) keep(std::move(span));
    }
  }

  /// A member that the run stopped or killed did not stall.
  void take_stalls() {
    auto away = members_away(history_, now());
    away.push_back({"", healing_from_, healing_to_});
    for (auto& stall : stalls_.take()) {
      const bool in_the_run = stall.at_ns > history_.front().at_ns;
      if (in_the_run && !is_ours(stall, away)) keep(std::move(stall));
    }
  }

  /// Makes the calls that are due. A call may ask for another.
  void make_calls() {
    while (!calls_.empty() && calls_.begin()->first <= now()) {
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
    healing_from_ = now();
    restart_members();
    faults_->heal();
    wait_for_a_majority();
    keep(event(Kind::heal));
    healing_to_ = now();
    processes_->heal();
    const auto limit = now() + kHealLimit;
    while (!processes_->all_done() && now() < limit) turn();
    processes_->end_by_force();
  }

  /// A member that failed to fetch asks its source again only after ten seconds.
  void wait_for_a_majority() {
    const auto limit = now() + kMajorityLimit;
    while (!majority_.follows() && now() < limit && !stopping()) {
      phase_ = "healing: no majority has what the primary wrote";
      turn();
    }
    phase_ = "healing";
  }

  /// While the processes are still connected.
  void look_past_proxies() {
    if (run_.user_set == nullptr) return;
    std::vector<std::string> names;
    for (const auto& process : processes_->running()) names.push_back(process.name);
    progress_.past_proxies = run_.user_set->past_proxies(names, OplogReader::kClientName);
  }

  /// The last dead documents get the time in which they have to disappear.
  void wait_for_graves() {
    phase_ = "cleaning up";
    // No author promises that documents of another lock go away.
    if (run_.foreign) return;
    const auto longest = std::max_element(
        plan_.processes.begin(), plan_.processes.end(),
        [](const ProcessPlan& a, const ProcessPlan& b) { return a.expiry_ms < b.expiry_ms; });
    const auto bound_ms = longest->expiry_ms + 2 * plan_.clock_margin_ms + run_.ttl_period_ms;
    const auto limit = now() + std::min(bound_ms * kMs + kTtlSlack, run_.settle_ms * kMs);
    constexpr int kTurnsPerLook = 20;
    while (now() < limit && documents_left(history_) && !stopping() && !somebody_died()) {
      for (int i = 0; i < kTurnsPerLook; ++i) turn();
    }
  }

  const Plan& plan_;
  const LiveRun& run_;
  std::shared_ptr<const runtime::Clock> clock_;
  OplogReader oplog_;
  const std::int64_t start_up_ns_ = run_.foreign && is_scripted(plan_) ? kForeignStartUp : kStartUp;
  std::int64_t began_;
  std::unique_ptr<RunProcesses> processes_;
  StallWatch stalls_{watched_members(), [this] { return now(); }};
  MajorityWatch majority_{watched_uris(), [this] { return now(); }};
  std::optional<LiveServers> servers_;
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

LiveRun LiveRun::on(UserSet& servers, std::string database, Janitor& janitor,
                    const std::string& folder) {
  auto run = on(servers.uri(), std::move(database), janitor, folder);
  run.user_set = &servers;
  return run;
}

std::int64_t clock_margin_ms(const Plan& plan, const LiveRun& run) {
  const auto promised = run.foreign ? run.foreign->promises.clock_margin_ms : std::nullopt;
  return std::min(plan.clock_margin_ms, promised.value_or(plan.clock_margin_ms));
}

RunResult run_live(const Plan& plan, const LiveRun& run) { return Harness(plan, run).go(); }

}  // namespace leasehold::sim::live
