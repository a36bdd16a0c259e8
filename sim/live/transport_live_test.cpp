#include <future>

#include "sim/live/live_test.hpp"

/// The transport below the providers: what is sent, where, and what an interruption stops.
namespace leasehold::sim::live::transport_live_test {
namespace {

using core::Command;
using core::Outcome;
using core::Reply;
using Step = core::StreamCommand::Step;

constexpr const char* kPeer = "transport";

class Transport : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<core::Connection> connect() const { return transport_->connect(); }

  static inline core::CommandId last_id_ = 0;
  /// Commands on documents that are not there: they change nothing.
  static Command removal() {
    return {++last_id_, seconds(20), core::DeleteCommand{"n", {}, std::nullopt}};
  }
  static Command insertion(const std::string& name) {
    core::AcquireCommand acquire;
    acquire.name = name;
    acquire.lock_id = core::to_hex(acquire.owner) + ".test";
    acquire.lease = acquire.margin = milliseconds(1'000);
    return {++last_id_, seconds(20), acquire};
  }
  static Command stream(Step step, std::int64_t cursor = 0) {
    return {++last_id_, seconds(30), core::StreamCommand{step, cursor}};
  }
  std::int64_t stored() {
    auto& member = faulty_set().member(faulty_set().primary());
    return integer(member.must(database_, {{"count", kLockCollection}})["n"]);
  }
  /// Whether the server of the primary still has this cursor; it is idle.
  static bool has_cursor(std::int64_t id) {
    auto& member = faulty_set().member(faulty_set().primary());
    const auto reply =
        member.must("admin", {{"aggregate", 1},
                              {"pipeline", Json::array({{{"$currentOp", {{"idleCursors", true}}}},
                                                        {{"$match", {{"cursor.cursorId", id}}}}})},
                              {"cursor", Json::object()}});
    return !reply["cursor"]["firstBatch"].empty();
  }

  const std::string database_ = fresh_database();
  const std::string uri_ = with_option(faulty_set().uri(), std::string("appName=") + kPeer);
  const std::shared_ptr<core::Transport> transport_ = transport_to(uri_, database_, seconds(30));
};

/// Runs a command on a thread of its own, to be interrupted.
std::future<Reply> run(core::Connection& connection, Command command) {
  return std::async(std::launch::async, [&connection, command = std::move(command)] {
    return connection.execute(command);
  });
}

TEST_F(Transport, ACommandThatWasAbandonedBeforeThereWasAPrimaryIsNeverSent) {
  auto& set = faulty_set();
  const auto connection = connect();
  ASSERT_EQ(connection->execute(insertion("before")).outcome, Outcome::done);
  const int old = set.primary();
  for (int m = 0; m < set.size(); ++m) {
    if (m != old) set.member(m).must("admin", {{"replSetFreeze", 60}});
  }
  (void)set.member(old).run(
      "admin", {{"replSetStepDown", 60}, {"secondaryCatchUpPeriodSecs", 0}, {"force", true}});
  ASSERT_EQ(set.primary_now(), -1);
  // Until the driver knows, who was the primary refuses it; then it waits for another.
  auto waiting = run(*connection, insertion("abandoned"));
  while (waiting.wait_for(milliseconds(700)) == std::future_status::ready) {
    ASSERT_EQ(waiting.get().outcome, Outcome::not_executed);
    waiting = run(*connection, insertion("abandoned"));
  }
  connection->interrupt(last_id_);
  for (int m = 0; m < set.size(); ++m) set.member(m).must("admin", {{"replSetFreeze", 0}});
  EXPECT_EQ(waiting.get().outcome, Outcome::not_executed);
  EXPECT_EQ(stored(), 1) << "the first";
  EXPECT_EQ(connection->execute(insertion("after")).outcome, Outcome::done);
}

TEST_F(Transport, OnlyWhatACommandHangsOnIsCut) {
  auto& set = faulty_set();
  auto& proxy = set.proxy();
  const auto connection = connect();
  const int first = set.primary(), second = (first + 1) % set.size();
  ASSERT_EQ(connection->execute(removal()).outcome, Outcome::done);
  set.step_up(second);
  EXPECT_TRUE(eventually([&] { return connection->execute(removal()).outcome == Outcome::done; }));
  proxy.set_link_rule({kPeer, second}, {.hold_replies = true});
  auto hung = run(*connection, removal());
  ASSERT_EQ(hung.wait_for(milliseconds(300)), std::future_status::timeout);
  const Stopwatch since;
  connection->interrupt(last_id_);
  EXPECT_EQ(hung.get().outcome, Outcome::unknown);
  EXPECT_LT(since.elapsed(), seconds(5));
  proxy.set_link_rule({kPeer, second}, {});
  set.step_up(first);
  // Refused by the one until the driver knows, done by the other; unknown if its socket was shut.
  Outcome last = Outcome::not_executed;
  EXPECT_TRUE(eventually([&] {
    last = connection->execute(removal()).outcome;
    return last != Outcome::not_executed;
  }));
  EXPECT_EQ(last, Outcome::done) << "the socket to the first member lives on";
}

/// A peer that runs would close its side, too.
TEST_F(Transport, AServerThatStandsStillKeepsNobody) {
  auto& set = shared_set();
  const auto transport = transport_to(set.uri(), database_, seconds(30));
  const auto connection = transport->connect();
  const int primary = set.primary();
  ASSERT_EQ(connection->execute(removal()).outcome, Outcome::done);
  set.stop({primary});
  auto hung = run(*connection, removal());
  EXPECT_EQ(hung.wait_for(milliseconds(300)), std::future_status::timeout);
  connection->interrupt(last_id_);
  const bool cut = hung.wait_for(seconds(10)) == std::future_status::ready;
  set.resume({primary});
  set.primary();
  EXPECT_TRUE(cut) << "within ten seconds";
  EXPECT_EQ(hung.get().outcome, Outcome::unknown);
}

TEST_F(Transport, ASocketCanBeCutAfterAnErrorOfAnotherToo) {
  auto& set = faulty_set();
  auto& proxy = set.proxy();
  const auto connection = connect();
  const int first = set.primary(), second = (first + 1) % set.size();
  ASSERT_EQ(connection->execute(removal()).outcome, Outcome::done);
  set.step_up(second);
  EXPECT_TRUE(eventually([&] { return connection->execute(removal()).outcome == Outcome::done; }));
  set.fail_point(second, "failCommand", {{"times", 1}},
                 {{"failCommands", {"delete"}}, {"closeConnection", true}, {"appName", kPeer}});
  EXPECT_EQ(connection->execute(removal()).outcome, Outcome::unknown);
  set.step_up(first);
  EXPECT_TRUE(eventually([&] { return connection->execute(removal()).outcome == Outcome::done; }));
  proxy.set_link_rule({kPeer, first}, {.hold_replies = true});
  auto hung = run(*connection, removal());
  ASSERT_EQ(hung.wait_for(milliseconds(300)), std::future_status::timeout);
  const Stopwatch since;
  connection->interrupt(last_id_);
  const bool cut = hung.wait_for(seconds(5)) == std::future_status::ready;
  proxy.set_link_rule({kPeer, first}, {});
  EXPECT_TRUE(cut) << "the socket to the first member was forgotten";
  hung.wait();
}

/// A capped collection would drop locks that are held: no answer is no "it is not capped".
TEST_F(Transport, TheServersAreAskedWhatTheyAreUntilTheyAnswer) {
  auto& set = faulty_set();
  const int primary = set.primary();
  set.member(primary).must(database_,
                           {{"create", kLockCollection}, {"capped", true}, {"size", 4096}});
  const auto connection = connect();
  for (const char* question : {"aggregate", "listCollections"}) {  // is it a shard; is it capped
    set.fail_point(primary, "failCommand", {{"times", 1}},
                   {{"failCommands", {question}}, {"closeConnection", true}, {"appName", kPeer}});
    const auto unasked = connection->execute(insertion("one"));
    EXPECT_EQ(unasked.outcome, Outcome::not_executed) << question << ": " << unasked.message;
  }
  const auto refused = connection->execute(insertion("one"));
  EXPECT_EQ(refused.outcome, Outcome::configuration);
  EXPECT_NE(refused.message.find("is capped"), std::string::npos) << refused.message;
  EXPECT_EQ(stored(), 0);
}

TEST_F(Transport, ACursorIsClosedOnTheClientThatOpenedIt) {
  const auto one = connect(), other = connect();
  const auto first = one->execute(stream(Step::open));
  const auto second = other->execute(stream(Step::open));
  ASSERT_EQ(first.outcome, Outcome::done) << first.message;
  ASSERT_EQ(second.outcome, Outcome::done) << second.message;
  ASSERT_TRUE(has_cursor(first.cursor));
  EXPECT_EQ(other->execute(stream(Step::close, first.cursor)).outcome, Outcome::done);
  EXPECT_FALSE(has_cursor(first.cursor));
  EXPECT_EQ(one->execute(stream(Step::next, second.cursor)).cursor, second.cursor)
      << "the other is untouched";
  EXPECT_EQ(one->execute(stream(Step::close, second.cursor)).outcome, Outcome::done);
}

TEST_F(Transport, AClientWithAStepUnderWayIsLeftAlone) {
  const auto reader = connect(), other = connect();
  const auto opened = reader->execute(stream(Step::open));
  ASSERT_EQ(opened.outcome, Outcome::done) << opened.message;
  const auto asked = last_id_ + 1;
  auto news = run(*reader, stream(Step::next, opened.cursor));  // waits up to 10 s for news
  ASSERT_EQ(news.wait_for(milliseconds(500)), std::future_status::timeout);
  const Stopwatch since;
  EXPECT_EQ(other->execute(stream(Step::close, opened.cursor)).outcome, Outcome::not_executed);
  EXPECT_EQ(other->execute(stream(Step::next, opened.cursor)).outcome, Outcome::not_executed);
  EXPECT_LT(since.elapsed(), seconds(3)) << "nobody waited for the reader";
  reader->interrupt(asked);
  EXPECT_NE(news.get().outcome, Outcome::done);
  EXPECT_EQ(reader->execute(stream(Step::next, opened.cursor)).outcome, Outcome::not_executed)
      << "who gave it up dropped it";
}

TEST_F(Transport, StreamsThatAreReplacedAllTheTimeKeepApart) {
  std::vector<std::jthread> threads;
  std::atomic<int> odd = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, &odd] {
      const auto mine = connect(), other = connect();
      for (int i = 0; i < 25; ++i) {
        const auto opened = mine->execute(stream(Step::open));
        auto closed = run(*other, stream(Step::close, opened.cursor));
        const auto next = mine->execute(stream(Step::open));
        if (opened.outcome != Outcome::done || next.outcome != Outcome::done) ++odd;
        (void)closed.get();
        (void)other->execute(stream(Step::close, next.cursor));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(odd, 0);
}

}  // namespace
}  // namespace leasehold::sim::live::transport_live_test
