#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sim/live/proxy/fault_proxy.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// A replica set's members, numbered from 0, and what its administrator does with them by commands:
/// each is asked itself, past its proxy.
///
/// Not thread-safe. A call throws when a member that it needs has no answer.
class MemberSet {
 public:
  MemberSet() = default;
  virtual ~MemberSet() = default;
  MemberSet(const MemberSet&) = delete;
  MemberSet& operator=(const MemberSet&) = delete;

  [[nodiscard]] virtual int size() const = 0;
  /// A client of this member alone.
  [[nodiscard]] virtual MongoClient& member(int index) = 0;
  /// Whether an answer to commands can be expected.
  [[nodiscard]] virtual bool answers(int index) = 0;
  /// The proxy before the members. REQUIRES: there is one.
  [[nodiscard]] virtual FaultProxy& proxy() = 0;

  /// The member that answers and says that it is primary, of the latest election if two do; -1:
  /// none does.
  int primary_now();
  /// Waits for a primary; throws if there is none within 30 s.
  int primary();
  /// Whether this member says that it is primary; false if it does not answer.
  [[nodiscard]] bool is_primary(int index);
  /// Makes this member primary, trying until it is. Returns whether it was not before.
  bool step_up(int index);
  /// The same with a limit. Returns whether it was not primary before and is now.
  bool try_step_up(int index, std::chrono::milliseconds limit);
  /// The primary steps down, and no member is asked to take over. Returns whether it did.
  bool step_down();

  /// Whether `w` members ("majority", or a number) confirm a write to this database within the
  /// limit.
  bool confirms(const Json& w, std::chrono::milliseconds limit,
                const std::string& database = "leasehold_start");

  /// `configureFailPoint` on a member. Returns how often the last one was entered while it was on.
  std::int64_t fail_point(int index, const std::string& name, const Json& mode,
                          const Json& data = {});
  /// Sets it on the members that answer.
  void set_ttl_monitor(bool on);
};

}  // namespace leasehold::sim::live
