#include "sim/virtual/caller.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace leasehold::sim::simulated {
namespace {

// Above the server's wtimeout for such a write.
constexpr std::int64_t kWriteTimeout = 3'000 * kMs;
/// How often a holder asks `held()` in the time of a lease, and at each turn of events besides.
constexpr int kQuestionsPerLease = 25;
constexpr std::int64_t kNsPerUs = 1'000;

}  // namespace

model::Event Caller::event(model::Kind kind) const {
  model::Event e;
  e.at_ns = home_->queue.now();
  e.kind = kind;
  e.process = home_->process;
  return e;
}

bool Caller::holds(core::SessionId session) const {
  return holding_ && holding_->handle.session() == session;
}

/// The workload hears of it at once, also of a stopped process: what it draws must not depend on
/// when that goes on.
void Caller::faults_end() {
  const auto action = workload_.next(Workload::FaultsEnded{}, home_->random);
  home_->machine.run([this, action] { perform(action); });
}

void Caller::cancel_call() {
  if (!workload_.acquires()) return;
  permit_call_ ? permit_call_->cancel() : home_->driver->cancel(session_);
}

void Caller::happened(const Workload::Event& event) {
  perform(workload_.next(event, home_->random));
}

void Caller::perform(const Workload::Action& action) {
  std::visit([&](const auto& next) { on(next); }, action);
}

/// In true time, as all that a user does of its own accord.
void Caller::on(const Workload::Rest& rest) {
  home_->machine.later(rest.time.count() * kNsPerUs,
                       [this] { happened(Workload::TimePassed{}); });
}

/// By the asynchronous call: with one thread a blocking one would wait for ever.
void Caller::on(const Workload::Acquire& acquire) {
  ++calls_;
  if (acquire.permits > 0) {
    call_for_a_permit(acquire);
  } else {
    session_ = home_->driver->acquire_async(
        acquire.lock, home_->options, acquire.timeout,
        [this](Result<runtime::Handle> handle) { answered(std::move(handle)); });
  }
  if (!acquire.cancel_after) return;
  // It may be granted meanwhile, or be another call's turn: then there is nothing to cancel.
  home_->machine.later(acquire.cancel_after->count() * kMs, [this, call = calls_] {
    if (call == calls_) cancel_call();
  });
}

void Caller::call_for_a_permit(const Workload::Acquire& acquire) {
  const Recorder::PermitAsked asked{acquire.lock, acquire.permits, acquire.timeout};
  std::vector<std::string> slots;
  for (int i = 0; i < acquire.permits; ++i) slots.push_back(slot_name(acquire.lock, i));
  const auto now = [this] { return home_->machine.clock.now(); };
  const auto call = home_->recorder.permit_asked(asked, home_->options, now());
  permit_call_ = runtime::PermitCall::start(
      home_->driver, {std::move(slots), home_->options, acquire.timeout},
      [this, asked, call, now](Result<runtime::PermitCall::Got> got) {
        permit_call_.reset();
        if (home_->over) return;
        home_->recorder.permit_answered(call, asked, got ? got->handle.name() : "",
                                        got ? "" : to_string(got.error().kind), now());
        if (!got) return answered(got.error());
        answered(std::move(got->handle));
      });
}

/// Why it ended without a lock is in the recorder's events.
void Caller::answered(Result<runtime::Handle> handle) {
  if (home_->over) return;
  if (!handle) return happened(Workload::NotGranted{});
  granted(std::move(handle).value());
}

void Caller::granted(runtime::Handle handle) {
  const auto session = handle.session();
  // By name and token: the handle does not show the owner, which the fence's record needs.
  const auto name = handle.name();
  const auto grant = home_->recorder.grant_of(name, handle.token());
  HeldAnswers answers(home_->process, static_cast<std::int64_t>(session), name);
  holding_.emplace(Holding{std::move(handle), name, grant.owner, std::move(answers)});
  happened(Workload::Granted{session});
}

/// Still within the callback of the grant, where a user's code would begin.
void Caller::on(const Workload::Receive& receive) {
  Holding& holding = *holding_;
  holding.silent = receive.relies_on_lost;
  const auto session = holding.handle.session();
  // The others are asked first: a holder that still says yes does so when this one may act.
  home_->on_grant(holding.name);
  // A handle that is lost already calls back at once, from within this constructor.
  holding.on_lost = std::make_unique<Holding::OnLost>(
      holding.handle.lost(), [this, session, name = holding.name] {
        auto e = event(model::Kind::notified);
        e.session = static_cast<std::int64_t>(session);
        e.name = name;
        home_->emit(std::move(e));
      });
  ask(holding);
  if (!holding.silent) keep_asking(session);
  if (receive.callback_time) home_->machine.keep_busy(receive.callback_time->count() * kNsPerUs);
  // After this callback has returned, as a user's next statement would be.
  pass_while_held(kGrain);
}

/// Not after a release: the workload then has another action under way.
void Caller::pass_while_held(std::int64_t span_ns) {
  home_->machine.later(span_ns, [this, session = holding_->handle.session()] {
    if (holds(session)) happened(Workload::TimePassed{});
  });
}

/// Evenly over the lease, and at the very end of it.
void Caller::keep_asking(core::SessionId session) {
  // A no is final; what it would say later is asked elsewhere (each grant of the name, the
  // release).
  if (!holds(session) || !ask(*holding_)) return;
  const MachineClock& clock = home_->machine.clock;
  const auto left = holding_->handle.remaining().count();
  const auto pause = home_->options.expiry.count() * kMs / kQuestionsPerLease;
  // The deadline is a time of the machine's clock, the queue's is true time.
  const auto end = clock.true_time(clock.now().time_since_epoch().count() + left);
  const auto until_end = std::max(end - home_->queue.now(), kGrain);
  // The last grain before the end has to say yes, the end itself no: an error of one grain shows.
  const auto next = until_end > pause ? pause : until_end > kGrain ? until_end - kGrain : kGrain;
  home_->machine.later(next, [this, session] { keep_asking(session); });
}

void Caller::ask() {
  if (holding_) ask(*holding_);
}

bool Caller::ask(Holding& holding) const {
  const bool held = holding.handle.held();
  const auto now = home_->queue.now();
  // Before and after are one instant here; in the live world they are not.
  holding.answers.add(held, now, now, home_->emit);
  return held;
}

void Caller::flush() {
  if (holding_) holding_->answers.flush(home_->queue.now(), home_->emit);
}

/// In true time: a user's work does not run by the machine's wrong clock.
void Caller::on(const Workload::Hold& hold) { pass_while_held(hold.time.count() * kNsPerUs); }

/// It asks again after it has asked for the release, at once and before an answer can be there: the
/// answer is no from then on.
void Caller::on(const Workload::Release&) {
  const auto holding = std::make_shared<Holding>(std::move(*holding_));
  holding_.reset();
  ask(*holding);
  // The user waits for the release before it goes on, as `release()` does.
  holding->handle.begin_release([this](ReleaseResult) { happened(Workload::Released{}); });
  // A holding that was released is not notified of a loss any more, and no loss is expected.
  holding->on_lost.reset();
  ask(*holding);
  holding->answers.flush(home_->queue.now(), home_->emit);
  // Later than the grain of virtual time, which is what a checker allows.
  home_->machine.later(2 * kGrain, [this, holding] {
    ask(*holding);
    holding->answers.flush(home_->queue.now(), home_->emit);
  });
}

/// It writes whatever the answer is: that stale writes are refused has to be shown, not avoided.
void Caller::on(const Workload::Write&) {
  Holding& holding = *holding_;
  // Asked right before: a holder that writes after a no makes a stale write knowingly.
  ask(holding);
  const auto write = std::make_shared<const FencedWrite>(
      FencedWrite{holding.name, home_->process, holding.owner, ++home_->writes,
                  holding.handle.token().value()});
  auto e = event(model::Kind::write);
  e.session = static_cast<std::int64_t>(holding.handle.session());
  e.write_number = write->number;
  e.name = write->name;
  e.token = write->token;
  e.sent_ns = home_->queue.now();
  // The answer and the time-out both come; the first is the outcome.
  const auto open = std::make_shared<std::optional<model::Event>>(std::move(e));
  const auto tell = [this, open](const char* outcome) {
    if (!*open) return;
    model::Event done = *std::exchange(*open, std::nullopt);
    done.at_ns = home_->queue.now();
    done.outcome = outcome;
    home_->emit(std::move(done));
    happened(Workload::Written{});
  };
  // "unknown" tells the checkers that it may have been taken, now or later.
  home_->machine.later(kWriteTimeout, [tell] { tell("unknown"); });
  home_->network.fenced_write(write, tell);
}

}  // namespace leasehold::sim::simulated
