#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "core/provider_core.hpp"

namespace leasehold::core {

/// Draws 1, 2, 3, ...: owners in tests are {1,2}, {3,4}, ...
class CountingEntropy final : public Entropy {
 public:
  std::uint64_t draw() override { return ++last_; }

 private:
  std::uint64_t last_ = 0;
};

/// A ProviderCore with a hand-moved clock, its effects kept for looking at. It keeps the timers as
/// a driver would (one of a kind and id, gone once fired), so that `advance` fires what is due;
/// replies come only when a test gives them.
class CoreWorld {
 public:
  using Ms = std::chrono::milliseconds;

  static LockOptions options() {
    LockOptions o;
    o.expiry = Ms(3'000);
    o.waiting = uniform_waiting(Ms(100), Ms(100));
    return o;
  }

  /// One event, now. `effects` are of it alone, `all` of every event so far.
  void give(const Event& event) {
    begin(event);
    core.next(event, now, entropy, effects);
    keep_books();
  }

  /// Session `id` asks. No timeout: it waits for ever; `single`: one attempt, past the queue.
  void acquire(SessionId id, const std::string& name = "lock", LockOptions o = options(),
               std::optional<Ms> timeout = std::nullopt, bool single = false, Room room = 0) {
    const auto give_up = timeout ? std::optional(now + *timeout) : std::nullopt;
    give(AcquireAsked{id, name, std::move(o), give_up, single, room});
  }

  /// Moves the clock and fires every timer that comes due, earliest first.
  void advance(Ms by) {
    const auto until = now + by;
    Effects gathered;
    for (auto next = earliest(); next && timers.at(*next) <= until; next = earliest()) {
      now = std::max(now, timers.at(*next));
      give(TimerFired{*next});
      gathered.insert(gathered.end(), effects.begin(), effects.end());
    }
    now = until;
    effects = std::move(gathered);
  }

  /// To the last command that is not about the index.
  void reply(Reply r) { give(ReplyArrived{last_command().id, std::move(r)}); }

  /// To a delete, and to the pass-on that it becomes: there is nothing of its owner.
  void find_nothing() {
    reply(with(Outcome::done, 0));
    reply(with(Outcome::done, 0));
  }

  static constexpr std::int64_t kLater = 1'000'000;  ///< than any win, unless a test says otherwise

  /// The reply of a server that executed `command` with the token `seconds` after 2020.
  Reply won(const Command& command, std::int64_t token = 1'000) const {
    const auto& body = std::get<AcquireCommand>(command.body);
    Reply r;
    r.outcome = Outcome::done;
    r.operation_time = FencingToken(token);
    r.documents = {{body.name, body.lock_id, ServerInstant{77}, token - 1, ""}};
    return r;
  }

  /// The reply to an attempt that found this holder, at no time: every release is after it.
  static Reply refused(const std::string& lock_id) {
    Reply r;
    r.outcome = Outcome::done;
    r.documents = {{"lock", lock_id, ServerInstant{5}, 1, ""}};
    return r;
  }

  /// A reply that shows no document.
  static Reply with(Outcome outcome, std::int64_t matched = 0) {
    Reply r;
    r.outcome = outcome;
    r.operation_time = FencingToken(kLater);
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

  /// Whether the last event, or advance, had an effect of this kind; and the first of them.
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
  template <typename T>
  [[nodiscard]] const T& the() const {
    if (!has<T>()) throw std::logic_error("no such effect");
    return *find<T>();
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
  /// The last one sent. The index is asked for beside the first answer, and is of no concern.
  [[nodiscard]] Command last_command() const {
    auto commands = sent();
    std::erase_if(commands, [](const Command& c) {
      return std::holds_alternative<EnsureIndexCommand>(c.body);
    });
    return commands.back();
  }
  /// How many effects of this kind there were in all.
  template <typename T>
  [[nodiscard]] int count() const {
    int n = 0;
    for (const auto& effect : all) n += std::holds_alternative<T>(effect) ? 1 : 0;
    return n;
  }

  LocalInstant now{std::chrono::hours(1)};
  CountingEntropy entropy;
  ProviderCore core{"host:1:test"};
  Effects effects;                       ///< of the last event, or of the last advance
  Effects all;                           ///< of all events
  std::map<Timer, LocalInstant> timers;  ///< that are set

 protected:
  /// What comes before and after a step, of whichever provider.
  void begin(const Event& event) {
    effects.clear();
    if (const auto* fired = std::get_if<TimerFired>(&event)) timers.erase(fired->timer);
  }
  void keep_books() {
    for (const auto& effect : effects) {
      if (const auto* set = std::get_if<SetTimer>(&effect)) timers[set->timer] = set->at;
      if (const auto* clear = std::get_if<ClearTimer>(&effect)) timers.erase(clear->timer);
    }
    all.insert(all.end(), effects.begin(), effects.end());
  }
  [[nodiscard]] std::optional<Timer> earliest() const {
    const auto due = [](const auto& one) { return one.second; };
    const auto found = std::ranges::min_element(timers, {}, due);
    return found == timers.end() ? std::nullopt : std::optional(found->first);
  }
};

/// The lockId of readers that hold by these, all admitted at that time.
inline std::string text_of_readers(const std::vector<std::string>& lock_ids,
                                   ServerInstant since = {1'700'000'000'000}) {
  std::string text = std::string(kReadersOwner) + "000003000.0.shared";
  auto admitted = std::to_string(since.since_1970_ms);
  admitted.insert(0, kUntilDigits - admitted.size(), '0');
  for (const auto& lock_id : lock_ids) {
    ((text += kReaderMark) += "1700000060000." + admitted) += '.' + lock_id;
  }
  return text;
}

/// What one part of the core needs to be stepped without the others: a hand-moved clock, entropy,
/// the commands under way, and the effects so far.
struct PartWorld {
  SendingStep step() { return {{now, entropy, effects}, pending}; }

  /// Every command of this kind that was sent, in order.
  template <typename Body>
  [[nodiscard]] std::vector<Command> sent() const {
    std::vector<Command> commands;
    for (const auto& effect : effects) {
      const auto* send = std::get_if<Send>(&effect);
      if (send != nullptr && std::holds_alternative<Body>(send->command.body)) {
        commands.push_back(send->command);
      }
    }
    return commands;
  }
  /// The last of them. REQUIRES: there is one
  template <typename Body>
  [[nodiscard]] Body last() const {
    return std::get<Body>(sent<Body>().back().body);
  }

  /// The command that is answered now, as the core would take it out first.
  PendingCommand answered(CommandId id) { return *pending.take(id, step()); }

  LocalInstant now{std::chrono::hours(1)};
  CountingEntropy entropy;
  PendingCommands pending;
  Effects effects;
};

/// What a server says that has executed the command and left this document, at this time.
inline Reply shows(const std::string& lock_id, std::int64_t time = 1'000) {
  Reply reply = CoreWorld::with(Outcome::done);
  reply.operation_time = FencingToken(time);
  reply.documents = {{"lock", lock_id, ServerInstant{77}, time - 1, ""}};
  return reply;
}

}  // namespace leasehold::core
