#include "runtime/reads.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "runtime/testing/runtime_parts.hpp"

namespace leasehold::runtime {
namespace {

struct ReadsWorld : RuntimeParts {
  explicit ReadsWorld(bool available = true)
      : reads(available, clock, executor, workers, timers, callbacks) {
    on_due = [this](core::Timer timer) { reads.timed_out(timer.id); };
    on_reply = [this](core::CommandId id, Reply reply) { reads.replied(id, std::move(reply)); };
    server->shown = {{"lock", "somebody"}};
  }
  ~ReadsWorld() { stop(); }

  Reply look(milliseconds timeout) {
    const auto answered = std::make_shared<std::promise<Reply>>();
    reads.look_at({"lock"}, timeout, [answered](Reply r) { answered->set_value(std::move(r)); });
    return answered->get_future().get();
  }

  Reads reads;
};

TEST(Reads, AnInspectionWaitsForItsReply) {
  ReadsWorld w;
  const auto reply = w.reads.inspect("lock", milliseconds(10'000));
  ASSERT_EQ(reply.documents.size(), 1u);
  EXPECT_EQ(reply.documents[0].lock_id, "somebody");
}

/// More often than there are workers: one that hung on would not be there for the last.
TEST(Reads, AnInspectionEndsWithItsTimeAndItsWorkerIsBack) {
  ReadsWorld w;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  w.server->mode = FakeServer::Mode::hang;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(w.reads.inspect("lock", milliseconds(30)).message, "no reply within 30 ms");
    while (w.server->hanging > 0 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
    EXPECT_EQ(w.server->hanging, 0) << "its connection was not cut";
  }
  w.server->mode = FakeServer::Mode::serve;
  EXPECT_EQ(w.reads.inspect("lock", milliseconds(10'000)).documents.size(), 1u);
}

TEST(Reads, OfPublishedLocksAreRefused) {
  ReadsWorld w(false);
  EXPECT_EQ(w.reads.inspect("lock", milliseconds(10'000)).outcome, Outcome::configuration);
  EXPECT_EQ(w.server->connections, 0);
}

TEST(Reads, ALookIsAnsweredByItsReplyOrByItsTime) {
  ReadsWorld w;
  w.server->refused_name = "lock";
  EXPECT_EQ(w.look(milliseconds(10'000)).documents.size(), 1u);
  w.server->mode = FakeServer::Mode::hang;
  EXPECT_EQ(w.look(milliseconds(30)).message, "no reply in time");
}

TEST(Reads, AReplyThatNobodyWaitsForIsNothing) {
  ReadsWorld w;
  w.reads.replied(kOwnIds + 77, {});
  w.reads.timed_out(kOwnIds + 77);
}

}  // namespace
}  // namespace leasehold::runtime
