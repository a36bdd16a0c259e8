#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/containers/many.hpp"
#include "model/containers/texts.hpp"
#include "model/history/history.hpp"

/// A history in numbers: 64 bytes for each event, with strings interned. The checkers read every
/// event several times; an `Event` is eight times as large, and its strings are spread over the
/// heap.
namespace leasehold::model {

enum class Verb : std::uint8_t {
  none,
  acquire,
  extend,
  hand_over,
  pass_on,
  look,
  remove,  ///< "delete"
  stream,
  index,
  other
};
inline constexpr std::size_t kVerbs = static_cast<std::size_t>(Verb::other) + 1;

/// The outcomes that checkers distinguish.
enum class Outcome : std::uint8_t {
  none,
  done,
  unknown,
  failed_before,
  duplicate_key,
  yes,
  no,
  accepted,
  refused,
  released,
  not_owner,
  deadline,
  max_holding,
  timed_out,
  granted,
  other
};

/// One event. A field that its kind lacks is zero, or has the value of a field in the same place.
struct Fact {
  std::int64_t at_ns = 0;
  union {
    std::int64_t token = 0;
    std::int64_t matched;
    std::int64_t first_asked_ns;
    Id observed;  ///< of an attempt: the lockId of the holder that it presumes dead
  };
  union {
    std::int64_t order = 0;
    std::int64_t deadline_ns;
    std::int64_t first_answered_ns;
  };
  union {
    std::int64_t sent_ns = 0;
    std::int64_t last_asked_ns;
    std::int64_t place;  ///< of an entry that joins a queue; 0: it leaves
  };
  Id process = kNoText;  ///< in the order of their names
  Id session = 0;       ///< in the order of process and number
  Id name = kNoText;     ///< in the order of the names
  Id owner = kNoText;    ///< of what has a lockId only: its owner
  Id lock_id = kNoText;  ///< of a reply: the one that it shows
  union {
    Id command = 0;  ///< of a write to the resource: its number
    Id claimed_by;   ///< of a change of a document, filled in by the digest
  };
  union {
    Id other_owner = kNoText;  ///< of a hand-over: the giver; else an owner deleted as well
    Id place_beside;  ///< among the `asks`, of a put the `documents`, of a `held` the `answered`
  };
  Kind kind = Kind::run;
  Verb verb = Verb::none;
  Outcome outcome = Outcome::none;
  bool stray = false;  ///< it has a field that its kind has not
};
static_assert(sizeof(Fact) == 64);

/// What an acquire call, or one for a permit, asks for: the fields of its event.
struct Asked {
  std::int64_t at_ns = 0;
  std::int64_t give_up_ns = 0;
  std::int64_t expiry_ms = 0;
  std::int64_t clock_margin_ms = 0;
  std::int64_t longest_pause_ms = 0;
  std::int64_t operation_timeout_ms = 0;
  std::int64_t max_holding_ms = 0;
  std::int64_t holdings_in_a_row = 0;
  std::int64_t max_drift_ppm = 0;
  Id process = kNoText;
  Id name = kNoText;
  bool single_attempt = false;
  bool healed = false;
};

/// The dates in a document after a `put`, if the history has them.
struct Dates {
  std::int64_t acquired_at_ms = 0;
  std::int64_t expires_at_ms = 0;
  std::int64_t stored_token = 0;
};

/// A number that is counted in each process, such as that of a session.
struct Numbered {
  Id process = kNoText;
  std::int64_t number = 0;
};

struct Facts {
  Many<Fact> all;                     ///< by the place of the event in the history
  Many<Asked> asks;                   ///< in the order of their events
  Many<Dates> documents;              ///< likewise
  Many<std::int64_t> answered;        ///< likewise: how often `held()` answered so
  std::shared_ptr<const void> texts;         ///< owns the texts of the next three
  std::vector<std::string_view> processes;   ///< sorted
  std::vector<std::string_view> names;       ///< sorted
  std::vector<std::string_view> lock_ids;    ///< by id
  std::vector<Id> owner_of_lock_id{kNoText};  ///< by id
  std::size_t owners = 1;                    ///< how many, the empty one included
  std::vector<Numbered> sessions;            ///< sorted
  std::vector<Numbered> commands;            ///< by id
  std::size_t writes = 0;                    ///< to the resource: how many numbers
};

/// Makes facts of events, one after the other. Call `add` when an event is recorded: the event is
/// still in the cache then, and the whole history need not be read again.
class Numbering {
 public:
  /// `events`: how many to expect.
  explicit Numbering(std::size_t events);
  ~Numbering();

  void add(const Event& event);
  /// The facts of all events, in their order. Nothing may be added after that.
  [[nodiscard]] Facts finish();

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

[[nodiscard]] Facts facts(const History& history);

[[nodiscard]] constexpr bool asks_for_lock(const Fact& e) {
  return e.verb == Verb::acquire || e.verb == Verb::hand_over;
}
[[nodiscard]] constexpr bool leaves_lock(const Fact& e) {
  return e.verb == Verb::remove || e.verb == Verb::pass_on;
}

}  // namespace leasehold::model
