#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "model/history/history.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {

/// A place in the oplog; places of a later term come after all of an earlier one.
struct OpTime {
  std::int64_t term = -1, time = 0;
  auto operator<=>(const OpTime&) const = default;
};

/// What a member says of itself.
struct MemberAnswer {
  std::int64_t asked_ns = 0, answered_ns = 0;
  std::string election;  ///< made it primary; later ones are greater. Empty: no primary
  OpTime written, committed;
};

/// Whether the majority's commit point follows what the newest primary has written. Concluded from
/// answers of members that are asked again and again. Pure.
///
/// A span is certain, even if the asking thread is late: the primary itself showed in it several
/// times that a write had no majority, or the others answered several times and it did not.
class CommitPoint {
 public:
  struct Span {
    std::int64_t from_ns = 0, to_ns = 0;
    bool operator==(const Span&) const = default;
  };

  void hear(const MemberAnswer& answer);

  [[nodiscard]] bool follows() const { return !proven(); }
  /// The spans in which it did not follow. A span that is not over lasts until now.
  [[nodiscard]] std::vector<Span> spans(std::int64_t now_ns) const;

 private:
  [[nodiscard]] bool proven() const;
  void hear_primary(const MemberAnswer& answer);

  std::string election_;        ///< of the newest primary
  std::optional<OpTime> wanted_;  ///< what a majority is to have; nothing: it has what is known
  std::int64_t since_ns_ = 0;   ///< then or later the primary had that, or was primary
  int shown_ = 0;               ///< how often the primary showed since that no majority has it
  int without_primary_ = 0;     ///< answers of others since it last answered
  std::vector<Span> over_;
};

/// What a member's answer to `hello` says. A primary that has just begun may not know yet what a
/// majority has: then this throws, and such an answer counts as none.
[[nodiscard]] MemberAnswer answer_in(const Json& hello);

/// Measures when a replica set had no majority: asks its members themselves, past all proxies.
///
/// Thread safety: all but the destructor from any thread.
class MajorityWatch {
 public:
  /// Watches from now on: each of these URIs is of one member, or of the whole set. `now_ns` is the
  /// harness's clock.
  MajorityWatch(const std::vector<std::string>& uris, std::function<std::int64_t()> now_ns);
  ~MajorityWatch();
  MajorityWatch(const MajorityWatch&) = delete;
  MajorityWatch& operator=(const MajorityWatch&) = delete;

  /// `no-majority` events of all spans so far; of one that is not over, until now.
  [[nodiscard]] model::History events() const;
  [[nodiscard]] bool follows() const;

 private:
  void watch(const std::stop_token& stop, MongoClient& client);

  const std::function<std::int64_t()> now_ns_;
  mutable std::mutex mutex_;
  CommitPoint commit_point_;  ///< protected by mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace leasehold::sim::live
