#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/history/history.hpp"
#include "runtime/driver.hpp"

namespace leasehold::sim {

/// Converts the times in an event from its process's own clock to the harness's.
template <typename TrueTime>
void set_true_times(model::Event& e, TrueTime true_time) {
  for (auto* time : {&e.sent_ns, &e.deadline_ns, &e.give_up_ns}) {
    if (*time > 0) *time = true_time(*time);
  }
}

/// Writes down every step of a provider's core as events of a history.
/// Thread safety: all calls from any thread.
class Recorder final : public runtime::Observer {
 public:
  using Emit = std::function<void(model::Event&&)>;

  Recorder(std::string process, Emit emit) : process_(std::move(process)), emit_(std::move(emit)) {}

  void step(const core::Event& event, const core::Effects& effects,
            core::LocalInstant now) override;

  /// Counts a command that the driver put on the wire.
  void wire(const std::string& command);

  /// All faults are over: acquire calls from now on say so.
  void heal();

  /// A user calls for several locks at once (`all`). The acquire calls come between that and its
  /// answer (`all_end`).
  struct Asked {
    std::vector<std::string> names;
    std::chrono::milliseconds timeout{};  ///< zero: no waiting
  };
  /// Returns the call's number.
  std::int64_t asked(const Asked& call, const LockOptions& options, core::LocalInstant now);
  /// The answer to a user's call: the event has the call's number, and what was answered.
  void answered(model::Kind kind, model::Event end, core::LocalInstant now);

  /// A call of a user begins: the event has what it asks for. Returns the call's number.
  std::int64_t called(model::Event call, core::LocalInstant now);

  /// The session that got this process's latest grant of `name` with `token`, until it has
  /// released. A holder asks as soon as it has its handle: with a lock that starts its tokens
  /// again, another session may be granted the same ones later.
  struct Grant {
    std::int64_t session = 0;
    std::string owner;
    FencingToken token{0};
  };
  [[nodiscard]] Grant grant_of(const std::string& name, FencingToken token) const;

  /// How many acquire calls and handles it keeps in mind; none that ended.
  [[nodiscard]] std::size_t sessions() const;

  /// How many commands the driver sent, as `wire` events.
  void emit_wire_counts(core::LocalInstant now);

 private:
  struct Sent {
    std::string verb;
    std::string owner = {};
    std::string lock_id = {};  ///< of an acquire or hand-over
    std::string giver = {}, also_owner = {};
  };

  model::Event at(core::LocalInstant now, model::Kind kind, model::Event e = {}) const;
  model::Event of_session(core::SessionId session, const std::string& name, core::LocalInstant now,
                          model::Kind kind) const;
  void set_options(model::Event& e, const LockOptions& options) const;
  void on(const core::AcquireAsked& event, core::LocalInstant now);
  void on(const core::ReleaseAsked& event, core::LocalInstant now);
  void on(const core::ReplyArrived& event, core::LocalInstant now);
  void on_send(const core::Command& command, core::LocalInstant now);
  void on_effect(const core::Effect& effect, core::LocalInstant now);
  void forget(core::SessionId session);

  const std::string process_;
  const Emit emit_;

  mutable std::mutex mutex_;  // protects the rest
  bool healed_ = false;
  std::int64_t calls_ = 0;  ///< of users
  std::map<core::CommandId, Sent> under_way_;
  /// Locks with a requested release, from the request to the end or release: an event names none.
  std::map<core::SessionId, std::string> names_;
  /// By name, token and session: readers of one process may have one token.
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Grant> grants_;
  std::map<std::string, std::int64_t> wire_;
};

}  // namespace leasehold::sim
