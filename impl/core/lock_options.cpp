#include <algorithm>
#include <leasehold/lock_options.hpp>

#include "core/document/utf8.hpp"
#include "core/limits.hpp"
#include "core/time.hpp"

namespace leasehold::inline v0_1 {
namespace {

using std::chrono::milliseconds;

std::string ms(milliseconds value) { return std::to_string(value.count()) + " ms"; }

/// The one form of all messages about options: thing, value, rule.
std::optional<Error> broken(const std::string& what, const std::string& value,
                            const std::string& rule) {
  return Error{ErrorKind::invalid_option, 0, what + " is " + value + ": " + rule};
}

std::string bytes(const std::string& text) { return std::to_string(text.size()) + " bytes long"; }

/// The rules of every text that is sent as one.
std::optional<Error> check_text(const std::string& what, const std::string& text) {
  if (text.find('\0') != std::string::npos) {
    return broken(what, bytes(text), "it must not contain NUL");
  }
  if (core::valid_utf8_prefix(text).size() == text.size()) return std::nullopt;
  return broken(what, bytes(text), "it must be valid UTF-8");
}

}  // namespace

/// A third leaves time for two more tries before the lease is over. The same is the default of
/// DistributedLock.MongoDB (REFERENCES.md).
milliseconds LockOptions::effective_cadence() const {
  return extension_cadence.value_or(expiry / 3);
}

/// Never beyond a third of the lease: a command that hangs must leave time for another.
milliseconds LockOptions::effective_operation_timeout() const {
  return operation_timeout.value_or(std::min(milliseconds(10'000), expiry / 3));
}

/// The first rule that is broken: one sentence is read, five are not.
std::optional<Error> check(const LockOptions& o) {
  if (o.expiry < core::kMinExpiry || o.expiry > core::kMaxExpiry) {
    return broken("expiry", ms(o.expiry), "it must be 100 ms to 24 h");
  }
  const auto cadence = o.effective_cadence();
  if (cadence <= milliseconds(0) || cadence >= o.expiry) {
    return broken("extension_cadence", ms(cadence),
                  "it must be positive and below expiry (" + ms(o.expiry) + ")");
  }
  const auto timeout = o.effective_operation_timeout();
  if (timeout <= milliseconds(0) || timeout >= o.expiry - timeout) {
    return broken("operation_timeout", ms(timeout),
                  "it must be positive and below half of expiry (" + ms(o.expiry) + ")");
  }
  if (o.clock_margin < milliseconds(0) || o.clock_margin > core::kMaxExpiry) {
    return broken("clock_margin", ms(o.clock_margin), "it must be 0 to 24 h");
  }
  if (o.max_holding && (*o.max_holding <= milliseconds(0) || *o.max_holding > kLongestDuration)) {
    return broken("max_holding", ms(*o.max_holding), "it must be 1 ms to 10 years");
  }
  // NaN breaks the rule too, in this form.
  if (!(o.max_drift >= 0 && o.max_drift <= core::kMaxDrift)) {
    return broken("max_drift", std::to_string(o.max_drift), "it must be 0 to 0.1");
  }
  // The drift ends a holding before its lease: an extension that is due after that is never sent.
  const auto held_for = o.expiry - core::drift_of(o.expiry, o.max_drift);
  if (cadence >= held_for) {
    return broken("extension_cadence", ms(cadence),
                  "it must be below expiry less its max_drift (" +
                      ms(std::chrono::duration_cast<milliseconds>(held_for)) +
                      "), when held() turns false");
  }
  if (o.hand_overs_in_a_row < 0 || o.hand_overs_in_a_row > core::kMaxHandOvers) {
    return broken("hand_overs_in_a_row", std::to_string(o.hand_overs_in_a_row),
                  "it must be 0 to 1000");
  }
  if (!o.waiting) return broken("waiting", "empty", "it must be a strategy");
  return std::nullopt;
}

/// The name becomes the `_id` and so a key of an index; its value is not shown, for it may be long
/// or not be text at all.
std::optional<Error> check_name(const std::string& name) {
  if (name.empty() || name.size() > core::kMaxNameBytes) {
    return broken("lock name", bytes(name), "it must have 1 to 1024 bytes");
  }
  return check_text("lock name", name);
}

/// Its length is bounded, because it is in every lockId that is written.
std::optional<Error> check_holder(const std::string& holder) {
  if (holder.size() > core::kMaxHolderBytes) {
    return broken("holder", bytes(holder), "it must have at most 256 bytes");
  }
  return check_text("holder", holder);
}

std::optional<Error> check_database(const std::string& database) {
  if (database != "local") return std::nullopt;
  return broken("database", "'local'",
                "it must be one that the set replicates, or two processes hold one lock after a "
                "change of the primary");
}

}  // namespace leasehold
