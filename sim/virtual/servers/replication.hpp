#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/virtual/servers/members.hpp"

namespace leasehold::sim::simulated {

/// The oplog's way through the set: decides the time of each write, what each secondary gets, when
/// a majority has it, and what is rolled back. It does not decide which member is primary: it
/// carries what a primary writes, and ignores messages of an office that is over.
///
/// As in the manual on the replica set oplog: secondaries copy the primary's log and apply it. Here
/// the primary sends, and an answer says how much there is; a real secondary fetches, and reports
/// its progress. Clients cannot tell these apart.
class Replication : public Members {
 public:
  struct Listener {
    /// Called once for each write, in the oplog's order, when a majority has it.
    std::function<void(const Entry&)> on_committed = [](const Entry&) {};
    /// Called before: since when the newest primary had a write that no majority had.
    std::function<void(std::int64_t since_ns)> on_followed = [](std::int64_t) {};
  };
  /// `listener` is called within the event in which the primary learns of it, and must send no
  /// command.
  Replication(EventQueue& queue_, const ServerSettings& settings_, Listener listener)
      : Members(queue_, settings_), listener_(std::move(listener)) {}

  /// REQUIRES: the member is primary. Sends nothing.
  void write(int member, Change change, std::shared_ptr<const FencedWrite> fenced = nullptr,
             const std::string& tag = {});
  /// The same at a time of `next_time`; those of one time are replicated together.
  void append(int member, Timestamp time, Change change,
              std::shared_ptr<const FencedWrite> fenced = nullptr, const std::string& tag = {});
  /// The time of a write of another collection, whose entry is left out here. REQUIRES: as `write`.
  Timestamp next_time(int member);
  /// Sends what is new to each secondary; while a message is on its way the next one waits for it.
  void send_news(int from);
  /// What a candidate fetches before it stands, if the other has more: all at once, without the
  /// time of a message.
  void catch_up(int member, int from);
  /// The member fails to fetch from this source, and does not ask it again for ten seconds.
  void fail_fetch(int member, int source);

  /// Since when the newest primary has a write that no majority has; 0: there is none.
  [[nodiscard]] std::int64_t behind_since() const { return behind_since_; }

  /// The events of what a majority has of these data, from this length of their log on.
  static void tell_of_locks(const MemberData& data, std::size_t from,
                            const std::function<void(const Object&)>& tell);

  std::int64_t rolled_back = 0;  ///< writes, so far

 private:
  void take_news(int from, int to, std::size_t upto);
  void roll_back(Member& secondary, std::size_t common);
  void acknowledge(int from, int to, std::size_t has, std::int64_t term);
  /// Moves what a majority has, and notifies all waiting clients.
  void advance(int primary);
  void announce(const MemberData& data, std::size_t from, std::size_t upto);
  static void answer_waiters(Member& primary);
  static void notify_streams(Member& member, std::size_t from);

  const Listener listener_;
  // INVARIANT: never goes back, so the listener gets each write once, whichever primary finds out.
  Timestamp announced_;  ///< of the last write that a majority was seen to have
  std::int64_t behind_since_ = 0;
};

}  // namespace leasehold::sim::simulated
