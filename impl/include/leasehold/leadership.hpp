#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <leasehold/fencing_token.hpp>
#include <leasehold/lock_provider.hpp>
#include <memory>
#include <optional>
#include <stop_token>

namespace leasehold::inline v0_1 {

/// One time as the leader, from its beginning to its end.
struct Term {
  FencingToken token;
  std::chrono::nanoseconds lasted{0};  ///< from the call of the work until it had returned
  bool lost = false;                   ///< the lock was lost before the work had returned
  /// For how long the work ran on after the lock was lost: others may have led meanwhile.
  std::chrono::nanoseconds ran_on{0};
  std::exception_ptr failure;  ///< what the work threw; empty: it returned
  ReleaseResult release = ReleaseResult::unknown;
};

struct LeadershipOptions {
  /// Gets each term that is over, after the release, on the thread of `run`. Must not throw.
  /// Empty: a line on standard error for a term that was lost or ended by an exception.
  std::function<void(const Term&)> on_ended;
  /// The pause after a term that the work itself or `resign` ended, so that another process leads
  /// next: longer than others pause between attempts. No pause after a term that was lost, unless
  /// its work threw. 0 .. `longest_pause`.
  std::chrono::milliseconds pause{1'000};
  /// The pause doubles with each term in a row that an exception of the work ended, up to this.
  std::chrono::milliseconds longest_pause{60'000};
};

/// At most one of all processes that stand for election with the same lock leads: it calls its
/// work, which gets a stop token and the term's fencing token. When the work has returned, the lock
/// is released and, after a pause, the process stands for election again.
///
/// The stop token of the work fires when the lock is lost, by its deadline; when `resign` is
/// called; when the stop token of `run` does. The work should then return soon. While it does not
/// return it keeps the lock, if that was not lost, and `run` waits for it: this process does not
/// lead a second time meanwhile.
/// A leader that resigns or ends passes the lock to the process that has waited longest, by one
/// write. A dead one keeps it until the lock's expiry (G7 of impl/GUARANTEES.md). So
/// `LockOptions::expiry` is how long there is no leader after a crash.
/// Thread safety: all calls from any thread; `run` once at a time.
/// Destruction: `run` must have returned.
///
///     leasehold::Leadership leadership(lock, [](std::stop_token stop, auto token) {
///       while (!stop.stop_requested()) write_next(token);
///     });
///     std::jthread candidate([&](std::stop_token stop) { (void)leadership.run(stop); });
///     ...
///     if (!leadership.resign(10s)) complain("the work does not end");
class Leadership {
 public:
  using Work = std::function<void(std::stop_token, FencingToken)>;

  Leadership(Lock lock, Work work, LeadershipOptions options = {});
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  /// Stands for election and leads, again and again, on this thread, until `stop` fires or an error
  /// occurs that retrying cannot fix. Returns why: `cancelled`; `shut_down`, the provider was
  /// destroyed (a term in progress goes on to its end); `configuration`; `invalid_option`, also if
  /// it runs already. Never throws what the work throws.
  Error run(const std::stop_token& stop = {});

  /// The token of the term if this process leads now: by `LockHandle::held`, asked at each call.
  [[nodiscard]] std::optional<FencingToken> leading() const;

  /// Asks the work of this term to end, and waits until it has returned and the lock is free, at
  /// most for `timeout`. False: the work still runs, and still leads unless the lock is lost; the
  /// request remains. True: that term is over, or there was none. If the work itself calls this, it
  /// asks, does not wait, and returns false.
  bool resign(std::chrono::milliseconds timeout = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace leasehold
