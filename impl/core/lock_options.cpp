#include <algorithm>
#include <leasehold/lock_options.hpp>

#include "core/limits.hpp"

namespace leasehold {
namespace {

using std::chrono::milliseconds;

std::string ms(milliseconds value) { return std::to_string(value.count()) + " ms"; }

std::optional<Error> broken(const std::string& what, const std::string& value,
                            const std::string& rule) {
  return Error{ErrorKind::invalid_option, 0, what + " is " + value + ": " + rule};
}

/// Whether the bytes are well-formed UTF-8 (RFC 3629: shortest form, no surrogates).
bool valid_utf8(const std::string& text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
      return false;
    }
    i += length;
  }
  return true;
}

}  // namespace

milliseconds LockOptions::effective_cadence() const {
  return extension_cadence.value_or(expiry / 3);
}

milliseconds LockOptions::effective_operation_timeout() const {
  return operation_timeout.value_or(std::min(milliseconds(10'000), expiry / 3));
}

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
  if (timeout <= milliseconds(0) || timeout * 2 >= o.expiry) {
    return broken("operation_timeout", ms(timeout),
                  "it must be positive and below half of expiry (" + ms(o.expiry) + ")");
  }
  if (o.clock_margin < milliseconds(0) || o.clock_margin > core::kMaxExpiry) {
    return broken("clock_margin", ms(o.clock_margin), "it must be 0 to 24 h");
  }
  if (o.max_holding && (*o.max_holding <= milliseconds(0) || *o.max_holding > kLongestDuration)) {
    return broken("max_holding", ms(*o.max_holding), "it must be 1 ms to 10 years");
  }
  if (!(o.max_drift >= 0 && o.max_drift <= 0.1)) {
    return broken("max_drift", std::to_string(o.max_drift), "it must be 0 to 0.1");
  }
  if (o.hand_overs_in_a_row < 0 || o.hand_overs_in_a_row > core::kMaxHandOvers) {
    return broken("hand_overs_in_a_row", std::to_string(o.hand_overs_in_a_row),
                  "it must be 0 to 1000");
  }
  if (!o.waiting) return broken("waiting", "empty", "it must be a strategy");
  return std::nullopt;
}

std::optional<Error> check_name(const std::string& name) {
  const auto size = std::to_string(name.size()) + " bytes long";
  if (name.empty() || name.size() > core::kMaxNameBytes) {
    return broken("lock name", size, "it must have 1 to 1024 bytes");
  }
  if (name.find('\0') != std::string::npos) {
    return broken("lock name", size, "it must not contain NUL");
  }
  if (!valid_utf8(name)) return broken("lock name", size, "it must be valid UTF-8");
  return std::nullopt;
}

}  // namespace leasehold
