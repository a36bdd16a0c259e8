#include "model/worker_judge.hpp"

#include "model/finding.hpp"

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

}  // namespace

std::vector<Finding> judge_worker(const History& history) {
  const Digest d = digest(history);
  std::vector<Finding> findings{check_exclusion(d), check_protocol(d)};
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
    if (guarantee == Guarantee::G2) continue;
    all.push_back(std::string(to_string(guarantee)) +
                  (is_promised(promises, guarantee) ? " not checked" : " not promised"));
  }
  return all;
}

}  // namespace leasehold::model
