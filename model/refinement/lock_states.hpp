#pragma once

#include <vector>

#include "model/refinement/version_rules.hpp"

/// The document of one name. Its oplog says which versions of it there will be, but not when each
/// was written, so it may be in any of several states.
namespace leasehold::model {

/// One of these states: `version` versions were written, by `spent` of the unanswered removals.
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
  /// More states are possible than are kept: the state of this lock is unknown from then on.
  [[nodiscard]] bool too_many() const { return too_many_; }

  /// Takes the hidden steps that are possible by now, from every state; how many it took.
  std::int64_t grow(const VersionRules& rules, Moment now);
  /// Keeps the states in which this version was written. REQUIRES: there is one.
  void keep_from(Version v);
  /// This version was written, possible or not. Used to go on after a violation.
  void restart_at(Version v) { all_.assign(1, {v, {}}); }

 private:
  Versions line_;
  /// INVARIANT: not empty; one state for each version from the lowest to the highest, with as few
  /// spent removals as explain it.
  std::vector<LockState> all_{LockState{}};
  bool too_many_ = false;
};

}  // namespace leasehold::model
