#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "core/provider_core.hpp"

namespace leasehold::core {

/// Draws 1, 2, 3, ...: owners in tests are {1,2}, {3,4}, ...
class CountingEntropy final : public Entropy {
 public:
  std::uint64_t draw() override { return ++last_; }

 private:
  std::uint64_t last_ = 0;
};

/// A ProviderCore with a hand-moved clock, its effects kept for looking at.
class CoreWorld {
 public:
  using Ms = std::chrono::milliseconds;

  static LockOptions options() {
    LockOptions o;
    o.expiry = Ms(3'000);
    o.waiting = uniform_waiting(Ms(100), Ms(100));
    return o;
  }

  void give(const Event& event) {
    effects.clear();
    core.next(event, now, entropy, effects);
    all.insert(all.end(), effects.begin(), effects.end());
  }

  void acquire(SessionId id, const std::string& name = "lock", LockOptions o = options(),
               std::optional<Ms> timeout = std::nullopt, bool single = false) {
    const auto give_up = timeout ? std::optional(now + *timeout) : std::nullopt;
    give(AcquireAsked{id, name, std::move(o), give_up, single});
  }

  /// Moves the clock and fires every timer that came due, earliest first.
  void advance(Ms by) {
    const auto until = now + by;
    Effects gathered;
    for (;;) {
      const SetTimer* next = nullptr;
      for (const auto& effect : all) {
        const auto* timer = std::get_if<SetTimer>(&effect);
        if (timer == nullptr || timer->at <= fired_until_ || timer->at > until) continue;
        if (next == nullptr || timer->at < next->at) next = timer;
      }
      if (next == nullptr) break;
      now = fired_until_ = next->at;
      fire_due(gathered);
    }
    now = fired_until_ = until;
    effects = std::move(gathered);
  }

  void reply(Reply r) { give(ReplyArrived{last_command().id, std::move(r)}); }

  /// The reply of a server that executed `command` with the token `seconds` after 2020.
  Reply won(const Command& command, std::int64_t token = 1'000) const {
    const auto& body = std::get<AcquireCommand>(command.body);
    Reply r;
    r.outcome = Outcome::done;
    r.operation_time = FencingToken(token);
    r.documents = {{body.name, body.lock_id, ServerInstant{77}, token - 1, ""}};
    return r;
  }

  static Reply refused(const std::string& lock_id) {
    Reply r;
    r.outcome = Outcome::done;
    r.documents = {{"lock", lock_id, ServerInstant{5}, 1, ""}};
    return r;
  }

  static Reply with(Outcome outcome, std::int64_t matched = 0) {
    Reply r;
    r.outcome = outcome;
    r.matched = matched;
    return r;
  }

  /// Acquires and answers, so that session `id` holds.
  void hold(SessionId id, const std::string& name = "lock", LockOptions o = options()) {
    acquire(id, name, std::move(o));
    const auto command = last_command();
    give(ReplyArrived{command.id, won(command)});
    ASSERT_TRUE(has<Granted>());
  }

  template <typename T>
  [[nodiscard]] bool has() const {
    return find<T>() != nullptr;
  }
  template <typename T>
  [[nodiscard]] const T* find() const {
    for (const auto& effect : effects) {
      if (const auto* found = std::get_if<T>(&effect)) return found;
    }
    return nullptr;
  }

  /// Every command sent so far.
  [[nodiscard]] std::vector<Command> sent() const {
    std::vector<Command> commands;
    for (const auto& effect : all) {
      if (const auto* send = std::get_if<Send>(&effect)) commands.push_back(send->command);
    }
    return commands;
  }
  template <typename Body>
  [[nodiscard]] std::vector<Command> sent_as() const {
    auto commands = sent();
    std::erase_if(commands, [](const Command& c) { return !std::holds_alternative<Body>(c.body); });
    return commands;
  }
  [[nodiscard]] Command last_command() const {
    auto commands = sent();
    std::erase_if(commands, [](const Command& c) {
      return std::holds_alternative<EnsureIndexCommand>(c.body);
    });
    return commands.back();
  }
  template <typename T>
  [[nodiscard]] int count() const {
    int n = 0;
    for (const auto& effect : all) n += std::holds_alternative<T>(effect) ? 1 : 0;
    return n;
  }

  LocalInstant now{std::chrono::hours(1)};
  CountingEntropy entropy;
  ProviderCore core{"host:1:test"};
  Effects effects;  ///< of the last event, or of the last advance
  Effects all;      ///< of all events

 private:
  void fire_due(Effects& gathered) {
    std::vector<Timer> due;
    for (const auto& effect : all) {
      const auto* timer = std::get_if<SetTimer>(&effect);
      if (timer != nullptr && timer->at == now) due.push_back(timer->timer);
    }
    for (const auto& timer : due) {
      give(TimerFired{timer});
      gathered.insert(gathered.end(), effects.begin(), effects.end());
    }
  }

  LocalInstant fired_until_{};
};

}  // namespace leasehold::core
