#pragma once

#include <memory>
#include <vector>

#include "model/verdict/checkers.hpp"

/// One walk through a history for all watchers of its events.
namespace leasehold::model {

/// Sees all events of a history, some at a time.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// The events from `from` up to `to`, which is not one of them.
  /// REQUIRES: they follow those of the call before.
  virtual void watch(Index from, Index to) = 0;
};
using Watchers = std::vector<Watcher*>;

/// Shows each event to all watchers. Each call has so few events that they stay in the cache until
/// the last watcher: a long history is read from memory once.
void walk(const Digest& d, const Watchers& all);

/// A watcher with a result when the walk is over.
template <typename Result>
class Inquiry : public Watcher {
 public:
  /// Called once.
  [[nodiscard]] virtual Result result() = 0;
};

/// As parts of a walk; the digest must outlive them. First the form: is the history whole, every
/// event where its neighbours say it must be, no more and no fewer? If not, that is unknown, for
/// then little can be checked. Then whether what the lock did has its ground.
[[nodiscard]] std::unique_ptr<Inquiry<std::vector<Finding>>> form_inquiry(const Digest& d);
/// One finding for each rule, in the order of their enumerators: what clients do (`unique_lock_id`
/// to `ended_owner`), then what stands in documents (`compare_and_set` to `stored_token`). Constant
/// time for each event. Empty for the published locks, which have other rules.
///
/// If a history lacks the documents' dates (older releases wrote none), the rules of documents are
/// unknown.
[[nodiscard]] std::unique_ptr<Inquiry<std::vector<Finding>>> rules_inquiry(const Digest& d);

/// `judge`, with other watchers of the same walk.
[[nodiscard]] std::vector<Finding> judge(const Digest& d, const Floors& floors,
                                         const Watchers& beside);

}  // namespace leasehold::model
