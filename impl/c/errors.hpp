#pragma once

#include <leasehold/leasehold.h>

#include <exception>
#include <leasehold/result.hpp>
#include <utility>

namespace leasehold::c {

/// Thrown inside the library, for `guarded` to report.
struct Failure {
  Error error;
};

/// How many bytes of `text` fit into `most` without cutting a character.
std::size_t fitting(const std::string& text, std::size_t most);

/// Fills in `to`, unless it is null, and returns the kind.
int report(const Error& error, leasehold_error* to);

[[noreturn]] void refuse(const std::string& sentence);

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
