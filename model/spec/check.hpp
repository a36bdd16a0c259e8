#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/containers/enum_set.hpp"

/// What a verdict is made of, named once: the promises G1 to G9 (GUARANTEES.md) and checks beside
/// them. What is printed, written and said on a command line comes from this table. Which checks a
/// matrix, a worker, a floor or an incident is about follows from their kinds.
namespace leasehold::model {

enum class Verdict { holds, violated, unknown };

enum class Check : std::uint8_t {
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
  alive,
  calls,
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

/// What it means that a check is violated.
enum class CheckKind : std::uint8_t {
  record,   ///< the history is not whole, so that nothing can be said of the lock
  promise,  ///< the lock breaks a guarantee that any lock's author may promise
  lock,     ///< leasehold breaks a guarantee of its own
  rule,     ///< a client of leasehold breaks a rule that the guarantees need; its monitor saw it
  model,    ///< the lock does what its diagrams or the abstract lock cannot
  run       ///< the servers, the processes or the harness are not as the run needs them
};

struct AboutCheck {
  Check check;
  const char* name;
  CheckKind kind;
  const char* statement;
};

/// In the order of the enumerators.
inline constexpr std::array kAboutChecks{
    AboutCheck{Check::form, "form", CheckKind::record, "the history is well-formed"},
    AboutCheck{Check::G1, "G1", CheckKind::promise,
               "a lease is never given to another before it ran out or was released"},
    AboutCheck{Check::G2, "G2", CheckKind::promise,
               "held() is never true in two processes at once for one lock"},
    AboutCheck{Check::G3, "G3", CheckKind::promise,
               "the fenced resource accepts writes in the order of the holders, and never refuses "
               "the current holder"},
    AboutCheck{Check::G4, "G4", CheckKind::promise,
               "the tokens of one name strictly rise in commit order; each is the time of its "
               "grant's own write"},
    AboutCheck{Check::G5, "G5", CheckKind::promise,
               "a holder whose lease ended unreleased is notified by its deadline"},
    AboutCheck{Check::G6, "G6", CheckKind::promise,
               "release, extension, hand-over and clean-up never touch another's lock"},
    AboutCheck{Check::G7, "G7", CheckKind::promise,
               "a waiter gets the lock or returns by its timeout; a dead holder's lock goes to a "
               "waiter in bounded time"},
    AboutCheck{Check::G8, "G8", CheckKind::promise,
               "a dead holder's document disappears within expiry + 2 clock_margin and a TTL pass"},
    AboutCheck{Check::G9, "G9", CheckKind::promise,
               "an acquire without contention takes one command, a release one; the driver sends "
               "no other"},
    AboutCheck{Check::release, "release", CheckKind::lock,
               "release() returns whether it freed the lock"},
    AboutCheck{Check::needless, "needless", CheckKind::lock,
               "a lock that the server keeps and extends in time is not lost"},
    AboutCheck{Check::grounded, "grounded", CheckKind::lock,
               "what the lock does and reports follows from what it was asked, sent and heard"},
    AboutCheck{Check::alive, "alive", CheckKind::lock,
               "a process that uses the lock does not die of it, and ends when asked"},
    AboutCheck{Check::calls, "calls", CheckKind::lock,
               "a call returns in time what became of the lock; remaining() and ensure() promise "
               "no more than the lease"},
    AboutCheck{Check::unique_lock_id, "unique-lock-id", CheckKind::rule,
               "a lockId names one execution of one command, for ever"},
    AboutCheck{Check::deadline, "deadline", CheckKind::rule,
               "a deadline is at most a lease, less the drift, after the sending of an "
               "acknowledged write of its own"},
    AboutCheck{Check::presumed_dead, "presumed-dead", CheckKind::rule,
               "a holder is presumed dead only a whole lease, and the drift, after a reply first "
               "showed its lockId"},
    AboutCheck{Check::ended_owner, "ended-owner", CheckKind::rule,
               "after its delete, pass-on or hand-over was sent an owner asks for nothing and "
               "holds nothing"},
    AboutCheck{Check::compare_and_set, "compare-and-set", CheckKind::rule,
               "a lock document is written over only if it is missing, its own, the observed one, "
               "given by its holder, or expired"},
    AboutCheck{Check::expires_at, "expires-at", CheckKind::rule,
               "expiresAt is acquiredAt + expiry + clock_margin, and no own write lowers it"},
    AboutCheck{Check::stored_token, "stored-token", CheckKind::rule,
               "the stored fencing token rises with each grant, and is below the grant's own"},
    AboutCheck{Check::arrows, "arrows", CheckKind::model, "every step is an arrow of the diagrams"},
    AboutCheck{Check::refinement, "refinement", CheckKind::model,
               "every step is one that the abstract lock can take"},
    AboutCheck{Check::majority, "majority", CheckKind::run,
               "an oplog entry that a majority had is never lost"},
    AboutCheck{Check::activity, "activity", CheckKind::run, "enough happened to test the lock"},
    AboutCheck{Check::growth, "growth", CheckKind::run,
               "processes that run from start to end do not grow"},
    AboutCheck{Check::protocol, "protocol", CheckKind::run,
               "a worker answers by the protocol, does not hang and ends only when asked to"},
};

static_assert(std::ranges::all_of(kAboutChecks, [](const AboutCheck& row) {
  return &row == &kAboutChecks[static_cast<std::size_t>(row.check)];
}));

[[nodiscard]] constexpr const AboutCheck& about(Check check) {
  return kAboutChecks[static_cast<std::size_t>(check)];
}
[[nodiscard]] constexpr const char* to_string(Check check) { return about(check).name; }
[[nodiscard]] constexpr CheckKind kind_of(Check check) { return about(check).kind; }
[[nodiscard]] constexpr std::optional<Check> check_named(std::string_view name) {
  for (const auto& row : kAboutChecks) {
    if (row.name == name) return row.check;
  }
  return std::nullopt;
}

/// Whether it is a promise of the production lock. Users do not rely on the others, such as that it
/// walks its diagrams.
[[nodiscard]] constexpr bool is_asked_of_the_lock(Check check) {
  const auto kind = kind_of(check);
  return kind == CheckKind::promise || kind == CheckKind::lock || kind == CheckKind::rule;
}

using CheckSet = EnumSet<Check>;

[[nodiscard]] constexpr CheckSet checks_of(CheckKind kind) {
  CheckSet all;
  for (const auto& row : kAboutChecks) {
    if (row.kind == kind) all.insert(row.check);
  }
  return all;
}

/// Those that a lock's author may promise.
inline constexpr CheckSet kPromised = checks_of(CheckKind::promise);

/// Their names, as in "G1 G2".
[[nodiscard]] inline std::string to_string(const CheckSet& set) {
  std::string names;
  for (const Check check : set) names += (names.empty() ? "" : " ") + std::string(to_string(check));
  return names;
}

}  // namespace leasehold::model
