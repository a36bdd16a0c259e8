#include "properties/generation/plan_generator.hpp"

#include <algorithm>
#include <leasehold/lock_options.hpp>
#include <utility>

#include "model/spec/lock_rules.hpp"
#include "sim/plan/lock_registry.hpp"
#include "sim/plan/random.hpp"

namespace leasehold::properties {
namespace {

using sim::FaultPlan;
using sim::Plan;
using sim::ProcessPlan;
using sim::Range;
using FaultKind = FaultPlan::Kind;

class Reader {
 public:
  explicit Reader(const Numbers& numbers) : numbers_(numbers) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t number = at_ < numbers_.size() ? numbers_[at_++] : 0;
    return low + static_cast<std::int64_t>(number % static_cast<std::uint64_t>(high - low + 1));
  }
  std::int64_t within(Range r) { return between(r.low, r.high); }
  /// Reads no number where there is no choice.
  std::int64_t choice(Range r) { return r.low == r.high ? r.low : within(r); }
  /// True `part` times in `whole`.
  bool share(int part, int whole) { return between(0, whole - 1) >= whole - part; }
  bool chance(int percent) { return share(percent, 100); }
  template <typename Choice>
  const Choice& one_of(const std::vector<Choice>& all) {
    return all[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(all.size()) - 1))];
  }

 private:
  const Numbers& numbers_;
  std::size_t at_ = 0;
};

/// A number that is usually of one range, and once in `one_in` of another (0: never).
struct Mixed {
  Range usual;
  int one_in = 0;
  Range rare = {};
  std::int64_t read(Reader& in) const {
    if (one_in == 0) return in.within(usual);
    return in.within(in.share(1, one_in) ? rare : usual);
  }
};

/// The ranges of plans of one manner: these are of simulated ones. Percentages are of processes
/// unless said otherwise.
struct Ranges {
  Mixed clock_margin_ms{{200, 2'000}};
  Mixed expiry_ms{{300, 1'200}, 4, {1'200, 3'000}};
  Range longer_wait_ms{10, 300};  ///< beyond the shortest wait
  Range hold_ms{1, 12};
  /// The rare ones only with the usual leases: long leases have few, so that every run has
  /// acquisitions.
  Mixed long_hold_percent{{2, 6}, 3, {8, 20}};
  int drifting_percent = 50;  ///< of plans
  int most_callers = 4;
  int few_hand_overs_percent = 30;
  Range few_hand_overs{0, 2};
  /// There are none in these parts of the faulty time.
  std::int64_t before_faults_ms = 100, after_faults_ms = 200;
  std::int64_t picks = 1'000;
  /// The share of plans that disturb no server: only there has a dead holder's lock to pass on in
  /// time.
  int healthy_percent = 15;
};

/// Renewals of a queued call, in longest pauses of a polling one.
constexpr std::int64_t kRenewalPauses = 10;

const Ranges& ranges_for(Manner manner) {
  static const Ranges simulated{};
  // Mostly short leases: a run sees more of them end. For healthy servers, leave out groups.
  static const Ranges live{
      .clock_margin_ms = {{500, 2'000}, 5, {2'000, 10'000}},
      .expiry_ms = {{300, 1'500}, 4, {1'500, 3'000}},
      .longer_wait_ms = {50, 390},
      .hold_ms = {1, 6},
      .long_hold_percent = {{3, 4}},
      .drifting_percent = 100,
      .most_callers = 3,
      .few_hand_overs_percent = 50,
      .few_hand_overs = {0, 1},
      .before_faults_ms = 500,
      .after_faults_ms = 500,
      .picks = 1'000'000,
      .healthy_percent = 0,
  };
  return manner == Manner::live ? live : simulated;
}

/// There is about one fault of this kind in this many ms of a live run.
std::int64_t interval_ms(FaultKind kind, Reader& in, int locks, bool foreign) {
  if (sim::about(kind).stops_writes) return 15'000;
  switch (kind) {
    // Each costs its lock about a lease, but a lock has to work most of the time.
    case FaultKind::crash:
    case FaultKind::pause: return in.between(5'000, 8'000) / locks;
    case FaultKind::step_up: return in.between(4'000, 7'000);
    case FaultKind::clock_jump: return 4'000;
    case FaultKind::clock_drift:
    case FaultKind::waiting_inside: return 9'000;
    case FaultKind::wall_clock: return foreign ? 4'000 : 15'000;
    default: return 5'000;
  }
}

class Generator {
 public:
  Generator(const Numbers& numbers, const PlanLimits& limits)
      : in_(numbers), limits_(limits), ranges_(ranges_for(limits.manner)) {}

  Plan read() {
    constexpr int kForeignLongHolds = 3;  ///< times as many
    // From here on kinds are read last, so that seeds keep their meaning.
    constexpr int kReadLast = static_cast<int>(FaultKind::wall_clock) + 1;
    constexpr int kMaxHoldingPercent = 25;
    constexpr int kTriggeredPercent = 80;  ///< of the plans that are not healthy: two of three
    plan_.lock = limits_.lock;
    plan_.seed = static_cast<std::uint64_t>(in_.between(0, 1'000'000'000));
    plan_.faulty_ms = limits_.faulty_ms;
    plan_.locks = static_cast<int>(in_.within(limits_.locks));
    plan_.clock_margin_ms = ranges_.clock_margin_ms.read(in_);
    const auto processes = in_.within(limits_.processes);
    const bool drifts = in_.chance(ranges_.drifting_percent);
    for (std::int64_t i = 0; i < processes; ++i) plan_.processes.push_back(read_process(drifts));
    read_kinds(0, kReadLast);
    // A long holding of a lock without extension has to be over within its lease, as published.
    const auto known = model::lock_named(limits_.lock);
    const bool extends = limits_.foreign || !known || model::rules_of(*known).extends;
    for (auto& p : plan_.processes) {
      p.long_hold_leases = extends ? 2 : 1;
      if (limits_.foreign) p.long_hold_percent *= kForeignLongHolds;
      // Shorter than its long holdings, often.
      if (in_.chance(kMaxHoldingPercent)) p.max_holding_ms = in_.between(50, p.expiry_ms);
    }
    read_kinds(kReadLast, sim::kFaultKinds);
    const bool faulty = is_faulty();
    const bool healthy = faulty && in_.chance(ranges_.healthy_percent);
    if (healthy) read_healthy();
    if (faulty && !healthy && !live_ && in_.chance(kTriggeredPercent)) read_triggered();
    read_permits();
    read_together_and_leads();
    if (faulty && is_ours() && !live_) {
      read_options();
      const auto drawn = in_.between(0, 99);
      const bool may_queue = std::ranges::count(limits_.waitings, sim::Waiting::queue) > 0;
      if (drawn >= 93 && drawn < 96 && may_queue) read_full_queues();
      auto& last = plan_.processes.back();
      if (drawn == 92) last.old_release = last.waiting != sim::Waiting::queue && last.permits == 0;
      if (drawn == 91) read_old_half();
      if (drawn == 96 || drawn == 97) read_many_locks();
      if (drawn > 97) read_defaults();
    }
    read_world();
    read_readers();
    std::ranges::stable_sort(plan_.faults, {}, &FaultPlan::at_ms);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool is_ours() const {
    return !limits_.foreign && !sim::lock_under_test(plan_.lock).is_published();
  }
  [[nodiscard]] bool is_faulty() const { return !limits_.only && !limits_.groups.empty(); }

  ProcessPlan read_process(bool drifts) {
    ProcessPlan p;
    p.expiry_ms = ranges_.expiry_ms.read(in_);
    p.wait_min_ms = in_.between(1, 10);
    p.wait_max_ms = p.wait_min_ms + in_.within(ranges_.longer_wait_ms);
    p.hold_ms = in_.within(ranges_.hold_ms);
    const auto& [few, one_in, many] = ranges_.long_hold_percent;
    const bool often =
        one_in > 0 && in_.share(1, one_in) && p.expiry_ms <= ranges_.expiry_ms.usual.high;
    p.long_hold_percent = static_cast<int>(in_.within(often ? many : few));
    p.single_attempt_percent = static_cast<int>(in_.between(0, 20));
    p.cancel_percent = static_cast<int>(in_.between(0, 10));
    p.acquire_timeout_ms = in_.between(300, 4'000);
    if (drifts) p.drift_ppm = in_.between(-4'000, 4'000);  // within max_drift, 5,000
    const auto waiting = in_.between(0, static_cast<int>(sim::Waiting::queue));
    p.waiting = limits_.waitings[static_cast<std::size_t>(waiting) % limits_.waitings.size()];
    // Queued calls are notified of their turn; renewals as frequent as polls would hide a miss.
    if (p.waiting == sim::Waiting::queue) p.wait_max_ms *= kRenewalPauses;
    // One caller is twice as likely as each other number.
    p.callers = static_cast<int>(std::max<std::int64_t>(in_.between(0, ranges_.most_callers), 1));
    if (in_.chance(ranges_.few_hand_overs_percent)) {
      p.hand_overs = static_cast<int>(in_.within(ranges_.few_hand_overs));
    }
    return p;
  }

  /// How many faults of this kind the plan has.
  std::int64_t read_count(FaultKind kind) {
    constexpr int kKindPercent = 35;
    const bool asked =
        limits_.groups.contains(sim::group_of(kind)) && sim::harm_of(kind) == sim::Harm::none;
    if (live_) {
      // Half of them in each plan, so that locks work most of the time. Two primaries always,
      // because other faults often prevent that election.
      const bool always = !sim::about(kind).stops_writes || kind == FaultKind::two_primaries;
      if (!asked || (!always && in_.chance(50))) return 0;
      const auto interval = interval_ms(kind, in_, plan_.locks, limits_.foreign);
      return std::max<std::int64_t>(limits_.faulty_ms / interval, 1);
    }
    const bool drawn = in_.chance(kKindPercent) && asked;
    const bool wanted = limits_.only ? *limits_.only == kind : drawn;
    return wanted ? in_.between(1, 4) : 0;
  }

  void read_fault(FaultKind kind) {
    // Longer than most leases, because a real process hardly notices shorter pauses.
    constexpr Range kLivePause_ms{1'200, 4'500};
    FaultPlan f;
    f.kind = kind;
    const auto last = std::max(plan_.faulty_ms - ranges_.after_faults_ms, ranges_.before_faults_ms);
    f.at_ms = in_.between(ranges_.before_faults_ms, last);
    f.pick = in_.between(0, ranges_.picks);
    const auto ranges = ranges_of(kind, plan_.clock_margin_ms);
    const bool live_pause = kind == FaultKind::pause && live_;
    f.for_ms = in_.choice(live_pause ? kLivePause_ms : ranges.for_ms);
    f.amount = in_.choice(ranges.amount);
    plan_.faults.push_back(f);
  }

  void read_kinds(int from, int to) {
    for (int k = from; k < to; ++k) {
      const auto kind = static_cast<FaultKind>(k);
      const auto count = read_count(kind);
      for (std::int64_t i = 0; i < count; ++i) read_fault(kind);
    }
  }

  /// Leaves out faults of servers and links, and those that begin at a command because they are
  /// many; and lets holders die.
  void read_healthy() {
    std::erase_if(plan_.faults, [](const FaultPlan& f) {
      const bool of_process = f.kind == FaultKind::crash || f.kind == FaultKind::pause ||
                              f.kind == FaultKind::suspend;
      return !of_process || f.on != FaultPlan::Command::none;
    });
    const auto count = in_.between(2, 5);
    for (std::int64_t i = 0; i < count; ++i) read_fault(FaultKind::crash);
  }

  /// Half of them, and at least one.
  template <typename Choice>
  std::vector<Choice> read_some(const std::vector<Choice>& all) {
    std::vector<Choice> some;
    for (const auto& one : all) {
      if (in_.chance(50)) some.push_back(one);
    }
    const auto& any = in_.one_of(all);
    if (some.empty()) some.push_back(any);
    return some;
  }

  /// Faults that begin when a command is sent or answered, because a fault and a command seldom
  /// meet within a few ms. Such a plan has no others, because those end most of what these bring
  /// about. It has some kinds and some commands, and faults of one length.
  void read_triggered() {
    using enum FaultPlan::Kind;
    using Command = FaultPlan::Command;
    constexpr Range kLong_ms{200, 2'500};
    constexpr int kLongestShort = 11;  // a power of two
    constexpr int kLongPercent = 30, kReplyPercent = 30;
    // Most meet nothing that a planted error needs.
    constexpr std::int64_t kFewest = 30, kMost = 100;
    std::vector<FaultKind> asked{lost_replies, late_requests, cut_link, refuse_link,
                                 slow_link,    pause,         crash,    two_primaries,
                                 step_up,      errors,        force_release};
    std::erase_if(asked, [&](FaultKind k) { return !limits_.groups.contains(sim::group_of(k)); });
    if (asked.empty()) return;
    plan_.faults.clear();
    const auto kinds = read_some<FaultKind>(asked);
    // Attempts are far more frequent than all others: they are one command of six.
    const auto commands = read_some<Command>({Command::acquire, Command::extend, Command::remove,
                                              Command::hand_over, Command::pass_on, Command::look});
    const auto short_ms = [this] {
      return in_.between(1, std::int64_t{1} << in_.between(0, kLongestShort));
    };
    const bool long_ones = in_.chance(kLongPercent);
    for (auto left = in_.between(kFewest, kMost); left > 0; --left) {
      FaultPlan f;
      f.kind = in_.one_of(kinds);
      f.on = in_.one_of(commands);
      f.nth = in_.between(1, 2);
      f.at_reply = in_.chance(kReplyPercent);
      f.at_ms = in_.between(0, plan_.faulty_ms - 1);
      const auto process = in_.between(0, static_cast<std::int64_t>(plan_.processes.size()) - 1);
      if (in_.chance(50)) f.process = process;
      f.pick = in_.between(0, ranges_.picks);
      const auto ranges = ranges_of(f.kind, plan_.clock_margin_ms);
      // An old primary is met only if it stays one for some time.
      const bool long_one = long_ones || sim::about(f.kind).stops_writes;
      const auto for_ms = long_one ? in_.within(kLong_ms) : short_ms();
      if (ranges.for_ms.high > 0) f.for_ms = for_ms;
      f.amount = in_.choice(ranges.amount);
      plan_.faults.push_back(f);
    }
  }

  /// Some of its processes call for permits instead of locks. In three of four such plans they hold
  /// long, and more wait than there are permits, long and beside slots that come and go: only where
  /// nothing is disturbed for seconds must a call notice a free slot in time.
  void read_permits() {
    const int one_in = live_ ? 3 : 4;
    if (!is_ours() || !in_.share(1, one_in)) return;
    const auto permits = static_cast<int>(in_.between(1, 3));
    const bool patient = in_.chance(75);
    if (patient && is_faulty() && !live_) read_healthy();
    for (auto& p : plan_.processes) {
      if (!in_.chance(60)) continue;
      p.permits = permits;
      if (!patient) continue;
      p.callers = live_ ? 1 : static_cast<int>(in_.between(2, 3));
      p.acquire_timeout_ms *= 4;
      p.single_attempt_percent /= 4;
      p.long_hold_percent = static_cast<int>(in_.between(30, 90));
      p.long_hold_leases = static_cast<int>(in_.between(2, 5));
      p.max_holding_ms = 0;
    }
  }

  /// Some of its processes want two locks or more at once, and some stand for election.
  void read_together_and_leads() {
    const int one_in = live_ ? 3 : 6;
    if (!is_ours() || !in_.share(1, one_in)) return;
    plan_.locks = std::max(plan_.locks, static_cast<int>(in_.between(1, 3)));
    for (auto& p : plan_.processes) {
      const auto drawn = in_.between(0, 5);
      const auto together = static_cast<int>(in_.between(2, 3));
      if (p.permits > 0) continue;
      if (drawn < 2 && plan_.locks > 1) p.together = std::min(together, plan_.locks);
      if (drawn == 2 || drawn == 3) p.leads = true;
    }
    // One of several is lost.
    constexpr auto kForced = FaultKind::force_release;
    const bool forced = !limits_.only && limits_.groups.contains(sim::group_of(kForced)) && !live_;
    for (int i = 0; forced && i < 3; ++i) read_fault(kForced);
  }

  /// In half of the plans some processes share the lock, with some of their calls or with all.
  void read_readers() {
    const bool published = sim::lock_under_test(plan_.lock).is_published();
    if (published || (limits_.foreign && !limits_.shares) || !in_.chance(50)) return;
    for (auto& p : plan_.processes) {
      const auto drawn = in_.between(0, 3);
      const auto percent = static_cast<int>(in_.between(20, 90));
      if (p.permits > 0 || p.together > 0 || p.leads || p.old_release) continue;
      p.reads_percent = drawn == 0 ? 0 : drawn == 1 ? 100 : percent;
    }
  }

  /// Settings that few plans need, each of some processes; and callers of one process that differ.
  void read_options() {
    constexpr std::int64_t kMostDrift_ppm = 40'000;
    for (auto& p : plan_.processes) {
      const auto max_drift = in_.between(0, 4 * kMostDrift_ppm);
      if (max_drift <= kMostDrift_ppm) {
        p.drift_ppm = p.drift_ppm * max_drift / p.max_drift_ppm;
        p.max_drift_ppm = max_drift;
      }
      const auto timeout = in_.between(p.expiry_ms / 10, p.expiry_ms / 2 - 1);
      if (in_.chance(20)) p.operation_timeout_ms = timeout;
      const auto cadence = in_.between(p.expiry_ms / 6, p.expiry_ms * 7 / 10);
      if (in_.chance(20)) p.extension_cadence_ms = cadence;
      const auto workers = static_cast<int>(in_.between(1, 8));
      if (in_.chance(20)) p.workers = workers;
      const auto other = p.expiry_ms * in_.between(30, 300) / 100;
      const auto margin = in_.between(plan_.clock_margin_ms, 2 * plan_.clock_margin_ms);
      const auto holding = in_.between(50, other);
      if (!in_.chance(40)) continue;
      p.callers = std::max(p.callers, 2);
      p.other_expiry_ms = std::max<std::int64_t>(other, 200);
      if (in_.chance(50)) p.other_margin_ms = margin;
      if (in_.chance(25)) p.other_max_holding_ms = holding;
    }
  }

  /// A rolling change: every second process is of a release that polls.
  void read_old_half() {
    for (std::size_t i = 0; i < plan_.processes.size(); ++i) {
      ProcessPlan& p = plan_.processes[i];
      p.waiting = i % 2 == 1 ? sim::Waiting::uniform : limits_.waitings.back();
      p.old_release = i % 2 == 1;
      if (p.old_release) p.permits = 0;
    }
  }
  /// More processes queue for one lock than its queue has room for.
  void read_full_queues() {
    const auto room = in_.between(1, 2);
    plan_.locks = 1;
    while (plan_.processes.size() < 5) plan_.processes.push_back(plan_.processes.front());
    for (auto& p : plan_.processes) {
      p.queue_room = room;
      if (p.waiting == sim::Waiting::queue) continue;
      p.waiting = sim::Waiting::queue;
      p.wait_max_ms *= kRenewalPauses;
    }
  }

  /// One process holds so many locks for so long that one command extends fifty and more.
  void read_many_locks() {
    auto& p = plan_.processes.front();
    p.together = plan_.locks = static_cast<int>(in_.between(52, 60));
    p.permits = 0;
    p.leads = false;
    p.expiry_ms = in_.between(3'000, 5'000);
    p.operation_timeout_ms = p.extension_cadence_ms = p.other_expiry_ms = 0;
    p.max_holding_ms = in_.chance(30) ? p.expiry_ms : 0;
    p.callers = 1;
    p.acquire_timeout_ms = 8'000;
    p.single_attempt_percent = p.cancel_percent = 0;
    p.long_hold_percent = 100;
    // The others leave it most of the locks.
    for (std::size_t i = 1; i < plan_.processes.size(); ++i) {
      plan_.processes[i].together = 0;
      plan_.processes[i].callers = 1;
    }
  }

  /// Each setting at its default, of the lock and of a replica set. All times are
  /// longer with the leases, so that such a run has as many events as another.
  void read_defaults() {
    constexpr std::int64_t kLonger = 20;
    plan_.faulty_ms *= kLonger;
    plan_.clock_margin_ms = LockOptions().clock_margin.count();
    plan_.ttl_period_ms = 60'000;
    plan_.election_timeout_ms = 10'000;
    plan_.heartbeat_ms = sim::kOwnHeartbeat_ms;
    for (auto& p : plan_.processes) {
      const ProcessPlan drawn = std::exchange(p, {});
      p.expiry_ms = LockOptions().expiry.count();
      p.workers = 4;
      p.callers = drawn.callers;
      p.drift_ppm = std::clamp<std::int64_t>(drawn.drift_ppm, -4'000, 4'000);
      p.hold_ms = drawn.hold_ms * kLonger;
      p.long_hold_percent = drawn.long_hold_percent;
      p.long_hold_leases = drawn.long_hold_leases;
      p.acquire_timeout_ms = drawn.acquire_timeout_ms * kLonger;
      p.permits = drawn.permits;
      p.together = drawn.together;
      p.leads = drawn.leads;
      if (drawn.waiting != sim::Waiting::queue) continue;
      p.waiting = sim::Waiting::queue;
      p.wait_max_ms = 10'000;
    }
    for (auto& f : plan_.faults) {
      f.at_ms *= kLonger;
      f.for_ms *= kLonger / 2;
    }
  }

  /// What the servers and drivers of a virtual run are like. By the seed, which is a draw, so that
  /// seeds keep their meaning.
  void read_world() {
    constexpr int kFailedFetches = 25;
    plan_.shards = plan_.seed % 3 == 1 && plan_.lock == "leasehold" && !live_ &&
                   plan_.heartbeat_ms < sim::kOwnHeartbeat_ms;
    plan_.ttl_at_once = plan_.seed % 2 == 0;
    plan_.failed_fetches = kFailedFetches;
    plan_.stray_commands = true;
    // Behind routers there are no streams. A fifth of the others lag, and a tenth may open none.
    const auto kind = live_ ? 0 : plan_.seed % 10;
    plan_.stream_lag_ms = kind == 5 ? -1 : kind == 2 ? 5'000 : kind == 8 ? 500 : 0;
  }

  Reader in_;
  const PlanLimits& limits_;
  const bool live_ = limits_.manner == Manner::live;
  const Ranges& ranges_;
  Plan plan_;
};

}  // namespace

FaultRanges ranges_of(sim::FaultPlan::Kind kind, std::int64_t clock_margin_ms) {
  const auto& about = sim::about(kind);
  if (kind != sim::FaultPlan::Kind::clock_jump) return {about.for_ms, about.amount};
  return {about.for_ms, {-clock_margin_ms, clock_margin_ms}};
}

Plan plan_from(const Numbers& numbers, const PlanLimits& limits) {
  return Generator(numbers, limits).read();
}

Numbers numbers_of(std::uint64_t seed) {
  sim::Random random(seed);
  // With room: what is read beyond them is 0, which draws the same plan again and again.
  constexpr std::size_t kNumbers = 2'000;
  Numbers numbers(kNumbers);
  for (auto& n : numbers) n = static_cast<std::uint32_t>(random.draw());
  return numbers;
}

}  // namespace leasehold::properties
