#include "c/options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "c/errors.hpp"
#include "core/waiting/named.hpp"

namespace leasehold::c {
namespace {

using std::chrono::milliseconds;

[[noreturn]] void refuse_size(std::size_t size, const std::string& type, const std::string& rule) {
  refuse("size of " + type + " is " + std::to_string(size) + ": " + rule);
}

/// `least` is where version 1 of the struct ends.
void check_size(std::size_t size, std::size_t least, const std::string& type) {
  if (size < least) refuse_size(size, type, "it must be sizeof(" + type + ")");
  constexpr std::size_t kAbsurd = 4096;  // going on would only crash
  if (size > kAbsurd) refuse_size(size, type, "it must be at most " + std::to_string(kAbsurd));
}

/// The caller's struct, whatever version of this header it was compiled with.
template <typename Options>
Options known_part(const Options* given, std::size_t least, const std::string& type) {
  Options options{};
  if (given == nullptr) return options;
  check_size(given->size, least, type);
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  const auto* const bytes = reinterpret_cast<const char*>(given);
  const bool unknown =
      given->size > sizeof options &&
      std::any_of(bytes + sizeof options, bytes + given->size, [](char byte) { return byte != 0; });
  if (unknown) {
    refuse_size(given->size, type,
                "what lies beyond the " + std::to_string(sizeof options) +
                    " bytes that this library knows must be zero");
  }
  return options;
}

leasehold_lock_options known_part(const leasehold_lock_options* given) {
  constexpr auto kLeast = offsetof(leasehold_lock_options, waiting) + sizeof(const char*);
  return known_part(given, kLeast, "leasehold_lock_options");
}

void set(std::string& to, const char* given) {
  if (given != nullptr) to = given;
}

/// Zero leaves the default, LEASEHOLD_NONE is zero.
template <typename Number, typename Given>
void set_or_none(Number& to, Given given) {
  if (given != 0) to = Number(given == LEASEHOLD_NONE ? 0 : given);
}

template <typename Duration>
void set(Duration& to, std::int64_t given_ms) {
  if (given_ms != 0) to = milliseconds(given_ms);
}

/// As an int; one that is none stays out of every range.
int clamped(std::int64_t number) {
  return static_cast<int>(std::clamp<std::int64_t>(number, std::numeric_limits<int>::min(),
                                                   std::numeric_limits<int>::max()));
}

std::shared_ptr<const WaitingStrategy> waiting_named(const std::string& name) {
  if (auto waiting = core::waiting_named(name)) return waiting;
  refuse("waiting is '" + name + "': it must be " + core::kNamedWaitings);
}

}  // namespace

ProviderOptions read(const leasehold_provider_options* given) {
  constexpr auto kLeast =
      offsetof(leasehold_provider_options, server_selection_timeout_ms) + sizeof(std::int64_t);
  const auto known = known_part(given, kLeast, "leasehold_provider_options");
  ProviderOptions options;
  set(options.database, known.database);
  set(options.collection, known.collection);
  set(options.holder, known.holder);
  if (known.workers != 0) options.workers = clamped(known.workers);
  set(options.server_selection_timeout, known.server_selection_timeout_ms);
  if (known.on_warning != nullptr) {
    options.on_warning = [call = known.on_warning, context = known.warning_context](
                             const std::string& message) { call(message.c_str(), context); };
  }
  return options;
}

LockOptions read(const leasehold_lock_options* given) {
  const auto known = known_part(given);
  LockOptions options;
  set(options.expiry, known.expiry_ms);
  set(options.extension_cadence, known.extension_cadence_ms);
  set_or_none(options.clock_margin, known.clock_margin_ms);
  set(options.operation_timeout, known.operation_timeout_ms);
  set(options.max_holding, known.max_holding_ms);
  set_or_none(options.hand_overs_in_a_row, clamped(known.hand_overs_in_a_row));
  set_or_none(options.max_drift, known.max_drift);
  if (known.waiting != nullptr) options.waiting = waiting_named(known.waiting);
  return options;
}

int permits(const leasehold_lock_options* given) {
  const auto permits = known_part(given).permits;
  if (0 <= permits && permits <= LockProvider::kMostPermits) return static_cast<int>(permits);
  refuse("permits is " + std::to_string(permits) + ": it must be 1 to " +
         std::to_string(LockProvider::kMostPermits));
}

bool shared(const leasehold_lock_options* given) {
  const auto known = known_part(given);
  if (known.shared != 0 && known.shared != 1) {
    refuse("shared is " + std::to_string(known.shared) + ": it must be 0 or 1");
  }
  if (known.shared == 1 && known.permits != 0) {
    refuse("permits is " + std::to_string(known.permits) +
           ", and shared 1: a semaphore is not shared, so one of them must be 0");
  }
  return known.shared == 1;
}

void check_size(const leasehold_seen_holder& to) {
  constexpr auto kLeast = offsetof(leasehold_seen_holder, holder) + sizeof to.holder;
  check_size(to.size, kLeast, "leasehold_seen_holder");
}

void write(const std::optional<SeenHolder>& seen, leasehold_seen_holder& to) {
  leasehold_seen_holder known{};
  known.size = to.size;
  if (seen) {
    known.is_there = 1;
    known.since_ms = seen->since.time_since_epoch().count();
    known.until_ms = seen->until.time_since_epoch().count();
    known.left_ms = seen->left.count();
    known.lease_ms = seen->lease.count();
    known.token_at_least = seen->token_at_least.value();
    known.readers = static_cast<std::int64_t>(seen->readers);
    known.permits = seen->permits;
    const auto length = fitting(seen->holder, sizeof known.holder - 1);
    std::memcpy(known.holder, seen->holder.data(), length);
  }
  std::memset(&to, 0, known.size);
  std::memcpy(&to, &known, std::min(known.size, sizeof known));
}

}  // namespace leasehold::c
