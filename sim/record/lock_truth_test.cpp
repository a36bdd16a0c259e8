#include "sim/record/lock_truth.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/record/recorder.hpp"

namespace leasehold::sim {
namespace {

model::History wrote(LockTruth& truth, const std::string& lock_id, bool free = false) {
  const LockDocument document{.lock_id = lock_id,
                              .expires_at_ms = free ? std::optional<std::int64_t>(0) : 1'000};
  return truth.written("l", "l", &document, 7);
}
model::History deleted(LockTruth& truth) { return truth.written("l", "l", nullptr, 8); }

struct Life {
  const char* name;
  /// Writes of the document, "free " before those that leave the lock free, "" for its deletion,
  /// and what became of the lock, whoever queues: "put", "gone" or "".
  std::vector<std::pair<std::string, std::string>> writes;
};

TEST(LockTruth, SaysWhatBecameOfALockWhoeverQueues) {
  const Life lives[] = {
      {"queuing changes no holder",
       {{"a.1000.1", "put"}, {"a.1000.1~entry", ""}, {"a.1000.1", ""}, {"a.1000.2~entry", "put"},
        {"", "gone"}}},
      {"an offered lock is held only once it is taken",
       {{"a.1000.1~entry", "put"}, {"free b.1000.5", "gone"}, {"free b.1000.5~entry", ""},
        {"b.1000.6~entry", "put"}}},
      {"a document of a free lock is removed unnoticed",
       {{"a.1000.1", "put"}, {"free ", "gone"}, {"", ""}, {"b.1000.1", "put"}}},
      {"readers join and leave by writes of a lock that is held",
       {{"0.09.0.shared|1.1.a.09.1", "put"}, {"0.09.0.shared|1.1.a.09.1~entry", ""},
        {"0.09.0.shared|1.1.a.09.1|2.2.b.09.1~entry", "put"}, {"0.09.0.shared|2.2.b.09.1", "put"},
        {"free ", "gone"}}},
      {"a published lock extends by the same lockId", {{"guid", "put"}, {"guid", "put"}}}};
  for (const auto& [name, writes] : lives) {
    LockTruth truth;
    for (const auto& [lock_id, became] : writes) {
      const bool free = lock_id.starts_with("free ");
      const auto events =
          lock_id.empty() ? deleted(truth) : wrote(truth, lock_id.substr(free ? 5 : 0), free);
      const bool of_queue = events.empty() || events.back().kind == model::Kind::place;
      EXPECT_EQ(of_queue ? "" : to_string(events.back().kind), became) << name << ": " << lock_id;
    }
  }
}

/// "joined at 2 of 2: b.1000.5 until 1700000000123"
std::string said(const model::History& events) {
  std::string text;
  for (const auto& e : events) {
    if (e.kind != model::Kind::place) continue;
    text += text.empty() ? "" : "; ";
    text += e.count > 0 ? "joins at " + std::to_string(e.count) : "leaves";
    text += ", " + std::to_string(e.matched) + " stand: " + e.lock_id + " until " +
            std::to_string(e.expires_at_ms);
  }
  return text;
}

std::string entry(const std::string& until, const std::string& lock_id) {
  return "~" + until + ".000001500.000003000." + lock_id;
}

TEST(LockTruth, SaysWhoJoinsTheQueueAndWhoLeavesIt) {
  LockTruth truth;
  const auto after = [&](const std::string& lock_id) {
    return said(lock_id.empty() ? deleted(truth) : wrote(truth, lock_id));
  };
  const auto b = entry("1700000000100", "b.1000.5"), c = entry("1700000000200", "c.1000.6.host");
  EXPECT_EQ(after("a.1000.1"), "");
  EXPECT_EQ(after("a.1000.1" + b), "joins at 1, 1 stand: b.1000.5 until 1700000000100");
  EXPECT_EQ(after("a.1000.2" + b + c), "joins at 2, 2 stand: c.1000.6.host until 1700000000200");
  EXPECT_EQ(after("a.1000.2" + entry("1700000000300", "b.1000.9") + c), "") << "renewed in place";
  EXPECT_EQ(after("a.1000.2" + c + entry("1700000000400", "b.1000.9")),
            "leaves, 2 stand: b.1000.9 until 1700000000300; "
            "joins at 2, 2 stand: b.1000.9 until 1700000000400")
      << "it was over, and joins anew";
  EXPECT_EQ(after("a.1000.2" + entry("1700000000300", "b.1000.9") + c),
            "leaves, 2 stand: c.1000.6.host until 1700000000200; "
            "joins at 2, 2 stand: c.1000.6.host until 1700000000200");
  EXPECT_EQ(after("b.1000.9" + c), "leaves, 1 stand: b.1000.9 until 1700000000300");
  EXPECT_EQ(after(""), "leaves, 0 stand: c.1000.6.host until 1700000000200");
  EXPECT_EQ(after("a.1000.3~nonsense~"), "") << "what is no entry does not stand there";
}

/// Found by a fuzzer: the second entry of an owner left although it had not joined.
TEST(LockTruth, AnOwnerThatIsListedTwiceJoinsAndLeavesTwice) {
  LockTruth truth;
  int standing = 0;
  for (const std::string queue : {"~7.1.2.b.1.1", "~7.1.2.b.1.1~7.1.2.b.1.1", "~7.1.2.b.1.1", ""}) {
    for (const auto& e : wrote(truth, "a.1000.1" + queue)) {
      if (e.kind == model::Kind::place) standing += e.count > 0 ? 1 : -1;
    }
    EXPECT_EQ(standing, std::count(queue.begin(), queue.end(), '~')) << queue;
  }
}

const core::LocalInstant kNow{std::chrono::seconds(1)};

/// They are of one process; the recorder sees them as it sees a core's steps.
class TwoCallers {
 public:
  void grant(core::SessionId session, const std::string& name, std::int64_t token) {
    recorder.step(core::AcquireAsked{session, name, {}, std::nullopt},
                  {core::Granted{.session = session,
                                 .name = name,
                                 .token = FencingToken(token),
                                 .owner = {session, session},
                                 .sent = kNow,
                                 .deadline = kNow}},
                  kNow);
  }
  void release(core::SessionId session) {
    recorder.step(core::ReleaseAsked{session},
                  {core::Released{.session = session, .result = ReleaseResult::released}}, kNow);
  }
  [[nodiscard]] std::int64_t session_of(const std::string& name, std::int64_t token) const {
    return recorder.grant_of(name, FencingToken(token)).session;
  }

  Recorder recorder{"p0", [](const model::Event&) {}};
};

// Found by a live run of distributed-lock, whose tokens begin at 1 for each name.
TEST(Recorder, ATokenIsOfItsLocksLatestGrant) {
  TwoCallers r;
  r.grant(1, "lock-0", 1);
  r.grant(2, "lock-1", 1);
  EXPECT_EQ(r.session_of("lock-0", 1), 1);
  r.release(2);
  EXPECT_EQ(r.session_of("lock-0", 1), 1);
  EXPECT_EQ(r.session_of("lock-1", 1), 0);
  r.grant(3, "lock-0", 1);
  r.release(1);
  EXPECT_EQ(r.session_of("lock-0", 1), 3) << "it came again";
}

// Found by an hour of soak: each left a hundred bytes behind.
TEST(Recorder, AnAnswerToACallThatGaveUpIsNotKept) {
  TwoCallers r;
  core::AcquireCommand attempt{};
  attempt.session = 1;
  attempt.name = "lock";
  const core::Command command{7, std::chrono::milliseconds(100), attempt};
  r.recorder.step(core::AcquireAsked{1, "lock", {}, std::nullopt}, {core::Send{command}}, kNow);
  EXPECT_EQ(r.recorder.sessions(), 1u);
  r.recorder.step(core::CancelAsked{1}, {core::Ended{.session = 1}}, kNow);
  r.recorder.step(core::ReplyArrived{7, {}}, {}, kNow);
  EXPECT_EQ(r.recorder.sessions(), 0u);
}

}  // namespace
}  // namespace leasehold::sim
