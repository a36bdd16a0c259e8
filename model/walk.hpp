#pragma once

#include <memory>
#include <vector>

#include "model/checkers.hpp"

/// One walk through a history, for all who look at each of its events.
namespace leasehold::model {

/// Looks at all events of a history, some at a time.
class Watcher {
 public:
  virtual ~Watcher() = default;
  /// The events from `from` up to `to`, which is not one of them.
  /// REQUIRES: they follow those of the call before.
  virtual void watch(Index from, Index to) = 0;
};
using Watchers = std::vector<Watcher*>;

/// Shows each event to all of them. So few at a time that these are still in the cache when the
/// last of them looks: a long history is read from memory once.
void walk(const Digest& d, const Watchers& all);

/// One that has a result when the walk is over.
template <typename Result>
class Inquiry : public Watcher {
 public:
  /// To be asked for once.
  [[nodiscard]] virtual Result result() = 0;
};

/// `check_form` and `monitor`, as part of a walk. The digest must outlive them.
[[nodiscard]] std::unique_ptr<Inquiry<Finding>> form_inquiry(const Digest& d);
[[nodiscard]] std::unique_ptr<Inquiry<std::vector<Finding>>> rules_inquiry(const Digest& d);

/// `judge`, with others beside who watch the same walk.
[[nodiscard]] std::vector<Finding> judge(const Digest& d, const Floors& floors,
                                         const Watchers& beside);

}  // namespace leasehold::model
