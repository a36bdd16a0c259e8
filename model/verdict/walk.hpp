#pragma once

#include <memory>
#include <vector>

#include "model/spec/diagrams.hpp"
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

/// What the acceptor of `model/acceptor` says of a run.
struct Acceptance {
  /// One finding for each rule, in the order of their enumerators: what clients do
  /// (`unique_lock_id` to `ended_owner`), then what stands in documents (`compare_and_set` to
  /// `stored_token`). Empty for the published locks, which have other rules. If a history lacks the
  /// documents' dates (older releases wrote none), the rules of documents are unknown.
  std::vector<Finding> rules;
  /// Whether each step is an arrow, and, but for the published locks, one that the document's
  /// versions allow (`refinement`). They mean nothing if the history is not whole.
  std::vector<Finding> steps;
  ArrowCounts taken;
};
[[nodiscard]] std::unique_ptr<Inquiry<Acceptance>> acceptor(const Digest& d,
                                                            const Diagrams& diagrams = {});
[[nodiscard]] Acceptance accept(const Digest& d, const Diagrams& diagrams = {});

/// `judge`, of whose walk the steps and arrows are wanted as well.
[[nodiscard]] std::vector<Finding> judge(const Digest& d, const Floors& floors, Acceptance& beside);

}  // namespace leasehold::model
