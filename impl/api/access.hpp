#pragma once

#include <leasehold/lock_provider.hpp>
#include <memory>
#include <string>
#include <utility>

#include "runtime/driver.hpp"

namespace leasehold::detail {

inline Error bad_option(const std::string& text) { return {ErrorKind::invalid_option, 0, text}; }

/// Converts between the public classes and the runtime's: an Engine is always a Driver, a Holding
/// always a Handle. So the public headers name no class of the runtime.
struct Access {
  static LockProvider provider(std::shared_ptr<runtime::Driver> driver) {
    return LockProvider(std::move(driver));
  }
  static Lock lock(const LockProvider& provider, std::string name, LockOptions options) {
    return Lock(provider.engine_, std::move(name), std::move(options));
  }
  static Lock lock(std::shared_ptr<runtime::Driver> driver, std::string name, LockOptions options,
                   core::Room room = 0) {
    Lock made(std::move(driver), std::move(name), std::move(options));
    made.room_ = room;
    return made;
  }
  static LockHandle handle(runtime::Handle handle) {
    try {
      return LockHandle(std::make_shared<runtime::Handle>(handle));
    } catch (...) {  // no memory: nothing else would ever release it
      handle.let_go();
      throw;
    }
  }
  /// REQUIRES: it is not empty
  static const runtime::Handle& inside(const LockHandle& handle) {
    return static_cast<const runtime::Handle&>(*handle.holding_);
  }
  static core::Room room(const Lock& lock) { return lock.room_; }
  /// What is inside it, which nothing releases by its end any more.
  static runtime::Handle take(LockHandle handle) {
    return static_cast<runtime::Handle&>(*std::exchange(handle.holding_, nullptr));
  }
  static std::shared_ptr<runtime::Driver> driver(const Lock& lock) {
    return std::static_pointer_cast<runtime::Driver>(lock.engine_);
  }
};

}  // namespace leasehold::detail
