#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "model/history.hpp"
#include "sim/lock_truth.hpp"
#include "sim/virtual/collection.hpp"

namespace leasehold::sim::simulated {

/// What the writes of lock documents, in the oplog's order, are in a history: versions of a lock, a
/// lock that is free, who joins and leaves its queue.
class WrittenLocks {
 public:
  using Emit = std::function<void(model::Event&&)>;

  /// `emit` gets the events, without their time.
  explicit WrittenLocks(Emit emit) : emit_(std::move(emit)) {}

  /// `tag`: of the command that wrote it, of a published lock, whose documents do not name it.
  void add(const Change& change, std::int64_t order, const std::string& tag = {});

 private:
  void add_places(const Change& change, std::int64_t order);
  [[nodiscard]] LockTruth::Became became(const Change& change);

  const Emit emit_;
  LockTruth truth_;
};

}  // namespace leasehold::sim::simulated
