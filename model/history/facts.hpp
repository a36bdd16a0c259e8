#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/history/history.hpp"

/// A history, with numbers for texts: the checkers compare them often, and have a place for
/// each in a vector.
namespace leasehold::model {

using Id = std::uint32_t;  ///< of a text, a session or a command; each sort has numbers of its own
inline constexpr Id kNoText = 0;  ///< of texts: the empty one

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

inline const Event kNoEvent{};

/// One event: `e->order` is its own field, `e.owner` the number of a text in it. What its kind
/// lacks is 0.
struct Fact {
  const Event* event = &kNoEvent;
  std::int64_t at_ns = 0;
  Id process = kNoText;      ///< in the order of their names
  Id session = 0;            ///< in the order of process and number
  Id name = kNoText;         ///< in the order of the names
  Id owner = kNoText;        ///< of a document: that of its lockId
  Id other_owner = kNoText;  ///< of a hand-over: the giver; else an owner deleted as well
  Id lock_id = kNoText;      ///< of a reply: the one that it shows
  Id observed = kNoText;     ///< of an attempt: the lockId of the holder that it presumes dead
  Id command = 0;            ///< of a write to the resource: its number
  Id claimed_by = 0;         ///< of a change of a document, filled in by the digest
  Kind kind = Kind::run;
  Verb verb = Verb::none;
  Outcome outcome = Outcome::none;

  const Event* operator->() const { return event; }
};

/// A number that is counted in each process, such as that of a session.
struct Numbered {
  Id process = kNoText;
  std::int64_t number = 0;

  auto operator<=>(const Numbered&) const = default;
};

/// The texts are the history's.
struct Facts {
  std::vector<Fact> all;                      ///< by the place of the event in the history
  std::vector<std::string_view> processes;    ///< sorted
  std::vector<std::string_view> names;        ///< sorted
  std::vector<std::string_view> lock_ids;     ///< by id
  std::vector<Id> owner_of_lock_id{kNoText};  ///< by id
  std::size_t owners = 1;                     ///< how many, the empty one included
  std::vector<Numbered> sessions;             ///< sorted
  std::vector<Numbered> commands;             ///< by id
  std::size_t writes = 0;                     ///< to the resource: how many numbers
};

/// `history` must outlive them.
[[nodiscard]] Facts facts(const History& history);

[[nodiscard]] constexpr bool asks_for_lock(const Fact& e) {
  return e.verb == Verb::acquire || e.verb == Verb::hand_over;
}
/// Whether owners leave the lock by it: a delete, or a release that passes it on.
[[nodiscard]] constexpr bool leaves_lock(const Fact& e) {
  return e.verb == Verb::remove || e.verb == Verb::pass_on;
}

}  // namespace leasehold::model
