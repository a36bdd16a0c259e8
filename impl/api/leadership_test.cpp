#include <gtest/gtest.h>

#include <future>
#include <leasehold/leadership.hpp>
#include <stdexcept>
#include <thread>

#include "runtime/testing/fake_server.hpp"

/// Elected, notified, resigned, elected again: on a server of one lock.
namespace leasehold::runtime::leadership_test {
namespace {

using Mode = FakeServer::Mode;

constexpr milliseconds kEnough(20'000);

/// A candidate on a thread of its own, whose `n`-th term does `work`.
class Candidate {
 public:
  using Work = std::function<void(int n, const std::stop_token& stop)>;

  Candidate(Lock lock, Work work, milliseconds pause = milliseconds(0))
      : work_(std::move(work)),
        leadership(
            std::move(lock),
            [this](const std::stop_token& stop, FencingToken) {
              const int n = ++begun_;
              begun_.notify_all();
              work_(n, stop);
            },
            {.on_ended = [this](const Term& term) { terms.push_back(term); },
             .pause = pause,
             .longest_pause = std::max(pause, milliseconds(1))}),
        thread_([this](const std::stop_token& stop) {
          why_.set_value(leadership.run(stop));
        }) {}

  void wait_for_term(int n) {
    for (int seen = begun_; seen < n; seen = begun_) begun_.wait(seen);
  }
  /// Asks it to end; why it did.
  Error end() {
    thread_.request_stop();
    return why_.get_future().get();
  }
  Error wait_for_end() { return why_.get_future().get(); }
  [[nodiscard]] int begun() const { return begun_; }

  std::vector<Term> terms;  ///< as `on_ended` got them; to be read once it has ended

 private:
  std::atomic<int> begun_ = 0;
  const Work work_;

 public:
  Leadership leadership;

 private:
  std::promise<Error> why_;
  std::jthread thread_;
};

LockOptions eager(LockOptions options) {
  options.waiting = fixed_waiting(milliseconds(1));
  return options;
}

TEST(Leadership, LeadsAgainAndAgainUntilItIsStoppedWhateverTheWorkThrows) {
  Fixture f;
  Candidate one(f.lock(), [&](int n, const std::stop_token& stop) {
    EXPECT_FALSE(n == 1 && one.leadership.resign(kEnough)) << "it would wait for itself";
    EXPECT_EQ(stop.stop_requested(), n == 1);
    if (n == 2) throw std::runtime_error("no paper");
    if (n == 3) wait_for(stop);
  });
  one.wait_for_term(3);
  EXPECT_EQ(one.end().kind, ErrorKind::cancelled);
  ASSERT_EQ(one.terms.size(), 3u);
  EXPECT_LT(one.terms[0].token, one.terms[1].token);
  EXPECT_LT(one.terms[1].token, one.terms[2].token);
  for (const auto& term : one.terms) {
    EXPECT_FALSE(term.lost);
    EXPECT_EQ(term.release, ReleaseResult::released) << "another may lead";
  }
  EXPECT_FALSE(one.terms[0].failure || one.terms[2].failure);
  EXPECT_THROW(std::rethrow_exception(one.terms[1].failure), std::runtime_error);
  EXPECT_EQ(f.server->deletes, 3);
}

TEST(Leadership, ALossStopsTheWorkAndTheNextTermBeginsAfterItHasReturned) {
  Fixture f;
  std::promise<void> lost, go_on;
  const auto began = std::chrono::steady_clock::now();
  Candidate one(
      f.lock(eager(short_lease())),
      [&](int n, const std::stop_token& stop) {
        if (n == 1) f.server->mode = Mode::hang;
        wait_for(stop);
        if (n > 1) return;
        lost.set_value();
        go_on.get_future().get();
      },
      kEnough);
  lost.get_future().get();
  f.server->mode = Mode::serve;
  EXPECT_FALSE(one.leadership.leading());
  EXPECT_FALSE(one.leadership.resign()) << "it has not returned";
  EXPECT_EQ(one.begun(), 1) << "free to be taken, but the work of the first term runs";
  go_on.set_value();
  one.wait_for_term(2);
  EXPECT_LT(std::chrono::steady_clock::now() - began, kEnough) << "no pause follows a loss";
  EXPECT_EQ(one.end().kind, ErrorKind::cancelled);
  const auto& term = one.terms.at(0);
  EXPECT_TRUE(term.lost);
  EXPECT_GT(term.ran_on.count(), 0);
  EXPECT_LT(term.ran_on, term.lasted);
}

TEST(Leadership, ResigningWaitsForTheWorkAndTheRelease) {
  Fixture f;
  Candidate one(f.lock(), [&](int, const std::stop_token& stop) { wait_for(stop); });
  one.wait_for_term(1);
  f.server->mode = Mode::deaf;
  EXPECT_FALSE(one.leadership.resign(milliseconds(5))) << "the lock is not free yet";
  f.server->hear_again();
  EXPECT_TRUE(one.leadership.resign(kEnough));
  EXPECT_GE(f.server->deletes, 1);
  one.wait_for_term(2);
  EXPECT_EQ(one.end().kind, ErrorKind::cancelled);
}

TEST(Leadership, ResigningSaysThatTheWorkStillRuns) {
  Fixture f;
  std::promise<void> over;
  Candidate one(
      f.lock(), [&](int, const std::stop_token&) { over.get_future().get(); }, kEnough);
  one.wait_for_term(1);
  EXPECT_FALSE(one.leadership.resign(milliseconds(1)));
  const auto token = one.leadership.leading();
  EXPECT_TRUE(token) << "nobody else may lead beside work that runs";
  over.set_value();
  EXPECT_TRUE(one.leadership.resign(kEnough));
  EXPECT_FALSE(one.leadership.leading());
  EXPECT_EQ(one.end().kind, ErrorKind::cancelled) << "also in the pause";
  EXPECT_EQ(one.begun(), 1) << "it stood back";
  EXPECT_EQ(one.terms.at(0).token, token);
}

/// Pauses of an hour are over at once, and kept; all other waiting is as usual.
class SkipsHours final : public Executor {
 public:
  std::unique_ptr<Activity> start(Job turn) override { return threads_->start(std::move(turn)); }
  std::unique_ptr<TimedActivity> start_timed(Job turn) override {
    return threads_->start_timed(std::move(turn));
  }
  bool run_apart(Job job) override { return threads_->run_apart(std::move(job)); }
  bool wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
            core::Duration limit, const std::function<bool()>& met) override {
    const bool skips = limit >= std::chrono::hours(1) && limit != core::Duration::max();
    if (!skips) return threads_->wait(lock, changed, limit, met);
    skipped.push_back(std::chrono::duration_cast<std::chrono::hours>(limit).count());
    return met();
  }
  [[nodiscard]] bool on_own_thread() const override { return threads_->on_own_thread(); }

  std::vector<std::int64_t> skipped;  ///< by the thread of `run` alone

 private:
  const std::shared_ptr<Executor> threads_ = thread_executor(boottime_clock());
};

TEST(Leadership, PausesDoubleToTheLongestUntilATermEndsWell) {
  const auto executor = std::make_shared<SkipsHours>();
  const auto provider = provider_with([&](DriverParts& parts) { parts.executor = executor; });
  std::stop_source over;
  int term = 0;
  Leadership leadership(
      provider.create_lock("lock").value(),
      [&](const std::stop_token&, FencingToken) {
        if (++term == 7) over.request_stop();
        if (term != 5) throw 1;
      },
      {.on_ended = [](const Term&) {},
       .pause = std::chrono::hours(1),
       .longest_pause = std::chrono::hours(3)});
  EXPECT_EQ(leadership.run(over.get_token()).kind, ErrorKind::cancelled);
  EXPECT_EQ(executor->skipped, (std::vector<std::int64_t>{1, 2, 3, 3, 1, 1, 2}));
}

TEST(Leadership, WithoutAListenerABadEndIsALineOnStandardError) {
  Fixture f;
  std::promise<void> third;
  int terms = 0;
  Leadership leadership(
      f.lock(),
      [&](const std::stop_token& stop, FencingToken) {
        if (++terms == 2) throw std::runtime_error("no paper");
        if (terms < 3) return;
        third.set_value();
        wait_for(stop);
      },
      {.pause = milliseconds(0)});
  testing::internal::CaptureStderr();
  std::jthread thread([&](const std::stop_token& stop) { (void)leadership.run(stop); });
  third.get_future().get();
  thread.request_stop();
  thread.join();
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("leasehold: leadership of lock 'lock': term "), 0u) << said;
  EXPECT_TRUE(said.ends_with(" ended: its work threw: no paper\n")) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << "those that ended well have none: " << said;
}

TEST(Leadership, EndsWithItsProviderAndATermUnderWayGoesOn) {
  Fixture f;
  f.server->refused_name = "other";
  std::promise<void> over;
  Candidate one(f.lock(), [&](int, const std::stop_token&) { over.get_future().get(); });
  Candidate waits(f.lock({}, "other"), [](int, const std::stop_token&) {});
  one.wait_for_term(1);
  f.provider.reset();
  EXPECT_EQ(waits.wait_for_end().kind, ErrorKind::shut_down);
  EXPECT_EQ(waits.begun(), 0);
  EXPECT_TRUE(one.leadership.leading());
  over.set_value();
  EXPECT_EQ(one.wait_for_end().kind, ErrorKind::shut_down);
  EXPECT_EQ(one.terms.at(0).release, ReleaseResult::released);
}

TEST(Leadership, BadUseIsNamed) {
  Fixture f;
  const auto nothing = [](const std::stop_token&, FencingToken) {};
  Leadership backwards(f.lock(), nothing, {.pause = milliseconds(-1)});
  EXPECT_EQ(backwards.run().message,
            "pause is -1 ms: it must be 0 to longest_pause, which is 60000 ms");
  EXPECT_TRUE(backwards.resign()) << "of nothing";
  EXPECT_FALSE(backwards.leading());
  Leadership too_long(f.lock(), nothing,
                      {.pause = milliseconds(2), .longest_pause = milliseconds(1)});
  EXPECT_EQ(too_long.run().kind, ErrorKind::invalid_option);
  Candidate one(f.lock(), [](int, const std::stop_token& stop) { wait_for(stop); });
  one.wait_for_term(1);
  EXPECT_EQ(one.leadership.run().message, "lock 'lock': run is called while it runs");
  (void)one.end();
}

}  // namespace
}  // namespace leasehold::runtime::leadership_test
