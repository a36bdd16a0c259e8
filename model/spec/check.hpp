#pragma once

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

/// What it means that a check is violated.
enum class CheckKind : std::uint8_t {
  record,   ///< the history is not whole, so that nothing can be said of the lock
  promise,  ///< the lock breaks a guarantee that any lock's author may promise
  lock,     ///< leasehold breaks a guarantee of its own
  rule,     ///< a client of leasehold breaks a rule that the guarantees need; its monitor saw it
  model,    ///< the lock does what its diagrams or the abstract lock cannot
  run       ///< the servers, the processes or the harness are not as the run needs them
};

/// All of them, and what it means that each holds. The production lock promises those of the kinds
/// `promise`, `lock` and `rule`.
#define LEASEHOLD_CHECKS(CHECK)                                                                   \
  CHECK(form, "form", record, "the history is well-formed")                                       \
  CHECK(G1, "G1", promise, "a lease is never given to another that it excludes before it ran "    \
        "out or was released")                                                                    \
  CHECK(G2, "G2", promise, "held() is never true in two processes at once for one lock, unless "  \
        "both read or both have a permit")                                                        \
  CHECK(G3, "G3", promise, "the fenced resource accepts writes, and reads beside them, in the "   \
        "order of the holders, and never refuses the current holder")                             \
  CHECK(G4, "G4", promise, "the tokens of one name strictly rise with each write that grants "    \
        "it; each is the time of its grant's own write")                                          \
  CHECK(G5, "G5", promise, "a holder whose lease ended unreleased is notified by its deadline")   \
  CHECK(G6, "G6", promise, "release, extension, hand-over and clean-up never touch another's "    \
        "lock, or another reader's entry")                                                        \
  CHECK(G7, "G7", promise, "a waiter gets the lock or returns by its timeout; a dead holder's "   \
        "lock goes to a waiter in bounded time")                                                  \
  CHECK(G8, "G8", promise, "a dead holder's document disappears within expiry + 2 clock_margin "  \
        "and a TTL pass")                                                                         \
  CHECK(G9, "G9", promise, "an acquire without contention takes one command, a release one; "     \
        "the driver sends no other")                                                              \
  CHECK(release, "release", lock, "release() returns whether it freed the lock")                  \
  CHECK(needless, "needless", lock, "a lock that the server keeps and extends in time is not "    \
        "lost")                                                                                   \
  CHECK(grounded, "grounded", lock, "what the lock does and reports follows from what it was "    \
        "asked, sent and heard")                                                                  \
  CHECK(alive, "alive", lock, "a process that uses the lock does not die of it, and ends when "   \
        "asked")                                                                                  \
  CHECK(calls, "calls", lock, "a call returns in time what became of the lock; remaining() and "  \
        "ensure() promise no more than the lease")                                                \
  CHECK(unique_lock_id, "unique-lock-id", rule, "a lockId names one execution of one command, "   \
        "for ever")                                                                               \
  CHECK(deadline, "deadline", rule, "a deadline is at most a lease, less the drift, after the "   \
        "sending of an acknowledged write of its own")                                            \
  CHECK(presumed_dead, "presumed-dead", rule, "a holder is presumed dead only a whole lease, "    \
        "and the drift, after a reply first showed its lockId")                                   \
  CHECK(ended_owner, "ended-owner", rule, "after its delete, pass-on or hand-over was sent an "   \
        "owner asks for nothing and holds nothing")                                               \
  CHECK(compare_and_set, "compare-and-set", rule, "a lock document is written over only if it "   \
        "is missing, its own, the observed one, given by its holder, or expired; so is a "        \
        "reader's entry")                                                                         \
  CHECK(expires_at, "expires-at", rule, "expiresAt is acquiredAt + expiry + clock_margin, of "    \
        "readers the latest of their dates, and no own write lowers it")                          \
  CHECK(stored_token, "stored-token", rule, "the stored fencing token rises with each grant, "    \
        "and is below the grant's own")                                                           \
  CHECK(arrows, "arrows", model, "every step is an arrow of the diagrams")                        \
  CHECK(refinement, "refinement", model, "every step is one that the abstract lock can take")     \
  CHECK(majority, "majority", run, "an oplog entry that a majority had is never lost")            \
  CHECK(activity, "activity", run, "enough happened to test the lock")                            \
  CHECK(growth, "growth", run, "processes that run from start to end do not grow")                \
  CHECK(protocol, "protocol", run, "a worker answers by the protocol, does not hang and ends "    \
        "only when asked to")

#define ENUMERATOR_OF_CHECK(check, ...) check,
enum class Check : std::uint8_t { LEASEHOLD_CHECKS(ENUMERATOR_OF_CHECK) };

struct AboutCheck {
  Check check;
  const char* name;
  CheckKind kind;
  const char* statement;
};
#define ROW_OF_CHECK(check, name, kind, says) AboutCheck{Check::check, name, CheckKind::kind, says},
inline constexpr std::array kAboutChecks{LEASEHOLD_CHECKS(ROW_OF_CHECK)};

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
