#include <condition_variable>
#include <leasehold/lockable.hpp>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "api/access.hpp"

namespace leasehold::inline v0_1 {
namespace {

using std::chrono::milliseconds;

/// Whether a later call may have the lock, which is all that the `false` of a mutex says.
bool passes(ErrorKind kind) {
  return kind == ErrorKind::refused || kind == ErrorKind::timed_out ||
         kind == ErrorKind::unavailable || kind == ErrorKind::unknown_outcome;
}

bool succeeded(const std::optional<Error>& error) {
  if (error && !passes(error->kind)) throw LockError(error->message, *error);
  return !error;
}

/// The longest time counts as for ever.
void must_succeed(const std::optional<Error>& error) {
  if (error) throw LockError(error->message, *error);
}

}  // namespace

/// Threads enter one at a time and leave by `unlock`: else a thread that has lost the lock could
/// release what the next has acquired.
struct Lockable::State {
  explicit State(Lock lock_) : lock(std::move(lock_)) {}

  /// Nothing: this thread has entered, and `handle` is its own.
  std::optional<Error> enter(milliseconds time);
  void leave();
  /// Nothing: this thread reads. A writer that has entered keeps it waiting by its lock.
  std::optional<Error> read(milliseconds time);

  const Lock lock;
  LockHandle handle;  ///< of the thread that has entered

  std::mutex mutex;  // protects the rest
  std::condition_variable left;
  bool entered = false;
  std::map<std::thread::id, LockHandle> readers;
};

std::optional<Error> Lockable::State::enter(milliseconds time) {
  const auto driver = detail::Access::driver(lock);
  const auto end = driver->now() + time;
  {
    std::unique_lock guard(mutex);
    if (!driver->executor().wait(guard, left, time, [this] { return !entered; })) {
      return Error{ErrorKind::timed_out, 0,
                   "lock '" + lock.name() + "': another thread of this object has it"};
    }
    entered = true;
  }
  const auto rest = std::chrono::ceil<milliseconds>(end - driver->now());
  std::unique_ptr<State, void (*)(State*)> entering(this, [](State* state) { state->leave(); });
  auto got = lock.try_acquire(time == milliseconds(0) ? time : std::max(rest, milliseconds(1)));
  if (!got) return got.error();
  handle = std::move(*got);
  (void)entering.release();
  return std::nullopt;
}

void Lockable::State::leave() {
  const std::lock_guard guard(mutex);
  entered = false;
  left.notify_one();
}

std::optional<Error> Lockable::State::read(milliseconds time) {
  auto got = lock.shared().try_acquire(time);
  if (!got) return got.error();
  const std::lock_guard guard(mutex);
  readers.insert_or_assign(std::this_thread::get_id(), std::move(*got));
  return std::nullopt;
}

Lockable::Lockable(Lock lock) : state_(std::make_unique<State>(std::move(lock))) {}

Lockable::~Lockable() = default;

void Lockable::lock() { must_succeed(state_->enter(kLongestDuration)); }

bool Lockable::try_lock_within(milliseconds time) { return succeeded(state_->enter(time)); }

void Lockable::unlock() {
  std::exchange(state_->handle, LockHandle()).release();
  state_->leave();
}

void Lockable::lock_shared() { must_succeed(state_->read(kLongestDuration)); }

bool Lockable::try_lock_shared_within(milliseconds time) { return succeeded(state_->read(time)); }

/// Released outside the mutex, because that waits for an answer.
void Lockable::unlock_shared() {
  std::unique_lock guard(state_->mutex);
  auto reader = state_->readers.extract(std::this_thread::get_id());
  guard.unlock();
  reader.mapped().release();
}

const LockHandle& Lockable::handle() const {
  const std::lock_guard guard(state_->mutex);
  const auto reader = state_->readers.find(std::this_thread::get_id());
  return reader == state_->readers.end() ? state_->handle : reader->second;
}

}  // namespace leasehold
