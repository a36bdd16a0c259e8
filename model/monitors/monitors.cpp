#include "model/monitors/monitors.hpp"

#include "model/monitors/monitor.hpp"

namespace leasehold::model {

std::vector<Finding> monitor(const Digest& d) {
  if (d.of_a_document) return {};
  Monitors monitors;
  add_client_rules(monitors, d);
  add_document_rules(monitors, d);
  Commands commands(d);
  for (Index i = 0; i < d.history->size(); ++i) {
    const Event& e = d.at(i);
    for (const auto& monitor : monitors) monitor->see(i, e, commands);
    commands.see(i, e);
  }
  std::vector<Finding> findings;
  for (const auto& monitor : monitors) findings.push_back(std::move(monitor->found));
  return findings;
}

}  // namespace leasehold::model
