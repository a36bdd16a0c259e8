#pragma once

#include <chrono>
#include <iosfwd>
#include <leasehold/fencing_token.hpp>
#include <string>

namespace leasehold::inline v0_1 {

/// Something that happened to one lock of a provider: for logs, traces and figures.
struct LockEvent {
  enum class Kind {
    attempt,           ///< an acquire call asks the server
    refused,           ///< another holds the lock; `detail`: "held by ..."
    attempt_failed,    ///< no definite answer; it is tried again; `detail`: why
    acquired,          ///< `took`: since the call
    gave_up,           ///< an acquire call ended without the lock; `detail`: the kind of error
    extended,          ///< `took`: since the command was sent
    extension_failed,  ///< not confirmed; tried again until the deadline
    handed_over,       ///< acquired by the release of another call of this process
    passed_on,         ///< acquired by a release in another process; `took`: since the call
    lost,              ///< `took`: since it was acquired; `detail`: the LostReason
    released,          ///< `took`: since it was acquired; `detail`: the ReleaseResult
    cleaned_up,        ///< what an attempt without an answer had won was deleted
    joined,            ///< acquired to read, with another call of this process that reads
  };
  Kind kind = Kind::attempt;
  std::string lock;
  FencingToken token;  ///< of what is or was acquired, however, or lost or released; otherwise 0
  std::chrono::nanoseconds took{0};
  std::string detail;

  bool operator==(const LockEvent&) const = default;
};

[[nodiscard]] const char* to_string(LockEvent::Kind kind);
std::ostream& operator<<(std::ostream& out, LockEvent::Kind kind);

}  // namespace leasehold
