#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <leasehold/lock_event.hpp>
#include <leasehold/lock_handle.hpp>
#include <leasehold/lock_options.hpp>
#include <leasehold/result.hpp>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace leasehold::inline v0_1 {

/// Not for users: the inside of the library.
namespace detail {
class Engine;
struct Access;
}  // namespace detail

/// A name bound to a provider and its options. A Lock proves nothing; `acquire` gives the proof.
/// Not reentrant: two acquires of one name exclude each other, in one thread too, unless both
/// read or are for permits.
/// Thread safety: all calls from any thread.
class Lock {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const LockOptions& options() const { return options_; }

  /// Tries until the lock is ours, at most for `timeout`. Zero means one attempt, which ends within
  /// `operation_timeout`. A one-shot process that only ever tries once gets a dead holder's lock
  /// after `expiry + clock_margin` by the server's clock; one that waits gets it at `expiry`.
  Result<LockHandle> try_acquire(std::chrono::milliseconds timeout = {},
                                 std::stop_token stop = {}) const;

  /// `try_acquire` without a timeout: returns when the lock is acquired, `stop` is requested, or an
  /// error occurs that retrying cannot fix.
  Result<LockHandle> acquire(std::stop_token stop = {}) const;

  /// `try_acquire` without a waiting thread. `done` is called exactly once, and destroyed, on the
  /// provider's thread for callbacks, where others wait behind it: be brief. It may own the last
  /// handle or provider. `stop` cancels from any thread, without waiting; after the grant it has no
  /// effect, and `done` gets the handle. Destroying that handle does not wait either.
  void acquire_async(std::chrono::milliseconds timeout,
                     std::function<void(Result<LockHandle>)> done, std::stop_token stop = {}) const;

  /// The same lock to read: its calls, and functions that take it, share it with others that read,
  /// in any process, while nobody else has it. The handle has a lease as any other. At most 128
  /// processes read at once; further ones wait.
  /// Order: a call that waits to write keeps out readers that come later. The first of those that
  /// wait decides: if it reads, all that wait to read get the lock. So a writer waits for the
  /// holders that there are, the writers before it, and at most one batch of readers. It waits in
  /// the lock's queue whatever its strategy. A client that polls without a place, as other software
  /// and older releases may, gets the lock only when nobody happens to read.
  /// Calls of one process that read at about the same time, with the same lease and without
  /// `max_holding`, send one command together; their handles have one token and one deadline, and
  /// are lost together.
  /// To write, release and acquire anew: two that read and waited to write would never get it.
  /// An Error: as of `try_acquire`; `invalid_option` for a published lock.
  ///
  ///     if (auto read = lock.try_acquire_shared(5s)) serve(load_prices(), read->fencing_token());
  ///     auto both = leasehold::acquire_all({prices.shared(), report}, 5s);
  [[nodiscard]] Lock shared() const;
  [[nodiscard]] bool is_shared() const { return room_ < 0; }
  /// How many may hold it at once: of a semaphore; 0: it is none.
  [[nodiscard]] int permits() const { return std::max(room_, 0); }
  Result<LockHandle> try_acquire_shared(std::chrono::milliseconds timeout = {},
                                        std::stop_token stop = {}) const {
    return shared().try_acquire(timeout, std::move(stop));
  }

 private:
  friend struct detail::Access;
  friend class LockProvider;
  Lock(std::shared_ptr<detail::Engine> engine, std::string name, LockOptions options);

  std::shared_ptr<detail::Engine> engine_;
  std::string name_;
  LockOptions options_;
  int room_ = 0;  // -1: with readers; N: a semaphore of so many permits
};

/// Acquires several locks, or none. It takes them in the order of their names, so that calls of
/// this function never deadlock, whatever the order of `locks`. `timeout` and `stop` are for all of
/// them together; a zero timeout is one attempt each. A call that fails begins to release what it
/// had, and does not wait for that.
/// The handles come in the order of `locks`. Each is extended, and lost, on its own; one that is
/// lost while others are waited for ends the call with `unavailable`. Two locks of one name are an
/// error, because the second would wait for the first; even if they are of two providers, because
/// locks are taken in the order of their names alone.
///
///     auto both = leasehold::acquire_all({from, to}, 5s);
///     if (both) transfer(both->at(0).fencing_token(), both->at(1).fencing_token());
Result<std::vector<LockHandle>> acquire_all(const std::vector<Lock>& locks,
                                            std::chrono::milliseconds timeout = {},
                                            const std::stop_token& stop = {});

/// The holder of a lock, as the lock's document said at one moment.
struct SeenHolder {
  std::string holder;  ///< its `ProviderOptions::holder`; empty if the document has none
  /// When it was granted and when it ends unless it is extended, by the server's clock. `until`
  /// includes `clock_margin`, on which no holder relies.
  std::chrono::sys_time<std::chrono::milliseconds> since, until;
  std::chrono::milliseconds left{0};   ///< to `until` when it was read; not positive: it is over
  std::chrono::milliseconds lease{0};  ///< its expiry; 0: of other software
  FencingToken token_at_least;         ///< the holder's own may be higher, no earlier one's is
  std::size_t waiting = 0;  ///< calls in the lock's queue, recently dead ones included
  std::size_t readers = 0;  ///< how many share the lock, `holder` being the first; 0: it is alone
  int permits = 0;          ///< these have so many of how many permits; 0: they read
};

/// What all locks of a provider share.
struct ProviderOptions {
  /// Empty: the database of the URI, or "leasehold" if it names none.
  std::string database;
  /// The collection of the lock documents; the default is the published document's.
  std::string collection = "distributed.locks";
  /// Stored in lock documents for people to read ("host:pid:application"); empty: not stored.
  std::string holder = default_holder();
  /// How many commands may be in progress at once. 1..64. A command that hangs does not count.
  /// Further ones wait unsent, and their time-outs count from their sending: extensions go first,
  /// then releases and attempts in turns. While the servers can only just extend the locks that are
  /// held, further acquires wait.
  int workers = 4;
  /// How long one command may look for a server that takes writes.
  std::chrono::milliseconds server_selection_timeout{5'000};
  /// Gets warnings for an administrator, one sentence each: a missing TTL index, a corrupt lock
  /// document. Called on a thread of the provider; empty: standard error.
  std::function<void(const std::string&)> on_warning;
  /// Gets every event of the provider's locks, in order; Metrics counts them. Called on a
  /// thread of the provider: be brief. Empty: not called.
  std::function<void(const LockEvent&)> on_event;

  static std::string default_holder();
};

/// Locks of one collection of one replica set, or of a sharded cluster by its mongos.
///
/// Commands run on at most `workers` threads; a waiting acquire occupies none. No driver session,
/// read preference or write concern of the caller is used: writes are majority, reads primary.
/// MongoDB 5.1 or newer. The first acquire fails on a standalone server, on a single shard, and on
/// a collection that is sharded by anything but `_id`.
/// While a callback does not return, the callbacks behind it wait without a bound; nothing else
/// waits for it, and the end of the provider at most 5 s. A contradiction in the library's own
/// state ends the process by SIGABRT, with a message on standard error, because the lock might
/// otherwise be held twice.
/// Failure: values, see Result. Construction contacts no server.
/// Thread safety: all calls from any thread.
/// Fork: the locks stay the parent's. In the child handles are not held, calls fail with
/// `shut_down`, and destruction touches nothing; a provider that the child makes works normally.
/// Signals: the provider's threads block all but those of a fault, so that signals go to the
/// application's threads; a process that a callback of yours starts there inherits the mask.
/// Functions that are called on the provider's thread may throw: the exception becomes a warning.
/// Functions that a `std::stop_callback` of `lost()` calls must not throw: that ends the process,
/// by std::stop_callback's own rule.
/// Process exit: handles and providers in static storage are released by `exit`; `_exit`, a signal
/// or a crash leave the locks to expire.
/// Destruction: waiting acquires end with `shut_down`; waits at most the longest
/// `operation_timeout` in use for clean-ups, and warns how many were left. Handles outlive the
/// provider. The thread that destroys the last of them waits for callbacks that run, for each up to
/// 5 s: one that takes longer goes on alone. In a callback, or for a handle that waits for nothing,
/// a separate thread waits instead.
///
///     auto provider = leasehold::LockProvider::connect("mongodb://db1,db2/app?replicaSet=rs");
///     auto lock = provider->create_lock("nightly-report");
///     if (auto handle = lock->try_acquire(5s)) run_report(handle->fencing_token());
class LockProvider {
 public:
  /// Checks the URI and the options; contacts no server, but looks up the name of a `mongodb+srv`
  /// URI: no answer is `unavailable`. The first call of a process initialises libmongoc and from
  /// then on has it log errors only, unless the application has set a log handler (with libmongoc
  /// 2: it sets one after this call). libmongoc may warn while it is loaded. If it is the first
  /// user of OpenSSL, OpenSSL does not tear itself down in exit(), because a thread that hangs
  /// could still use it.
  static Result<LockProvider> connect(const std::string& uri, ProviderOptions options = {});

  LockProvider(LockProvider&&) noexcept = default;
  LockProvider& operator=(LockProvider&&) = delete;
  LockProvider(const LockProvider&) = delete;
  LockProvider& operator=(const LockProvider&) = delete;
  ~LockProvider();

  /// Checks name and options.
  [[nodiscard]] Result<Lock> create_lock(const std::string& name, LockOptions options = {}) const;

  /// A semaphore: a lock that up to N hold at once, of all processes, each with a permit. Its calls
  /// and handles are those of any lock, and so is what they promise; `LockHandle::slot` numbers the
  /// permits that are held. 1 <= permits <= kMostPermits. A call that names another number than
  /// those who hold permits ends with `configuration`; once none is held, any number is right.
  /// Guaranteed, as far as the lock is (impl/GUARANTEES.md): never more than N hold it at once by
  /// `held()`. Tokens rise from one holder of a slot to the next; across slots too, unless one
  /// release gave several permits at once: they have the same.
  /// Order: that of the queue for all that wait, whatever their strategies. A call that comes later
  /// takes no free permit before them, nor does a single attempt. A dead holder's permit is free
  /// after its lease and `clock_margin`, by the server's clock; the first that waits asks at least
  /// each third of its own lease.
  /// Cost: as a lock's. The document has an entry of some 150 bytes for each permit that is held,
  /// and each acquire, extension and release writes it.
  /// Other kinds: a lock of the same name excludes all permits, and is excluded by each.
  ///
  ///     auto exports = *provider->create_semaphore("exports", 3);
  ///     if (auto permit = exports.try_acquire(5s)) export_to(directory_of(permit->slot()));
  static constexpr int kMostPermits = 1'000;
  [[nodiscard]] Result<Lock> create_semaphore(const std::string& name, int permits,
                                              LockOptions options = {}) const;

  /// The holder of the lock of this name: for people, logs and pages. Nothing: it is free. One
  /// linearizable read, for at most `timeout`, hence true at some moment of the call; it may be
  /// outdated when it returns, so do not use it for decisions: to have a lock, acquire it. A dead
  /// holder is shown until its document is gone (`left` is then not positive), and a holder that
  /// just lost the lock until it is freed. An Error: no answer; a document that is not a lock's; a
  /// provider of published locks.
  [[nodiscard]] Result<std::optional<SeenHolder>> inspect(
      const std::string& name,
      std::chrono::milliseconds timeout = std::chrono::milliseconds(5'000)) const;

  /// For administrators: frees a lock whose holder may be alive, as `leasehold release --force`
  /// does. Takes it over, waits until the old holder must have noticed, and frees it: blocks for
  /// that holder's lease and 10 %, which is the largest `max_drift`; for a lock of other software
  /// until its date. A holder that is alive is notified that the lock is lost by its next
  /// extension, and by its deadline at the latest. The first call in the lock's queue is notified
  /// of its turn. Returns the old holder; nothing: it was free.
  /// An Error: `refused`, the lock was extended or changed hands meanwhile, and nothing was done;
  /// `configuration`, the old holder's end is not known, because the document is corrupt or other
  /// software's and dated for more than a day; `unavailable`, a command got no answer within 10 s
  /// or no majority confirmed it; `cancelled`, `stop` ended the wait. What was taken by then frees
  /// itself after the wait and 30 s.
  ///
  ///     auto freed = provider.force_release("nightly-report");
  ///     if (freed && *freed) note("taken from " + (*freed)->holder);
  [[nodiscard]] Result<std::optional<SeenHolder>> force_release(
      const std::string& name, const std::stop_token& stop = {}) const;

 private:
  friend struct detail::Access;
  explicit LockProvider(std::shared_ptr<detail::Engine> engine);

  std::shared_ptr<detail::Engine> engine_;
};

}  // namespace leasehold
