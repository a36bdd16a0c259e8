#pragma once

#include <leasehold/lock_provider.hpp>
#include <vector>

#include "api/permit_call.hpp"
#include "sim/record/recorder.hpp"
#include "sim/user.hpp"

namespace leasehold::sim {

/// What a process around our own lock is to its users.
class OwnHome : public UserHome {
 public:
  [[nodiscard]] virtual Recorder& recorder() = 0;
  [[nodiscard]] virtual const std::shared_ptr<runtime::Driver>& driver() = 0;
  /// Tells the user what its lock answered, from whatever thread.
  virtual void notify(Job job) = 0;
  /// Runs `job` on a thread of the user, which may call what waits.
  virtual void start_thread(Job job) = 0;
  [[nodiscard]] virtual core::LocalInstant now() const = 0;
  /// Since when, by the harness's clock, other functions of the user have kept the thread that
  /// calls back; 0: they have not.
  [[nodiscard]] virtual std::int64_t kept_since() const { return 0; }
};

/// Our own lock, called by its public interface: each so many-th call waits on a thread of the
/// user, the others are asynchronous. Each is written down when it begins and when it returns, with
/// what it returned.
class OwnCalls final : public LockCalls {
 public:
  OwnCalls(OwnHome& home, LockOptions options, std::int64_t waits_every)
      : home_(home), options_(std::move(options)), waits_every_(waits_every) {}

  void acquire(const Workload::Acquire& acquire, Granted granted) override;
  void cancel() override;
  /// For half a lease to more than a lease.
  void ensure(const HoldingPointer& holding) override;
  void release(const HoldingPointer& holding, std::function<void()> released) override;
  [[nodiscard]] bool waits() const override { return calls_ % waits_every_ == 0; }

 private:
  void acquire_one(const Workload::Acquire& acquire);
  void acquire_permit(const Workload::Acquire& acquire);
  void acquire_all(const Workload::Acquire& acquire);
  void stand_for_election(const Workload::Acquire& acquire);
  void answered(Result<LockHandle> handle);
  /// Nothing: it was not granted.
  void end_call(std::vector<HoldingPointer> holdings);
  [[nodiscard]] Lock lock(const std::string& name) const;
  [[nodiscard]] HoldingPointer hold(LockHandle handle) const;

  [[nodiscard]] std::int64_t called(model::Event call, const char* verb,
                                    std::chrono::milliseconds timeout) const;
  [[nodiscard]] std::int64_t called(const LockHandle& handle, const char* verb) const;
  void returned(model::Event end, std::int64_t call, const std::string& outcome) const;
  void returned(std::int64_t call, const std::string& name, const Result<LockHandle>& got,
                std::int64_t kept_since_ns = 0) const;

  OwnHome& home_;
  const LockOptions options_;
  const std::int64_t waits_every_;
  std::int64_t calls_ = 0;
  Granted granted_;                                   ///< of the call under way
  std::stop_source stop_;                             ///< of it
  std::shared_ptr<runtime::PermitCall> permit_call_;  ///< the one that it waits for
  std::shared_ptr<Candidate> candidate_;              ///< until its term is over
  std::function<void()> term_over_;                   ///< once its release was asked for
};

}  // namespace leasehold::sim
