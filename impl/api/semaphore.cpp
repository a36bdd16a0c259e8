#include <leasehold/semaphore.hpp>

#include "api/access.hpp"
#include "api/begin_acquire.hpp"
#include "api/permit_call.hpp"
#include "api/waiting_calls.hpp"

namespace leasehold::inline v0_1 {
namespace {

using detail::Access;
using std::chrono::milliseconds;

/// The error of a slot, or of all slots, as an error of the semaphore.
Error named(const std::string& name, Error error) {
  error.message = "semaphore '" + name + "': " + error.message;
  return error;
}

using Got = Result<runtime::PermitCall::Got>;

Result<Permit> permit_of(const std::string& name, Got got, bool blocks) {
  if (!got) return named(name, got.error());
  if (!blocks) got->handle.end_in_background();
  return Permit{got->slot, Access::handle(std::move(got->handle))};
}

std::shared_ptr<runtime::PermitCall> start(const std::vector<Lock>& slots,
                                           std::optional<milliseconds> timeout,
                                           std::function<void(Got)> done) {
  runtime::PermitCall::Order order{{}, slots.front().options(), timeout};
  for (const auto& slot : slots) order.slots.push_back(slot.name());
  return runtime::PermitCall::start(Access::driver(slots.front()), std::move(order),
                                    std::move(done));
}

Result<Permit> acquire_blocking(const std::string& name, const std::vector<Lock>& slots,
                                std::optional<milliseconds> timeout, const std::stop_token& stop) {
  if (stop.stop_requested()) return named(name, {ErrorKind::cancelled, 0, "cancelled"});
  const auto mailbox = std::make_shared<runtime::Mailbox<Result<Permit>>>();
  const auto call = start(slots, timeout, [mailbox, name](Got got) {
    mailbox->put(permit_of(name, std::move(got), true));
  });
  const std::stop_callback cancel(stop, [&call] { call->cancel(); });
  return mailbox->take(*Access::driver(slots.front()));
}

}  // namespace

Result<Semaphore> Semaphore::create(const LockProvider& provider, const std::string& name,
                                    int permits, LockOptions options) {
  if (permits < 1 || permits > kMostPermits) {
    return detail::bad_option("permits is " + std::to_string(permits) + ": it must be 1 to " +
                              std::to_string(kMostPermits));
  }
  if (auto error = check_name(name)) return std::move(*error);
  std::vector<Lock> slots;
  for (int i = 0; i < permits; ++i) {
    auto slot = provider.create_lock(name + '#' + std::to_string(i), options);
    if (!slot) return slot.error();
    slots.push_back(std::move(*slot));
  }
  if (!Access::driver(slots.front())->errands().reads()) {
    return detail::bad_option("semaphore '" + name +
                              "' is of a published lock: it must be of the production one");
  }
  return Semaphore(name, std::move(slots));
}

const std::string& Semaphore::lock_name(int slot) const {
  return slots_.at(static_cast<std::size_t>(slot)).name();
}

Result<Permit> Semaphore::try_acquire(milliseconds timeout, std::stop_token stop) const {
  return acquire_blocking(name_, slots_, timeout, stop);
}

Result<Permit> Semaphore::acquire(std::stop_token stop) const {
  return acquire_blocking(name_, slots_, std::nullopt, stop);
}

void Semaphore::acquire_async(milliseconds timeout, std::function<void(Result<Permit>)> done,
                              std::stop_token stop) const {
  const auto cancellation =
      stop.stop_possible() ? std::make_shared<runtime::Cancellation>() : nullptr;
  const auto call = start(slots_, timeout, [driver = Access::driver(slots_.front()), name = name_,
                                            done = std::move(done), cancellation](Got got) mutable {
    if (cancellation) cancellation->end();
    // What is left here is empty: all goes to the callback's thread.
    runtime::Driver& poster = *driver;
    poster.call_back([driver = std::move(driver), name = std::move(name), done = std::move(done),
                      got = std::move(got)] { done(permit_of(name, got, false)); });
  });
  if (cancellation) cancellation->begin(stop, [call] { call->cancel(); });
}

}  // namespace leasehold

namespace leasehold::detail {

std::function<void()> begin_acquire(const Semaphore& semaphore, milliseconds timeout,
                                    std::function<void(Result<Permit>)> answered) {
  const auto call = start(Access::slots(semaphore), timeout,
                          [name = semaphore.name(), answered = std::move(answered)](Got got) {
                            answered(permit_of(name, std::move(got), false));
                          });
  return [call] { call->cancel(); };
}

}  // namespace leasehold::detail
