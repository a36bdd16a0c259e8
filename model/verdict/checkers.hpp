#pragma once

#include <array>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "model/history/digest.hpp"
#include "model/spec/check.hpp"
#include "model/spec/diagrams.hpp"

/// The guarantees, each a pure function of a history. *Violated* means certain under the bounds of
/// the harness's clock; a case without a bound does not count as checked.
namespace leasehold::model {

[[nodiscard]] const char* to_string(Verdict verdict);

/// What keeps a finding unknown.
enum class Open : std::uint8_t {
  never_tested,  ///< nothing in the history exercised it
  too_seldom,    ///< it was exercised, but below its floor
  stalled,       ///< only a stall of the machine or a member explains what was late
  excused,       ///< too many of its checks were excused
  unread,        ///< the harness could not read all that was written
  other
};
inline constexpr const char* kNeverTested = "never put to the test";

using Excused = std::array<std::int64_t, kExcuses.size()>;  ///< how often, by `Excuse`

/// What one checker found.
struct Finding {
  Check check = Check::form;
  Verdict verdict = Verdict::holds;
  std::int64_t checked = 0;   ///< how often the guarantee was exercised
  std::int64_t floor = 0;     ///< below it the verdict is unknown
  std::string why;            ///< of the first violation, or why unknown: for people
  Open open = Open::other;    ///< if it is unknown
  std::vector<Index> events;  ///< of the first violation
  std::int64_t violations = 0;
  Excused excused{};
  std::map<std::string, std::int64_t> counts;  ///< what else is worth reporting

  /// Makes unknown what holds. What is violated stays so, and what is unknown keeps its reason.
  void leave_open(Open by, std::string reason) {
    if (verdict != Verdict::holds) return;
    verdict = Verdict::unknown;
    open = by;
    why = std::move(reason);
  }
  [[nodiscard]] bool is_open(Open by) const { return verdict == Verdict::unknown && open == by; }
  /// Whether it is unknown because nothing in the history exercised it.
  [[nodiscard]] bool never_tested() const { return is_open(Open::never_tested); }
  /// How many of its checks were excused.
  [[nodiscard]] std::int64_t all_excused() const {
    return std::accumulate(excused.begin(), excused.end(), std::int64_t{0});
  }
  /// Whether it is unknown only because the machine or a member stalled.
  [[nodiscard]] bool only_stalled() const { return is_open(Open::stalled); }
};

/// G1: a lease is never given to another that it excludes before it ran out or was released.
[[nodiscard]] Finding check_leases(const Digest& d);
/// G2: `held()` is never true in two processes at once for one lock, unless both read or both have
/// a permit. It turns false for ever, and with the release at the latest.
[[nodiscard]] Finding check_exclusion(const Digest& d);
/// G3: the fenced resource accepts writes, and reads beside them, in the order of the holders, and
/// never refuses the current holder.
[[nodiscard]] Finding check_fence(const Digest& d);
/// G4: the tokens of one name strictly rise with each write that grants it; each is the time of its
/// grant's own write. Calls that share a reader's entry have one token.
[[nodiscard]] Finding check_token_order(const Digest& d);
/// G5: a holder that has not released is notified of its loss by its deadline: its `lost()` fires
/// and its `held()` is false. `lost()` does not fire for a lock that was not lost.
[[nodiscard]] Finding check_loss_notified(const Digest& d);
/// G6: release, extend and clean-up never touch another's lock, or another reader's entry.
[[nodiscard]] Finding check_ownership(const Digest& d);
/// G7: a waiter gets the lock or returns by its timeout; a dead holder's lock goes to a waiter in
/// bounded time.
[[nodiscard]] Finding check_liveness(const Digest& d);
/// G8: a dead holder's document disappears in bounded time.
[[nodiscard]] Finding check_cleanup(const Digest& d);
/// G9: an acquire without contention takes one command, a release one; the driver sends no other.
[[nodiscard]] Finding check_cost(const Digest& d);

/// A release says "released" only if the owner's document was there and went by it, and "not_owner"
/// only if it was not there any more.
[[nodiscard]] Finding check_release(const Digest& d);
/// No handle is called lost while its document is there, or while a lease still runs that its
/// process was given in time.
[[nodiscard]] Finding check_needless_loss(const Digest& d);
/// No process dies without having been killed, and each ends when it is asked to.
[[nodiscard]] Finding check_alive(const Digest& d);

/// What a user calls returns by the time that it was given, with an error that its header promises
/// and that the call met, or with what the lock became: a grant, the end of the release. What
/// `remaining()` and `ensure()` say is covered by a lease.
[[nodiscard]] Finding check_calls(const Digest& d);

/// What the acceptor of `model/acceptor` says of a run, which it follows once.
struct Acceptance {
  /// Whether the history is whole, every event where its neighbours say it must be, no more and no
  /// fewer. If not, that is unknown, for then little can be checked.
  Finding form;
  Finding grounded;  ///< whether what the lock did has its ground
  /// One finding for each rule, in the order of their enumerators: what clients do
  /// (`unique_lock_id` to `ended_owner`), then what stands in documents (`compare_and_set` to
  /// `stored_token`). Empty for the published locks, which have other rules. If a history lacks the
  /// documents' dates (older releases wrote none), the rules of documents are unknown.
  std::vector<Finding> rules;
  /// Whether each step is an arrow, and, but for the published locks, one that the document's
  /// versions allow (`refinement`). They mean nothing if the history is not whole.
  std::vector<Finding> steps;
  ArrowCounts taken;
};
[[nodiscard]] Acceptance accept(const Digest& d, const Diagrams& diagrams = {});

/// The least number of checks per guarantee that makes "holds" mean something.
using Floors = std::map<Check, std::int64_t>;

/// All findings, the form first. A finding that was never exercised becomes unknown; so does every
/// "holds" of a history that is not well-formed.
[[nodiscard]] std::vector<Finding> judge(const Digest& d);
/// The same; the steps and arrows of the run are wanted as well.
[[nodiscard]] std::vector<Finding> judge(const Digest& d, Acceptance& beside);

/// The verdict of all findings: violated before unknown before holds.
[[nodiscard]] Verdict overall(const std::vector<Finding>& findings);
/// The same for exercised guarantees only: for one run of many, which are checked together.
[[nodiscard]] Verdict overall_tested(const std::vector<Finding>& findings);

}  // namespace leasehold::model
