#pragma once

#include "core/document/lock_queue.hpp"
#include "core/testing/core_world.hpp"

namespace leasehold::core {

/// Calls that queue, in a process whose stream the test answers.
struct QueueWorld : CoreWorld {
  static inline const std::string kRival = to_hex({9, 9}) + ".60000.1";
  static constexpr std::int64_t kCursor = 77;

  static LockOptions queued() {
    auto o = options();
    o.expiry = std::chrono::seconds(60);
    o.waiting = queue_waiting();
    return o;
  }
  static std::string entry_of(const std::string& lock_id) {
    return "1700000000000" + entry_without_until(Ms(1'500), Ms(33'000), lock_id);
  }
  /// The answer to an attempt whose call is queued, behind another, unless it is full.
  static Reply queued_behind_rival(const Command& attempt, bool full = false) {
    auto r = refused(kRival);
    r.documents.front().queue = entry_of(to_hex({7, 7}) + ".3000.1");
    const auto& body = std::get<AcquireCommand>(attempt.body);
    if (!full && body.queues_for) r.documents.front().queue += '~' + entry_of(body.lock_id);
    return r;
  }

  /// Session `id` asks, and is refused once, so that the attempt that is under way enlists it.
  void join(SessionId id, const std::string& name = "lock", LockOptions o = queued()) {
    acquire(id, name, std::move(o));
    if (!asked().queues_for) give(ReplyArrived{attempt().id, refused(kRival)});
    ASSERT_TRUE(asked().queues_for);
  }
  [[nodiscard]] Command attempt() const { return sent_as<AcquireCommand>().back(); }
  [[nodiscard]] AcquireCommand asked() const { return std::get<AcquireCommand>(attempt().body); }
  [[nodiscard]] std::size_t attempts() const { return sent_as<AcquireCommand>().size(); }
  [[nodiscard]] Command stream() const { return sent_as<StreamCommand>().back(); }
  [[nodiscard]] StreamCommand::Step step() const {
    return std::get<StreamCommand>(stream().body).step;
  }
  void answer_queued(bool full = false) {
    auto r = queued_behind_rival(attempt(), full);
    r.operation_time = FencingToken(++oplog);
    give(ReplyArrived{attempt().id, r});
  }
  void answer_stream(const std::vector<NamedOwner>& news = {}) {
    auto r = with(Outcome::done);
    r.cursor = kCursor;
    r.named = news;
    give(ReplyArrived{stream().id, r});
  }

  [[nodiscard]] std::size_t pass_ons() const { return sent_as<PassOnCommand>().size(); }
  [[nodiscard]] PassOnCommand passed_on() const {
    return std::get<PassOnCommand>(sent_as<PassOnCommand>().back().body);
  }
  [[nodiscard]] NamedOwner named(const std::string& lock_id,
                                 NamedOwner::As as = NamedOwner::As::holder) {
    ++oplog;
    return {as, {"lock", lock_id, ServerInstant{99}, oplog - 1, ""}, FencingToken(oplog)};
  }
  /// By a primary that knows this much, and finds nothing that is to leave.
  void leave_answered_at(std::int64_t time) {
    auto r = with(Outcome::done);
    r.operation_time = FencingToken(time);
    give(ReplyArrived{sent_as<PassOnCommand>().back().id, r});
  }

  /// Session 1 has asked, was refused, and is queued.
  static QueueWorld refused_once() {
    QueueWorld w;
    w.join(1);
    w.answer_queued();
    return w;
  }
  /// And the stream is open and read.
  static QueueWorld waiting() {
    auto w = refused_once();
    w.answer_stream();
    return w;
  }

  std::int64_t oplog = 1'000;
};

}  // namespace leasehold::core
