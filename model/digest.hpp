#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/history.hpp"

/// A history, put in order for the checkers. Pure; knows no guarantee.
namespace leasehold::model {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMs = 1'000'000;

using Index = std::size_t;  ///< of an event in the history
inline constexpr Index kNone = std::numeric_limits<Index>::max();

/// A span of harness time, in ns.
struct Span {
  std::int64_t from = 0;
  std::int64_t to = kNever;
  [[nodiscard]] bool meets(const Span& other) const { return from < other.to && other.from < to; }
};

/// One acquire call and what became of it. Indices of its events, or kNone.
struct SessionDigest {
  Index ask = kNone, granted = kNone, lost = kNone, release = kNone, released = kNone,
        ended = kNone;
  std::vector<Index> extended;
  std::int64_t deadline_ns = 0;  ///< after the last extension
  std::optional<Span> belief;    ///< when `held()` can have said true
  int acquires_sent = 0;         ///< attempts, and hand-overs to it
};

struct ProcessDigest {
  Index start = kNone, crash = kNone;
  std::int64_t last_ns = 0;     ///< its last own event
  std::int64_t timeout_ms = 0;  ///< the longest of its acquire calls' operation timeouts
  std::vector<Span> away;       ///< paused or stalled
  /// The harness learns of a death late, and who is killed in a stall cannot say that it stalled.
  [[nodiscard]] std::int64_t known_alive_until() const { return crash == kNone ? kNever : last_ns; }
  std::map<std::string, std::int64_t> sent;  ///< commands by kind, as the core sent them
  std::map<std::string, std::int64_t> wire;  ///< commands by name, as the driver sent them
};

/// A command that one `send` event started.
struct SendDigest {
  Index send = kNone, reply = kNone;
};

/// One change of a lock document, in the server's order.
struct Change {
  Index event = kNone;
  bool gone = false;
};

struct Digest {
  const History* history = nullptr;
  bool of_a_document = false;  ///< the lock is one of the documents', which promise less
  std::map<std::pair<std::string, std::int64_t>, SessionDigest> sessions;  ///< process, session
  std::map<std::string, ProcessDigest> processes;
  std::map<std::string, std::vector<Change>> truth;     ///< by lock name
  std::vector<Index> stored;                            ///< accepted writes, in the server's order
  std::vector<Index> writes;                            ///< as their processes saw them
  std::unordered_map<std::string, SendDigest> writers;  ///< by lockId: who sent that write
  std::unordered_map<std::string, std::vector<SendDigest>> deletes;     ///< by owner
  std::unordered_map<std::string, std::vector<SendDigest>> hand_overs;  ///< by who gives
  std::unordered_map<std::int64_t, Index> claims;  ///< order -> delete reply that claims it
  std::vector<Span> faulty;                        ///< when servers or links were disturbed
  std::int64_t healed_ns = kNever;
  std::int64_t finished_ns = kNever;

  [[nodiscard]] const Event& at(Index i) const { return (*history)[i]; }
  /// Whether the process was paused, stalled or not alive at any time of the span.
  [[nodiscard]] bool ran_throughout(const std::string& process, Span span) const;
};

/// `history` must outlive the digest.
[[nodiscard]] Digest digest(const History& history);

}  // namespace leasehold::model
