#pragma once

#include <vector>

#include "model/refinement/version_rules.hpp"

/// The abstract lock of one name. Its oplog says which versions of its document there will be; when
/// each was written nobody saw, so the lock may be in any of several states.
namespace leasehold::model {

/// One of them: so many versions were written, and by these removals that nobody answered.
struct LockState {
  Version version = 0;
  Removals spent;
};

class LockStates {
 public:
  static constexpr std::size_t kMost = 512;  ///< states that are kept at once

  explicit LockStates(Versions line) : line_(line) {}

  [[nodiscard]] Versions line() const { return line_; }
  [[nodiscard]] Version lowest() const { return all_.front().version; }
  [[nodiscard]] Version highest() const { return all_.back().version; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// There were more than are kept: nothing is known of this lock any more.
  [[nodiscard]] bool too_many() const { return too_many_; }

  /// Takes the hidden steps that are possible by now, from every state; how many it took.
  std::int64_t grow(const VersionRules& rules, Moment now);
  /// Keeps the states in which this version was written. REQUIRES: there is one.
  void keep_from(Version v);
  /// Whatever was possible: this version was written. To go on after a violation.
  void restart_at(Version v) { all_.assign(1, {v, {}}); }

 private:
  Versions line_;
  /// INVARIANT: not empty; one for each version from the lowest to the highest, of those that
  /// explain it by removals one with the fewest.
  std::vector<LockState> all_{LockState{}};
  bool too_many_ = false;
};

}  // namespace leasehold::model
