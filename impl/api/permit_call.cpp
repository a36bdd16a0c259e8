#include "api/permit_call.hpp"

#include <algorithm>

#include "core/document/lock_queue.hpp"

namespace leasehold::runtime {
namespace {

using std::chrono::milliseconds;

/// Between two looks at all slots, of one that waits: half as long to half as long again.
constexpr milliseconds kLookEvery(1'000);

const core::LockDocument* document_of(const std::string& slot, const core::Reply& reply) {
  const auto found = std::find_if(reply.documents.begin(), reply.documents.end(),
                                  [&](const auto& document) { return document.name == slot; });
  return found == reply.documents.end() ? nullptr : &*found;
}

/// In whole seconds, as the oplog counts; 0 if the reply does not say.
std::int64_t ms_of(FencingToken operation_time) {
  constexpr int kSecondsAt = 32;
  if (!operation_time) return 0;
  return ((operation_time.value() >> kSecondsAt) + FencingToken::kEpochSeconds) * 1'000;
}

/// Why there is no permit, by a look that shows no free slot. Without an answer none is known to be
/// taken.
Error why_not(const core::Reply& reply) {
  if (reply.outcome == core::Outcome::done) return {ErrorKind::refused, 0, "all are taken"};
  const bool permanent = reply.outcome == core::Outcome::configuration;
  return {permanent ? ErrorKind::configuration : ErrorKind::unavailable, reply.code,
          "which are taken is not known: " + reply.message};
}

}  // namespace

std::vector<int> free_slots(const std::vector<std::string>& slots, const core::Reply& reply) {
  std::vector<int> free;
  if (reply.outcome != core::Outcome::done) return free;
  const auto now_ms = ms_of(reply.operation_time);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto* document = document_of(slots[i], reply);
    const bool taken = document != nullptr && document->expires_at.since_1970_ms > now_ms;
    if (!taken) free.push_back(static_cast<int>(i));
  }
  return free;
}

std::vector<std::size_t> queue_lengths(const std::vector<std::string>& slots,
                                       const core::Reply& reply) {
  std::vector<std::size_t> lengths;
  for (const auto& slot : slots) {
    const auto* document = document_of(slot, reply);
    lengths.push_back(document == nullptr ? 0 : core::owners_in(document->queue).size());
  }
  return lengths;
}

std::shared_ptr<PermitCall> PermitCall::start(std::shared_ptr<Driver> driver, Order order,
                                              Done done) {
  auto call = std::make_shared<PermitCall>(driver, std::move(order), std::move(done));
  if (driver->forked()) {  // no thread would call it
    call->attempt(0);
  } else {
    driver->call_back([call] { call->begin(); });
  }
  return call;
}

PermitCall::PermitCall(std::shared_ptr<Driver> driver, Order order, Done done)
    : driver_(std::move(driver)),
      order_(std::move(order)),
      give_up_at_(order_.timeout ? std::optional(driver_->now() +
                                                 std::min(*order_.timeout, kLongestDuration))
                                 : std::nullopt),
      done_(std::move(done)) {}

void PermitCall::begin() {
  if (give_up_at_ && !single()) {
    end_ = driver_->later_calls().add(*give_up_at_,
                                      [self = shared_from_this()] { self->time_out(); });
  }
  attempt(any(order_.slots.size()));
}

void PermitCall::cancel() {
  driver_->call_back([self = shared_from_this()] { self->stop(); });
}

int PermitCall::any(std::size_t count) { return static_cast<int>(driver_->draw() % count); }

void PermitCall::attempt(int slot) {
  if (over_) return;
  attempt_ = driver_->acquire_async(
      order_.slots[static_cast<std::size_t>(slot)], order_.options, milliseconds(0),
      [self = shared_from_this(), slot](Result<Handle> result) {
        self->attempted(slot, std::move(result));
      });
}

void PermitCall::attempted(int slot, Result<Handle> result) {
  attempt_ = 0;
  if (result && over_) return result->release_async(nullptr);
  if (over_) return;
  if (result) return finish(Got{slot, std::move(*result)});
  if (failure_) return finish(*failure_);
  const auto kind = result.error().kind;
  const bool in_vain = kind == ErrorKind::configuration || kind == ErrorKind::shut_down ||
                       kind == ErrorKind::invalid_option || kind == ErrorKind::cancelled;
  if (in_vain || (single() && looked_)) return fail(result.error());
  home_slot_ < 0 ? look() : look_later();
}

void PermitCall::look() {
  looking_ = true;
  driver_->reads().look_at(
      order_.slots, order_.options.effective_operation_timeout(),
      [self = shared_from_this()](const core::Reply& reply) { self->looked(reply); });
}

/// An attempt at a slot that seems free; without a home only once, since others try it too.
void PermitCall::looked(const core::Reply& reply) {
  looking_ = false;
  if (over_) return;
  const bool first = !std::exchange(looked_, true);
  auto free = free_slots(order_.slots, reply);
  std::erase(free, home_slot_);
  if (!free.empty() && (first || home_slot_ >= 0)) {
    return attempt(free[static_cast<std::size_t>(any(free.size()))]);
  }
  if (home_slot_ >= 0) return look_later();
  if (single()) return fail(why_not(reply));
  const auto lengths = queue_lengths(order_.slots, reply);
  const auto shortest = *std::min_element(lengths.begin(), lengths.end());
  std::vector<int> candidates;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] == shortest) candidates.push_back(static_cast<int>(i));
  }
  stand_at(candidates[static_cast<std::size_t>(any(candidates.size()))]);
}

void PermitCall::look_later() {
  const auto half = kLookEvery / 2;
  const milliseconds more(static_cast<std::int64_t>(driver_->draw() % 1'000));
  const auto at = driver_->now() + half + more;
  next_look_ = driver_->later_calls().add(at, [self = shared_from_this()] {
    if (!self->over_ && !self->failure_) self->look();
  });
}

void PermitCall::stand_at(int slot) {
  home_slot_ = slot;
  std::optional<milliseconds> left;
  if (give_up_at_) {
    const auto until = std::chrono::ceil<milliseconds>(*give_up_at_ - driver_->now());
    left = std::max(until, milliseconds(1));
  }
  home_ = driver_->acquire_async(order_.slots[static_cast<std::size_t>(slot)], order_.options, left,
                                 [self = shared_from_this(), slot](Result<Handle> result) {
                                   self->home_ended(slot, std::move(result));
                                 });
  look_later();
}

void PermitCall::home_ended(int slot, Result<Handle> result) {
  home_ = 0;
  if (result && over_) return result->release_async(nullptr);
  if (over_) return;
  if (result) return finish(Got{slot, std::move(*result)});
  fail(result.error());
}

void PermitCall::stop() {
  if (!over_) fail({ErrorKind::cancelled, 0, "cancelled"});
}

void PermitCall::time_out() {
  end_ = 0;
  if (!over_) fail({ErrorKind::timed_out, 0, "timed out"});
}

/// Unless an attempt under way succeeds: its answer comes soon, now that it is cancelled.
void PermitCall::fail(const Error& error) {
  failure_ = error;
  if (attempt_ == 0) return finish(error);
  driver_->cancel(attempt_);
}

void PermitCall::finish(Result<Got> result) {
  over_ = true;
  for (const auto call : {next_look_, end_}) {
    if (call != 0) driver_->later_calls().forget(call);
  }
  if (home_ != 0) driver_->cancel(home_);
  if (attempt_ != 0) driver_->cancel(attempt_);
  const auto done = std::exchange(done_, nullptr);
  done(std::move(result));
}

}  // namespace leasehold::runtime
