#include "api/permit_call.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "core/document/lock_queue.hpp"

namespace leasehold::runtime {
namespace {

using std::chrono::milliseconds;

/// The soonest time between two looks at all slots, of one that waits, and what is added by chance.
/// The second look is an early one, because it shows whether the home is the slot of a long job.
constexpr milliseconds kSoonestLook(500), kLater(1'000), kSecondLater(100);

using Slots = std::vector<PermitCall::SlotSeen>;

/// What a read of all shows of each.
Slots slots_in(const std::vector<std::string>& names, const core::Reply& reply) {
  std::unordered_map<std::string_view, PermitCall::SlotSeen> by_name;
  for (const auto& one : reply.documents) {
    by_name[one.name] = {one.acquired_at.since_1970_ms, one.expires_at.since_1970_ms,
                         core::owners_in(one.queue).size()};
  }
  Slots slots;
  for (const auto& name : names) slots.push_back(by_name[name]);
  return slots;
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
  return {reply.error_kind(), reply.code, "which are taken is not known: " + reply.message};
}

/// Which slots are free, or past their end: where an attempt is worth it.
std::vector<int> free_slots(const Slots& slots, std::int64_t now_ms) {
  std::vector<int> free;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].expires_ms <= now_ms) free.push_back(static_cast<int>(i));
  }
  return free;
}

/// Those that have changed hands since the look before. A slot that is passed on is never free.
std::vector<int> slots_that_pass(const Slots& before, const Slots& now) {
  std::vector<int> passing;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (now[i].acquired_ms != before[i].acquired_ms) passing.push_back(static_cast<int>(i));
  }
  return passing;
}

}  // namespace

std::shared_ptr<PermitCall> PermitCall::start(std::shared_ptr<Driver> driver, Order order,
                                              Done done) {
  auto call = std::make_shared<PermitCall>(driver, std::move(order), std::move(done));
  if (driver->forked()) {  // no thread would call it
    call->attempt(0);
  } else {
    driver->take_step([call] { call->begin(); });
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
    end_ = driver_->errands().call_at(*give_up_at_,
                                      [self = shared_from_this()] { self->time_out(); });
  }
  attempt(static_cast<int>(any(order_.slots.size())));
}

void PermitCall::cancel() {
  driver_->take_step([self = shared_from_this()] { self->stop(); });
}

std::size_t PermitCall::any(std::size_t count) { return driver_->draw() % count; }

void PermitCall::attempt(int slot) {
  if (over_) return;
  attempt_ = driver_->acquire_async(
      order_.slots[static_cast<std::size_t>(slot)], order_.options, milliseconds(0),
      [self = shared_from_this(), slot](Result<Handle> result) {
        self->attempted(slot, std::move(result));
      },
      &Driver::take_step);
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
  why_not_ = result.error().message;
  stands() ? look_later() : look();
}

void PermitCall::look() {
  driver_->errands().look_at(
      order_.slots, order_.options.effective_operation_timeout(),
      [self = shared_from_this()](const core::Reply& reply) { self->looked(reply); });
}

/// An attempt at a slot that seems free; without a home only once, since others try it too. A look
/// that failed shows nothing, and the one before stays the last.
void PermitCall::looked(const core::Reply& reply) {
  if (over_) return;
  why_not_ = why_not(reply).message;
  const bool first = !std::exchange(looked_, true);
  const auto slots = slots_in(order_.slots, reply);
  std::vector<int> passing, free;
  if (reply.outcome == core::Outcome::done) {
    passing = slots_that_pass(seen_, slots);
    free = free_slots(slots, ms_of(reply.operation_time));
    seen_ = slots;
  }
  // Its first attempt takes the slot if that is free at the moment.
  const bool behind_long_job = stands() && std::ranges::count(passing, places_[0].slot) == 0;
  if (behind_long_job && places_[1].session == 0 && !passing.empty()) {
    stand_at(places_[1], passing, slots);
    return look_later();
  }
  for (const auto& place : places_) std::erase(free, place.slot);
  if (!free.empty() && (first || stands())) return attempt(free[any(free.size())]);
  if (single()) return fail(why_not(reply));
  if (!stands()) {
    std::vector<int> all(order_.slots.size());
    std::iota(all.begin(), all.end(), 0);
    stand_at(places_[0], all, slots);
  }
  look_later();
}

/// Where the fewest wait, of these slots; if there are none, nowhere.
void PermitCall::stand_at(Place& place, const std::vector<int>& of, const Slots& seen) {
  const auto waiting_at = [&](int slot) { return seen[static_cast<std::size_t>(slot)].waiting; };
  std::vector<int> shortest;
  for (const int slot : of) {
    const auto length = waiting_at(slot);
    const auto best = shortest.empty() ? length : waiting_at(shortest[0]);
    if (length < best) shortest.clear();
    if (length <= best) shortest.push_back(slot);
  }
  if (shortest.empty()) return;
  place.slot = shortest[any(shortest.size())];
  std::optional<milliseconds> left;
  if (give_up_at_) {
    const auto until = std::chrono::ceil<milliseconds>(*give_up_at_ - driver_->now());
    left = std::max(until, milliseconds(1));
  }
  place.session =
      driver_->acquire_async(order_.slots[static_cast<std::size_t>(place.slot)], order_.options,
                             left,
                             [self = shared_from_this(), &place](Result<Handle> result) {
                               self->place_ended(place, std::move(result));
                             },
                             &Driver::take_step);
}

void PermitCall::look_later() {
  const auto later = std::exchange(looks_again_, true) ? kLater : kSecondLater;
  const milliseconds more(static_cast<std::int64_t>(
      driver_->draw() % static_cast<std::uint64_t>(later.count())));
  const auto at = driver_->now() + kSoonestLook + more;
  next_look_ = driver_->errands().call_at(at, [self = shared_from_this()] {
    if (!self->over_ && !self->failure_) self->look();
  });
}

void PermitCall::place_ended(Place& place, Result<Handle> result) {
  place.session = 0;
  if (result && over_) return result->release_async(nullptr);
  if (over_) return;
  if (result) return finish(Got{place.slot, std::move(*result)});
  fail(result.error());
}

void PermitCall::stop() {
  if (!over_) fail({ErrorKind::cancelled, 0, "cancelled"});
}

void PermitCall::time_out() {
  end_ = 0;
  const auto why = why_not_.empty() ? "" : "; " + why_not_;
  if (!over_) fail({ErrorKind::timed_out, 0, "timed out" + why});
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
    if (call != 0) driver_->errands().forget(call);
  }
  for (const auto& place : places_) {
    if (place.session != 0) driver_->cancel(place.session);
  }
  if (attempt_ != 0) driver_->cancel(attempt_);
  const auto done = std::exchange(done_, nullptr);
  done(std::move(result));
}

}  // namespace leasehold::runtime
