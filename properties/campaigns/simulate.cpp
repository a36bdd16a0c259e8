#include "properties/campaigns/simulate.hpp"

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
#include <future>
#include <string_view>
#include <thread>

#include "properties/campaigns/verify.hpp"
#include "sim/plan/lock_registry.hpp"

namespace leasehold::properties {

using sim::FaultPlan;
using sim::Plan;
using sim::ProcessPlan;

namespace {

/// What can happen in a run of the plan, beside what can in every one.
Totals abilities_of(const Plan& plan) {
  const auto any = [&](const auto& is) { return std::ranges::any_of(plan.processes, is); };
  return {
      {"queues", any([&](const ProcessPlan& p) { return sim::waits_in_queue(p, plan.lock); })},
      {"permits", any([](const ProcessPlan& p) { return p.permits > 0; })},
      {"calls_for_several_locks", any([](const ProcessPlan& p) { return p.together > 1; })},
      {"leaders", any([](const ProcessPlan& p) { return p.leads; })},
      {"other_options", any([](const ProcessPlan& p) { return p.other_expiry_ms > 0; })},
      {"full_queues", any([](const ProcessPlan& p) { return p.queue_room < 5; })},
      {"many_locks", any([](const ProcessPlan& p) { return p.together >= 50; })},
      {"defaults", plan.heartbeat_ms >= sim::kOwnHeartbeat_ms},
      {"moves", sim::simulated::has_moves(plan)}};
}

constexpr std::int64_t kFewAcquisitions = 10;
constexpr std::int64_t kRunsForAnIdleOne = 10'000;
constexpr std::int64_t kRareRuns = 200;  ///< from here on what is rare has to happen, too

/// The seeds of the runs under way, one more than each; 0: none. For a signal handler.
std::array<std::atomic<std::uint64_t>, 256> under_way{};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// A run that is under way, for as long as this lives.
class UnderWay {
 public:
  explicit UnderWay(std::uint64_t seed) {
    for (auto& place : under_way) {
      std::uint64_t free = 0;
      if (!place.compare_exchange_strong(free, seed + 1)) continue;
      place_ = &place;
      return;
    }
  }
  ~UnderWay() {
    if (place_ != nullptr) *place_ = 0;
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  std::atomic<std::uint64_t>* place_ = nullptr;
};

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

/// One of many thousands of generated plans may have little else than faults.
std::string idle_runs_shortfall(const SimulateReport& r) {
  if (r.scripted || r.idle_runs * kRunsForAnIdleOne <= r.runs) return "";
  return fmt::format("{} of {} runs had fewer than {} acquisitions, one in {} may", r.idle_runs,
                     r.runs, kFewAcquisitions, kRunsForAnIdleOne);
}

std::string happenings_shortfall(const SimulateReport& r) {
  struct Floor {
    std::int64_t able;  ///< runs in which these can happen
    std::vector<const char*> all;
    std::int64_t from_runs = kManyRuns, one_in = 4;
  };
  const auto with = [&](const char* ability) { return count_of(r.with, ability); };
  const auto queues = with("queues"), together = with("calls_for_several_locks");
  // Where no call queues, no stream is open and none breaks, and no call has a turn; a call that
  // leaves a queue passes the lock on, and deletes nothing.
  const Floor floors[]{
      {r.runs, {"extensions", "takeovers", "losses", "hand_overs", "held_too_long"}},
      {queues, {"streams_broken", "queue_turns", "queue_waits", "queue_news", "queue_offers",
                "queue_left", "streams_read_on", "places_kept_by_extensions",
                "places_kept_by_grants"}},
      {with("permits"), {"permit_calls"}}, {with("permits"), {"permit_waits"}, 100, 10},
      {together, {"all_calls"}}, {with("leaders"), {"terms"}},
      {together, {"lost_while_others_waited"}, 100, 10}, {with("moves"), {"moves-while-held"}},
      {with("other_options"), {"hand_overs_between_leases"}}, {with("full_queues"), {"tickets"}},
      {with("many_locks"), {"batches-of-fifty"}},
      {r.runs, {"bounded_takeovers", "late_wins", "denied_by_old_primaries", "duplicate_keys",
                "extended_together"}, kRareRuns, kRareRuns},
      {r.runs - queues, {"resurrected"}, kRareRuns, kRareRuns},
      {r.runs, {"losses_by_server"}, kRareRuns, kRareRuns}};
  for (const auto& [able, all, from_runs, one_in] : floors) {
    for (const char* what : all) {
      const bool of_servers = r.took_effect.contains(what);
      const std::int64_t seen = of_servers ? r.took_effect.at(what) : count_of(r.totals, what);
      if (able < from_runs || seen * one_in >= able) continue;
      return fmt::format("{} happened {} times in {} runs, the floor is {}", what, seen, able,
                         one_in == 4 ? "a quarter" : fmt::format("one in {}", one_in));
    }
  }
  return "";
}

/// The rarest fault takes effect in three of five runs that have it; of few runs chance takes
/// more, so two standard deviations are left to it.
std::string faults_shortfall(const SimulateReport& r) {
  for (const auto& [kind, count] : r.enabled) {
    const auto all = static_cast<double>(count);
    const auto floor = static_cast<std::int64_t>(0.5 * all - std::sqrt(all));
    const auto felt = count_of(r.bit, kind);
    if (felt >= floor) continue;
    return fmt::format("the fault {} took effect in {} of the {} runs that had it, the floor is {}",
                       kind, felt, count, floor);
  }
  return "";
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
  const UnderWay now(seed.value_or(plan.seed));
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
      with(abilities_of(plan)),
      scripted(is_scripted(plan)) {
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
  for (const auto& part : {idle_runs_shortfall, happenings_shortfall, faults_shortfall}) {
    if (auto found = part(*this); !found.empty()) return found;
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
