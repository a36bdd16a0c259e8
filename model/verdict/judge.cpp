#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "model/verdict/checkers.hpp"

namespace leasehold::model {

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return "holds";
    case Verdict::violated: return "violated";
    case Verdict::unknown: return "unknown";
  }
  return "?";
}

void Finding::leave_open(Open by, std::string reason) {
  if (verdict != Verdict::holds) return;
  verdict = Verdict::unknown;
  open = by;
  why = std::move(reason);
}

std::int64_t Finding::all_excused() const {
  return std::accumulate(excused.begin(), excused.end(), std::int64_t{0});
}

std::vector<Finding> judge(const History& history, const Floors& floors) {
  return judge(digest(history), floors);
}

std::vector<Finding> judge(const Digest& d, const Floors& floors) {
  Acceptance beside;
  return judge(d, floors, beside);
}

std::vector<Finding> judge(const Digest& d, const Floors& floors, Acceptance& beside) {
  beside = accept(d);
  std::vector<Finding> findings{std::move(beside.form),
                                check_leases(d),
                                check_exclusion(d),
                                check_fence(d),
                                check_token_order(d),
                                check_loss_notified(d),
                                check_ownership(d),
                                check_liveness(d),
                                check_cleanup(d),
                                check_cost(d),
                                check_release(d),
                                check_needless_loss(d),
                                std::move(beside.grounded),
                                check_alive(d),
                                check_calls(d)};
  std::ranges::copy(beside.rules, std::back_inserter(findings));
  const bool whole = findings.front().verdict == Verdict::holds;
  for (Finding& f : findings) {
    const auto floor = floors.find(f.check);
    if (floor != floors.end()) f.floor = floor->second;
    if (!whole) f.leave_open(Open::other, "the history is not well-formed");
    if (f.checked == 0) f.leave_open(Open::never_tested, kNeverTested);
    if (f.checked < f.floor) {
      f.leave_open(Open::too_seldom, "checked " + std::to_string(f.checked) +
                                         " times, fewer than " + std::to_string(f.floor));
    }
  }
  return findings;
}

Verdict overall(const std::vector<Finding>& findings) {
  const auto any = [&](Verdict v) {
    return std::any_of(findings.begin(), findings.end(),
                       [v](const Finding& f) { return f.verdict == v; });
  };
  return any(Verdict::violated)  ? Verdict::violated
         : any(Verdict::unknown) ? Verdict::unknown
                                 : Verdict::holds;
}

Verdict overall_tested(const std::vector<Finding>& findings) {
  std::vector<Finding> tested;
  std::copy_if(findings.begin(), findings.end(), std::back_inserter(tested),
               [](const Finding& f) { return !f.never_tested(); });
  // Neither a record that is whole nor a process that lives is evidence for a promise that nothing
  // exercised.
  const bool of_a_promise = std::any_of(tested.begin(), tested.end(), [](const Finding& f) {
    const auto kind = kind_of(f.check);
    return f.check != Check::alive && (kind == CheckKind::promise || kind == CheckKind::lock);
  });
  const auto verdict = overall(tested);
  return verdict == Verdict::holds && !of_a_promise ? Verdict::unknown : verdict;
}

}  // namespace leasehold::model
