#include <leasehold/lock_handle.hpp>
#include <leasehold/result.hpp>
#include <ostream>

/// The names of the enumerations of the API, which are part of it: metrics, events and the JSON of
/// the command have them, so a released name stays. After each `switch` comes what a value would
/// get that is none; no compiler lets one be forgotten.
namespace leasehold::inline v0_1 {

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_option: return "invalid_option";
    case ErrorKind::refused: return "refused";
    case ErrorKind::timed_out: return "timed_out";
    case ErrorKind::cancelled: return "cancelled";
    case ErrorKind::unavailable: return "unavailable";
    case ErrorKind::unknown_outcome: return "unknown_outcome";
    case ErrorKind::configuration: return "configuration";
    case ErrorKind::shut_down: return "shut_down";
  }
  return "?";
}

const char* to_string(ReleaseResult result) {
  switch (result) {
    case ReleaseResult::released: return "released";
    case ReleaseResult::not_owner: return "not_owner";
    case ReleaseResult::unknown: return "unknown";
  }
  return "?";
}

const char* to_string(LostReason reason) {
  switch (reason) {
    case LostReason::deadline: return "deadline";
    case LostReason::not_owner: return "not_owner";
    case LostReason::max_holding: return "max_holding";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& out, ErrorKind kind) { return out << to_string(kind); }
std::ostream& operator<<(std::ostream& out, ReleaseResult result) {
  return out << to_string(result);
}
std::ostream& operator<<(std::ostream& out, LostReason reason) { return out << to_string(reason); }

/// As text, because a locale may part the digits of a number.
std::ostream& operator<<(std::ostream& out, FencingToken token) { return out << token.to_string(); }

std::ostream& operator<<(std::ostream& out, const Error& error) {
  out << error.kind << ": " << error.message;
  if (error.code != 0) out << " (" << std::to_string(error.code) << ')';
  return out;
}

}  // namespace leasehold
