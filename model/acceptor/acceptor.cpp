#include "model/acceptor/arrows.hpp"
#include "model/acceptor/form.hpp"
#include "model/acceptor/rules.hpp"
#include "model/acceptor/versions.hpp"

namespace leasehold::model {

Acceptance accept(const Digest& d, const Diagrams& diagrams) {
  Form form(d);
  Monitors monitors(d);
  VersionStates versions(d);
  Arrows arrows(d, diagrams);
  for (Index i = 0; i < d.facts.all.size(); ++i) {
    const Fact& e = d.fact(i);
    form.see(i, e);
    arrows.see(i, e);
    if (d.of_a_document) continue;
    monitors.see(i, e);
    versions.see(i, e);
  }
  Acceptance out;
  auto [whole, grounded] = form.result();
  out.form = std::move(whole);
  out.grounded = std::move(grounded);
  out.steps.push_back(arrows.result(out.taken));
  if (d.of_a_document) return out;
  out.rules = monitors.result();
  out.steps.push_back(versions.result());
  return out;
}

}  // namespace leasehold::model
