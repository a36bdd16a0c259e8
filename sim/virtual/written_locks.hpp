#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "model/history/history.hpp"
#include "sim/record/lock_truth.hpp"
#include "sim/virtual/commands/collection.hpp"

namespace leasehold::sim::simulated {

/// Turns the writes of lock documents, in the oplog's order, into events: versions of a lock, a
/// free lock, owners that join and leave its queue.
class WrittenLocks {
 public:
  using Emit = std::function<void(model::Event&&)>;

  /// `emit` gets the events, without their time.
  explicit WrittenLocks(Emit emit) : emit_(std::move(emit)) {}

  /// `tag`: the command that wrote it, if a published lock did: its documents name none.
  void add(const Change& change, std::int64_t order, const std::string& tag = {});

 private:
  void add_places(const Change& change, std::int64_t order);
  [[nodiscard]] LockTruth::Became became(const Change& change);

  const Emit emit_;
  LockTruth truth_;
};

}  // namespace leasehold::sim::simulated
