#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/faults/cluster_control.hpp"

namespace leasehold::sim {

/// The faults that last: when each begins and ends, that it ends in any case, what the history says
/// of it, and whether it counts. Two functions of each fault do what it does.
///
/// INVARIANT: each fault that began ends once: by its own time, by `end_all`, or at once when it
/// could not begin. If its end throws, it is tried again until it succeeds.
///
/// Not thread-safe. REQUIRES: it outlives what it asked `call_at` for, and the cluster outlives it.
class LastingFaults {
 public:
  using Id = LinkRules::Owner;
  using Begin = std::function<void(Id)>;
  using End = std::function<bool(Id)>;  ///< returns whether the fault certainly had an effect

  explicit LastingFaults(const ClusterControl& cluster) : cluster_(cluster) {}

  /// Notes for all in `hit` that it begins and ends. `begin` is called at once, so it may refer to
  /// the caller's locals; `end` may not. Throws what `begin` throws.
  void for_a_while(const FaultPlan& fault, std::vector<std::string> hit, std::int64_t for_ms,
                   const Begin& begin, End end);
  /// Ends those of the wanted kinds. Throws the error of the first that did not end.
  void end_all(const std::function<bool(FaultPlan::Kind)>& wanted);
  /// For a fault that ends nothing, but takes the place of others.
  [[nodiscard]] Id next_id() { return ++last_; }

  /// A fault of one moment, in the history; `amount` in the unit of its kind.
  void note(const FaultPlan& fault, const std::string& hit, std::int64_t amount,
            std::int64_t at_ns) {
    note(fault, hit, Part::whole, amount, at_ns);
  }
  void note_now(const FaultPlan& fault, const std::string& hit, std::int64_t amount) {
    note(fault, hit, Part::whole, amount, cluster_.now_ns());
  }
  /// The lockId of a write that is none of the lock's clients'.
  void note_write(const FaultPlan& fault, const std::string& name, const std::string& lock_id) {
    note(fault, name, Part::whole, 0, cluster_.now_ns(), lock_id);
  }
  /// It took effect.
  void count(const FaultPlan& fault) { cluster_.count_effect(fault.kind); }

 private:
  enum class Part { whole, begins, ends };
  struct Lasting {
    FaultPlan fault;
    std::vector<std::string> hit;  ///< processes with a begin and an end in the history
    End end;
    std::string complaint = "not tried yet";  ///< why it did not end
  };
  void note(const FaultPlan& fault, const std::string& hit, Part part, std::int64_t amount,
            std::int64_t at_ns, const std::string& lock_id = "");
  void end(Id id);
  [[nodiscard]] bool try_to_end(Id id);

  const ClusterControl& cluster_;
  std::map<Id, Lasting> lasting_;
  Id last_ = 0;
};

}  // namespace leasehold::sim
