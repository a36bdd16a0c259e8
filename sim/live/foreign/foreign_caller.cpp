#include "sim/live/foreign/foreign_caller.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::int64_t kMs_ns = 1'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr milliseconds kAskEvery{5};

/// A caller that waits so long for a free lock will wait for ever: it is certain by then that it is
/// late, also when servers were busy with a fault at first.
std::int64_t longest_wait_ms(const ForeignSetting& setting) {
  constexpr std::int64_t kSpare_ms = 6'000;
  const auto& promised = setting.promises;
  const auto leases = promised.passes_on_leases.value_or(1);
  return promised.polls_within_ms + 2 * promised.clock_margin_ms.value_or(0) + kSpare_ms +
         static_cast<std::int64_t>(leases * static_cast<double>(setting.order.lease_ms));
}

}  // namespace

ForeignCaller::ForeignCaller(Home& home, int number)
    : home_(home),
      number_(number),
      random_(home.setting.seed + static_cast<std::uint64_t>(number)),
      workload_(home.setting.workload) {}

Event ForeignCaller::event(Kind kind) const { return home_.process.event(kind, id_, name_); }

/// An event of what the worker said, stamped no later than when it was received.
Event ForeignCaller::event_at(Kind kind, const ForeignProcess::Heard& heard) const {
  Event e = event(kind);
  e.at_ns = std::min(e.at_ns, heard.received_ns);
  return e;
}

void ForeignCaller::live() {
  const bool ready = home_.process.await_ready();
  const bool scripted = home_.setting.workload.process.scripted;
  if (ready) scripted ? follow_script() : work();
  flush();
  home_.process.caller_ended();
}

void ForeignCaller::work() {
  auto action = workload_.next(Workload::Started{}, random_);
  while (!workload_.ended() && home_.process.works()) {
    const auto happened = std::visit([&](const auto& now) { return perform(now); }, action);
    const bool between = std::holds_alternative<Workload::Rest>(action);
    action = workload_.next(happened, random_);
    // Between two acquires, because no acquire from here on has a short timeout.
    if (!between || !home_.process.healed() || std::exchange(knows_of_end_, true)) continue;
    (void)workload_.next(Workload::FaultsEnded{}, random_);
  }
}

/// Each step at its time. One that comes while an acquire is under way does not fit, and an acquire
/// cannot be cancelled: both are left out. A holder answers what its user asks until its release.
void ForeignCaller::follow_script() {
  constexpr std::int64_t kLate_ns = 50 * kMs_ns;
  for (const StepPlan& step : home_.setting.steps) {
    if (step.caller != number_ || step.action == StepPlan::Action::cancel) continue;
    const auto at = home_.setting.began_ns + step.at_ms * kMs_ns;
    if (home_.process.now() > at + kLate_ns) continue;
    if (!hold_until(at, true)) break;
    const bool holds = answers_ != nullptr;
    if (step.action == StepPlan::Action::acquire && !holds) {
      perform(Workload::Acquire{lock_name(step.lock), milliseconds(step.acquire_timeout_ms)});
    } else if (step.action == StepPlan::Action::write && holds) {
      perform(Workload::Write{});
    } else if (step.action == StepPlan::Action::release && holds) {
      perform(Workload::Release{});
    }
  }
  hold_until(kNever, true);
  if (answers_) perform(Workload::Release{});
}

/// True: the time has come; else faults are over, or the worker broke off before. Its user asks
/// meanwhile.
bool ForeignCaller::hold_until(std::int64_t end_ns, bool wakes_when_healed) {
  for (;;) {
    const auto now = home_.process.now();
    if (now >= end_ns) return true;
    const auto pause = std::min<nanoseconds>(kAskEvery, nanoseconds(end_ns - now));
    if (!home_.process.rest(pause, wakes_when_healed)) return false;
    ask();
    if (home_.process.healed()) return false;
  }
}

Workload::Event ForeignCaller::perform(const Workload::Rest& rest) {
  home_.process.rest(rest.time, true);
  return Workload::TimePassed{};
}

Workload::Event ForeignCaller::perform(const Workload::Acquire& acquire) {
  id_ = ++home_.ids;
  name_ = acquire.lock;
  const auto timeout_ms = std::min(acquire.timeout.count(), longest_wait_ms(home_.setting));
  Event asked = event(Kind::ask);
  asked.single_attempt = timeout_ms == 0;
  if (timeout_ms > 0) asked.give_up_ns = asked.at_ns + timeout_ms * kMs_ns;
  asked.expiry_ms = home_.setting.order.lease_ms;
  asked.clock_margin_ms = home_.setting.clock_margin_ms;
  asked.healed = knows_of_end_;
  home_.process.emit(std::move(asked));
  const auto heard = home_.process.question(
      Dialogue::Question::acquire, id_, acquire_line(id_, name_, timeout_ms), timeout_ms);
  if (!heard) return Workload::NotGranted{};
  if (heard->answer.is != Answer::Is::granted) {
    emit_ended(*heard);
    return Workload::NotGranted{};
  }
  emit_granted(*heard);
  ++home_.holdings;
  return Workload::Granted{static_cast<std::uint64_t>(id_)};
}

/// Its user may rely on it from the stamp on, or else from the question.
void ForeignCaller::emit_granted(const ForeignProcess::Heard& heard) {
  Event e = event_at(Kind::granted, heard);
  e.token = token_ = heard.answer.token.value_or(0);
  if (heard.answer.remaining_ms) {
    e.deadline_ns =
        heard.answer.at_ns.value_or(heard.asked_ns) + *heard.answer.remaining_ms * kMs_ns;
  }
  home_.process.emit(std::move(e));
  answers_ = std::make_unique<HeldAnswers>(home_.setting.order.process, id_, name_);
}

void ForeignCaller::emit_ended(const ForeignProcess::Heard& heard) {
  Event e = event_at(Kind::ended, heard);
  e.outcome = to_string(heard.answer.is);
  e.message = heard.answer.why;
  home_.process.emit(std::move(e));
}

/// A lock that tells of its loss has to do so without being asked.
Workload::Event ForeignCaller::perform(const Workload::Receive& receive) {
  relies_on_lost_ = receive.relies_on_lost && home_.setting.promises.tells_loss;
  ask();
  return Workload::TimePassed{};
}

Workload::Event ForeignCaller::perform(const Workload::Write&) {
  ask();
  if (token_ > 0 && home_.setting.promises.tokens == model::Promises::Tokens::rising) {
    write_fenced();
    ask();
  }
  return Workload::Written{};
}

/// Nothing is written for a worker that ended meanwhile.
void ForeignCaller::write_fenced() {
  const StartOrder& order = home_.setting.order;
  if (!resource_) resource_ = home_.setting.resource();
  Event e = event(Kind::write);
  e.sent_ns = e.at_ns;
  e.token = token_;
  if (!home_.process.works()) return;
  e.write_number = ++home_.writes;
  e.outcome = resource_->write({name_, order.process, e.write_number,
                                order.process + "/" + std::to_string(id_), FencingToken(token_)});
  const auto answered = home_.process.now();
  e.at_ns = home_.process.stamp();
  if (e.at_ns < answered) e.outcome = "unknown";
  home_.process.emit(std::move(e));
}

Workload::Event ForeignCaller::perform(const Workload::Hold& hold) {
  hold_until(home_.process.now() + nanoseconds(hold.time).count(), false);
  return Workload::TimePassed{};
}

Workload::Event ForeignCaller::perform(const Workload::Release&) {
  ask();
  flush();
  home_.process.emit(event(Kind::release));
  const auto heard =
      home_.process.question(Dialogue::Question::release, id_, release_line(id_), 0);
  if (heard) {
    Event e = event_at(Kind::released, *heard);
    e.outcome = to_string(heard->answer.is);
    home_.process.emit(std::move(e));
  }
  --home_.holdings;
  return Workload::Released{};
}

/// A "held" was true at some time between its stamp, or else the question, and its arrival; after a
/// "not_held" no more is asked.
void ForeignCaller::ask() {
  if (!answers_ || answers_->said_no() || relies_on_lost_) return;
  const auto asked = home_.process.now();
  const auto heard = home_.process.question(Dialogue::Question::ask, id_, ask_line(id_), 0);
  if (!heard) return;
  answers_->add(heard->answer.is == Answer::Is::held, heard->answer.at_ns.value_or(asked),
                heard->received_ns, [this](Event&& e) { home_.process.emit(std::move(e)); });
}

void ForeignCaller::flush() {
  if (!answers_) return;
  answers_->flush(home_.process.stamp(),
                  [this](Event&& e) { home_.process.emit(std::move(e)); });
  answers_.reset();
}

}  // namespace leasehold::sim::live
