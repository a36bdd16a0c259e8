#pragma once

#include <array>
#include <leasehold/lock_provider.hpp>
#include <vector>

#include "api/access.hpp"
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
  /// `downgrades`: some of those that write go on to read, where they would release.
  OwnCalls(OwnHome& home, LockOptions options, std::int64_t waits_every, bool downgrades)
      : home_(home),
        options_(std::move(options)),
        waits_every_(waits_every),
        downgrades_(downgrades) {}

  void acquire(const Workload::Acquire& acquire, Granted granted) override {
    ++calls_;
    stop_ = {};
    granted_ = std::move(granted);
    if (!acquire.also.empty()) return acquire_all(acquire);
    acquire.leads ? stand_for_election(acquire) : acquire_one(acquire);
  }

  void cancel() override {
    if (candidate_) return candidate_->give_up();
    stop_.request_stop();
  }
  /// For half a lease to more than a lease.
  void ensure(const HoldingPointer& holding) override {
    if (!holding->handle || session_of(*holding->handle) % kEnsuresEvery != 0) return;
    home_.start_thread([this, handle = holding->handle] {
      const auto hundredths = kEnsured[session_of(*handle) / kEnsuresEvery % kEnsured.size()];
      const std::chrono::milliseconds least = options_.expiry * hundredths / 100;
      const auto call = called(*handle, "ensure");
      const bool ensured = handle->ensure(least);
      model::Event end = event_of(*handle);
      end.deadline_ns = (home_.now() + least).time_since_epoch().count();
      returned(std::move(end), call, ensured ? "yes" : "no");
    });
  }

  /// The handle may end before an asynchronous release is answered.
  void release(const HoldingPointer& holding, std::function<void()> released) override {
    if (holding->term) {
      term_over_ = std::move(released);
      return holding->term->end_term();  // released when its work has returned; then `run` returns
    }
    LockHandle& handle = *holding->handle;
    if (waits()) {
      handle.begin_release();
      return home_.start_thread([this, holding, released = std::move(released)] {
        const auto call = called(*holding->handle, "release");
        returned(event_of(*holding->handle), call, to_string(holding->handle->release()));
        home_.notify(released);
      });
    }
    const auto call = called(handle, "release_async");
    handle.release_async(
        [this, end = event_of(handle), call, released](ReleaseResult found) mutable {
          end.from_ns = home_.kept_since();
          returned(std::move(end), call, to_string(found));
          home_.notify(released);
        });
  }

  [[nodiscard]] bool downgrades(const Holding& holding) const override {
    return downgrades_ && !holding.reads && holding.handle &&
           session_of(*holding.handle) % kDowngradesEvery == 0;
  }
  void downgrade(const HoldingPointer& holding, Granted reads) override {
    home_.start_thread([this, writing = holding->handle, reads = std::move(reads)] {
      model::Event call = event_of(*writing);
      call.single_attempt = call.shared = true;
      const auto number =
          called(std::move(call), "downgrade", options_.effective_operation_timeout());
      auto got = writing->downgrade();
      returned(number, writing->name(), got);
      if (home_.over()) return;
      std::vector<HoldingPointer> reading;
      if (got) reading.push_back(hold(std::move(*got)));
      home_.notify([reads, reading] { reads(reading); });
    });
  }

  [[nodiscard]] bool waits() const override { return calls_ % waits_every_ == 0; }

 private:
  /// Every so many-th holding asks `ensure()`, or goes on to read, by its number and not by a draw.
  static constexpr std::uint64_t kEnsuresEvery = 8, kDowngradesEvery = 3;
  /// For so many hundredths of the lease, by turns.
  static constexpr std::array kEnsured{50, 95, 105, 80};

  static std::uint64_t session_of(const LockHandle& handle) {
    return detail::Access::inside(handle).session();
  }
  template <typename Got>
  static std::string outcome_of(const Result<Got>& got) {
    return got ? "granted" : to_string(got.error().kind);
  }
  static model::Event event_of(const LockHandle& handle) {
    model::Event e;
    e.session = static_cast<std::int64_t>(session_of(handle));
    e.name = handle.name();
    return e;
  }

  void acquire_one(const Workload::Acquire& acquire) {
    model::Event call;
    call.name = acquire.lock;
    call.single_attempt = acquire.timeout == std::chrono::milliseconds(0);
    call.shared = acquire.reads || acquire.permits > 0;
    const auto limit =
        call.single_attempt ? options_.effective_operation_timeout() : acquire.timeout;
    const core::Room room = acquire.reads ? core::kReaders : core::Room(acquire.permits);
    const Lock asked = detail::Access::lock(home_.driver(), acquire.lock, options_, room);
    const auto begin = [this, call, limit](const char* verb) { return called(call, verb, limit); };
    if (waits()) {
      return home_.start_thread([=, this, timeout = acquire.timeout, stop = stop_.get_token()] {
        const auto number = begin("try_acquire");
        auto got = asked.try_acquire(timeout, stop);
        returned(number, asked.name(), got);
        answered(std::move(got));
      });
    }
    asked.acquire_async(
        acquire.timeout,
        [this, number = begin("acquire_async"), name = acquire.lock](Result<LockHandle> got) {
          returned(number, name, got, home_.kept_since());
          answered(std::move(got));
        },
        stop_.get_token());
  }

  void acquire_all(const Workload::Acquire& acquire) {
    std::vector<Lock> locks{lock(acquire.lock)};
    for (const auto& name : acquire.also) locks.push_back(lock(name));
    home_.start_thread([this, locks, timeout = acquire.timeout, stop = stop_.get_token()] {
      Recorder::Asked asked{{}, timeout};
      for (const Lock& lock : locks) asked.names.push_back(lock.name());
      const auto call = home_.recorder().asked(asked, options_, home_.now());
      auto got = leasehold::acquire_all(locks, timeout, stop);
      const auto now = home_.now();
      for (std::size_t i = 0; i < locks.size(); ++i) {
        model::Event end;
        end.call = call;
        end.name = asked.names[i];
        end.outcome = outcome_of(got);
        if (got) end.token = (*got)[i].fencing_token().value();
        home_.recorder().answered(model::Kind::all_end, std::move(end), now);
      }
      if (home_.over()) return;
      std::vector<HoldingPointer> holdings;
      if (got) {
        for (auto& handle : *got) holdings.push_back(hold(std::move(handle)));
      }
      home_.notify([this, holdings] { end_call(holdings); });
    });
  }

  void stand_for_election(const Workload::Acquire& acquire) {
    candidate_ = std::make_shared<Candidate>(
        lock(acquire.lock), home_.driver()->executor(),
        [this, name = acquire.lock](FencingToken token) {
          home_.notify([this, name, token] {
            if (home_.over()) return;
            const auto grant = home_.recorder().grant_of(name, token);
            Holding holding{name, grant.session, token, grant.owner, options_.expiry};
            holding.term = candidate_;
            end_call({std::make_shared<Holding>(std::move(holding))});
          });
        });
    home_.start_thread([this, candidate = candidate_] {
      candidate->run();
      home_.notify([this, candidate] {
        if (home_.over()) return;
        candidate_.reset();
        if (candidate->had_term()) return std::exchange(term_over_, nullptr)();
        end_call({});
      });
    });
  }

  void answered(Result<LockHandle> handle) {
    if (home_.over()) return;
    std::vector<HoldingPointer> holdings;
    if (handle) holdings.push_back(hold(std::move(*handle)));
    home_.notify([this, holdings] { end_call(holdings); });
  }

  /// Nothing: it was not granted.
  void end_call(std::vector<HoldingPointer> holdings) {
    std::exchange(granted_, nullptr)(std::move(holdings));
  }
  [[nodiscard]] Lock lock(const std::string& name) const {
    return detail::Access::lock(home_.driver(), name, options_);
  }
  /// The owner by name and token: the handle does not show it, and the fence's record needs it.
  [[nodiscard]] HoldingPointer hold(LockHandle handle) const {
    const auto session = static_cast<std::int64_t>(session_of(handle));
    const auto name = handle.name();
    const auto token = handle.fencing_token();
    const bool reads = handle.shared();
    const auto release_nothing = [](LockHandle* one) {
      (void)detail::Access::take(std::move(*one));
      delete one;
    };
    return std::make_shared<Holding>(
        Holding{name, session, token, home_.recorder().grant_of(name, token).owner, options_.expiry,
                std::shared_ptr<LockHandle>(new LockHandle(std::move(handle)), release_nothing),
                nullptr, reads});
  }

  [[nodiscard]] std::int64_t called(model::Event call, const char* verb,
                                    std::chrono::milliseconds timeout) const {
    call.verb = verb;
    const auto now = home_.now();
    call.give_up_ns = (now + timeout).time_since_epoch().count();
    return home_.recorder().called(std::move(call), now);
  }
  /// What is asked of a handle is answered within an operation.
  [[nodiscard]] std::int64_t called(const LockHandle& handle, const char* verb) const {
    return called(event_of(handle), verb, options_.effective_operation_timeout());
  }
  void returned(model::Event end, std::int64_t call, const std::string& outcome) const {
    end.call = call;
    end.outcome = outcome;
    home_.recorder().answered(model::Kind::returned, std::move(end), home_.now());
  }
  void returned(std::int64_t call, const std::string& name, const Result<LockHandle>& got,
                std::int64_t kept_since_ns = 0) const {
    model::Event end = got ? event_of(*got) : model::Event();
    end.name = name;
    end.from_ns = kept_since_ns;
    if (got) end.token = got->fencing_token().value();
    returned(std::move(end), call, outcome_of(got));
  }

  OwnHome& home_;
  const LockOptions options_;
  const std::int64_t waits_every_;
  const bool downgrades_;
  std::int64_t calls_ = 0;
  Granted granted_;                                   ///< of the call under way
  std::stop_source stop_;                             ///< of it
  std::shared_ptr<Candidate> candidate_;              ///< until its term is over
  std::function<void()> term_over_;                   ///< once its release was asked for
};

}  // namespace leasehold::sim
