#include "sim/live/processes/live_processes.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "sim/live/foreign/generous_worker_fixture.hpp"

/// A run's processes without a run: there is no server, and nobody misses one.
namespace leasehold::sim::live {
namespace {

using model::Event;
using model::Kind;

class NoStore final : public Store {
 public:
  std::string uri_for(const std::string&) override { return "mongodb://127.0.0.1:1/"; }
  std::shared_ptr<FencedResource> resource(const std::string&) override { return nullptr; }
  model::History truth() override { return {}; }
};

class Supervisor : public testing::Test {
 protected:
  Supervisor() { plan_.processes.resize(1); }

  LiveProcesses& start() {
    run_.on_start = [this](pid_t pid) { pid_ = pid; };
    processes_.emplace(plan_, run_, store_,
                       [this](Event e) { history_.push_back(std::move(e)); });
    processes_->start_all(boot_ns(), 0);
    return *processes_;
  }
  template <typename Condition>
  bool until(Condition condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition() && std::chrono::steady_clock::now() < limit) processes_->listen_ms(10);
    return condition();
  }
  bool until_it_runs() {
    return until([this] { return processes_->running().size() == 1; });
  }
  [[nodiscard]] std::ptrdiff_t count(Kind kind, const std::string& process) {
    processes_->listen_ms(0);
    return std::count_if(history_.begin(), history_.end(), [&](const Event& e) {
      return e.kind == kind && e.process == process;
    });
  }

  /// What faults do to it, and how it ends. Afterwards its successor has ended, too.
  void goes_through_its_life() {
    auto& processes = start();
    ASSERT_TRUE(until_it_runs());
    EXPECT_EQ(processes.running()[0].name, "p0.1");
    processes.pause("p0.1", true);
    EXPECT_TRUE(processes.running().empty());
    EXPECT_TRUE(until([this] { return is_stopped(pid_); }));
    processes.resume("p0.1");
    processes.resume("p0.1");
    EXPECT_EQ(count(Kind::pause, "p0.1"), 1);
    EXPECT_EQ(count(Kind::resume, "p0.1"), 1) << "the second found nothing to do";
    processes.set_wall_clock("p0.1", 5'000);
    EXPECT_TRUE(processes.kill("p0.1"));
    EXPECT_EQ(count(Kind::crash, "p0.1"), 1);
    EXPECT_FALSE(is_stopped(pid_));
    processes.start_successor("p0.1");
    ASSERT_TRUE(until_it_runs());
    EXPECT_EQ(processes.running()[0].name, "p0.2");
    processes.resume("p0.1");  // a late end of a fault, of one that has a successor
    processes.heal();
    EXPECT_TRUE(until([&] { return processes.all_done(); }));
    processes.end_by_force();
    EXPECT_EQ(count(Kind::crash, "p0.2"), 0) << "it ended by itself";
    EXPECT_EQ(count(Kind::exit, "p0.2") + count(Kind::protocol, "p0.2"), 0);
    EXPECT_FALSE(processes.somebody_died());
  }

  Janitor janitor_;
  NoStore store_;
  Plan plan_;
  LiveRun run_ = LiveRun::on(std::string("mongodb://127.0.0.1:1/"), "db", janitor_);
  model::History history_;
  pid_t pid_ = 0;
  std::optional<LiveProcesses> processes_;
};

TEST_F(Supervisor, OurWorkerIsPausedKilledReplacedAndEndsOnceItIsHealed) {
  plan_.processes[0].scripted = true;  // without steps: it waits
  goes_through_its_life();
  EXPECT_TRUE(std::any_of(history_.begin(), history_.end(),
                          [](const Event& e) { return e.kind == Kind::resume && e.suspended; }));
}

TEST_F(Supervisor, OurWorkerNotesThatTheDriverKeptACommand) {
  start();
  EXPECT_TRUE(until([this] { return count(Kind::slow, "p0.1") > 0; }));
  const auto kept = std::ranges::find(history_, Kind::slow, &Event::kind);
  ASSERT_NE(kept, history_.end());
  EXPECT_EQ(kept->victim, "") << "no member got it";
  EXPECT_GE(kept->at_ns - kept->from_ns, 50'000'000);
  processes_->end_by_force();
}

TEST_F(Supervisor, AWorkerAroundAnotherLockLivesTheSameLife) {
  run_.foreign = ForeignLock{kGenerous, {}};
  goes_through_its_life();
  EXPECT_GE(count(Kind::granted, "p0.2"), 2) << "after the faults it acquires twice more";
  EXPECT_EQ(count(Kind::granted, "p0.2"), count(Kind::released, "p0.2"));
}

TEST_F(Supervisor, OneThatDoesNotEndIsEndedByForce) {
  run_.foreign = ForeignLock{"sleep 100", {}};
  auto& processes = start();
  processes.heal();
  EXPECT_FALSE(processes.all_done());
  processes.end_by_force();
  EXPECT_EQ(count(Kind::crash, "p0.1"), 1);
  EXPECT_TRUE(processes.all_done());
}

}  // namespace
}  // namespace leasehold::sim::live
