#include "properties/stories/scenario.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace leasehold::properties {
namespace {

using model::LockAct;
using sim::FaultPlan;
using FaultKind = FaultPlan::Kind;
using Action = sim::StepPlan::Action;

constexpr std::int64_t kBegin_ms = 100;
constexpr std::int64_t kLease_ms = model::lock_world::kLease * kTick_ms;
constexpr std::int64_t kCadence_ms = kLease_ms / 3;  ///< of extensions; also an operation timeout
constexpr std::int64_t kSoon_ms = 60;   ///< shorter times count as at once
constexpr std::int64_t kAgain_ms = 50;  ///< after an extension that was not answered
constexpr std::int64_t kQuiet_ms = 150;  ///< in which a winner sends nothing that matters
constexpr std::int64_t kPatience_ms = kCadence_ms - 30;  ///< of a call that waits for an answer
constexpr std::int64_t kApart_ms = 400;  ///< the steps of one tick, at most: less than a tick
constexpr std::int64_t kLongest_ms = 20;  ///< between two of them
constexpr std::int64_t kNear_ms = 4;      ///< around a sending or an answer
constexpr std::int64_t kPatient_ms = 20'000;  ///< of a call that does not give up
constexpr std::int64_t kNever_ms = 600'000;
constexpr std::int64_t kPass_ms = 40;  ///< between two passes of the TTL monitor, while it is on

class StepTeller {
 public:
  StepTeller(const model::Scope& scope, const std::vector<model::Taken>& way,
              const std::string& lock)
      : scope_(scope), way_(way) {
    plan_.lock = lock;
    plan_.seed = 1;
    plan_.locks = 1;
    plan_.clock_margin_ms = scope.clock_margin * kTick_ms;
    plan_.ttl_period_ms = kPass_ms;
  }

  sim::Plan tell() {
    set_times();
    add_processes();
    for (std::size_t i = 0; i < way_.size(); ++i) visit(i);
    add_ttl();
    plan_.faulty_ms = at_.back() + 3 * kLease_ms;
    // Clients that hold by then write: what the fenced resource makes of it is checked, too.
    for (int c = 0; c < scope_.clients; ++c) add_step(Action::write, at_.back() + kNear_ms, c);
    std::ranges::stable_sort(plan_.steps, {}, &sim::StepPlan::at_ms);
    std::ranges::stable_sort(plan_.faults, {}, &FaultPlan::at_ms);
    return plan_;
  }

 private:
  /// Steps of later ticks come as much later, so that leases and time-outs that are over by a tick
  /// are over. The lock extends by its own cadence, and later steps wait for it.
  void set_times() {
    const auto apart = std::clamp<std::int64_t>(
        kApart_ms / static_cast<std::int64_t>(way_.size() + 1), 1, kLongest_ms);
    std::int64_t last = kBegin_ms, shift = 0;
    std::array<std::int64_t, model::lock_world::kMaxClients> sent{};
    std::array<bool, model::lock_world::kMaxClients> answered{};
    for (std::size_t i = 0; i < way_.size(); ++i) {
      const auto& [tick, from, action, to] = way_[i];
      auto at = shift + kBegin_ms + tick * kTick_ms + static_cast<std::int64_t>(i) * apart;
      at = std::max(at, last + 1);
      auto& since = sent[action.client];
      if (action.act == LockAct::attempt || action.act == LockAct::hand_over) {
        since = at;
        answered[action.client] = true;
      }
      if (action.act == LockAct::extend) {
        auto& was_answered = answered[action.client];
        do {
          since += kCadence_ms + (was_answered ? 0 : kAgain_ms);
          was_answered = false;
        } while (since + kCadence_ms / 2 < at);
        at = std::max(since, last + 1);
        const int slot = slot_filled(i, action.client);
        const auto executed = slot < 0 ? way_.size() : next_of(i, action.client, slot);
        was_answered = executed == i + 1 && way_[executed].action.act == LockAct::execute;
      }
      // The abstract lock forgets the age of an unawaited request: it may be as old as that.
      const auto started = since + action.waited * kTick_ms + kNear_ms;
      if (action.act == LockAct::execute && at < started && action.waited > 0) {
        shift += started - at;
        at = started;
      }
      at_.push_back(last = at);
    }
    for (std::size_t i = 0; i < way_.size(); ++i) {
      if (way_[i].action.act == LockAct::attempt) send_later(i);
    }
  }

  /// An attempt that waits longer may be sent later, without a difference. Soon enough for another
  /// one, if the first reaches an old primary.
  void send_later(std::size_t i) {
    const int client = way_[i].action.client;
    const auto executed = next_of(i, client, slot_filled(i, client));
    if (executed >= way_.size() || way_[executed].action.waited > 0) return;
    if (way_[executed].action.act == LockAct::lose || times_out(i, executed, client)) return;
    if (at_[executed] - at_[i] > kPatience_ms) at_[i] = at_[executed] - kSoon_ms;
  }

  void add_processes() {
    const sim::ProcessPlan process{
        .expiry_ms = kLease_ms,
        .wait_min_ms = 10,
        .wait_max_ms = 30,
        .waiting = scope_.queue > 0 ? sim::Waiting::queue : sim::Waiting::fixed,
        .callers = scope_.hand_overs ? scope_.clients : 1,
        .scripted = true};
    plan_.processes.assign(scope_.hand_overs ? 1 : static_cast<std::size_t>(scope_.clients),
                           process);
    if (scope_.hand_overs || scope_.queue > 0) return;
    for (int c = 0; c < scope_.clients; ++c) {
      auto& its = plan_.processes[static_cast<std::size_t>(c)];
      its.wait_min_ms = its.wait_max_ms = pause_of(c);
    }
  }

  /// The longest time between a refusal, or an unanswered attempt, and the next attempt of that
  /// call.
  [[nodiscard]] std::int64_t pause_of(int client) const {
    std::int64_t longest = kLongest_ms, free_at = 0;
    for (std::size_t i = 0; i < way_.size(); ++i) {
      const auto& [tick, from, action, to] = way_[i];
      if (action.client != client) continue;
      const bool again = from.client[client].phase == model::lock_world::kWaiting;
      if (action.act == LockAct::attempt) {
        if (again) longest = std::max(longest, at_[i] - free_at);
        free_at = at_[i] + kCadence_ms;
      } else if (action.act == LockAct::deliver) {
        free_at = std::min(free_at, at_[i]);
      }
    }
    return longest;
  }

  void visit(std::size_t i) {
    const auto& [tick, from, action, to] = way_[i];
    const int client = action.client;
    switch (action.act) {
      case LockAct::attempt:
        ask(i, client);  // left out where a call goes on by itself
        return follow(i, client);
      case LockAct::extend: return follow(i, client);
      case LockAct::clean_up: return follow(i, client);
      case LockAct::release:
        add_step(Action::release, at_[i], client);
        return follow(i, client);
      case LockAct::hand_over:
        // The receiver must have asked by then.
        if (from.client[action.waited].phase == model::lock_world::kIdle) ask(i, action.waited);
        add_step(Action::release, at_[i] + kNear_ms, client);
        return follow(i, action.waited, kNear_ms);
      case LockAct::crash: return add_fault(FaultKind::crash, at_[i], 0, client);
      case LockAct::failover: return fail_over(i);
      default: return;
    }
  }

  /// Until it gives up, if it does.
  void ask(std::size_t i, int client) {
    auto timeout = kPatient_ms;
    for (std::size_t k = i + 1; k < way_.size() && timeout == kPatient_ms; ++k) {
      const bool its = way_[k].action.client == client;
      if (its && way_[k].action.act == LockAct::give_up) timeout = at_[k] - at_[i];
    }
    add_step(Action::acquire, at_[i], client, timeout);
  }

  /// Makes faults of the link from what happens to the message that this step sent.
  void follow(std::size_t i, int client, std::int64_t after = 0) {
    const int slot = slot_filled(i, client);
    if (slot < 0) return;
    const auto executed = next_of(i, client, slot);
    const auto sent = at_[i] + after;
    if (executed >= way_.size() || way_[executed].action.act == LockAct::lose) {
      return never_heard(sent - kNear_ms / 2, sent + kNear_ms / 2, client);
    }
    // The next step does not wait for it, or it is executed at once.
    const bool at_once = executed == i + 1 || at_[executed] - sent <= kSoon_ms;
    const auto late = at_once ? 0 : at_[executed] - sent;
    if (late > 0) {
      const bool inside = way_[executed].action.waited > 0;
      add_fault(inside ? FaultKind::waiting_inside : FaultKind::late_requests,
                sent - kNear_ms / 2, kNear_ms, client, late);
    }
    const auto reply = way_[executed].to.client[client].message[slot].slot;
    const bool extends = way_[i].action.act == LockAct::extend;
    const bool unanswered = late > kPatience_ms || reply == model::lock_world::kEmpty;
    if (unanswered && (extends || scope_.hand_overs)) keep_silent(i, client, sent);
    if (reply == model::lock_world::kEmpty) return;
    const Exchange exchange{client, slot, executed, sent, sent + late};
    const auto heard = follow_reply(exchange);
    if (reply == model::lock_world::kWon && heard) keep_silent(executed, client, *heard);
    if (extends && heard && !unanswered) keep_silent(executed, client, *heard);
  }

  struct Exchange {
    int client, slot;
    std::size_t executed;
    std::int64_t sent_ms, executed_ms;
  };

  /// When the reply arrives, if it does. One that does not arrive by the end may arrive at once:
  /// a holder is seen to hold.
  std::optional<std::int64_t> follow_reply(const Exchange& x) {
    const auto heard = next_of(x.executed, x.client, x.slot);
    const bool ends = heard == way_.size();
    if (times_out(x.executed, heard, x.client) ||
        (!ends && way_[heard].action.act == LockAct::lose)) {
      add_fault(FaultKind::lost_replies, x.executed_ms - kNear_ms / 2, kNear_ms, x.client);
      return std::nullopt;
    }
    const bool at_once = std::ranges::all_of(
        std::span(way_).subspan(x.executed + 1, heard - x.executed - 1),
        [](const auto& step) { return step.action.act == LockAct::commit; });
    auto at = ends || at_once ? x.executed_ms : at_[heard];
    // The lock waits no longer for an answer than its operation timeout.
    at = std::max(std::min(at, x.sent_ms + kPatience_ms), x.executed_ms);
    if (at - x.executed_ms > kNear_ms) {
      const auto answer = x.executed_ms - (x.executed_ms == x.sent_ms ? 0 : 1);
      add_fault(FaultKind::slow_link, answer, 1, x.client, at - x.executed_ms);
    }
    return at;
  }

  /// A holder that sends nothing in the counterexample does not extend: its messages do not arrive.
  void keep_silent(std::size_t won, int client, std::int64_t since) {
    auto until = at_.back() + kTick_ms;
    for (std::size_t k = won + 1; k < way_.size(); ++k) {
      if (sends(way_[k].action, client) || (scope_.hand_overs && sends_any(way_[k].action))) {
        until = at_[k] - kNear_ms;
        break;
      }
    }
    since += kQuiet_ms;
    never_heard(since, until, client);
  }

  /// Its messages arrive when all is over. A cut link would not outlast a failover.
  void never_heard(std::int64_t from, std::int64_t until, int client) {
    if (until > from) add_fault(FaultKind::late_requests, from, until - from, client, kNever_ms);
  }

  [[nodiscard]] static bool sends_any(const model::LockAction& action) {
    return action.act == LockAct::attempt || action.act == LockAct::extend ||
           action.act == LockAct::release || action.act == LockAct::clean_up ||
           action.act == LockAct::hand_over || action.act == LockAct::crash;
  }
  [[nodiscard]] static bool sends(const model::LockAction& action, int client) {
    if (action.act == LockAct::hand_over && action.waited == client) return true;
    return action.client == client && sends_any(action);
  }

  /// Whether its sender no longer waits for it.
  [[nodiscard]] bool times_out(std::size_t from, std::size_t to, int client) const {
    return std::ranges::any_of(std::span(way_).subspan(from, to - from), [&](const auto& step) {
      const auto act = step.action.act;
      return step.action.client == client &&
             (act == LockAct::time_out || act == LockAct::give_up || act == LockAct::crash);
    });
  }

  [[nodiscard]] int slot_filled(std::size_t i, int client) const {
    for (int k = 0; k < scope_.messages; ++k) {
      const bool was_empty = way_[i].from.client[client].message[k].slot == 0;
      if (was_empty && way_[i].to.client[client].message[k].slot != 0) return k;
    }
    return -1;
  }

  /// The next step of this message, or the end.
  [[nodiscard]] std::size_t next_of(std::size_t i, int client, int slot) const {
    for (std::size_t k = i + 1; k < way_.size(); ++k) {
      const auto& action = way_[k].action;
      const bool of_message = action.act == LockAct::execute || action.act == LockAct::lose ||
                              action.act == LockAct::execute_stale ||
                              action.act == LockAct::deliver;
      if (of_message && action.client == client && action.slot == slot) return k;
    }
    return way_.size();
  }

  /// A failover that loses nothing is a clock jump to the lock, and messages under way still
  /// arrive. With a write that is rolled back, or a primary that does not know, the old one is cut
  /// off before that write.
  void fail_over(std::size_t i) {
    const auto& [tick, from, action, to] = way_[i];
    if (from.dirty == 0 && to.stale_runs == 0) {
      const auto amount = to.second != 0 ? scope_.skew * kTick_ms : 0;
      return plan_.faults.push_back(
          {.kind = FaultKind::clock_jump, .at_ms = at_[i], .amount = amount, .member = 0});
    }
    // The second member's clock is ahead, for good.
    plan_.faults.push_back(
        {.kind = FaultKind::clock_jump, .amount = scope_.skew * kTick_ms, .member = 1});
    const auto cut = from.dirty == 0 ? at_[i] : written_at(i) - kNear_ms;
    plan_.faults.push_back(
        {.kind = FaultKind::two_primaries, .at_ms = cut, .for_ms = at_.back() - cut + kTick_ms});
  }

  /// The time before which the write was sent that this failover loses.
  [[nodiscard]] std::int64_t written_at(std::size_t i) const {
    while (i > 0 && way_[i].from.dirty != 0) --i;
    const int client = way_[i].action.client;
    while (i > 0 && !sends(way_[i].action, client)) --i;
    return at_[i];
  }

  /// The monitor is off except for passes that delete something.
  void add_ttl() {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < way_.size(); ++i) {
      if (way_[i].action.act != LockAct::ttl_pass) continue;
      plan_.faults.push_back(
          {.kind = FaultKind::ttl_off, .at_ms = from, .for_ms = at_[i] - kPass_ms - from});
      from = at_[i] + kNear_ms;
    }
    plan_.faults.push_back(
        {.kind = FaultKind::ttl_off, .at_ms = from, .for_ms = at_.back() + kTick_ms - from});
  }

  void add_step(Action action, std::int64_t at, int client, std::int64_t timeout = 0) {
    plan_.steps.push_back({.action = action,
                           .at_ms = at,
                           .process = scope_.hand_overs ? 0 : client,
                           .caller = scope_.hand_overs ? client : 0,
                           .acquire_timeout_ms = timeout,
                           .reads = action == Action::acquire && client < scope_.readers});
  }
  void add_fault(FaultKind kind, std::int64_t at, std::int64_t length, int client,
                 std::int64_t amount = 0) {
    plan_.faults.push_back({.kind = kind,
                            .at_ms = at,
                            .for_ms = length,
                            .amount = amount,
                            .process = scope_.hand_overs ? 0 : client});
  }

  const model::Scope& scope_;
  const std::vector<model::Taken>& way_;
  std::vector<std::int64_t> at_;  ///< by step
  sim::Plan plan_;
};

}  // namespace

sim::Plan counterexample_plan(const model::Scope& scope,
                              const std::vector<model::Taken>& way, const std::string& lock) {
  return StepTeller(scope, way, lock).tell();
}

}  // namespace leasehold::properties
