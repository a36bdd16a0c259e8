#pragma once

#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace leasehold::inline v0_1 {

/// Why a call gave no lock, or could not be made.
enum class ErrorKind {
  invalid_option,   ///< an option or a name breaks a rule; nothing was sent
  refused,          ///< a single attempt found the lock held by another
  timed_out,        ///< the wait ended at the time it was given, or a single attempt's grant came
                    ///< after its own end
  cancelled,        ///< the stop token was triggered
  unavailable,      ///< no server could be reached, or none that takes writes
  unknown_outcome,  ///< a single attempt without a reply; what it may have won is being deleted
  configuration,    ///< retrying cannot help: authentication, permission, wrong kind of server
  shut_down,        ///< the provider was destroyed while the call waited
};

/// The name of a kind, as in messages and JSON.
[[nodiscard]] const char* to_string(ErrorKind kind);
std::ostream& operator<<(std::ostream& out, ErrorKind kind);

/// What went wrong, in a sentence that names the thing, the value and the rule.
/// `code` is the server's error code, or 0.
struct Error {
  ErrorKind kind = ErrorKind::unavailable;
  int code = 0;
  std::string message;

  bool operator==(const Error&) const = default;
};

/// "refused: lock 'a': held by ...", and the code in brackets if there is one.
std::ostream& operator<<(std::ostream& out, const Error& error);

/// What `Result::value` and `Lockable` throw. A std::logic_error, because a caller that checks a
/// Result never gets it.
/// Thread safety: a value; copying it never throws.
///
///     try {
///       auto handle = lock.try_acquire(5s).value();
///     } catch (const leasehold::LockError& e) {
///       if (e.error().kind == leasehold::ErrorKind::timed_out) return later();
///       throw;
///     }
class LockError : public std::logic_error {
 public:
  LockError(const std::string& what, Error error)
      : std::logic_error(what), error_(std::make_shared<const Error>(std::move(error))) {}

  [[nodiscard]] const Error& error() const noexcept { return *error_; }

 private:
  const std::shared_ptr<const Error> error_;
};

/// A value or an Error. `value()`, `*` and `->` throw LockError when there is no value, so that a
/// forgotten check is noticed; nothing else here throws.
/// Thread safety: like the value it holds.
///
///     auto handle = lock.try_acquire(5s);
///     if (!handle) return complain(handle.error().message);
///     use(handle->fencing_token());
///     auto provider = *LockProvider::connect(uri);  // or throws, with the reason
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  [[nodiscard]] bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return checked(); }
  T&& value() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  T& operator*() & { return checked(); }
  T&& operator*() && { return std::move(checked()); }
  const T& value() const& { return checked(); }
  const T* operator->() const { return &checked(); }
  const T& operator*() const& { return checked(); }

  /// REQUIRES: no value.
  [[nodiscard]] const Error& error() const { return std::get<1>(content_); }

 private:
  const T& checked() const {
    if (!has_value()) throw LockError("Result has no value: " + error().message, error());
    return std::get<0>(content_);
  }
  T& checked() { return const_cast<T&>(std::as_const(*this).checked()); }

  std::variant<T, Error> content_;
};

}  // namespace leasehold
