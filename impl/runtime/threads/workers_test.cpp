#include "runtime/threads/workers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "core/protocol.hpp"

namespace leasehold::runtime {
namespace {

using core::Command;
using core::CommandId;
using core::StreamCommand;

/// One thread for all: activities run when the test says so, in the order that it says.
class ManualExecutor final : public Executor {
 public:
  struct Turn {
    Job run;
    bool ready = false;
  };

  class Ready final : public Activity {
   public:
    explicit Ready(std::shared_ptr<Turn> turn) : turn_(std::move(turn)) {}
    ~Ready() override { turn_->ready = false; }
    void wake() override { turn_->ready = true; }

   private:
    std::shared_ptr<Turn> turn_;
  };

  std::unique_ptr<Activity> start(Job turn) override {
    if (threads_left-- <= 0) return nullptr;
    turns.push_back(std::make_shared<Turn>(Turn{std::move(turn)}));
    return std::make_unique<Ready>(turns.back());
  }
  std::unique_ptr<TimedActivity> start_timed(Job) override { return nullptr; }
  bool run_apart(Job job) override {
    turns.push_back(std::make_shared<Turn>(Turn{std::move(job), true}));
    return true;
  }
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable&, core::Duration,
            const std::function<bool()>& met) override {
    return lock.owns_lock() && met();
  }
  [[nodiscard]] bool on_own_thread() const override { return false; }

  /// Runs what is ready until nothing is; `pick` chooses among so many.
  void run_all(const std::function<std::size_t(std::size_t)>& pick = [](auto) { return 0u; }) {
    for (;;) {
      std::vector<std::shared_ptr<Turn>> ready;
      for (const auto& turn : turns) {
        if (turn->ready) ready.push_back(turn);
      }
      if (ready.empty()) return;
      const auto& next = ready[pick(ready.size())];
      next->ready = false;
      next->run();
    }
  }

  int threads_left = 1'000;
  std::vector<std::shared_ptr<Turn>> turns;
};

/// Commands that are under way, until the test answers them or they are cut.
struct Wire {
  std::map<CommandId, std::function<void(core::Reply)>> under_way;
  std::multiset<CommandId> cut;

  class Link final : public Carrier {
   public:
    explicit Link(Wire& wire) : wire_(wire) {}
    void carry(Command command, std::function<void(core::Reply)> done) override {
      wire_.under_way[command.id] = std::move(done);
    }
    void interrupt(CommandId command) noexcept override { wire_.cut.insert(command); }

   private:
    Wire& wire_;
  };

  void answer(CommandId command) {
    const auto done = std::move(under_way.at(command));
    under_way.erase(command);
    done({});
  }
};

struct WorkersFixture {
  explicit WorkersFixture(int limit)
      : workers(
            executor, [this] { return std::make_unique<Wire::Link>(wire); }, limit,
            [this](CommandId command, const core::Reply&) { answered.push_back(command); }) {}
  ~WorkersFixture() {
    workers.stop();
    // What hangs to the end owns itself, as a real thread does.
    for (const auto& turn : executor->turns) turn->run = nullptr;
    wire.under_way.clear();
  }

  void submit(CommandId id) {
    workers.submit({id, std::chrono::milliseconds(100), core::ReadHoldersCommand{}});
  }
  void make_index(CommandId id) {
    workers.submit({id, std::chrono::seconds(10), core::EnsureIndexCommand{}});
  }
  void await_news(CommandId id) {
    workers.submit(
        {id, std::chrono::milliseconds(100), StreamCommand{StreamCommand::Step::next, 1}});
  }

  std::shared_ptr<ManualExecutor> executor = std::make_shared<ManualExecutor>();
  Wire wire;
  std::vector<CommandId> answered;
  Workers workers;
};

TEST(Workers, ACommandThatAwaitsNewsDelaysNoOther) {
  WorkersFixture f(2);
  for (CommandId id = 1; id <= 2; ++id) f.submit(id);
  f.executor->run_all();
  f.wire.answer(1);
  f.wire.answer(2);
  f.await_news(3);
  for (CommandId id = 4; id <= 5; ++id) f.submit(id);
  f.executor->run_all();
  EXPECT_EQ(f.wire.under_way.size(), 3u);
}

/// It may take ten seconds: who wants the lock does not wait so long to try the servers again.
TEST(Workers, AnIndexThatHangsIsNotTheOneTryOfAProviderInTrouble) {
  WorkersFixture f(2);
  f.make_index(1);
  f.executor->run_all();
  for (CommandId id = 2; id <= 3; ++id) {
    f.submit(id);
    f.executor->run_all();
    f.workers.abandon(id);
  }
  f.submit(4);
  f.submit(5);
  f.executor->run_all();
  EXPECT_TRUE(f.wire.under_way.contains(4));
  EXPECT_FALSE(f.wire.under_way.contains(5)) << "one try at a time";
}

/// Reads are asked for without a bound, and the time of what the core sends runs.
TEST(Workers, ACommandOfTheCoreIsNotBehindAllReads) {
  WorkersFixture f(1);
  for (CommandId id = kOwnIds; id < kOwnIds + 5; ++id) f.submit(id);
  f.submit(1);
  f.submit(2);
  f.executor->run_all();
  std::vector<CommandId> order;
  while (!f.wire.under_way.empty()) {
    order.push_back(f.wire.under_way.begin()->first);
    f.wire.answer(order.back());
    f.executor->run_all();
  }
  EXPECT_EQ(order, (std::vector<CommandId>{kOwnIds, 1, kOwnIds + 1, 2, kOwnIds + 2, kOwnIds + 3,
                                           kOwnIds + 4}));
}

TEST(Workers, WithoutASecondThreadACommandWaitsForTheFirst) {
  WorkersFixture f(2);
  f.executor->threads_left = 0;
  f.submit(1);
  f.submit(2);
  f.executor->run_all();
  ASSERT_EQ(f.wire.under_way.size(), 1u) << "the one thread that there was";
  f.wire.answer(1);
  f.executor->run_all();
  EXPECT_EQ(f.wire.under_way.count(2), 1u);
}

/// The first cut spares a connection that is being made; the second ends it.
TEST(Workers, AHungConnectionIsCutOnceMoreIfACommandFoundNoWorker) {
  WorkersFixture f(1);
  for (CommandId id = 1; id <= 4; ++id) {
    f.submit(id);
    f.executor->run_all();
    f.workers.abandon(id);
  }
  EXPECT_EQ(f.wire.cut.count(1), 1u);
  f.submit(5);
  f.executor->run_all();
  f.workers.abandon(5);
  EXPECT_EQ(f.wire.cut.count(1), 2u);
}

/// Whatever is submitted, answered and abandoned, in whatever order the threads run: once they have
/// run, no command waits while fewer than the limit are under way, and no more than that are.
RC_GTEST_PROP(Workers, NoCommandWaitsWhileAWorkerMayCarryIt, ()) {
  const auto limit = *rc::gen::inRange(1, 5);
  WorkersFixture f(limit);
  const auto drawn = [](std::size_t below) { return *rc::gen::inRange<std::size_t>(0, below); };
  std::set<CommandId> asked, given_up, never_begun;
  CommandId last = 0;
  int abandoned_in_a_row = 0;
  for (int step = 0; step < 60; ++step) {
    const auto choice = drawn(4);
    if (choice <= 1) {
      for (auto burst = 1 + drawn(4); burst > 0; --burst) f.submit(++last), asked.insert(last);
    } else if (choice == 2 && !f.wire.under_way.empty()) {
      const auto one = std::next(f.wire.under_way.begin(),
                                 static_cast<std::ptrdiff_t>(drawn(f.wire.under_way.size())));
      const auto id = one->first;
      if (!given_up.contains(id)) abandoned_in_a_row = 0;
      f.wire.answer(id);
      asked.erase(id), given_up.erase(id);
    } else if (!asked.empty() && abandoned_in_a_row < limit - 1) {
      const auto id = *std::next(asked.begin(), static_cast<std::ptrdiff_t>(drawn(asked.size())));
      f.workers.abandon(id);
      const bool begun = f.wire.under_way.contains(id);
      (begun ? given_up : never_begun).insert(id);
      abandoned_in_a_row += begun ? 1 : 0;
      asked.erase(id);
    }
    f.executor->run_all(drawn);
    const auto carried = std::count_if(asked.begin(), asked.end(),
                                       [&](CommandId id) { return f.wire.under_way.contains(id); });
    const auto waiting = static_cast<std::ptrdiff_t>(asked.size()) - carried;
    RC_ASSERT(carried <= limit);
    for (const CommandId id : never_begun) RC_ASSERT(!f.wire.under_way.contains(id));
    RC_ASSERT(f.wire.under_way.size() <= static_cast<std::size_t>(4 * limit));
    if (waiting > 0 && f.wire.under_way.size() < static_cast<std::size_t>(4 * limit)) {
      RC_ASSERT(carried >= limit);
    }
  }
}

}  // namespace
}  // namespace leasehold::runtime
