#pragma once

#include <cstddef>

#include "core/entropy.hpp"
#include "core/protocol.hpp"
#include "core/time.hpp"

namespace leasehold::core {

/// A way to lock, as a value that is stepped: events in, effects out, no thread, no clock, no I/O.
/// The production lock (ProviderCore) and the published locks are each one; the same drivers run
/// all of them. Not thread-safe: its driver serialises the calls.
class Provider {
 public:
  virtual ~Provider() = default;

  /// Appends what is to be done because of `event` to `out`. `now.local` never runs backwards.
  virtual void next(const Event& event, const Clocks& now, Entropy& entropy, Effects& out) = 0;

  /// Deletes that no majority has acknowledged yet. A provider waits for these at its end, for a
  /// while, so that other processes need not wait for the lease of a holder that has gone.
  [[nodiscard]] virtual std::size_t departures_left() const = 0;

 protected:
  Provider() = default;
  Provider(const Provider&) = default;
  Provider& operator=(const Provider&) = default;
};

}  // namespace leasehold::core
