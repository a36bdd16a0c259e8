#pragma once

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
///         none, or taken meanwhile: waits at the slot with the shortest queue, its home, as any
///         acquire call does, and, about once a second, reads all slots and tries one that is free
///
/// So a call that waits costs what one that waits for a lock does, and a read a second. A home is
/// left for good only with a permit in hand, so a place in a queue is never given up.
///
/// All of it happens on the driver's activity for callbacks, hence one step at a time.
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
  /// Called once, as Callbacks calls.
  using Done = std::function<void(Result<Got>)>;

  static std::shared_ptr<PermitCall> start(std::shared_ptr<Driver> driver, Order order, Done done);
  PermitCall(std::shared_ptr<Driver> driver, Order order, Done done);

  /// From any thread; after the answer it is not heard.
  void cancel();

 private:
  [[nodiscard]] bool single() const { return order_.timeout && order_.timeout->count() <= 0; }
  [[nodiscard]] int any(std::size_t count);
  void begin();
  void attempt(int slot);
  void attempted(int slot, Result<Handle> result);
  void look();
  void looked(const core::Reply& reply);
  void look_later();
  void stand_at(int slot);
  void home_ended(int slot, Result<Handle> result);
  void stop();
  void time_out();
  void fail(const Error& error);
  void finish(Result<Got> result);

  const std::shared_ptr<Driver> driver_;
  const Order order_;
  const std::optional<core::LocalInstant> give_up_at_;
  Done done_;
  // 0: none is under way.
  core::SessionId home_ = 0, attempt_ = 0;
  int home_slot_ = -1;  ///< -1: it has not stood anywhere yet
  bool looked_ = false, looking_ = false, over_ = false;
  std::optional<Error> failure_;  ///< the answer, unless the attempt under way succeeds
  std::uint64_t next_look_ = 0;
  std::uint64_t end_ = 0;  ///< what ends it at its time, whatever is under way
};

/// Which slots a read of all shows to be free, or past their end: where an attempt is worth it.
[[nodiscard]] std::vector<int> free_slots(const std::vector<std::string>& slots,
                                          const core::Reply& reply);
/// For each slot how many wait in its queue.
[[nodiscard]] std::vector<std::size_t> queue_lengths(const std::vector<std::string>& slots,
                                                     const core::Reply& reply);

}  // namespace leasehold::runtime
