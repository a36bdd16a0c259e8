#pragma once

#include <functional>
#include <leasehold/lock_provider.hpp>
#include <stop_token>
#include <vector>

#include "sim/record/recorder.hpp"

namespace leasehold::sim {

/// The calls of the public interface that the users of one process make, in either world: each is
/// written down when it begins and when it returns, with what it returned. Thread safety: all
/// calls from any thread.
class UserCalls {
 public:
  using Now = std::function<core::LocalInstant()>;
  /// Since when, by the harness's clock, other functions of the user have kept the thread that
  /// calls back; 0: they have not.
  using KeptSince = std::function<std::int64_t()>;

  UserCalls(Recorder& recorder, LockOptions options, Now now, KeptSince kept_since = nullptr)
      : recorder_(recorder),
        options_(std::move(options)),
        now_(std::move(now)),
        kept_since_(std::move(kept_since)) {}

  [[nodiscard]] Result<LockHandle> try_acquire(const Lock& lock, std::chrono::milliseconds timeout,
                                               const std::stop_token& stop) const;
  void acquire_async(const Lock& lock, std::chrono::milliseconds timeout,
                     std::function<void(Result<LockHandle>)> done,
                     const std::stop_token& stop) const;
  /// For all of these locks at once. REQUIRES: there is one
  [[nodiscard]] Result<std::vector<LockHandle>> acquire_all(const std::vector<Lock>& locks,
                                                            std::chrono::milliseconds timeout,
                                                            const std::stop_token& stop) const;
  void release(LockHandle& handle) const;
  void release_async(LockHandle& handle, const std::function<void()>& done) const;
  /// Some holdings ask `ensure()`, for half a lease to more than a lease.
  [[nodiscard]] static bool ensures(const LockHandle& handle);
  void ensure(const LockHandle& handle) const;

 private:
  [[nodiscard]] std::int64_t called(model::Event call, const char* verb,
                                    std::chrono::milliseconds timeout) const;
  [[nodiscard]] std::int64_t called(const LockHandle& handle, const char* verb) const;
  [[nodiscard]] std::int64_t called(const Lock& lock, const char* verb,
                                    std::chrono::milliseconds timeout) const;
  void returned(model::Event end, std::int64_t call, const std::string& outcome) const;
  void returned(std::int64_t call, const std::string& name, const Result<LockHandle>& got,
                std::int64_t kept_since_ns = 0) const;

  Recorder& recorder_;
  LockOptions options_;
  Now now_;
  KeptSince kept_since_;
};

}  // namespace leasehold::sim
