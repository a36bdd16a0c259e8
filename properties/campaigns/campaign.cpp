#include "properties/campaigns/campaign.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "model/verdict/checkers.hpp"
#include "model/workers/worker_judge.hpp"
#include "properties/campaigns/verify.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::properties {

namespace fs = std::filesystem;
using model::Finding;
using model::Check;
using model::Kind;
using model::Verdict;
using sim::FaultPlan;
using sim::Plan;
using sim::ProcessPlan;

void add(Totals& to, const Totals& from) {
  for (const auto& [key, count] : from) to[key] += count;
}

namespace {

constexpr const char* kPromises = "promises.json";

/// A run that tested nothing weighs nothing, and one that a stall leaves open weighs little.
int weight(const Finding& f) {
  if (f.never_tested()) return 0;
  if (f.verdict == Verdict::violated) return 4;
  return f.verdict == Verdict::holds ? 2 : f.only_stalled() ? 1 : 3;
}

void merge(Finding& a, const Finding& b) {
  const bool outweighed = weight(b) > weight(a);
  // The checks of a run that a stall leaves open do not help another to its floor.
  if (outweighed && a.only_stalled()) a.checked = 0;
  if (outweighed || !b.only_stalled() || a.only_stalled()) a.checked += b.checked;
  a.violations += b.violations;
  for (const auto& [key, count] : b.counts) {
    auto& sum = a.counts[key];
    sum = key.starts_with("largest") ? std::max(sum, count) : sum + count;
  }
  for (std::size_t i = 0; i < a.excused.size(); ++i) a.excused[i] += b.excused[i];
  if (!outweighed) return;
  a.verdict = b.verdict;
  a.why = b.why;
  a.open = b.open;
  a.events = b.events;
}

/// Only for a live run, because that reads the oplog again at its end.
void add_majority(std::vector<Finding>& findings, const model::History& history) {
  Finding f{.check = Check::majority};
  bool read = false, unread = false;
  for (model::Index i = 0; i < history.size(); ++i) {
    const auto& e = history[i];
    if (e.kind != Kind::reread) continue;
    read = true;
    f.checked += e.count;
    if (e.outcome == "unread") {
      unread = true;
      f.leave_open(model::Open::unread, e.message.empty() ? kNotRead : e.message);
    }
    if (e.outcome != "vanished") continue;
    ++f.checked;
    f.events.push_back(i);
    if (f.violations++ > 0) continue;
    f.verdict = Verdict::violated;
    f.why = "an oplog entry that a majority had is lost, of time " + std::to_string(e.order);
  }
  if (!read) return;
  if (unread) {
    for (Finding& other : findings) other.leave_open(model::Open::unread, kNotRead);
  }
  findings.push_back(std::move(f));
}

/// Rare events that other changes easily make disappear: an extension of several locks, a document
/// of an owner that was deleted before, a reader that readers refuse because a writer waits.
void add_beacons(const model::History& history, Totals& totals) {
  std::map<std::string, std::int64_t> extending;  // by process: its last command that extends
  std::set<std::string> deleted, read, asks_to_read;  // owners
  std::set<std::pair<std::string, std::int64_t>> downgrades;  // by process: their calls
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> leases;  // by process and session
  std::map<std::string, std::int64_t> lease_of;                         // by owner
  const auto reads = [](const std::string& lock_id) {
    return model::rules::room_of(lock_id) == model::rules::kReaders;
  };
  for (const auto& e : history) {
    if (e.kind == Kind::ask) leases[{e.process, e.session}] = e.expiry_ms;
    const bool hands_over = e.kind == Kind::send && e.verb == "hand-over";
    if (hands_over || (e.kind == Kind::send && e.verb == "acquire")) {
      lease_of[e.owner] = leases[{e.process, e.session}];
    }
    if (hands_over && lease_of[e.giver] != lease_of[e.owner]) ++totals["hand_overs_between_leases"];
    if (e.kind == Kind::call && e.verb == "downgrade") downgrades.insert({e.process, e.call});
    if (e.kind == Kind::returned && e.outcome == "granted" &&
        downgrades.contains({e.process, e.call})) {
      ++totals["downgrades"];
    }
    if (e.kind == Kind::send && reads(e.lock_id)) asks_to_read.insert(e.owner);
    const bool refused = e.kind == Kind::reply && e.verb == "acquire" && e.matched == 0;
    if (refused && asks_to_read.contains(e.owner) && reads(e.seen_lock_id)) {
      ++totals["joins_refused"];
    }
    const bool shares = e.kind == Kind::granted && e.shared && !read.insert(e.owner).second;
    if (shares) ++totals["entries_shared"];
    if (e.kind == Kind::send && e.verb == "extend") {
      auto& last = extending[e.process];
      if (last == e.command) ++totals["extended_together"];
      last = e.command;
    }
    if (e.kind == Kind::reply && e.verb == "delete" && e.outcome == "done") {
      deleted.insert(e.owner);
    }
    if (e.kind != Kind::put || !deleted.contains(model::owner_of(e.lock_id))) continue;
    ++totals["resurrected"];
  }
}

}  // namespace

void merge(std::vector<Finding>& all, const std::vector<Finding>& one) {
  for (const Finding& b : one) {
    const auto found = std::ranges::find(all, b.check, &Finding::check);
    found == all.end() ? all.push_back(b) : merge(*found, b);
  }
}

std::string excuses_of(const Finding& finding) {
  std::string out;
  for (std::size_t i = 0; i < model::kExcuses.size(); ++i) {
    if (finding.excused[i] == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", model::kExcuses[i], finding.excused[i]);
  }
  return out;
}

Stalls stalls_in(const model::History& history) {
  Stalls stalls;
  std::vector<model::Span> of_machine;
  for (const auto& e : history) {
    if (e.kind != Kind::stall || !e.process.empty()) continue;
    stalls.add({e.at_ns - e.from_ns, e.victim});
    if (e.victim == model::kMachine) of_machine.push_back({e.from_ns, e.at_ns});
  }
  const model::MergedSpans merged(std::move(of_machine));
  for (const auto& span : merged.all()) stalls.machine_ns += span.to - span.from;
  if (!history.empty()) stalls.run_ns = history.back().at_ns - history.front().at_ns;
  return stalls;
}

std::string to_string(const Stalls& stalls) {
  if (stalls.longest_ns == 0) return "";
  return fmt::format("{} ms ({}); the machine stood still for {:.1f} % of the time",
                     stalls.longest_ns / model::kMs, stalls.victim, stalls.machine_percent());
}

Judgement judge(const model::History& history, const std::optional<model::Promises>& promises) {
  if (promises) return {model::judge_worker(history, *promises), {}};
  const auto digest = model::digest(history);
  model::Acceptance accepted;
  Judgement judgement{model::judge(digest, accepted), std::move(accepted.taken)};
  const bool whole = judgement.findings.front().verdict == Verdict::holds;
  std::ranges::move(accepted.steps, std::back_inserter(judgement.findings));
  for (Finding& f : judgement.findings) {
    const bool of_steps = kind_of(f.check) == model::CheckKind::model;
    if (of_steps && !whole) f.leave_open(model::Open::other, "the history is not well-formed");
  }
  add_majority(judgement.findings, history);
  return judgement;
}

model::CheckSet violated(const std::vector<Finding>& findings) {
  model::CheckSet all;
  for (const Finding& f : findings) {
    if (f.verdict == Verdict::violated) all.insert(f.check);
  }
  return all;
}

Totals totals_of(const model::History& history, const std::vector<Finding>& findings) {
  Totals totals{{"acquisitions", 0}, {"extensions", 0},   {"releases", 0},  {"fenced_writes", 0},
                {"takeovers", 0},    {"stale_writes", 0}, {"hand_overs", 0}};
  std::map<std::string, std::int64_t> newest;  // by process: the newest write that it knows of
  std::set<std::string> candidates;
  for (const auto& e : history) {
    if (e.kind == Kind::reply && e.outcome == "done") {
      auto& heard = newest[e.process];
      const bool of_a_holder = e.verb == "delete" || e.verb == "extend" || e.verb == "hand-over";
      if (of_a_holder && e.matched == 0 && e.order < heard) ++totals["denied_by_old_primaries"];
      heard = std::max(heard, e.order);
    }
    if (e.kind == Kind::reply && e.outcome == "duplicate_key") ++totals["duplicate_keys"];
    if (e.kind == Kind::start && e.leads) candidates.insert(e.process);
    if (e.kind == Kind::granted) ++totals["acquisitions"];
    if (e.kind == Kind::granted && candidates.contains(e.process)) ++totals["terms"];
    if (e.kind == Kind::extended) ++totals["extensions"];
    if (e.kind == Kind::released && e.outcome == "released") ++totals["releases"];
    if (e.kind == Kind::write && e.outcome == "accepted") ++totals["fenced_writes"];
    if (e.kind == Kind::lost) ++totals["losses"];
    if (e.kind == Kind::congestion && e.begins) ++totals["congestions"];
    if (e.kind == Kind::lost && e.outcome == "max_holding") ++totals["held_too_long"];
    if (e.kind == Kind::held) totals["held_asked"] += e.count;
    if (e.kind == Kind::notified) ++totals["lost_fired"];
    if (e.kind == Kind::reply && e.verb == "stream") {
      ++totals[e.outcome == "done" ? "stream_steps" : "streams_broken"];
    }
    if (e.kind == Kind::reply && e.outcome == "unknown") ++totals["unknown_outcomes"];
    if (e.kind == Kind::no_majority) {
      totals["ms_without_majority"] += (e.at_ns - e.from_ns) / model::kMs;
    }
  }
  for (const auto& f : findings) {
    for (const char* key : {"takeovers", "hand_overs", "passed_on"}) {
      if (f.check == Check::G1 && f.counts.contains(key)) totals[key] += f.counts.at(key);
    }
    for (const char* key :
         {"stale_writes", "stale_writes_refused", "bounded_takeovers", "late_wins", "queue_turns",
          "queue_waits", "losses_by_server", "queue_news", "queue_offers", "queue_left",
          "given_back", "permits_held", "permits_all_held", "batches", "readers_left",
          "dead_readers", "all_calls", "healed_all_calls", "lost_while_others_waited",
          "streams_read_on", "places_kept_by_extensions", "places_kept_by_grants"}) {
      if (f.counts.contains(key)) totals[key] += f.counts.at(key);
    }
    if (f.never_tested()) continue;
    ++totals["verdicts"];
    totals["verdicts_unknown"] += f.verdict == Verdict::unknown ? 1 : 0;
  }
  add_beacons(history, totals);
  return totals;
}

void keep_run(const std::string& folder, const sim::Plan& plan, const model::History& history,
              const std::vector<model::Finding>& findings, const std::vector<std::string>& logs,
              const std::optional<model::Promises>& promises) {
  fs::create_directories(folder);
  std::ofstream(folder + "/plan.scn") << to_scn(plan);
  std::ofstream history_file(folder + "/history.jsonl");
  model::write(history_file, history);
  std::ofstream verdict(folder + "/verdict.txt");
  for (const auto& f : findings) {
    verdict << to_string(f.check) << ' ' << to_string(f.verdict) << ' ' << f.why << '\n';
  }
  if (promises) std::ofstream(fs::path(folder) / kPromises) << to_json(*promises) << '\n';
  for (const auto& log : logs) {
    fs::copy_file(log, fs::path(folder) / fs::path(log).filename(),
                  fs::copy_options::overwrite_existing);
  }
}

std::optional<model::Promises> kept_promises(const std::string& history) {
  const fs::path given(history);
  std::ifstream in((fs::is_directory(given) ? given : given.parent_path()) / kPromises);
  if (!in) return std::nullopt;
  return model::promises_from_json({std::istreambuf_iterator<char>(in), {}});
}

namespace {

constexpr std::int64_t kFewAcquisitions = 10;
constexpr std::int64_t kRunsForAnIdleOne = 10'000;
constexpr std::int64_t kRareRuns = 200;  ///< from here on what is rare has to happen, too

/// The seeds of the runs under way, one more than each; 0: none. For a signal handler.
std::array<std::atomic<std::uint64_t>, 256> under_way{};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Allocates nothing, because a lock may have died within an allocation.
void conclude_with_death(int signal) {
  std::array<char, 4'096> text;
  std::size_t size = 0;
  const auto say = [&](std::string_view words) {
    size += words.substr(0, text.size() - size).copy(text.data() + size, text.size() - size);
  };
  bool any = false;
  for (const auto& place : under_way) {
    std::uint64_t seed = place;
    if (seed-- == 0) continue;
    say(any ? ", or of seed " : "alive violated: the lock died in the run of seed ");
    any = true;
    std::array<char, 20> digits;
    const auto [end, ok] = std::to_chars(digits.data(), digits.data() + digits.size(), seed);
    say({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  if (!any) {
    raise(signal);
    return;
  }
  say("; to repeat: the same command with --seeds SEED\nverdict: violated\n");
  while (::write(STDOUT_FILENO, text.data(), size) < 0 && errno == EINTR) {
  }
  constexpr int kViolated = 1;
  _exit(kViolated);
}

}  // namespace

void conclude_deaths() {
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    struct sigaction before {}, now {};
    now.sa_handler = conclude_with_death;
    now.sa_flags = static_cast<int>(SA_RESETHAND);
    const bool ours = sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL;
    if (ours) sigaction(signal, &now, nullptr);  // else a sanitizer says it
  }
}

Simulated simulate(const Plan& plan, std::optional<std::uint64_t> seed) {
  const auto place = std::ranges::find_if(under_way, [&](auto& taken) {
    std::uint64_t free = 0;
    return taken.compare_exchange_strong(free, seed.value_or(plan.seed) + 1);
  });
  const std::shared_ptr<void> at_the_end(nullptr, [place](void*) {
    if (place != under_way.end()) *place = 0;
  });
  Simulated one{sim::simulated::run(plan), {}};
  one.judgement = judge(one.run.history);
  return one;
}

void on_all_cores(std::uint64_t count, const std::function<bool(std::uint64_t)>& work,
                  const std::function<void(std::uint64_t)>& watch) {
  constexpr std::chrono::milliseconds kLook{200};
  std::atomic<std::uint64_t> next = 0, done = 0;
  std::atomic<bool> enough = false;
  const auto take = [&] {
    for (auto i = next++; i < count && !enough; i = next++) {
      try {
        if (!work(i)) enough = true;
      } catch (...) {
        enough = true;
        throw;
      }
      ++done;
    }
  };
  std::vector<std::future<void>> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.push_back(std::async(std::launch::async, take));
  }
  for (const auto& thread : threads) {
    while (thread.wait_for(kLook) != std::future_status::ready) {
      if (watch) watch(done);
    }
  }
  for (auto& thread : threads) thread.get();
}

SimulateReport::SimulateReport(std::uint64_t seed, const Plan& plan, const Simulated& one,
                               bool hashed)
    : Sums(one.run, one.judgement),
      runs(1),
      virtual_s(static_cast<double>(one.run.elapsed_ns) * 1e-9),
      events(one.run.events),
      hash(hashed ? seeds_hash(seed, one.run) : 0),
      fewest_acquisitions(totals.at("acquisitions")),
      idle_runs(fewest_acquisitions < kFewAcquisitions ? 1 : 0),
      scripted(is_scripted(plan)) {
  const auto any = [&](const auto& is) { return std::ranges::any_of(plan.processes, is); };
  with = {
      {"queues", any([&](const ProcessPlan& p) { return sim::waits_in_queue(p, plan.lock); })},
      {"permits", any([](const ProcessPlan& p) { return p.permits > 0; })},
      {"calls_for_several_locks", any([](const ProcessPlan& p) { return p.together > 1; })},
      {"leaders", any([](const ProcessPlan& p) { return p.leads; })},
      {"other_options", any([](const ProcessPlan& p) { return p.other_expiry_ms > 0; })},
      {"full_queues", any([](const ProcessPlan& p) { return p.queue_room < 5; })},
      {"many_locks", any([](const ProcessPlan& p) { return p.together >= 50; })},
      {"defaults", plan.heartbeat_ms >= sim::kOwnHeartbeat_ms},
      {"readers", any([](const ProcessPlan& p) { return p.reads_percent > 0; })},
      {"moves", sim::simulated::has_moves(plan)}};
  for (const FaultPlan& f : plan.faults) {
    const std::string kind = to_string(f.kind);
    if (f.on != FaultPlan::Command::none) continue;  // it may wait in vain
    enabled[kind] = 1;
    if (took_effect.contains(kind)) bit[kind] = 1;
  }
  if (one.verdict() != model::Verdict::holds) failed.insert(seed);
}

void SimulateReport::add(const SimulateReport& other) {
  if (other.runs == 0) return;
  fewest_acquisitions = runs == 0 ? other.fewest_acquisitions
                                  : std::min(fewest_acquisitions, other.fewest_acquisitions);
  Sums::add(other);
  runs += other.runs;
  virtual_s += other.virtual_s;
  events += other.events;
  hash += other.hash;
  idle_runs += other.idle_runs;
  scripted = other.scripted;
  for (const auto part : {&SimulateReport::with, &SimulateReport::enabled, &SimulateReport::bit}) {
    properties::add(this->*part, other.*part);
  }
  failed.insert(other.failed.begin(), other.failed.end());
}

std::string SimulateReport::shortfall() const {
  if (runs == 0) return "nothing ran";
  // One of many thousands of generated plans may have little else than faults.
  if (!scripted && idle_runs * kRunsForAnIdleOne > runs) {
    return fmt::format("{} of {} runs had fewer than {} acquisitions, one in {} may", idle_runs,
                       runs, kFewAcquisitions, kRunsForAnIdleOne);
  }
  struct Floor {
    std::int64_t able;  ///< runs in which these can happen
    std::vector<const char*> all;
    std::int64_t from_runs = kManyRuns, one_in = 4;
  };
  const auto where = [&](const char* ability) { return count_of(with, ability); };
  const auto queues = where("queues"), together = where("calls_for_several_locks");
  // Where no call queues, no stream is open and none breaks, and no call has a turn; a call that
  // leaves a queue passes the lock on, and deletes nothing.
  const Floor floors[]{
      {runs, {"extensions", "takeovers", "losses", "hand_overs", "held_too_long"}},
      {queues, {"streams_broken", "queue_turns", "queue_waits", "queue_news", "queue_offers",
                "queue_left", "streams_read_on", "places_kept_by_extensions",
                "places_kept_by_grants"}},
      {where("permits"), {"permits_held", "permits_all_held"}},
      {together, {"all_calls"}}, {where("leaders"), {"terms"}},
      {where("readers"), {"batches", "readers_left", "joins_refused", "dead_readers",
                          "entries_shared", "downgrades"}},
      {together, {"lost_while_others_waited"}, 100, 10}, {where("moves"), {"moves-while-held"}},
      {where("other_options"), {"hand_overs_between_leases"}}, {where("full_queues"), {"tickets"}},
      {where("many_locks"), {"batches-of-fifty"}},
      {runs, {"bounded_takeovers", "late_wins", "denied_by_old_primaries", "duplicate_keys",
                "extended_together"}, kRareRuns, kRareRuns},
      {runs - queues, {"resurrected"}, kRareRuns, kRareRuns},
      {runs, {"losses_by_server"}, kRareRuns, kRareRuns}};
  for (const auto& [able, all, from_runs, one_in] : floors) {
    for (const char* what : all) {
      const bool of_servers = took_effect.contains(what);
      const std::int64_t seen = of_servers ? took_effect.at(what) : count_of(totals, what);
      if (able < from_runs || seen * one_in >= able) continue;
      return fmt::format("{} happened {} times in {} runs, the floor is {}", what, seen, able,
                         one_in == 4 ? "a quarter" : fmt::format("one in {}", one_in));
    }
  }
  // The rarest fault takes effect in three of five runs that have it; of few runs chance takes
  // more, so two standard deviations are left to it.
  for (const auto& [kind, count] : enabled) {
    const auto all = static_cast<double>(count);
    const auto floor = static_cast<std::int64_t>(0.5 * all - std::sqrt(all));
    const auto felt = count_of(bit, kind);
    if (felt >= floor) continue;
    return fmt::format("the fault {} took effect in {} of the {} runs that had it, the floor is {}",
                       kind, felt, count, floor);
  }
  return "";
}

CampaignAnswer SimulateReport::answer() const {
  const auto more = 10 * std::max<std::int64_t>(runs, 10);
  return properties::answer(findings,
                            {.interrupted = interrupted,
                             .too_seldom = shortfall(),
                             .see_more = "run more seeds, as --seeds 1.." + std::to_string(more)});
}

}  // namespace leasehold::properties
