#pragma once

#include <map>
#include <utility>
#include <vector>

#include "model/verdict/walk.hpp"

namespace leasehold::model {

/// Calls for several locks at once, as part of G7; each lock is checked as any is. A call ends when
/// it said. What it returns was not lost before. One that begins once faults are over gets all.
void check_all_calls(const Digest& d, Finding& f);

/// When calls for several locks were under way, and kept from their users what they had.
class AllCallTimes {
 public:
  explicit AllCallTimes(const Digest& d);
  /// From when a user of this process has what was granted then: at once, or when a call is over.
  [[nodiscard]] std::int64_t user_has_from(Id process, Id name, std::int64_t granted_ns) const;
  /// Whether an acquire call that began then may be of a call that began before faults were over,
  /// and ends as that does.
  [[nodiscard]] bool began_in_faults(const Fact& ask) const;

 private:
  struct Times : Span {
    bool healed = false;  ///< it began when faults were over
  };
  [[nodiscard]] std::vector<Times> at(Id process, Id name, std::int64_t at_ns) const;

  std::map<std::pair<Id, Id>, std::vector<Times>> calls_;  ///< by process and lock
};

}  // namespace leasehold::model
