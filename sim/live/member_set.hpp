#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "sim/live/fault_proxy.hpp"
#include "sim/live/mongo_client.hpp"

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
  /// Whether commands have an answer to hope for.
  [[nodiscard]] virtual bool answers(int index) = 0;
  /// Before the members. REQUIRES: there are proxies.
  [[nodiscard]] virtual FaultProxy& proxy() = 0;

  /// The member that answers and says that it is primary, of the latest election if two do; -1:
  /// none does.
  int primary_now();
  /// The same, waited for; throws if there is none within 30 s.
  int primary();
  /// Whether this member says that it is primary; false if it does not answer.
  [[nodiscard]] bool is_primary(int index);
  /// Makes this member primary, trying until it is. Whether it was not before.
  bool step_up(int index);
  /// The same with a limit. Whether it was not before and is now.
  bool try_step_up(int index, std::chrono::milliseconds limit);
  /// The primary leaves its office, and nobody is asked to take over. Whether it did.
  bool step_down();

  /// Whether so many members ("majority", or a number) confirm a write to this database within the
  /// time.
  bool confirms(const Json& w, std::chrono::milliseconds limit,
                const std::string& database = "leasehold_start");

  /// `configureFailPoint` on a member. How often the fail point was entered while it was on before.
  virtual std::int64_t fail_point(int index, const std::string& name, const Json& mode,
                                  const Json& data = {});
  /// Of those that answer.
  virtual void set_ttl_monitor(bool on);
};

}  // namespace leasehold::sim::live
