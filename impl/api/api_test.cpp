#include <gtest/gtest.h>
#include <mongoc/mongoc.h>
#include <signal.h>
#include <unistd.h>

#include <future>
#include <leasehold/run_while_held.hpp>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "api/waiting_calls.hpp"
#include "core/check.hpp"
#include "runtime/testing/fake_server.hpp"

/// What the public calls add to the driver.
namespace leasehold::runtime {
namespace {

using Mode = FakeServer::Mode;

constexpr milliseconds kLong{3'600'000};

/// The answer of an asynchronous call.
template <typename Answer>
struct Asked {
  std::promise<Answer> promise;
  std::future<Answer> answer = promise.get_future();
  [[nodiscard]] bool answered() const {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
};
using Acquired = Asked<Result<LockHandle>>;
using Released = Asked<ReleaseResult>;

std::shared_ptr<Acquired> acquire(const Lock& lock, std::stop_token stop = {}) {
  auto asked = std::make_shared<Acquired>();
  lock.acquire_async(
      kLong, [asked](Result<LockHandle> got) { asked->promise.set_value(std::move(got)); },
      std::move(stop));
  return asked;
}

TEST(AcquireAsync, StoppedAtAnyMomentItAnswersOnceAndAGrantStays) {
  Fixture f;
  const auto lock = f.lock();
  for (int i = 0; i < 300; ++i) {
    std::stop_source stop;
    const auto asked = acquire(lock, stop.get_token());
    if (i == 0) asked->answer.wait();
    std::jthread([&stop] { stop.request_stop(); }).join();
    const auto got = asked->answer.get();
    EXPECT_TRUE(got ? got->held() : got.error().kind == ErrorKind::cancelled);
  }
}

/// A writer of this process holds until all have asked, so that they are together whatever the
/// machine does.
TEST(SharedLocks, CallsThatReadHaveTheLockTogetherAndTheLastReleaseLeaves) {
  Fixture f;
  std::vector<LockEvent::Kind> events;
  const auto note = [&events](const LockEvent& event) { events.push_back(event.kind); };
  f.provider.emplace(provider_for(f.server, 2, note));
  const auto lock = f.lock();
  auto writer = lock.acquire().value();
  EXPECT_FALSE(writer.shared() || LockHandle().shared());
  std::vector<std::shared_ptr<Acquired>> asked;
  for (int i = 0; i < 2; ++i) {
    asked.push_back(std::make_shared<Acquired>());
    lock.shared().acquire_async(kLong, [to = asked.back()](Result<LockHandle> got) {
      to->promise.set_value(std::move(got));
    });
  }
  writer.release();
  auto one = asked[0]->answer.get().value(), other = asked[1]->answer.get().value();
  EXPECT_TRUE(one.shared() && one.held() && other.shared() && other.held());
  EXPECT_EQ(one.fencing_token(), other.fencing_token());
  EXPECT_EQ(one.release(), ReleaseResult::released);
  EXPECT_FALSE(one.held());
  EXPECT_TRUE(other.held());
  EXPECT_EQ(f.server->pass_ons, 0);
  EXPECT_EQ(other.release(), ReleaseResult::released);
  EXPECT_EQ(f.server->pass_ons, 1);
  f.provider.reset();  // its events have come
  EXPECT_EQ(std::ranges::count(events, LockEvent::Kind::joined), 1);
}

TEST(SharedLocks, AWriterGoesOnToReadWithATokenOfItsOwnAndIsOverItself) {
  Fixture f;
  const auto lock = f.lock();
  auto writing = lock.acquire().value();
  auto reading = writing.downgrade().value();
  EXPECT_FALSE(writing.held());
  EXPECT_EQ(writing.release(), ReleaseResult::released) << "what the downgrade found";
  EXPECT_TRUE(reading.held() && reading.shared());
  EXPECT_GT(reading.fencing_token(), writing.fencing_token());
  const auto token = reading.fencing_token();
  const auto same = reading.downgrade().value();
  EXPECT_TRUE(same.held() && same.fencing_token() == token) << "it reads already";
}

TEST(SharedLocks, ADowngradeFailsUnlessALockIsHeld) {
  Fixture f;
  EXPECT_EQ(LockHandle().downgrade().error().kind, ErrorKind::invalid_option);
  auto permit = f.provider->create_semaphore("pool", 3).value().acquire().value();
  EXPECT_EQ(permit.downgrade().error().message, "lock 'pool': a permit cannot be downgraded");
  EXPECT_TRUE(permit.held());
  auto released = f.lock().acquire().value();
  released.release();
  EXPECT_EQ(released.downgrade().error().kind, ErrorKind::unavailable);
  auto deaf = f.lock({.operation_timeout = milliseconds(100)}).acquire().value();
  f.server->mode = Mode::deaf;
  EXPECT_EQ(deaf.downgrade().error().kind, ErrorKind::unknown_outcome);
  EXPECT_FALSE(deaf.held());
  f.server->hear_again();
}

TEST(SharedLocks, EachKindOfCallAsksToReadAndEndsAsAnyOther) {
  Fixture f;
  std::atomic<int> reads = 0;
  f.server->before = [&reads](const Command& command) {
    const auto* acquire = std::get_if<core::AcquireCommand>(&command.body);
    reads += acquire != nullptr && acquire->room == core::kReaders ? 1 : 0;
  };
  EXPECT_TRUE(f.lock({}, "a").try_acquire_shared().value().held());
  EXPECT_TRUE(f.lock({}, "b").try_acquire_shared(kLong).value().held());
  EXPECT_TRUE(f.lock({}, "c").shared().acquire().value().held());
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(f.server->deletes, 0);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(f.lock().shared().acquire(stop.get_token()).error().kind, ErrorKind::cancelled);
  f.server->mode = Mode::refuse;
  EXPECT_EQ(f.lock().try_acquire_shared().error().kind, ErrorKind::refused);
  EXPECT_EQ(f.lock().try_acquire_shared(milliseconds(1)).error().kind, ErrorKind::timed_out);
}

/// The call may be over, and its driver gone, before the token fires.
TEST(Cancellation, NothingIsCancelledAfterTheEnd) {
  for (const bool ends_first : {false, true}) {
    std::stop_source stop;
    int cancelled = 0;
    Cancellation cancellation;
    if (ends_first) cancellation.end();
    cancellation.begin(stop.get_token(), [&cancelled] { ++cancelled; });
    if (!ends_first) cancellation.end();
    stop.request_stop();
    EXPECT_EQ(cancelled, 0) << ends_first;
  }
}

TEST(Release, ABegunOneIsWaitedForByTheDestructorAlone) {
  Fixture f;
  {
    auto handle = f.lock().try_acquire().value();
    f.server->mode = Mode::deaf;
    handle.begin_release();
    EXPECT_FALSE(handle.held());
    EXPECT_EQ(f.server->deletes, 0);
    f.server->hear_again();
  }
  EXPECT_EQ(f.server->deletes, 1);
}

TEST(Release, EveryoneWhoAsksGetsTheSameAnswer) {
  Fixture f;
  LockHandle handle;
  std::atomic<bool> held_at_sending = false;
  f.server->before = [&](const Command& command) {
    if (std::holds_alternative<core::DeleteCommand>(command.body)) held_at_sending = handle.held();
  };
  handle = f.lock().try_acquire().value();
  Released first, second, third;
  f.server->mode = Mode::deaf;
  handle.release_async([&](ReleaseResult found) { first.promise.set_value(found); });
  handle.release_async([&](ReleaseResult found) { second.promise.set_value(found); });
  EXPECT_FALSE(handle.held() || first.answered() || second.answered());
  f.server->hear_again();
  EXPECT_EQ(first.answer.get(), ReleaseResult::released);
  EXPECT_EQ(second.answer.get(), ReleaseResult::released);
  handle.release_async([&](ReleaseResult found) { third.promise.set_value(found); });
  EXPECT_EQ(third.answer.get(), ReleaseResult::released);
  EXPECT_EQ(handle.release(), ReleaseResult::released);
  EXPECT_FALSE(held_at_sending);
  EXPECT_EQ(f.server->deletes, 1);
}

TEST(Release, AnEmptyHandleAnswersAtOnce) {
  std::optional<ReleaseResult> found;
  LockHandle().release_async([&](ReleaseResult result) { found = result; });
  EXPECT_EQ(found, ReleaseResult::not_owner);
  LockHandle().release_async();
}

TEST(Release, AnAsynchronousHandlesDestructorNeverBlocks) {
  AnsweredReleases released(2);
  Fixture f;
  f.provider.emplace(provider_for(f.server, f.workers, released.counter()));
  auto destroyed = acquire(f.lock())->answer.get();
  auto assigned = acquire(std::move(f.provider->create_lock("other")).value())->answer.get();
  f.server->mode = Mode::deaf;
  destroyed = Error{};
  assigned.value() = LockHandle();
  EXPECT_EQ(f.server->deletes, 0);
  f.server->hear_again();
  f.provider.reset();
  EXPECT_EQ(f.server->deletes, 2) << "the end of the provider waits for them";
  released.wait();
}

TEST(Release, InTheBackgroundKeepsWhatItNeeds) {
  Fixture f;
  auto handle = f.lock().try_acquire();
  f.provider.reset();
  const auto released = std::make_shared<Released>();
  f.server->mode = Mode::deaf;
  handle->release_async([released](ReleaseResult found) { released->promise.set_value(found); });
  handle = Error{};
  f.server->hear_again();
  ASSERT_EQ(released->answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(released->answer.get(), ReleaseResult::released);
  EXPECT_EQ(f.server->deletes, 1);
}

/// That the time of a call is for all locks, and that its end waits for no release, virtual runs
/// show (G7).
const LockOptions kLostSoon{.max_holding = milliseconds(200)};

TEST(AcquireAll, IsAllOrNothing) {
  Fixture f;
  {
    auto both = acquire_all({f.lock({}, "b"), f.lock({}, "a")}, kLong).value();
    ASSERT_EQ(both.size(), 2u);
    // Taken in the order of their names, handed out in the order of the call.
    EXPECT_GT(both[0].fencing_token(), both[1].fencing_token());
  }
  EXPECT_EQ(f.server->deletes, 2);
  EXPECT_EQ(acquire_all({f.lock({}, "a"), f.lock({}, "b"), f.lock({}, "a")}, kLong).error().message,
            "locks has 'a' twice: each must be there once");
}

TEST(AcquireAll, OneThatIsRefusedOrStoppedFreesTheOthers) {
  for (const bool waits : {false, true}) {
    Fixture f;
    f.server->refused_name = "b";
    std::stop_source stop;
    std::vector<std::string> attempts;
    f.server->before = [&](const Command& command) {
      const auto* attempt = std::get_if<core::AcquireCommand>(&command.body);
      if (attempt == nullptr) return;
      attempts.push_back(attempt->name);
      if (waits && attempt->name == "b") stop.request_stop();
    };
    // So that no second attempt comes before the call learns of the stop.
    const LockOptions seldom{.waiting = uniform_waiting(kLong, kLong)};
    const auto both = acquire_all({f.lock(seldom, "b"), f.lock({}, "a")},
                                  waits ? kLong : milliseconds(0), stop.get_token());
    EXPECT_EQ(both.error().kind, waits ? ErrorKind::cancelled : ErrorKind::refused);
    f.provider.reset();
    EXPECT_EQ(attempts, (std::vector<std::string>{"a", "b"})) << "without a time one each";
    EXPECT_EQ(f.server->deletes, 1);
  }
}

TEST(AcquireAll, ALockThatIsLostWhileOthersAreWaitedForFailsTheCall) {
  Fixture f;
  f.server->only_free = "a";
  f.provider.emplace(provider_for(f.server, 2, [&f](const LockEvent& event) {
    if (event.kind == LockEvent::Kind::lost) f.server->only_free = "";
  }));
  const auto error = acquire_all({f.lock(kLostSoon, "a"), f.lock({}, "b")}, kLong).error();
  EXPECT_EQ(error.kind, ErrorKind::unavailable);
  EXPECT_EQ(error.message, "lock 'a' was lost while others were waited for");
}

TEST(AcquireAll, EachLockIsLostOnItsOwn) {
  Fixture f;
  const auto both = acquire_all({f.lock({}, "b"), f.lock(kLostSoon, "a")}, kLong).value();
  wait_for(both[1].lost());
  EXPECT_TRUE(both[0].held());
  EXPECT_FALSE(both[1].held());
}

/// Whoever starts at boot may try again: that is no option of its.
TEST(Connect, ANameServerThatDoesNotAnswerIsNoBadUri) {
  const auto error = LockProvider::connect("mongodb+srv://db.no-such-host.invalid/").error();
  EXPECT_EQ(error.kind, ErrorKind::unavailable) << error.message;
  EXPECT_EQ(LockProvider::connect("mongodb+srv://").error().kind, ErrorKind::invalid_option);
}

int lines_of_the_application = 0;

/// The application's handler stays for the tests after this one.
TEST(Connect, HasTheDriverLogErrorsOnlyUnlessTheApplicationHasAHandler) {
  const auto connects = [] {
    EXPECT_TRUE(LockProvider::connect("mongodb://127.0.0.1:1/?replicaSet=rs"));
    mongoc_log(MONGOC_LOG_LEVEL_WARNING, "of_the_test", "a warning");
    mongoc_log(MONGOC_LOG_LEVEL_ERROR, "of_the_test", "an error");
  };
  testing::internal::CaptureStderr();
  connects();
  const auto logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(logged.find("a warning"), std::string::npos) << logged;
  EXPECT_NE(logged.find("an error"), std::string::npos) << logged;
  mongoc_log_set_handler(
      [](mongoc_log_level_t, const char* domain, const char*, void*) {
        lines_of_the_application += std::string_view(domain) == "of_the_test" ? 1 : 0;
      },
      nullptr);
  connects();
  EXPECT_EQ(lines_of_the_application, 2);
}

/// What stands behind the first is a part of the password, which errors would name as a host.
TEST(Connect, ASecondAtSignOfALogInIsRefused) {
  const auto error = LockProvider::connect("mongodb://u:sec@ret@127.0.0.1:1/").error();
  EXPECT_EQ(error.kind, ErrorKind::invalid_option);
  EXPECT_EQ(error.message,
            "uri: it has more than one @: in a user name or password it is written %40");
  EXPECT_TRUE(LockProvider::connect("mongodb://u:sec%40ret@127.0.0.1:1/?appName=ci@build"));
}

TEST(Connect, TheDatabaseOfOneMemberAloneIsRefused) {
  for (const ProviderOptions& options : {ProviderOptions{.database = "local"}, ProviderOptions()}) {
    const auto error = LockProvider::connect("mongodb://127.0.0.1:1/local", options).error();
    EXPECT_EQ(error.kind, ErrorKind::invalid_option);
    EXPECT_TRUE(error.message.starts_with("database is 'local': it must be one that"));
  }
  EXPECT_TRUE(LockProvider::connect("mongodb://127.0.0.1:1/local", {.database = "app"}));
}

TEST(Connect, AHolderIsNamedByItsHostItsProcessAndItsProgram) {
  const auto holder = ProviderOptions().holder;
  EXPECT_NE(holder.find(':' + std::to_string(getpid()) + ':'), std::string::npos) << holder;
  EXPECT_NE(holder[0], ':') << holder;
  EXPECT_FALSE(check_holder(holder));
}

TEST(Connect, TimesWithoutBoundAreTheLongestThereAre) {
  EXPECT_TRUE(LockProvider::connect("mongodb://127.0.0.1:1/",
                                    {.server_selection_timeout = milliseconds::max()}));
  Fixture f;
  EXPECT_TRUE(f.provider->inspect("lock", milliseconds::max()));
}

TEST(RunWhileHeld, GivesTheTokenAndReleases) {
  Fixture f;
  FencingToken given;
  const auto caller = std::this_thread::get_id();
  const auto run = run_while_held(f.lock(), [&](const std::stop_token& stop, FencingToken token) {
    given = token;
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_FALSE(stop.stop_requested());
    EXPECT_EQ(f.server->deletes, 0);
  });
  EXPECT_TRUE(given);
  EXPECT_EQ(run->token, given);
  EXPECT_TRUE(run->held_to_the_end);
  EXPECT_EQ(run->release, ReleaseResult::released);
  EXPECT_EQ(f.server->deletes, 1);
}

TEST(RunWhileHeld, ALossStopsTheWork) {
  Fixture f;
  const auto lock = f.lock(short_lease());
  const auto run = run_while_held(lock, [&](const std::stop_token& stop, FencingToken) {
    f.server->mode = Mode::hang;
    wait_for(stop);
    f.server->mode = Mode::serve;
  });
  EXPECT_FALSE(run->held_to_the_end);
}

TEST(RunWhileHeld, AStopEndsTheWorkOrTheWaiting) {
  Fixture f;
  std::stop_source stop;
  int calls = 0;
  const auto work = [&](const std::stop_token& asked, FencingToken) {
    ++calls;
    stop.request_stop();
    wait_for(asked);
  };
  const auto run = run_while_held(f.lock(), work, {.stop = stop.get_token()});
  EXPECT_TRUE(run->held_to_the_end);
  const auto never = run_while_held(f.lock(), work, {.stop = stop.get_token()});
  EXPECT_EQ(never.error().kind, ErrorKind::cancelled);
  f.server->mode = Mode::refuse;
  EXPECT_EQ(run_while_held(f.lock(), work, {.timeout = milliseconds(0)}).error().kind,
            ErrorKind::refused);
  EXPECT_EQ(calls, 1);
}

TEST(RunWhileHeld, AnExceptionReleasesAndGoesOn) {
  Fixture f;
  const auto throwing = [](const std::stop_token&, FencingToken) {
    throw std::runtime_error("no paper");
  };
  EXPECT_THROW((void)run_while_held(f.lock(), throwing), std::runtime_error);
  EXPECT_EQ(f.server->deletes, 1);
}

TEST(Results, WithoutAValueAreLoudHoweverTheyAreAsked) {
  Result<std::string> result(Error{ErrorKind::refused, 0, "held by somebody"});
  EXPECT_FALSE(result.has_value() || result);
  EXPECT_EQ(result.error().message, "held by somebody");
  EXPECT_THROW((void)result->size(), LockError);
  EXPECT_THROW((void)*result, LockError);
  EXPECT_THROW((void)result.value(), std::logic_error) << "as before there was a LockError";
  try {
    (void)result.value();
    FAIL() << "it has none";
  } catch (const LockError& error) {
    EXPECT_STREQ(error.what(), "Result has no value: held by somebody");
    EXPECT_EQ(error.error(), result.error());
  }
  static_assert(std::is_nothrow_copy_constructible_v<LockError>);
}

TEST(FencingTokens, ArePackedTimesFrom2020To2088) {
  const auto at = [](std::uint32_t seconds, std::uint32_t increment) {
    return FencingToken::from_timestamp(seconds, increment);
  };
  constexpr std::uint32_t k2020 = 1'577'836'800, k2088 = 3'723'753'600;
  EXPECT_EQ(at(k2020 - 1, 7), FencingToken()) << "none";
  EXPECT_EQ(at(k2020 + 2, 7).value(), (std::int64_t{2} << 32) + 7);
  EXPECT_EQ(at(k2020 + 2, 7).to_string(), "8589934599");
  EXPECT_LT(at(k2020, 4'000'000'000), at(k2020 + 1, 0)) << "seconds first";
  EXPECT_LT(at(k2088 - 1, 9), at(k2088, 1));
  EXPECT_TRUE(at(k2088, 1) && !FencingToken());
}

TEST(Printed, AreThePublicValuesByTheirNames) {
  struct Grouped : std::numpunct<char> {
    [[nodiscard]] char do_thousands_sep() const override { return '.'; }
    [[nodiscard]] std::string do_grouping() const override { return "\3"; }
  };
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new Grouped));
  out << ErrorKind::timed_out << ' ' << ReleaseResult::not_owner << ' ' << LostReason::max_holding
      << ' ' << LockEvent::Kind::handed_over << ' ' << FencingToken(8'589'934'599) << '\n'
      << Error{ErrorKind::refused, 0, "held by another"} << '\n'
      << Error{ErrorKind::configuration, 8'000, "no permission"};
  EXPECT_EQ(out.str(),
            "timed_out not_owner max_holding handed_over 8589934599\n"
            "refused: held by another\n"
            "configuration: no permission (8000)");
}

TEST(Contradiction, EndsTheProcessByAbortWithASentence) {
  const bool as_it_must_be = false;
  EXPECT_EXIT(LEASEHOLD_CHECK(as_it_must_be), testing::KilledBySignal(SIGABRT),
              "api_test.cpp:[0-9]+: check failed: as_it_must_be");
}

}  // namespace
}  // namespace leasehold::runtime
