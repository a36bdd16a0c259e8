#include <condition_variable>
#include <leasehold/lockable.hpp>
#include <mutex>
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

}  // namespace

/// Threads enter one at a time and leave by `unlock`: else a thread that has lost the lock could
/// release what the next has acquired.
struct Lockable::State {
  explicit State(Lock lock_) : lock(std::move(lock_)) {}

  /// Nothing: this thread has entered, and `handle` is its own.
  std::optional<Error> enter(milliseconds time);
  void leave();

  const Lock lock;
  LockHandle handle;  ///< of the thread that has entered

  std::mutex mutex;  // protects the rest
  std::condition_variable left;
  bool entered = false;
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

Lockable::Lockable(Lock lock) : state_(std::make_unique<State>(std::move(lock))) {}

Lockable::~Lockable() = default;

/// The longest time counts as for ever.
void Lockable::lock() {
  if (const auto error = state_->enter(kLongestDuration)) throw LockError(error->message, *error);
}

bool Lockable::try_lock_within(milliseconds time) {
  const auto error = state_->enter(time);
  if (error && !passes(error->kind)) throw LockError(error->message, *error);
  return !error;
}

void Lockable::unlock() {
  std::exchange(state_->handle, LockHandle()).release();
  state_->leave();
}

const LockHandle& Lockable::handle() const { return state_->handle; }

}  // namespace leasehold
