#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/containers/enum_set.hpp"

/// What a verdict is made of, named once: the promises G1 to G9 (GUARANTEES.md) and checks beside
/// them. What is printed, written and said on a command line comes from this table.
namespace leasehold::model {

/// First whether the history can be checked, then what is asked of the lock, then of the run.
enum class Guarantee : std::uint8_t {
  form,
  G1,
  G2,
  G3,
  G4,
  G5,
  G6,
  G7,
  G8,
  G9,
  release,
  needless,
  grounded,
  unique_lock_id,
  deadline,
  presumed_dead,
  ended_owner,
  compare_and_set,
  expires_at,
  stored_token,
  arrows,
  refinement,
  majority,
  activity,
  growth,
  protocol
};

struct AboutGuarantee {
  Guarantee guarantee;
  const char* name;
  const char* statement;
};

/// In the order of the enumerators.
inline constexpr std::array kAboutGuarantees{
    AboutGuarantee{Guarantee::form, "form", "the history is well-formed"},
    AboutGuarantee{Guarantee::G1, "G1",
                   "a lease is never given to another before it ran out or was released"},
    AboutGuarantee{Guarantee::G2, "G2",
                   "held() is never true in two processes at once for one lock"},
    AboutGuarantee{Guarantee::G3, "G3",
                   "the fenced resource accepts writes in the order of the holders, and never "
                   "refuses the current holder"},
    AboutGuarantee{Guarantee::G4, "G4",
                   "the tokens of one name strictly rise in commit order; each is the time of its "
                   "grant's own write"},
    AboutGuarantee{Guarantee::G5, "G5",
                   "a holder whose lease ended unreleased is notified by its deadline"},
    AboutGuarantee{Guarantee::G6, "G6",
                   "release, extension, hand-over and clean-up never touch another's lock"},
    AboutGuarantee{Guarantee::G7, "G7",
                   "a waiter gets the lock or returns by its timeout; a dead holder's lock goes to "
                   "a waiter in bounded time"},
    AboutGuarantee{
        Guarantee::G8, "G8",
        "a dead holder's document disappears within expiry + 2 clock_margin and a TTL pass"},
    AboutGuarantee{Guarantee::G9, "G9",
                   "an acquire without contention takes one command, a release one; the driver "
                   "sends no other"},
    AboutGuarantee{Guarantee::release, "release", "release() returns whether it freed the lock"},
    AboutGuarantee{Guarantee::needless, "needless",
                   "a lock that the server keeps and extends in time is not lost"},
    AboutGuarantee{Guarantee::grounded, "grounded",
                   "what the lock does and reports follows from what it was asked, sent and heard"},
    AboutGuarantee{Guarantee::unique_lock_id, "unique-lock-id",
                   "a lockId names one execution of one command, for ever"},
    AboutGuarantee{Guarantee::deadline, "deadline",
                   "a deadline is at most a lease, less the drift, after the sending of an "
                   "acknowledged write of its own"},
    AboutGuarantee{Guarantee::presumed_dead, "presumed-dead",
                   "a holder is presumed dead only a whole lease, and the drift, after a reply "
                   "first showed its lockId"},
    AboutGuarantee{Guarantee::ended_owner, "ended-owner",
                   "after its delete, pass-on or hand-over was sent an owner asks for nothing and "
                   "holds nothing"},
    AboutGuarantee{Guarantee::compare_and_set, "compare-and-set",
                   "a lock document is written over only if it is missing, its own, the observed "
                   "one, given by its holder, or expired"},
    AboutGuarantee{Guarantee::expires_at, "expires-at",
                   "expiresAt is acquiredAt + expiry + clock_margin, and no own write lowers it"},
    AboutGuarantee{Guarantee::stored_token, "stored-token",
                   "the stored fencing token rises with each grant, and is below the grant's own"},
    AboutGuarantee{Guarantee::arrows, "arrows", "every step is an arrow of the diagrams"},
    AboutGuarantee{Guarantee::refinement, "refinement",
                   "every step is one that the abstract lock can take"},
    AboutGuarantee{Guarantee::majority, "majority",
                   "an oplog entry that a majority had is never lost"},
    AboutGuarantee{Guarantee::activity, "activity", "enough happened to test the lock"},
    AboutGuarantee{Guarantee::growth, "growth", "processes that run from start to end do not grow"},
    AboutGuarantee{Guarantee::protocol, "protocol",
                   "a worker answers by the protocol, does not hang and ends only when asked to"},
};

/// Those that a lock's author may promise.
inline constexpr std::array kPromised{Guarantee::G1, Guarantee::G2, Guarantee::G3,
                                      Guarantee::G4, Guarantee::G5, Guarantee::G6,
                                      Guarantee::G7, Guarantee::G8, Guarantee::G9};

/// Whether it is a promise of the production lock. Users do not rely on the others, such as that it
/// walks its diagrams.
[[nodiscard]] constexpr bool is_asked_of_the_lock(Guarantee guarantee) {
  return guarantee > Guarantee::form && guarantee < Guarantee::arrows;
}

[[nodiscard]] constexpr const AboutGuarantee& about(Guarantee guarantee) {
  return kAboutGuarantees[static_cast<std::size_t>(guarantee)];
}
[[nodiscard]] constexpr const char* to_string(Guarantee guarantee) { return about(guarantee).name; }
[[nodiscard]] constexpr std::optional<Guarantee> guarantee_named(std::string_view name) {
  for (const auto& row : kAboutGuarantees) {
    if (row.name == name) return row.guarantee;
  }
  return std::nullopt;
}

using GuaranteeSet = EnumSet<Guarantee>;

/// Their names, as in "G1 G2".
[[nodiscard]] inline std::string to_string(const GuaranteeSet& set) {
  std::string names;
  for (const auto& row : kAboutGuarantees) {
    if (!set.contains(row.guarantee)) continue;
    names += (names.empty() ? "" : " ") + std::string(row.name);
  }
  return names;
}

}  // namespace leasehold::model
