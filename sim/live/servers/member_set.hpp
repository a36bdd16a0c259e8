#pragma once

#include "sim/faults/cluster_control.hpp"
#include "sim/live/proxy/fault_proxy.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// A replica set's members, numbered from 0. Each is asked itself, past its proxy; on links acts
/// the proxy before them. REQUIRES for links: there is one.
///
/// Not thread-safe. A call throws when a member that it needs has no answer.
class MemberSet : public LinkControl {
 public:
  MemberSet() = default;
  MemberSet(const MemberSet&) = delete;
  MemberSet& operator=(const MemberSet&) = delete;

  /// A client of this member alone.
  [[nodiscard]] virtual MongoClient& member(int index) = 0;
  /// Whether an answer to commands can be expected.
  [[nodiscard]] virtual bool reachable(int index) = 0;
  /// REQUIRES: there is one.
  [[nodiscard]] virtual FaultProxy& proxy() = 0;

  /// The member that answers and says that it is primary, of the latest election if two do; -1:
  /// none does.
  int primary_now();
  /// Waits for a primary; throws if there is none within 30 s.
  int primary();

  [[nodiscard]] int sent_to() override;
  void set_link_rule(const Link& link, const LinkRule& rule) override;
  void reset_link(const Link& link) override;
  [[nodiscard]] std::int64_t touched(const Link& link) override;
};

}  // namespace leasehold::sim::live
