#include "model/monitors/monitors.hpp"

#include <array>

#include "model/monitors/monitor.hpp"

namespace leasehold::model {

std::vector<Finding> monitor(const Digest& d) {
  if (d.of_a_document) return {};
  Monitors monitors;
  add_client_rules(monitors, d);
  add_document_rules(monitors, d);
  Commands commands(d);
  std::array<std::vector<Monitor*>, about_kinds::kAll.size()> by_kind;
  for (const auto& row : about_kinds::kAll) {
    for (const auto& monitor : monitors) {
      if (monitor->looks_at.contains(row.kind)) {
        by_kind[static_cast<std::size_t>(row.kind)].push_back(monitor.get());
      }
    }
  }
  for (Index i = 0; i < d.facts.all.size(); ++i) {
    const Fact& e = d.fact(i);
    for (Monitor* monitor : by_kind[static_cast<std::size_t>(e.kind)]) {
      monitor->see(i, e, commands);
    }
    commands.see(i, e);
  }
  std::vector<Finding> findings;
  for (const auto& monitor : monitors) findings.push_back(std::move(monitor->found));
  return findings;
}

}  // namespace leasehold::model
