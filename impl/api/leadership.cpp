#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <leasehold/leadership.hpp>
#include <mutex>
#include <thread>

#include "api/access.hpp"
#include "api/waiting_calls.hpp"

namespace leasehold::inline v0_1 {
namespace {

using std::chrono::milliseconds;

std::string reason_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

void report(const std::string& lock, const Term& term) {
  if (!term.lost && !term.failure) return;
  const auto why = term.failure ? "its work threw: " + reason_of(term.failure)
                                : std::string("the lock was lost");
  std::fprintf(stderr, "leasehold: leadership of lock '%s': term %s ended: %s\n", lock.c_str(),
               term.token.to_string().c_str(), why.c_str());
}

std::optional<Error> check(const LeadershipOptions& options) {
  if (milliseconds(0) <= options.pause && options.pause <= options.longest_pause &&
      options.longest_pause <= kLongestDuration) {
    return std::nullopt;
  }
  return detail::bad_option("pause is " + std::to_string(options.pause.count()) +
                            " ms: it must be 0 to longest_pause, which is " +
                            std::to_string(options.longest_pause.count()) + " ms");
}

}  // namespace

struct Leadership::State {
  State(Lock lock_, Work work_, LeadershipOptions options_)
      : lock(std::move(lock_)), work(std::move(work_)), options(std::move(options_)) {
    if (options.on_ended) return;
    options.on_ended = [name = lock.name()](const Term& term) { report(name, term); };
  }

  /// A term under way, for `leading` and `resign`.
  struct Underway {
    const LockHandle& handle;
    std::stop_source& stop;
    const std::thread::id thread = std::this_thread::get_id();
  };

  Term lead(LockHandle handle, const std::stop_token& stop);
  void call_work(Term& term, const Underway& underway, const std::stop_token& stop);
  void stand_back(const Term& term, const std::stop_token& stop);

  const Lock lock;
  const Work work;
  LeadershipOptions options;
  const std::shared_ptr<runtime::Driver> driver = detail::Access::driver(lock);

  std::atomic<bool> running = false;
  std::mutex mutex;  // protects the rest
  std::condition_variable changed;
  const Underway* now = nullptr;
  std::uint64_t terms_over = 0;
  int failures_in_a_row = 0;  ///< of the thread of `run` alone
};

void Leadership::State::call_work(Term& term, const Underway& underway,
                                  const std::stop_token& stop) {
  std::atomic<std::int64_t> lost_at = 0;
  const auto ask = [&] { underway.stop.request_stop(); };
  const auto lose = [&] {
    lost_at = driver->now().time_since_epoch().count();
    ask();
  };
  const auto began = driver->now();
  {
    const std::stop_callback on_lost(underway.handle.lost(), lose);
    const std::stop_callback on_stop(stop, ask);
    try {
      work(underway.stop.get_token(), term.token);
    } catch (...) {
      term.failure = std::current_exception();
    }
  }
  const auto ended = driver->now();
  term.lasted = ended - began;
  term.lost = !underway.handle.held();
  if (lost_at == 0) return;
  term.ran_on = ended.time_since_epoch() - std::chrono::nanoseconds(lost_at.load());
}

/// `resign` waits until the lock is free too, so a term is over only after the release.
Term Leadership::State::lead(LockHandle handle, const std::stop_token& stop) {
  std::stop_source ends;
  const Underway underway{handle, ends};
  {
    const std::lock_guard guard(mutex);
    now = &underway;
  }
  Term term;
  term.token = handle.fencing_token();
  call_work(term, underway, stop);
  term.release = handle.release();
  const std::lock_guard guard(mutex);
  now = nullptr;
  ++terms_over;
  changed.notify_all();
  return term;
}

void Leadership::State::stand_back(const Term& term, const std::stop_token& stop) {
  failures_in_a_row = term.failure ? failures_in_a_row + 1 : 0;
  if (term.lost && !term.failure) return;
  auto pause = options.pause;
  for (int i = 1; i < failures_in_a_row && pause < options.longest_pause; ++i) pause *= 2;
  runtime::pause(*driver, std::min(pause, options.longest_pause), stop);
}

Leadership::Leadership(Lock lock, Work work, LeadershipOptions options)
    : state_(std::make_unique<State>(lock, std::move(work), std::move(options))) {}

Leadership::~Leadership() = default;

Error Leadership::run(const std::stop_token& stop) {
  if (auto error = check(state_->options)) return std::move(*error);
  if (state_->running.exchange(true)) {
    return detail::bad_option("lock '" + state_->lock.name() + "': run is called while it runs");
  }
  const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> ends(
      &state_->running, [](std::atomic<bool>* running) { *running = false; });
  while (true) {
    auto handle = state_->lock.acquire(stop);
    if (!handle) return handle.error();
    const auto term = state_->lead(std::move(*handle), stop);
    state_->options.on_ended(term);
    state_->stand_back(term, stop);
  }
}

std::optional<FencingToken> Leadership::leading() const {
  const std::lock_guard guard(state_->mutex);
  if (state_->now == nullptr || !state_->now->handle.held()) return std::nullopt;
  return state_->now->handle.fencing_token();
}

bool Leadership::resign(milliseconds timeout) {
  std::unique_lock guard(state_->mutex);
  if (state_->now == nullptr) return true;
  auto stop = state_->now->stop;  // a copy: its callbacks run outside the lock
  const bool own = state_->now->thread == std::this_thread::get_id();
  const auto over = state_->terms_over;
  guard.unlock();
  stop.request_stop();
  if (own) return false;
  guard.lock();
  return state_->driver->executor().wait(guard, state_->changed,
                                         std::clamp(timeout, milliseconds(0), kLongestDuration),
                                         [&] { return state_->terms_over != over; });
}

}  // namespace leasehold
