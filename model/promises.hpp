#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// What the author of a lock says that it does, so that nothing is held against it that was never
/// said. Read from a small JSON file; see scenarios/WORKERS.md.
namespace leasehold::model {

/// Where a lock keeps its documents; with it the oplog is checked, too.
struct DocumentMapping {
  std::string collection;
  std::string id;       ///< the field with the name of the lock
  std::string owner;    ///< the field with its owner: another value for each holding
  std::string expires;  ///< the field with the date of its end; empty: it has none

  bool operator==(const DocumentMapping&) const = default;
};

struct Promises {
  enum class Tokens { none, rising };
  /// What an acquire with a time-out does while the lock is taken.
  enum class Waits { none, polls, notified };

  std::string name;
  std::string language;
  Tokens tokens = Tokens::none;
  bool tells_loss = false;  ///< its holder is notified by the time that another can have the lock
  Waits waits = Waits::polls;
  std::int64_t polls_within_ms = 1'000;  ///< the longest pause between two attempts
  /// How long after the death of its holder a lock may be had by one that waits, in leases;
  /// nothing: never promised.
  std::optional<double> passes_on_leases = 1;
  /// How far apart the members' clocks may be without harm: for so much longer it may keep a dead
  /// holder's lock; nothing: its author does not say.
  std::optional<std::int64_t> clock_margin_ms;
  std::int64_t answers_within_ms = 10'000;  ///< beyond the time-out that was asked for
  std::optional<DocumentMapping> document;

  bool operator==(const Promises&) const = default;
};

/// Throws std::runtime_error that names the thing, its value and the rule.
[[nodiscard]] Promises promises_from_json(const std::string& text);
[[nodiscard]] std::string to_json(const Promises& promises);

}  // namespace leasehold::model
