#include <array>

#include "model/monitors/monitor.hpp"
#include "model/verdict/walk.hpp"

/// The assumptions of the proof in `model/proof` about clients and their commands, checked for each
/// event of a run. A client that breaks a rule breaks a guarantee only with bad luck; the
/// rule's monitor finds the first command that breaks it.
namespace leasehold::model {

namespace {

class RuleWatch final : public Inquiry<std::vector<Finding>> {
 public:
  explicit RuleWatch(const Digest& d) : d_(d), commands_(d) {
    if (d.of_a_document) return;
    add_client_rules(monitors_, d);
    add_document_rules(monitors_, d);
    for (const auto& row : about_kinds::kAll) {
      for (const auto& monitor : monitors_) {
        if (monitor->looks_at.contains(row.kind)) {
          by_kind_[static_cast<std::size_t>(row.kind)].push_back(monitor.get());
        }
      }
    }
  }

  void watch(Index from, Index to) override {
    for (Index i = from; i < to; ++i) {
      const Fact& e = d_.fact(i);
      for (Monitor* monitor : by_kind_[static_cast<std::size_t>(e.kind)]) {
        monitor->see(i, e, commands_);
      }
      commands_.see(i, e);
    }
  }

  std::vector<Finding> result() override {
    std::vector<Finding> findings;
    for (const auto& monitor : monitors_) findings.push_back(std::move(monitor->found));
    return findings;
  }

 private:
  const Digest& d_;
  Commands commands_;
  Monitors monitors_;
  std::array<std::vector<Monitor*>, about_kinds::kAll.size()> by_kind_;
};

}  // namespace

std::unique_ptr<Inquiry<std::vector<Finding>>> rules_inquiry(const Digest& d) {
  return std::make_unique<RuleWatch>(d);
}

}  // namespace leasehold::model
