#include "sim/user.hpp"

#include <algorithm>

namespace leasehold::sim {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

UserHome::Job User::faults_end() {
  return [this, action = workload_.next(Workload::FaultsEnded{}, *random_)] { perform(action); };
}

/// Where it is another call's, or none's, nothing is notified.
void User::cancel() {
  if (workload_.acquires()) lock_->cancel();
}

void User::ask() {
  for (const auto& holding : holdings_) holding->watch->ask();
}

void User::flush() {
  for (const auto& holding : holdings_) holding->watch->flush();
}

void User::perform(const Workload::Action& action) {
  std::visit([&](const auto& next) { on(next); }, action);
}

void User::on(const Workload::Rest& rest) {
  home_->later(rest.time, [this] { happened(Workload::TimePassed{}); });
}

void User::on(const Workload::Acquire& acquire) {
  ++calls_;
  lock_->acquire(acquire, [this](std::vector<HoldingPointer> got) {
    if (home_->over()) return;
    holdings_ = std::move(got);
    if (holdings_.empty()) return happened(Workload::NotGranted{});
    happened(Workload::Granted{static_cast<std::uint64_t>(holdings_.front()->session)});
  });
  // It may be granted meanwhile, or be another call's turn: then there is nothing to cancel.
  const auto give_up = [this, call = calls_] {
    if (call == calls_) cancel();
  };
  // A candidate has no time-out of its own: a user gives up.
  if (acquire.leads) home_->later(std::max(acquire.timeout, milliseconds(1)), give_up);
  if (acquire.cancel_after) home_->later(*acquire.cancel_after, give_up);
}

/// Still within the callback of the grant, if there is one, where a user's code would begin.
void User::on(const Workload::Receive& receive) {
  for (const auto& holding : holdings_) {
    holding->silent = receive.relies_on_lost;
    holding->watch = home_->watch(holding);
  }
  for (const auto& holding : holdings_) holding->watch->begin();
  if (receive.callback_time && !lock_->waits()) home_->keep_callback(*receive.callback_time);
  // After this callback has returned, as a user's next statement would be.
  pass_while_held(std::chrono::microseconds(1));
}

/// Not after a release: the workload then has another action under way.
void User::pass_while_held(nanoseconds span) {
  home_->later(span, [this, held = std::weak_ptr(holdings_.front())] {
    const auto holding = held.lock();
    if (holding && !holding->over) happened(Workload::TimePassed{});
  });
}

void User::on(const Workload::Hold& hold) {
  for (const auto& holding : holdings_) lock_->ensure(holding);
  pass_while_held(hold.time);
}

/// It writes whatever the answer is: that stale writes are refused has to be shown, not avoided.
void User::on(const Workload::Write&) {
  const auto left = std::make_shared<std::size_t>(holdings_.size());
  for (const auto& holding : std::vector(holdings_)) {
    // Asked right before: a holder that writes after a no makes a stale write knowingly.
    holding->watch->ask();
    const FencedWrite write{holding->resource(), home_->name(), holding->owner, home_->next_write(),
                            holding->token.value(), holding->reads};
    auto e = home_->event_of(*holding, model::Kind::write);
    e.name = write.name;
    e.write_number = write.number;
    e.token = write.token;
    e.shared = write.reads;
    e.sent_ns = e.at_ns;
    home_->write(write, [this, left, e = std::move(e),
                         held = std::weak_ptr(holding)](const std::string& outcome) mutable {
      if (!outcome.empty()) {
        e.at_ns = home_->true_ns();
        e.outcome = outcome;
        home_->emit(std::move(e));
        if (const auto still = held.lock()) still->watch->wrote();
      }
      if (--*left == 0) happened(Workload::Written{});
    });
  }
}

/// The user waits for the release before it goes on, as `release()` does.
void User::on(const Workload::Release&) {
  const auto left = std::make_shared<std::size_t>(holdings_.size());
  for (const auto& holding : std::vector(holdings_)) {
    let_go(holding, [this, left] {
      if (!home_->over() && --*left == 0) happened(Workload::Released{});
    });
  }
}

/// It asks again after it has asked for the release, at once and before an answer can be there: the
/// answer is no from then on. Who goes on to read does so for half a lease.
void User::let_go(const HoldingPointer& holding, std::function<void()> released) {
  std::erase(holdings_, holding);
  holding->watch->ask();
  holding->over = true;
  if (!lock_->downgrades(*holding)) {
    lock_->release(holding, std::move(released));
  } else {
    lock_->downgrade(holding, [this, released](const std::vector<HoldingPointer>& reading) {
      if (home_->over()) return;
      if (reading.empty()) return released();
      holdings_ = reading;
      const auto& reader = holdings_.front();
      reader->watch = home_->watch(reader);
      reader->watch->begin();
      home_->later(reader->lease / 2, [this, reader, released] { let_go(reader, released); });
    });
  }
  holding->watch->end();
}

}  // namespace leasehold::sim
