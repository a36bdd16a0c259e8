#pragma once

#include <string>

#include "sim/faults/cluster_control.hpp"

namespace leasehold::sim {

/// The links of a run that faults disturb: which links a member or a process has, what all faults
/// together ask of each, and whether a rule affected anything that a link carried.
///
/// INVARIANT: the world has for each link what `LinkRules` says of it. That is all rules at once,
/// so that the end of one fault leaves the others.
///
/// REQUIRES: the run reaches links of its servers; the cluster outlives it.
class DisturbedLinks {
 public:
  explicit DisturbedLinks(const ClusterControl& cluster) : cluster_(cluster) {}

  /// All links between this member and its peers.
  [[nodiscard]] Links of_member(int member) const;
  /// Links by which this member fetches what the others have.
  [[nodiscard]] Links of_fetching(int member) const;
  /// Links by which members replicate.
  [[nodiscard]] Links of_replication() const;
  [[nodiscard]] Links of_process(const std::string& process) const;

  /// How often rules affected what these carry.
  [[nodiscard]] std::int64_t touched(const Links& links) const;
  void disturb(LinkRules::Owner by, const Links& links, const LinkRule& rule);
  /// Ends what this owner asked for. `resets`: what waited is lost.
  void leave(LinkRules::Owner by, bool resets);

 private:
  [[nodiscard]] int size() const { return cluster_.servers->links.size(); }

  const ClusterControl& cluster_;
  LinkRules rules_;
};

}  // namespace leasehold::sim
