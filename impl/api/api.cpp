#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <leasehold/lock_provider.hpp>
#include <leasehold/run_while_held.hpp>
#include <numeric>

#include "api/access.hpp"
#include "api/begin_acquire.hpp"
#include "api/waiting_calls.hpp"
#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "core/document/utf8.hpp"
#include "core/limits.hpp"
#include "runtime/force_release.hpp"

namespace leasehold::inline v0_1 {
namespace {

using detail::Access;

runtime::Handle& inside(detail::Holding& holding) { return static_cast<runtime::Handle&>(holding); }

/// Begins a call, which gives its session, and waits for what it brings.
template <typename Begin>
Result<LockHandle> wait_for_call(const std::shared_ptr<runtime::Driver>& driver,
                                 const Begin& begin, const std::stop_token& stop = {}) {
  using State = Result<std::shared_ptr<runtime::HandleState>>;
  const auto mailbox = std::make_shared<runtime::Mailbox<State>>();
  const auto session = begin([mailbox](auto result) { mailbox->put(std::move(result)); });
  const std::stop_callback cancel(stop, [&driver, session] { driver->cancel(session); });
  auto state = mailbox->take(*driver);
  if (!state) return state.error();
  return Access::handle({driver, std::move(state).value()});
}

Result<LockHandle> acquire_blocking(const Lock& lock,
                                    std::optional<std::chrono::milliseconds> timeout,
                                    const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return Error{ErrorKind::cancelled, 0, "lock '" + lock.name() + "': cancelled"};
  }
  const auto driver = Access::driver(lock);
  const auto begin = [&](runtime::Driver::Answered answered) {
    return driver->acquire(lock.name(), lock.options(), timeout, std::move(answered),
                           Access::room(lock));
  };
  return wait_for_call(driver, begin, stop);
}

/// Handles of a call that may yet fail: then all are let go, and the call does not wait for that,
/// because its time may be over.
struct AllOrNothing {
  explicit AllOrNothing(std::size_t count) : handles(count) {}
  ~AllOrNothing() {
    for (auto& handle : handles) handle.release_async(nullptr);
  }
  AllOrNothing(const AllOrNothing&) = delete;
  AllOrNothing& operator=(const AllOrNothing&) = delete;
  std::vector<LockHandle> handles;
};

}  // namespace

LockHandle::LockHandle(std::shared_ptr<detail::Holding> holding) : holding_(std::move(holding)) {}

LockHandle& LockHandle::operator=(LockHandle&& other) noexcept {
  if (this != &other) {
    if (holding_) inside(*holding_).let_go();
    holding_ = std::move(other.holding_);
  }
  return *this;
}

LockHandle::~LockHandle() {
  if (holding_) inside(*holding_).let_go();
}

const std::string& LockHandle::name() const {
  static const std::string none;
  return holding_ ? inside(*holding_).name() : none;
}

bool LockHandle::held() const { return holding_ && inside(*holding_).held(); }

std::chrono::nanoseconds LockHandle::remaining() const {
  return holding_ ? inside(*holding_).remaining() : std::chrono::nanoseconds(0);
}

bool LockHandle::ensure(std::chrono::milliseconds least) const {
  return holding_ && inside(*holding_).ensure(least);
}

std::stop_token LockHandle::lost() const {
  return holding_ ? inside(*holding_).lost() : std::stop_token();
}

bool LockHandle::shared() const { return holding_ && inside(*holding_).room() == core::kReaders; }

int LockHandle::slot() const {
  return holding_ && inside(*holding_).room() > 0 ? inside(*holding_).slot() : -1;
}

FencingToken LockHandle::fencing_token() const {
  return holding_ ? inside(*holding_).token() : FencingToken();
}

Result<LockHandle> LockHandle::downgrade() {
  const core::Room room = holding_ ? inside(*holding_).room() : core::Room();
  if (room == core::kReaders) return std::move(*this);
  if (!holding_ || room != 0) {
    return detail::bad_option(holding_ ? "lock '" + name() + "': a permit cannot be downgraded"
                                       : "an empty handle holds nothing that can be downgraded");
  }
  const auto& writer = inside(*holding_);
  return wait_for_call(writer.driver(), [&writer](runtime::Driver::Answered answered) {
    return writer.downgrade(std::move(answered));
  });
}

void LockHandle::begin_release() {
  if (holding_) inside(*holding_).begin_release();
}

void LockHandle::release_async(std::function<void(ReleaseResult)> done) {
  if (holding_) return inside(*holding_).release_async(std::move(done));
  if (done) done(ReleaseResult::not_owner);
}

ReleaseResult LockHandle::release() {
  return holding_ ? inside(*holding_).release() : ReleaseResult::not_owner;
}

Lock::Lock(std::shared_ptr<detail::Engine> engine, std::string name, LockOptions options)
    : engine_(std::move(engine)), name_(std::move(name)), options_(std::move(options)) {}

Result<LockHandle> Lock::try_acquire(std::chrono::milliseconds timeout,
                                     std::stop_token stop) const {
  return acquire_blocking(*this, timeout, stop);
}

Result<LockHandle> Lock::acquire(std::stop_token stop) const {
  return acquire_blocking(*this, std::nullopt, stop);
}

Result<std::vector<LockHandle>> acquire_all(const std::vector<Lock>& locks,
                                            std::chrono::milliseconds timeout,
                                            const std::stop_token& stop) {
  using std::chrono::milliseconds;
  std::vector<std::size_t> order(locks.size());
  std::iota(order.begin(), order.end(), 0);
  const auto name = [&locks](std::size_t i) { return locks[i].name(); };
  std::ranges::sort(order, {}, name);
  const auto twice = std::ranges::adjacent_find(order, {}, name);
  if (twice != order.end()) {
    return detail::bad_option("locks has '" + name(*twice) + "' twice: each must be there once");
  }
  if (locks.empty()) return std::vector<LockHandle>();
  const auto driver = Access::driver(locks.front());  // for its clock
  const auto end = driver->now() + std::clamp(timeout, milliseconds(0), kLongestDuration);
  AllOrNothing taken(locks.size());
  auto& handles = taken.handles;
  for (const auto i : order) {
    const bool once = timeout <= milliseconds(0);
    const auto left = std::chrono::floor<milliseconds>(end - driver->now());
    if (!once && left <= milliseconds(0)) {
      return Error{ErrorKind::timed_out, 0,
                   "lock '" + name(i) + "': timed out while others were waited for"};
    }
    auto handle = locks[i].try_acquire(once ? milliseconds(0) : left, stop);
    if (!handle) return handle.error();
    handles[i] = std::move(*handle);
  }
  for (const auto i : order) {
    if (handles[i].held()) continue;
    return Error{ErrorKind::unavailable, 0,
                 "lock '" + handles[i].name() + "' was lost while others were waited for"};
  }
  return std::move(handles);
}

Result<HeldRun> run_while_held(const Lock& lock,
                               const std::function<void(std::stop_token, FencingToken)>& work,
                               const RunOptions& options) {
  auto handle = options.timeout ? lock.try_acquire(*options.timeout, options.stop)
                                : lock.acquire(options.stop);
  if (!handle) return handle.error();
  HeldRun run{.token = handle->fencing_token()};
  {
    std::stop_source stop;
    const auto ask = [&stop] { stop.request_stop(); };
    const std::stop_callback on_lost(handle->lost(), ask), on_stop(options.stop, ask);
    work(stop.get_token(), run.token);
  }
  run.held_to_the_end = handle->held();
  run.release = handle->release();
  return run;
}

void Lock::acquire_async(std::chrono::milliseconds timeout,
                         std::function<void(Result<LockHandle>)> done, std::stop_token stop) const {
  const auto driver = Access::driver(*this);
  const auto cancellation =
      stop.stop_possible() ? std::make_shared<runtime::Cancellation>() : nullptr;
  const auto session = driver->acquire_async(
      name_, options_, timeout,
      [done = std::move(done), cancellation](Result<runtime::Handle> handle) {
        if (cancellation) cancellation->end();
        if (!handle) return done(handle.error());
        handle->end_in_background();
        done(Access::handle(std::move(handle).value()));
      },
      room_);
  if (!cancellation) return;
  cancellation->begin(stop, [&driver = *driver, session] { driver.cancel(session); });
}

Lock Lock::shared() const {
  Lock reading = *this;
  reading.room_ = core::kReaders;
  return reading;
}

std::string ProviderOptions::default_holder() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  std::string program;
  std::getline(std::ifstream("/proc/self/comm"), program);
  // The kernel cuts a program's name at 15 bytes, amid a character if need be.
  const auto whole = std::string(host) + ':' + std::to_string(getpid()) + ':' + program;
  return core::valid_utf8_prefix(whole.substr(0, core::kMaxHolderBytes));
}

namespace {

SeenHolder seen_holder(const core::LockDocument& document) {
  using std::chrono::milliseconds;
  const auto date = [](core::ServerInstant at) {
    return std::chrono::sys_time<milliseconds>(milliseconds(at.since_1970_ms));
  };
  SeenHolder seen;
  seen.since = date(document.acquired_at);
  seen.until = date(document.expires_at);
  seen.left = seen.until - date(document.read_at);
  seen.token_at_least = FencingToken(document.fencing_token);
  seen.waiting = core::owners_in(document.queue).size();
  const auto readers = core::readers_in(document.lock_id);
  if (const auto parts = core::parse_lock_id(document.lock_id)) {
    seen.lease = milliseconds(parts->lease_ms);
    const auto first = readers.empty() ? parts : core::parse_lock_id(readers.front().lock_id);
    if (first) seen.holder = first->holder;
    seen.readers = parts->room != 0 ? std::max<std::size_t>(readers.size(), 1) : 0;
    seen.permits = std::max<int>(parts->room, 0);
  }
  return seen;
}

/// Nothing: it is free.
Result<std::optional<core::LockDocument>> held_document(runtime::Driver& driver,
                                                        const std::string& name,
                                                        std::chrono::milliseconds timeout) {
  if (auto error = check_name(name)) return std::move(*error);
  if (driver.forked()) return runtime::Driver::forked_error(name);
  const auto reply =
      driver.errands().ask(core::InspectCommand{name}, std::min(timeout, kLongestDuration));
  if (reply.outcome != core::Outcome::done) {
    return Error{reply.error_kind(), reply.code,
                 "lock '" + name + "' could not be read: " + reply.message};
  }
  if (reply.documents.empty()) return std::optional<core::LockDocument>();
  const auto& document = reply.documents.front();
  if (document.is_free()) return std::optional<core::LockDocument>();
  if (document.corruption.empty()) return std::optional(document);
  return Error{ErrorKind::configuration, 0,
               "lock '" + name + "' has a corrupt document: " + document.corruption};
}

}  // namespace

Result<std::optional<SeenHolder>> LockProvider::inspect(const std::string& name,
                                                        std::chrono::milliseconds timeout) const {
  if (timeout < std::chrono::milliseconds(1)) {
    return detail::bad_option("timeout is " + std::to_string(timeout.count()) +
                              " ms: it must be at least 1 ms");
  }
  const auto document = held_document(static_cast<runtime::Driver&>(*engine_), name, timeout);
  if (!document) return document.error();
  return document->has_value() ? std::optional(seen_holder(**document)) : std::nullopt;
}

Result<std::optional<SeenHolder>> LockProvider::force_release(const std::string& name,
                                                              const std::stop_token& stop) const {
  using runtime::ForceSteps;
  auto& driver = static_cast<runtime::Driver&>(*engine_);
  const auto document = held_document(driver, name, ForceSteps::kTimeout);
  if (!document) return document.error();
  if (!document->has_value()) return std::optional<SeenHolder>();
  const auto force = core::forced_release(**document, {driver.draw(), driver.draw()});
  if (!force) {
    return Error{ErrorKind::configuration, 0,
                 "lock '" + name +
                     "' is other software's and dated for more than a day: when its holder must "
                     "have noticed is not known"};
  }
  const auto send = [&driver](decltype(core::Command::body) body) {
    return driver.errands().ask(std::move(body), ForceSteps::kTimeout);
  };
  const auto wait = [&driver, &stop](std::chrono::milliseconds time) {
    return runtime::pause(driver, time, stop);
  };
  if (auto error = runtime::force_release(*force, {send, wait})) return std::move(*error);
  return std::optional(seen_holder(**document));
}

LockProvider::LockProvider(std::shared_ptr<detail::Engine> engine) : engine_(std::move(engine)) {}

LockProvider::~LockProvider() {
  if (engine_) static_cast<runtime::Driver&>(*engine_).close();
}

Result<Lock> LockProvider::create_lock(const std::string& name, LockOptions options) const {
  if (auto error = check_name(name)) return std::move(*error);
  if (auto error = check(options)) return std::move(*error);
  return Access::lock(*this, name, std::move(options));
}

Result<Lock> LockProvider::create_semaphore(const std::string& name, int permits,
                                            LockOptions options) const {
  if (permits < 1 || permits > kMostPermits) {
    return detail::bad_option("permits is " + std::to_string(permits) + ": it must be 1 to " +
                              std::to_string(kMostPermits));
  }
  auto lock = create_lock(name, std::move(options));
  if (lock) lock->room_ = permits;
  return lock;
}

}  // namespace leasehold

namespace leasehold::detail {

std::function<void()> begin_acquire(const Lock& lock, std::chrono::milliseconds timeout,
                                    std::function<void(Result<LockHandle>)> answered) {
  const auto driver = Access::driver(lock);
  const auto session = driver->acquire(
      lock.name(), lock.options(), timeout,
      [driver = driver, answered = std::move(answered)](auto state) mutable {
        if (!state) return answered(state.error());
        runtime::Handle handle(std::move(driver), std::move(state).value());
        handle.end_in_background();
        answered(Access::handle(std::move(handle)));
      },
      Access::room(lock));
  return [driver, session] { driver->cancel(session); };
}

}  // namespace leasehold::detail
