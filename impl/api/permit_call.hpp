#pragma once

#include <array>
#include <cstdint>
#include <leasehold/semaphore.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/driver.hpp"

namespace leasehold::runtime {

/// One call for one of the permits of a semaphore, each of which is a lock, its slot:
///
///     a single attempt at a slot of random choice
///       refused: one read of all slots; a single attempt at one that is free there
///         taken meanwhile: one more read
///         none is free: waits at the slot with the shortest queue, its home, as any acquire call
///         does, and, about once a second, reads all slots and tries one that is free
///         others have changed hands since the read before, and its home has not: waits at one of
///           these, too, because its home is that of a long job
///
/// So a call that waits costs what one that waits for a lock does, or two, and a read a second. A
/// place is left only with a permit in hand.
///
/// All of it happens on the driver's activity for own steps, hence one at a time.
class PermitCall : public std::enable_shared_from_this<PermitCall> {
 public:
  struct Order {
    std::vector<std::string> slots;
    LockOptions options;
    std::optional<std::chrono::milliseconds> timeout;  ///< none: for ever; zero: no waiting
  };
  struct Got {
    int slot = 0;
    Handle handle;
  };
  /// One slot, at a look; all zero: it has no document.
  struct SlotSeen {
    std::int64_t acquired_ms = 0, expires_ms = 0;  ///< since 1970
    std::size_t waiting = 0;                       ///< in its queue
  };
  /// Called once, as a step: be quick, and own no user's function that is destroyed there.
  using Done = std::function<void(Result<Got>)>;

  static std::shared_ptr<PermitCall> start(std::shared_ptr<Driver> driver, Order order, Done done);
  PermitCall(std::shared_ptr<Driver> driver, Order order, Done done);

  /// From any thread; no effect after the answer.
  void cancel();

 private:
  [[nodiscard]] bool single() const { return order_.timeout && order_.timeout->count() <= 0; }
  /// Where it waits, as an acquire call of its own.
  struct Place {
    int slot = -1;                ///< -1: it has not been queued there
    core::SessionId session = 0;  ///< 0: none is under way
  };
  [[nodiscard]] bool stands() const { return places_[0].slot >= 0; }
  [[nodiscard]] std::size_t any(std::size_t count);
  void begin();
  void attempt(int slot);
  void attempted(int slot, Result<Handle> result);
  void look();
  void looked(const core::Reply& reply);
  void look_later();
  void stand_at(Place& place, const std::vector<int>& of, const std::vector<SlotSeen>& seen);
  void place_ended(Place& place, Result<Handle> result);
  void stop();
  void time_out();
  void fail(const Error& error);
  void finish(Result<Got> result);

  const std::shared_ptr<Driver> driver_;
  const Order order_;
  const std::optional<core::LocalInstant> give_up_at_;
  Done done_;
  core::SessionId attempt_ = 0;        ///< 0: none is under way
  std::array<Place, 2> places_;        ///< the first is its home
  std::vector<SlotSeen> seen_;          ///< at the last look
  bool looked_ = false, looks_again_ = false, over_ = false;
  std::string why_not_;  ///< what the last attempt or look said
  std::optional<Error> failure_;  ///< the answer, unless the attempt under way succeeds
  std::uint64_t next_look_ = 0;
  std::uint64_t end_ = 0;  ///< what ends it at its time, whatever is under way
};

}  // namespace leasehold::runtime
