#include "sim/virtual/caller.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/access.hpp"

namespace leasehold::sim::simulated {
namespace {

// Above the server's wtimeout for such a write.
constexpr std::int64_t kWriteTimeout = 3'000 * kMs;
/// How often a holder asks `held()` in the time of a lease, and at each turn of events besides.
constexpr int kQuestionsPerLease = 25;
constexpr std::int64_t kNsPerUs = 1'000;
/// Every so many-th question is one for `remaining()`, too.
constexpr std::int64_t kRemainingEvery = 4;
/// Every so many-th call waits on a thread of the user: those threads are the machine's own, and
/// dear.
constexpr std::int64_t kWaitsEvery = 16;

}  // namespace

model::Event Caller::event(model::Kind kind) const {
  return {.at_ns = home_->queue.now(), .kind = kind, .process = home_->process};
}

Holding* Caller::holding_of(std::int64_t session) {
  for (Holding& holding : holdings_) {
    if (holding.session == session) return &holding;
  }
  return nullptr;
}

/// The workload is notified at once, also of a stopped process: what it draws must not depend on
/// when that goes on.
void Caller::faults_end() {
  const auto action = workload_.next(Workload::FaultsEnded{}, home_->random);
  home_->machine.run([this, action] { perform(action); });
}

void Caller::cancel_call() {
  if (!workload_.acquires()) return;
  if (permit_call_) return permit_call_->cancel();
  if (candidate_) return candidate_->give_up();
  // Where it is another call's, or none's, nothing is notified.
  stop_.request_stop();
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

void Caller::on(const Workload::Acquire& acquire) {
  ++calls_;
  stop_ = {};
  if (acquire.permits > 0) {
    call_for_a_permit(acquire);
  } else if (!acquire.also.empty()) {
    call_for_all(acquire);
  } else if (acquire.leads) {
    stand_for_election(acquire);
  } else {
    const auto lock = detail::Access::lock(home_->driver, acquire.lock, options_);
    const auto stop = stop_.get_token();
    if (waits()) {
      home_->machine.start_user([this, lock, timeout = acquire.timeout, stop] {
        answered(user_calls_.try_acquire(lock, timeout, stop));
      });
    } else {
      user_calls_.acquire_async(
          lock, acquire.timeout, [this](auto handle) { answered(std::move(handle)); }, stop);
    }
  }
  if (!acquire.cancel_after) return;
  // It may be granted meanwhile, or be another call's turn: then there is nothing to cancel.
  home_->machine.later(acquire.cancel_after->count() * kMs, [this, call = calls_] {
    if (call == calls_) cancel_call();
  });
}

bool Caller::waits() const { return calls_ % kWaitsEvery == 0; }

void Caller::call_for_a_permit(const Workload::Acquire& acquire) {
  const Recorder::PermitAsked asked{acquire.lock, acquire.permits, acquire.timeout};
  std::vector<std::string> slots;
  for (int i = 0; i < acquire.permits; ++i) slots.push_back(slot_name(acquire.lock, i));
  const auto now = [this] { return home_->machine.clock.now(); };
  const auto call = home_->recorder.permit_asked(asked, options_, now());
  permit_call_ = runtime::PermitCall::start(
      home_->driver, {std::move(slots), options_, acquire.timeout},
      [this, asked, call, now](Result<runtime::PermitCall::Got> got) {
        permit_call_.reset();
        if (home_->over) return;
        home_->recorder.permit_answered(call, asked, got ? got->handle.name() : "",
                                        got ? "" : to_string(got.error().kind), now());
        if (!got) return answered(got.error());
        answered(detail::Access::handle(std::move(got->handle)));
      });
}

void Caller::call_for_all(const Workload::Acquire& acquire) {
  std::vector<Lock> locks{detail::Access::lock(home_->driver, acquire.lock, options_)};
  for (const auto& name : acquire.also) {
    locks.push_back(detail::Access::lock(home_->driver, name, options_));
  }
  home_->machine.start_user([this, locks, timeout = acquire.timeout, stop = stop_.get_token()] {
    auto got = user_calls_.acquire_all(locks, timeout, stop);
    if (home_->over) return;
    if (!got) return happened(Workload::NotGranted{});
    for (auto& handle : *got) hold(std::move(handle));
    happened(Workload::Granted{static_cast<std::uint64_t>(holdings_.front().session)});
  });
}

/// A candidate has no time-out of its own: a user gives up.
void Caller::stand_for_election(const Workload::Acquire& acquire) {
  candidate_ = std::make_shared<Candidate>(
      detail::Access::lock(home_->driver, acquire.lock, options_), home_->machine,
      [this, name = acquire.lock](FencingToken token) {
        if (home_->over) return;
        const auto grant = home_->recorder.grant_of(name, token);
        holdings_.push_back({nullptr, candidate_, name, grant.owner, token, grant.session,
                             HeldAnswers(home_->process, grant.session, name)});
        happened(Workload::Granted{static_cast<std::uint64_t>(holdings_.front().session)});
      });
  home_->machine.start_user([this, candidate = candidate_] {
    candidate->run();
    if (home_->over) return;
    candidate_.reset();
    candidate->had_term() ? happened(Workload::Released{}) : happened(Workload::NotGranted{});
  });
  const auto patience = std::max(acquire.timeout, std::chrono::milliseconds(1));
  home_->machine.later(patience.count() * kMs, [this, call = calls_] {
    if (call == calls_) cancel_call();
  });
}

void Caller::answered(Result<LockHandle> handle) {
  if (home_->over) return;
  if (!handle) return happened(Workload::NotGranted{});
  hold(std::move(*handle));
  happened(Workload::Granted{static_cast<std::uint64_t>(holdings_.front().session)});
}

/// The owner by name and token: the handle does not show it, and the fence's record needs it.
void Caller::hold(LockHandle handle) {
  const auto session = static_cast<std::int64_t>(detail::Access::inside(handle).session());
  const auto name = handle.name();
  const auto token = handle.fencing_token();
  const auto release_nothing = [](LockHandle* one) {
    (void)detail::Access::take(std::move(*one));
    delete one;
  };
  holdings_.push_back({{new LockHandle(std::move(handle)), release_nothing},
                       nullptr,
                       name,
                       home_->recorder.grant_of(name, token).owner,
                       token,
                       session,
                       HeldAnswers(home_->process, session, name)});
}

/// Still within the callback of the grant, where a user's code would begin.
void Caller::on(const Workload::Receive& receive) {
  for (Holding& holding : holdings_) {
    holding.silent = receive.relies_on_lost;
    // The others are asked first: a holder that still says yes does so when this one may act.
    home_->on_grant(holding.name);
    // What is lost already calls back at once, from within this constructor.
    holding.on_lost = std::make_unique<Holding::OnLost>(
        holding.lost(), [this, session = holding.session, name = holding.name] {
          auto e = event(model::Kind::notified);
          e.session = session;
          e.name = name;
          home_->emit(std::move(e));
        });
    ask(holding);
    if (!holding.silent) keep_asking(holding.session);
  }
  if (receive.callback_time && !waits()) {
    keep_thread_that_calls_back(receive.callback_time->count() * kNsPerUs);
  }
  // After this callback has returned, as a user's next statement would be.
  pass_while_held(kGrain);
}

void Caller::keep_thread_that_calls_back(std::int64_t span_ns) {
  if (home_->keep++ == 0 && home_->kept_to != home_->queue.now()) {
    home_->kept_from = home_->queue.now();
  }
  home_->machine.keep_busy(span_ns);
  home_->machine.later(span_ns, [this] {
    --home_->keep;
    home_->kept_to = home_->queue.now();
  });
}

/// Not after a release: the workload then has another action under way.
void Caller::pass_while_held(std::int64_t span_ns) {
  home_->machine.later(span_ns, [this, session = holdings_.front().session] {
    if (holding_of(session) != nullptr) happened(Workload::TimePassed{});
  });
}

/// Evenly over the lease, and at the very end of it.
void Caller::keep_asking(std::int64_t session) {
  // A no is final; what it would say later is asked elsewhere (each grant of the name, the
  // release).
  Holding* const holding = holding_of(session);
  if (holding == nullptr || !ask(*holding)) return;
  const MachineClock& clock = home_->machine.clock;
  const auto pause = options_.expiry.count() * kMs / kQuestionsPerLease;
  // A leader does not know how long it has left.
  const auto left = holding->handle ? holding->handle->remaining().count() : 2 * pause;
  // The deadline is a time of the machine's clock, the queue's is true time.
  const auto end = clock.true_time(clock.now().time_since_epoch().count() + left);
  const auto until_end = std::max(end - home_->queue.now(), kGrain);
  // The last grain before the end has to say yes, the end itself no: an error of one grain shows.
  const auto next = until_end > pause ? pause : until_end > kGrain ? until_end - kGrain : kGrain;
  home_->machine.later(next, [this, session] { keep_asking(session); });
}

void Caller::ask() {
  for (Holding& holding : holdings_) ask(holding);
}

bool Caller::ask(Holding& holding) const {
  const bool held = holding.held();
  // It says something new once after an extension.
  const bool asks = holding.handle && holding.answers.count() % kRemainingEvery == 0;
  const auto left = asks ? holding.handle->remaining().count() : 0;
  const MachineClock& clock = home_->machine.clock;
  const auto until =
      left > 0 ? clock.true_time(clock.now().time_since_epoch().count() + left) : 0;
  const auto now = home_->queue.now();
  // Before and after are one instant here; in the live world they are not.
  holding.answers.add(held, now, now, home_->emit, until);
  return held;
}

void Caller::flush() {
  for (Holding& holding : holdings_) holding.answers.flush(home_->queue.now(), home_->emit);
}

/// In true time: a user's work does not run by the machine's wrong clock.
void Caller::on(const Workload::Hold& hold) {
  for (const Holding& holding : holdings_) {
    if (!holding.handle || !user_calls_.ensures(*holding.handle)) continue;
    home_->machine.start_user([this, handle = holding.handle] { user_calls_.ensure(*handle); });
  }
  pass_while_held(hold.time.count() * kNsPerUs);
}

/// It asks again after it has asked for the release, at once and before an answer can be there: the
/// answer is no from then on.
void Caller::on(const Workload::Release&) {
  const auto left = std::make_shared<std::size_t>(holdings_.size());
  for (Holding& one : std::exchange(holdings_, {})) {
    const auto holding = std::make_shared<Holding>(std::move(one));
    ask(*holding);
    if (holding->term) {
      holding->term->end_term();  // released when its work has returned; then `run` returns
    } else {
      // The user waits for the release before it goes on, as `release()` does.
      const auto released = [this, left] {
        if (!home_->over && --*left == 0) happened(Workload::Released{});
      };
      if (waits()) {
        holding->handle->begin_release();
        home_->machine.start_user([this, holding, released] {
          user_calls_.release(*holding->handle);
          released();
        });
      } else {
        user_calls_.release_async(*holding->handle, released);
      }
    }
    // A holding that was released is not notified of a loss any more, and no loss is expected.
    holding->on_lost.reset();
    if (holding->handle) ask(*holding);
    holding->answers.flush(home_->queue.now(), home_->emit);
    // Later than the grain of virtual time, which is what a checker allows.
    home_->machine.later(2 * kGrain, [this, holding] {
      ask(*holding);
      holding->answers.flush(home_->queue.now(), home_->emit);
    });
  }
}

/// It writes whatever the answer is: that stale writes are refused has to be shown, not avoided.
void Caller::on(const Workload::Write&) {
  const auto left = std::make_shared<std::size_t>(holdings_.size());
  for (Holding& holding : holdings_) {
    write(holding, [this, left] {
      if (--*left == 0) happened(Workload::Written{});
    });
  }
}

void Caller::write(Holding& holding, const std::function<void()>& done) {
  // Asked right before: a holder that writes after a no makes a stale write knowingly.
  ask(holding);
  const auto write = std::make_shared<const FencedWrite>(FencedWrite{
      holding.name, home_->process, holding.owner, ++home_->writes, holding.token.value()});
  auto e = event(model::Kind::write);
  e.session = holding.session;
  e.write_number = write->number;
  e.name = write->name;
  e.token = write->token;
  e.sent_ns = home_->queue.now();
  // The answer and the time-out both come; the first is the outcome.
  const auto open = std::make_shared<std::optional<model::Event>>(std::move(e));
  const auto tell = [this, open, done](const char* outcome) {
    if (!*open) return;
    model::Event over = *std::exchange(*open, std::nullopt);
    over.at_ns = home_->queue.now();
    over.outcome = outcome;
    home_->emit(std::move(over));
    done();
  };
  // "unknown" tells the checkers that it may have been taken, now or later.
  home_->machine.later(kWriteTimeout, [tell] { tell("unknown"); });
  home_->network.fenced_write(write, tell);
}

}  // namespace leasehold::sim::simulated
