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

/// What the world of a run allows, as its `run` event says; the defaults are for a live run that
/// does not say.
struct Allowances {
  std::int64_t lateness_ns = 400 * kMs;      ///< of a process that runs
  std::int64_t ttl_period_ns = 1'000 * kMs;  ///< of the TTL monitor
  std::int64_t truth_lag_ns = 1'000 * kMs;   ///< from a commit to the harness's reading of it
  std::int64_t fault_echo_ns = 3'000 * kMs;  ///< how long after a fault servers may be busy with it

  /// From when a document expires until we read that it is gone: the monitor sleeps, works about
  /// as long as we take to read, and we read.
  [[nodiscard]] std::int64_t ttl_seen_ns() const { return ttl_period_ns + 2 * truth_lag_ns; }
};

/// What `held()` answered the user of one handle.
struct Answers {
  std::int64_t yes = 0, no = 0;        ///< how often
  std::int64_t first_ns = kNever;      ///< when it was first asked: its user had it then
  std::int64_t first_yes_ns = kNever;  ///< by then it had said yes
  std::int64_t last_yes_ns = -1;       ///< then or later it was asked, and said yes
  std::int64_t first_no_ns = kNever;   ///< by then it had said no
  Index first = kNone, last = kNone, denied = kNone;  ///< the events that say so

  [[nodiscard]] bool any() const { return yes + no > 0; }
  /// Whether it surely said yes after a no.
  [[nodiscard]] bool revived() const { return last_yes_ns > first_no_ns; }
  /// When held() was certainly true, for its answers change once, from yes to no.
  [[nodiscard]] std::optional<Span> held() const {
    if (first_yes_ns > last_yes_ns) return std::nullopt;
    return Span{first_yes_ns, last_yes_ns};
  }
};

/// One acquire call and what became of it. Indices of its events, or kNone.
struct SessionDigest {
  Index ask = kNone, granted = kNone, lost = kNone, release = kNone, released = kNone,
        ended = kNone, notified = kNone;
  std::vector<Index> extended;
  std::vector<Index> attempts;    ///< and hand-overs to it: the sendings, answered or not
  std::vector<Index> extensions;  ///< likewise
  /// From then on its user holds no more, for all that the handle and its user said: it is past its
  /// deadline, was notified, released or killed. No verdict rests on it.
  std::int64_t over_ns = kNever;
  Answers answers;  ///< what `held()` said
};

struct ProcessDigest {
  Index start = kNone, crash = kNone;
  std::int64_t last_ns = 0;            ///< its last own event
  std::int64_t lock_ran_until_ns = 0;  ///< the last that shows that its lock was still there
  std::int64_t timeout_ms = 0;         ///< the longest of its acquire calls' operation timeouts
  std::int64_t rate_ppm = 0;           ///< how much its clock runs fast; 0: not known
  std::vector<Span> away;              ///< paused or stalled
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
  bool of_a_document = false;  ///< the lock is a published one, which promises less
  std::map<std::pair<std::string, std::int64_t>, SessionDigest> sessions;  ///< process, session
  std::map<std::string, ProcessDigest> processes;
  std::map<std::string, std::vector<Change>> truth;     ///< by lock name
  std::vector<Index> stored;                            ///< accepted writes, in the server's order
  std::vector<Index> writes;                            ///< as their processes saw them
  std::unordered_map<std::string, SendDigest> writers;  ///< by lockId: who sent that write
  std::unordered_map<std::string, std::vector<SendDigest>>
      deletes;  ///< by owner; and releases that pass the lock on
  std::unordered_map<std::string, std::vector<SendDigest>> hand_overs;  ///< by who gives
  /// By the order of a change: the reply to a delete or to a release that passes on, which says
  /// that it made it.
  std::unordered_map<std::int64_t, Index> claims;
  std::vector<Span> faulty;   ///< when servers or links were disturbed
  bool clocks_moved = false;  ///< a server's clock was
  std::vector<Span> stalls;   ///< when the machine or a member did not run
  Allowances allowed;
  std::int64_t healed_ns = kNever;
  std::int64_t finished_ns = kNever;

  [[nodiscard]] const Event& at(Index i) const { return (*history)[i]; }
  /// Whether nobody knows what this command did.
  [[nodiscard]] bool unanswered(const SendDigest& command) const {
    return command.reply == kNone || at(command.reply).outcome == "unknown";
  }
  /// Whether servers or links were disturbed, or busy with that, at any time of the span.
  [[nodiscard]] bool disturbed(Span span) const;
  /// How long the machine and the members stood still, in all the stalls that meet the span.
  [[nodiscard]] std::int64_t stalled_ns(Span span) const;
  /// Whether the process was paused, stalled or not alive at any time of the span.
  [[nodiscard]] bool ran_throughout(const std::string& process, Span span) const;
};

/// `history` must outlive the digest.
[[nodiscard]] Digest digest(const History& history);

}  // namespace leasehold::model
