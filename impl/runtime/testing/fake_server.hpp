#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <latch>
#include <leasehold/lock_provider.hpp>
#include <memory>
#include <mutex>
#include <optional>

#include "api/access.hpp"
#include "core/document/lock_id.hpp"
#include "core/document/lock_queue.hpp"
#include "core/provider_core.hpp"
#include "core/transport.hpp"

namespace leasehold::runtime {

using core::Command;
using core::Outcome;
using core::Reply;
using std::chrono::milliseconds;

/// A name that a test sets while commands run.
class SharedName {
 public:
  SharedName& operator=(std::string name) {
    const std::lock_guard guard(mutex_);
    name_ = std::move(name);
    return *this;
  }
  [[nodiscard]] std::string get() const {
    const std::lock_guard guard(mutex_);
    return name_;
  }

 private:
  mutable std::mutex mutex_;
  std::string name_;
};

/// A server of one lock that always answers at once, or hangs until it is cut.
class FakeServer final : public core::Transport, public std::enable_shared_from_this<FakeServer> {
 public:
  enum class Mode {
    serve,
    refuse,
    hang,  ///< until it is cut
    deaf   ///< until the mode is another
  };

  std::unique_ptr<core::Connection> connect() override {
    ++connections;
    return std::make_unique<Link>(shared_from_this());
  }

  std::atomic<Mode> mode = Mode::serve;
  void hear_again() {
    mode = Mode::serve;
    mode.notify_all();
  }
  std::atomic<int> connections = 0;
  std::atomic<int> links = 0;  ///< that exist now
  std::atomic<int> hanging = 0;
  std::atomic<int> deletes = 0, pass_ons = 0;
  std::atomic<bool> deletes_hang = false;  ///< until they are cut
  std::string refused_name;                ///< a lock that another holds; set while no command runs
  SharedName only_free;                    ///< if not empty: the one that no other holds
  std::string queued_at;                   ///< if not empty: a lock that a call waits for
  std::vector<core::LockDocument> shown;   ///< to an inspection; set while no command runs
  std::atomic<int> looks = 0;
  /// Sees each command before it is executed, and may set the mode for it; set while none runs.
  std::function<void(const Command&)> before = [](const Command&) {};

 private:
  static constexpr std::int64_t kFarAway_ms = 1'000'000'000'000'000;
  [[nodiscard]] bool refuses(const std::string& name) const {
    return mode == Mode::refuse || name == refused_name ||
           (!only_free.get().empty() && name != only_free.get());
  }

  static std::string one_entry() {
    const auto lock_id = core::format_lock_id({{1, 2}, 30'000, 1, ""});
    return "0000000000001" + core::entry_without_until(milliseconds(5), milliseconds(9), lock_id);
  }

  class Link final : public core::Connection {
   public:
    explicit Link(std::shared_ptr<FakeServer> server) : server_(std::move(server)) {
      ++server_->links;
    }
    ~Link() override { --server_->links; }

    Reply execute(const Command& command) override {
      server_->before(command);
      const bool deletes = std::holds_alternative<core::DeleteCommand>(command.body);
      if (server_->mode == Mode::hang || (deletes && server_->deletes_hang)) {
        return hang(command.id);
      }
      if (server_->mode == Mode::deaf) {
        ++server_->hanging;
        server_->mode.wait(Mode::deaf);
        --server_->hanging;
        return {};
      }
      Reply reply;
      reply.outcome = Outcome::done;
      reply.matched = 1;
      if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
        reply.operation_time = FencingToken(1'000 + static_cast<std::int64_t>(command.id));
        reply.documents = {{acquire->name, acquire->lock_id, {}, 1, ""}};
        if (server_->refuses(acquire->name)) reply.documents[0].lock_id = "other software";
      }
      if (const auto* given = std::get_if<core::HandOverCommand>(&command.body)) {
        reply.operation_time = FencingToken(1'000 + static_cast<std::int64_t>(command.id));
        reply.documents = {{given->name, given->lock_id, {}, 1, ""}};
      }
      if (const auto* look = std::get_if<core::ReadHoldersCommand>(&command.body)) {
        reply.documents.clear();
        for (const auto& name : look->names) {
          if (!server_->refuses(name)) continue;
          reply.documents.push_back({name, "other software"});
          reply.documents.back().expires_at = {kFarAway_ms};
          if (name == server_->queued_at) reply.documents.back().queue = one_entry();
        }
        ++server_->looks;
      }
      if (std::holds_alternative<core::InspectCommand>(command.body)) {
        reply.documents = server_->shown;
      }
      if (const auto* pass_on = std::get_if<core::PassOnCommand>(&command.body)) {
        reply.documents = {{pass_on->name, core::format_lock_id({pass_on->owner, 1'000, 1})}};
        ++server_->pass_ons;
      }
      if (deletes) ++server_->deletes;
      return reply;
    }

    void interrupt(core::CommandId command) noexcept override {
      const std::lock_guard lock(mutex_);
      cut_ = command;
      changed_.notify_all();
    }

   private:
    Reply hang(core::CommandId command) {
      ++server_->hanging;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return cut_ == command; });
      --server_->hanging;
      return {};
    }

    std::shared_ptr<FakeServer> server_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<core::CommandId> cut_;
  };
};

/// Waits until so many releases are answered, and fails unless each found its lock: while a server
/// is deaf, a call that waits for a release ends with `unknown`.
class AnsweredReleases {
 public:
  explicit AnsweredReleases(std::ptrdiff_t count) : left_(count) {}

  [[nodiscard]] std::function<void(const LockEvent&)> counter() {
    return [this](const LockEvent& event) {
      if (event.kind != LockEvent::Kind::released) return;
      EXPECT_EQ(event.detail, "released") << "a call waited for it";
      left_.count_down();
    };
  }
  void wait() const { left_.wait(); }

 private:
  std::latch left_;
};

/// As in production, but for what `change` does to its parts.
inline LockProvider provider_with(
    const std::function<void(DriverParts&)>& change,
    std::shared_ptr<core::Transport> server = std::make_shared<FakeServer>(), int workers = 4) {
  auto parts =
      production_parts(std::move(server), std::make_unique<core::ProviderCore>("", workers));
  parts.workers = workers;
  change(parts);
  return detail::Access::provider(Driver::make(std::move(parts)));
}
inline LockProvider provider_for(std::shared_ptr<core::Transport> server, int workers = 4,
                                 std::function<void(const LockEvent&)> on_event = nullptr) {
  return provider_with([&](DriverParts& parts) { parts.on_event = std::move(on_event); },
                       std::move(server), workers);
}

struct Fixture {
  explicit Fixture(int workers_ = 2) : workers(workers_) {}

  int workers;
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
  std::optional<LockProvider> provider = provider_for(server, workers);

  [[nodiscard]] Lock lock(milliseconds expiry = milliseconds(30'000)) const {
    return lock(LockOptions{.expiry = expiry});
  }
  [[nodiscard]] Lock lock(const LockOptions& options, const std::string& name = "lock") const {
    return provider->create_lock(name, options).value();
  }
};

/// One that is lost soon once its server hangs.
inline LockOptions short_lease() {
  return {.expiry = milliseconds(100), .operation_timeout = milliseconds(10)};
}

/// Blocks until the token fires.
inline void wait_for(const std::stop_token& stop) {
  std::promise<void> stopped;
  const std::stop_callback on_stop(stop, [&] { stopped.set_value(); });
  stopped.get_future().get();
}

}  // namespace leasehold::runtime
