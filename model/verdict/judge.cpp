#include <algorithm>
#include <array>
#include <iterator>

#include "model/verdict/checkers.hpp"

namespace leasehold::model {

const char* to_string(Verdict verdict) {
  constexpr std::array kNames{"holds", "violated", "unknown"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::vector<Finding> judge(const Digest& d) {
  Acceptance beside;
  return judge(d, beside);
}

std::vector<Finding> judge(const Digest& d, Acceptance& beside) {
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
    if (!whole) f.leave_open(Open::other, "the history is not well-formed");
    if (f.checked == 0) f.leave_open(Open::never_tested, kNeverTested);
  }
  return findings;
}

Verdict overall(const std::vector<Finding>& findings) {
  const auto any = [&](Verdict v) {
    return std::ranges::any_of(findings, [v](const Finding& f) { return f.verdict == v; });
  };
  return any(Verdict::violated)  ? Verdict::violated
         : any(Verdict::unknown) ? Verdict::unknown
                                 : Verdict::holds;
}

Verdict overall_tested(const std::vector<Finding>& findings) {
  std::vector<Finding> tested;
  std::ranges::copy_if(
      findings, std::back_inserter(tested), [](const Finding& f) { return !f.never_tested(); });
  // Neither a record that is whole nor a process that lives is evidence for a promise that nothing
  // exercised.
  const bool of_a_promise = std::ranges::any_of(tested, [](const Finding& f) {
    const auto kind = kind_of(f.check);
    return f.check != Check::alive && (kind == CheckKind::promise || kind == CheckKind::lock);
  });
  const auto verdict = overall(tested);
  return verdict == Verdict::holds && !of_a_promise ? Verdict::unknown : verdict;
}

}  // namespace leasehold::model
