#include "scenarios/command/facts/lies_to_locks.hpp"

#include <mutex>
#include <thread>
#include <utility>

#include "core/provider_core.hpp"
#include "core/transport.hpp"
#include "sim/live/live_test.hpp"

namespace leasehold::lab {
namespace {

using std::chrono::milliseconds;

constexpr const char* kLockedIn = "distributed.locks";

/// As a provider's own, but for the driver's failures.
class LyingConnection final : public core::Connection {
 public:
  LyingConnection(std::unique_ptr<cli::TrialConnection> liar, const std::string& database)
      : liar_(std::move(liar), database, kLockedIn) {}

  core::Reply execute(const core::Command& command) override {
    try {
      if (auto refused = liar_.refusal()) return std::move(*refused);
      return liar_.send(command.body);
    } catch (const mongo::NoReply&) {
      return {};
    }
  }
  void interrupt(core::CommandId) noexcept override {}

 private:
  cli::Asker liar_;
};

class LyingTransport final : public core::Transport {
 public:
  LyingTransport(cli::Connect connect, std::string database)
      : connect_(std::move(connect)), database_(std::move(database)) {}
  std::unique_ptr<core::Connection> connect() override {
    return std::make_unique<LyingConnection>(connect_(), database_);
  }

 private:
  cli::Connect connect_;
  std::string database_;
};

/// What the first provider that complains says.
class Complaints {
 public:
  void add(const std::string& said) {
    const std::lock_guard lock(mutex_);
    if (first_.empty()) first_ = said;
  }
  std::string first() {
    const std::lock_guard lock(mutex_);
    return first_;
  }

 private:
  std::mutex mutex_;
  std::string first_;  ///< protected by mutex_
};

LockProvider provider(const std::shared_ptr<core::Transport>& transport, Complaints& complaints) {
  auto parts = runtime::production_parts(
      transport, std::make_unique<core::ProviderCore>("of a lying server", 4));
  parts.on_warning = [&complaints](const std::string& said) { complaints.add(said); };
  return detail::Access::provider(runtime::Driver::make(std::move(parts)));
}

}  // namespace

/// One takes the lock, is extended and releases it; another is refused, and gets it then.
std::string what_locks_say(const cli::Connect& liar, const std::string& database) {
  constexpr milliseconds kPatience{2'000};
  const auto transport = std::make_shared<LyingTransport>(liar, database);
  Complaints complaints;
  {
    auto one = provider(transport, complaints), other = provider(transport, complaints);
    const auto mine = one.create_lock("job"), theirs = other.create_lock("job");
    auto held = mine->try_acquire(kPatience);
    if (!held) return held.error().message;
    auto second = theirs->try_acquire();
    if (second) {
      second->release();
    } else if (second.error().kind != ErrorKind::refused) {
      complaints.add(second.error().message);
    }
    const auto all = mine->options().expiry;
    std::this_thread::sleep_for(all / 100);  // so that it asks, however fast the machine
    if (!held->ensure(all - all / 100) && !held->held()) complaints.add("the lock was lost");
    if (held->release() != ReleaseResult::released) complaints.add("the lock was not released");
    auto next = theirs->try_acquire(kPatience);
    if (!next) complaints.add(next.error().message);
  }
  return complaints.first();
}

}  // namespace leasehold::lab
