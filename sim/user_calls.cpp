#include "sim/user_calls.hpp"

#include <array>
#include <utility>

#include "api/access.hpp"

namespace leasehold::sim {
namespace {

using model::Event;
using std::chrono::milliseconds;

/// Every so many-th holding asks `ensure()`, by its number and not by a draw.
constexpr std::uint64_t kEnsuresEvery = 8;
/// For so many hundredths of the lease, by turns.
constexpr std::array kEnsured{50, 95, 105, 80};

std::uint64_t session_of(const LockHandle& handle) {
  return detail::Access::inside(handle).session();
}

Event event_of(const LockHandle& handle) {
  Event e;
  e.session = static_cast<std::int64_t>(session_of(handle));
  e.name = handle.name();
  return e;
}

}  // namespace

std::int64_t UserCalls::called(Event call, const char* verb, milliseconds timeout) const {
  call.verb = verb;
  const auto now = now_();
  call.give_up_ns = (now + timeout).time_since_epoch().count();
  return recorder_.called(std::move(call), now);
}

/// What is asked of a handle is answered within an operation.
std::int64_t UserCalls::called(const LockHandle& handle, const char* verb) const {
  return called(event_of(handle), verb, options_.effective_operation_timeout());
}

std::int64_t UserCalls::called(const Lock& lock, const char* verb, milliseconds timeout) const {
  Event call;
  call.name = lock.name();
  call.single_attempt = timeout == milliseconds(0);
  return called(call, verb,
                call.single_attempt ? options_.effective_operation_timeout() : timeout);
}

void UserCalls::returned(Event end, std::int64_t call, const std::string& outcome) const {
  end.call = call;
  end.outcome = outcome;
  recorder_.returned(std::move(end), now_());
}

void UserCalls::returned(std::int64_t call, const std::string& name, const Result<LockHandle>& got,
                         std::int64_t kept_since_ns) const {
  Event end = got ? event_of(*got) : Event();
  end.name = name;
  end.from_ns = kept_since_ns;
  if (got) end.token = got->fencing_token().value();
  returned(std::move(end), call, got ? "granted" : to_string(got.error().kind));
}

Result<LockHandle> UserCalls::try_acquire(const Lock& lock, milliseconds timeout,
                                          const std::stop_token& stop) const {
  const auto call = called(lock, "try_acquire", timeout);
  auto got = lock.try_acquire(timeout, stop);
  returned(call, lock.name(), got);
  return got;
}

void UserCalls::acquire_async(const Lock& lock, milliseconds timeout,
                              std::function<void(Result<LockHandle>)> done,
                              const std::stop_token& stop) const {
  const auto call = called(lock, "acquire_async", timeout);
  lock.acquire_async(
      timeout,
      [this, call, name = lock.name(), done = std::move(done)](Result<LockHandle> got) {
        returned(call, name, got, kept_since_ ? kept_since_() : 0);
        done(std::move(got));
      },
      stop);
}

Result<std::vector<LockHandle>> UserCalls::acquire_all(const std::vector<Lock>& locks,
                                                       milliseconds timeout,
                                                       const std::stop_token& stop) const {
  Recorder::AllAsked asked{{}, timeout};
  for (const Lock& lock : locks) asked.names.push_back(lock.name());
  const auto call = recorder_.all_asked(asked, options_, now_());
  auto got = leasehold::acquire_all(locks, timeout, stop);
  std::vector<FencingToken> tokens;
  if (got) {
    for (const auto& handle : *got) tokens.push_back(handle.fencing_token());
  }
  recorder_.all_answered(call, asked, tokens, got ? "" : to_string(got.error().kind), now_());
  return got;
}

void UserCalls::release(LockHandle& handle) const {
  const auto call = called(handle, "release");
  returned(event_of(handle), call, to_string(handle.release()));
}

/// The handle may end before it is answered.
void UserCalls::release_async(LockHandle& handle, const std::function<void()>& done) const {
  const auto call = called(handle, "release_async");
  handle.release_async([this, end = event_of(handle), call, done](ReleaseResult found) mutable {
    end.from_ns = kept_since_ ? kept_since_() : 0;
    returned(std::move(end), call, to_string(found));
    done();
  });
}

bool UserCalls::ensures(const LockHandle& handle) {
  return session_of(handle) % kEnsuresEvery == 0;
}

void UserCalls::ensure(const LockHandle& handle) const {
  const auto hundredths = kEnsured[session_of(handle) / kEnsuresEvery % kEnsured.size()];
  const milliseconds least = options_.expiry * hundredths / 100;
  const auto call = called(handle, "ensure");
  const bool ensured = handle.ensure(least);
  Event end = event_of(handle);
  end.deadline_ns = (now_() + least).time_since_epoch().count();
  returned(std::move(end), call, ensured ? "yes" : "no");
}

}  // namespace leasehold::sim
