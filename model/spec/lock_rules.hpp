#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/history/history.hpp"
#include "model/spec/check.hpp"

/// What a lock's commands do and when its clients hold, as far as safety depends on it: one
/// value per rule, so that an error of a protocol is one changed value. Written from the design and
/// the documents, not from any lock's code.
namespace leasehold::model {

struct Rules {
  Lock lock = Lock::leasehold;

  // Taking
  enum class Expiry : std::uint8_t { server_clock, client_clock, ttl_monitor };
  Expiry expiry = Expiry::server_clock;  ///< decides whether a held document is expired
  bool ignores_expiry = false;           ///< takes a lock that is held
  bool observes = true;                  ///< takes a lock that was seen unchanged for a lease
  bool observes_foreign = false;         ///< also ids of the .NET package, which never change
  bool compares_seen_owner = true;       ///< in the command that takes
  bool compares_seen_beat = true;
  bool sight_counts_from_sending = false;
  bool observer_keeps_drift_margin = true;
  bool checks_the_winner = true;
  enum class Owner : std::uint8_t { per_call, per_attempt, per_process };
  Owner owner = Owner::per_call;
  bool fresh_owner_after_delete = true;

  // The document
  bool never_lowers_expiry = true;  ///< a write of an owner that is already there
  enum class Margin : std::uint8_t {
    in_document,
    by_waiter,
    not_in_extensions,
    not_of_readers,
    none
  };
  Margin margin = Margin::in_document;
  enum class Beat : std::uint8_t {
    every_command,
    kept_by_retries,
    kept_by_extensions,
    restarted_by_extensions,
    counted_in_document
  };
  Beat beat = Beat::every_command;
  enum class Token : std::uint8_t { operation_time, cluster_time, counter, none };
  Token token = Token::operation_time;
  bool majority = true;

  // Extending
  bool extends = true;
  bool extension_checks_owner = true;
  bool extension_inserts = false;

  // Holding
  bool has_deadline = true;  ///< stops by its own clock; else when it is notified
  bool deadline_from_reply = false;
  bool holder_keeps_drift_margin = true;
  bool unknown_extension_moves_deadline = false;
  bool late_extension_revives = false;
  bool held_until_release_answered = false;

  // Handing over to another call of the same process
  bool hands_over_while_held = false;
  bool hand_over_checks_owners = true;
  bool hand_over_inserts = false;

  // Passing on, where the document has a queue
  bool passes_on_while_held = false;
  /// What a receiver's deadline counts from: the sending of the renewal that the granted entry
  /// names, or something else.
  enum class GrantCounts : std::uint8_t {
    from_its_renewal,
    from_first_renewal,
    from_newest_renewal,
    from_last_read,
    from_notice
  };
  GrantCounts grant_counts = GrantCounts::from_its_renewal;
  /// A release may have read its clock before the renewal was sent. So a grant's `expiresAt` counts
  /// from the later of this reading and the one by which the entry was dated.
  bool grant_dated_by_entry = true;
  bool granted_entry_leaves = true;
  bool accepts_ended_owners = false;
  bool renewals_restore = true;  ///< a renewal without a place takes the lock or a new place

  // Sharing
  bool expires_with_the_latest = true;    ///< `expiresAt` of readers is the latest of their dates
  bool text_has_all_readers = true;       ///< the lockId changes with each of their writes
  bool text_has_longest_lease = true;
  bool joins_past_writers = false;        ///< that wait
  bool drops_readers_early = false;       ///< by their leases, without the margin
  bool recognises_own_entry = true;       ///< a retry renews its entry; else it adds one
  bool leave_frees_others = false;
  bool leave_admits_beside_writers = false;
  bool admits_all_readers = true;         ///< that wait, if the first is one
  bool reads_places_of_writers = false;   ///< takes those of an older release for readers'
  bool readers_write = false;
  enum class Resource : std::uint8_t { two_numbers, notes_no_reads, reads_are_writes };
  Resource resource = Resource::two_numbers;

  // Releasing
  bool release_checks_owner = true;
  bool cleans_up = true;  ///< after a call that gave up, and after a win that came too late
};

/// The correct lock, or the one that its author describes.
[[nodiscard]] Rules rules_of(Lock lock);

/// A one-line error of the production lock.
struct Variant {
  std::string_view name;  ///< after the error, e.g. "deadline-from-the-reply"
  CheckSet breaks;    ///< at least one of these must break; predicted
  void (*change)(Rules&);
  std::string_view why_harmless = {};
};
[[nodiscard]] const std::vector<Variant>& variants();
/// Changes that look like errors and break nothing.
[[nodiscard]] const std::vector<Variant>& harmless_variants();

/// A change of either kind by its name; null: none has this name.
[[nodiscard]] const Variant* variant_named(std::string_view name);

/// A known error of a published lock, as far as a model can show it.
struct KnownFault {
  Lock lock;
  Check guarantee;  ///< that it breaks
  std::string_view fault;
};
[[nodiscard]] const std::vector<KnownFault>& known_faults();

}  // namespace leasehold::model
