#pragma once

#include <cstdint>
#include <optional>
#include <string>

/// The promises of a lock by its author: only these are checked. Read from a small JSON file; see
/// scenarios/WORKERS.md.
namespace leasehold::model {

/// Where a lock keeps its documents. If it is given, the oplog is checked, too.
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
  bool shares = false;      ///< an acquire may be to read: `shared`
  bool tells_loss = false;  ///< a holder that loses it is notified by the time another can have it
  Waits waits = Waits::polls;
  std::int64_t polls_within_ms = 1'000;  ///< the longest pause between two attempts
  /// How long after the death of its holder a waiter can have the lock, in leases; nothing: not
  /// promised.
  std::optional<double> passes_on_leases = 1;
  /// How far apart the members' clocks may be without harm. The lock may keep a dead holder's lock
  /// for that much longer. Nothing: its author does not say.
  std::optional<std::int64_t> clock_margin_ms;
  std::int64_t answers_within_ms = 10'000;  ///< beyond the time-out that was asked for
  std::optional<DocumentMapping> document;

  bool operator==(const Promises&) const = default;
};

/// Throws std::runtime_error that names the thing, its value and the rule.
[[nodiscard]] Promises promises_from_json(const std::string& text);
[[nodiscard]] std::string to_json(const Promises& promises);

}  // namespace leasehold::model
