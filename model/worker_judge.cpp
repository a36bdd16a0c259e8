#include "model/worker_judge.hpp"

#include <algorithm>

#include "model/worker_checkers.hpp"

namespace leasehold::model {
namespace {

Finding check_protocol(const Digest& d) {
  Finding f = finding(Guarantee::protocol);
  for (Index i = 0; i < d.history->size(); ++i) {
    const Event& e = d.at(i);
    if (e.kind == Kind::start) ++f.checked;
    if (e.kind == Kind::protocol) violate(f, e.process + ": " + e.message.str(), {i});
  }
  return f;
}

bool is_promised(const Promises& p, Guarantee guarantee) {
  switch (guarantee) {
    case Guarantee::G3:
    case Guarantee::G4: return p.tokens == Promises::Tokens::rising;
    case Guarantee::G5: return p.tells_loss;
    case Guarantee::G7: return p.waits != Promises::Waits::none || p.passes_on_leases;
    default: return true;
  }
}

bool is_checked(Guarantee guarantee) {
  constexpr std::array kChecked{Guarantee::G2, Guarantee::G3, Guarantee::G4, Guarantee::G5,
                                Guarantee::G7};
  return std::find(kChecked.begin(), kChecked.end(), guarantee) != kChecked.end();
}

}  // namespace

std::vector<Finding> judge_worker(const History& history, const Promises& promises) {
  Digest d = digest(history);
  believe_grants(d);
  const auto calls = worker_calls(d);
  std::vector<Finding> findings{check_exclusion(d)};
  check_grants_exclusive(calls, findings.front());
  if (is_promised(promises, Guarantee::G4)) {
    findings.push_back(check_worker_fence(d, calls));
    findings.push_back(check_worker_tokens(calls));
  }
  if (is_promised(promises, Guarantee::G5)) findings.push_back(check_worker_losses(d, calls));
  if (is_promised(promises, Guarantee::G7)) {
    findings.push_back(check_worker_waits(d, promises, calls));
  }
  findings.push_back(check_protocol(d));
  for (Finding& f : findings) {
    if (f.verdict != Verdict::holds || f.checked > 0) continue;
    f.verdict = Verdict::unknown;
    f.why = kNeverTested;
  }
  return findings;
}

std::vector<std::string> left_out(const Promises& promises) {
  std::vector<std::string> all;
  for (const Guarantee guarantee : kPromised) {
    const bool promised = is_promised(promises, guarantee);
    if (promised && is_checked(guarantee)) continue;
    all.push_back(std::string(to_string(guarantee)) +
                  (promised ? " not checked" : " not promised"));
  }
  return all;
}

}  // namespace leasehold::model
