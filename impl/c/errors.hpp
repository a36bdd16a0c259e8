#pragma once

#include <leasehold/leasehold.h>

#include <cstring>
#include <exception>
#include <leasehold/result.hpp>
#include <utility>

namespace leasehold::c {

/// Thrown inside the library, for `guarded` to report.
struct Failure {
  Error error;
};

constexpr int number(ErrorKind kind) { return static_cast<int>(kind) + 1; }
static_assert(number(ErrorKind::invalid_option) == LEASEHOLD_INVALID_OPTION);
static_assert(number(ErrorKind::refused) == LEASEHOLD_REFUSED);
static_assert(number(ErrorKind::timed_out) == LEASEHOLD_TIMED_OUT);
static_assert(number(ErrorKind::cancelled) == LEASEHOLD_CANCELLED);
static_assert(number(ErrorKind::unavailable) == LEASEHOLD_UNAVAILABLE);
static_assert(number(ErrorKind::unknown_outcome) == LEASEHOLD_UNKNOWN_OUTCOME);
static_assert(number(ErrorKind::configuration) == LEASEHOLD_CONFIGURATION);
static_assert(number(ErrorKind::shut_down) == LEASEHOLD_SHUT_DOWN);

static_assert(sizeof(leasehold_error) == 1024, "callers have it on their stacks");

/// How many bytes of `text` fit into `most` without cutting a character.
inline std::size_t fitting(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text.size();
  const auto continues = [&text](std::size_t at) { return (text[at] & '\xC0') == '\x80'; };
  while (most > 0 && continues(most)) --most;
  return most;
}

/// Fills in `to`, unless it is null, and returns the kind.
inline int report(const Error& error, leasehold_error* to) {
  if (to != nullptr) {
    *to = {};
    to->kind = number(error.kind);
    to->code = error.code;
    std::memcpy(to->message, error.message.data(), fitting(error.message, sizeof to->message - 1));
  }
  return number(error.kind);
}

[[noreturn]] inline void refuse(const std::string& sentence) {
  throw Failure{{ErrorKind::invalid_option, 0, sentence}};
}

template <typename T>
T value_of(Result<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(result).value();
}

/// Returns `pointer`; refuses null. `name` is the argument's, `origin` says where one comes from.
template <typename T>
T* given(T* pointer, const char* name, const char* origin) {
  if (pointer == nullptr) refuse(std::string(name) + " is NULL: it must be " + origin);
  return pointer;
}

/// Runs what may throw. `on_failure(kind)` is what to return then.
template <typename Call, typename OnFailure>
auto guarded(leasehold_error* error, Call&& call, OnFailure&& on_failure) noexcept {
  if (error != nullptr) *error = {};
  try {
    return call();
  } catch (const Failure& failure) {
    return on_failure(report(failure.error, error));
  } catch (const std::exception& failure) {  // no memory, no thread, no descriptor
    return on_failure(report({ErrorKind::unavailable, 0, failure.what()}, error));
  }
}

/// The same for calls that only succeed or fail: returns the kind.
template <typename Call>
int kind_of(leasehold_error* error, Call&& call) noexcept {
  const auto done = [&call] {
    call();
    return static_cast<int>(LEASEHOLD_OK);
  };
  return guarded(error, done, [](int kind) { return kind; });
}

}  // namespace leasehold::c
