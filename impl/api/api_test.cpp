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

TEST(AcquireAsync, AStopTokenEndsTheWaiting) {
  Fixture f;
  f.server->mode = Mode::refuse;
  std::stop_source stop;
  const auto asked = acquire(f.lock(), stop.get_token());
  EXPECT_FALSE(asked->answered());
  stop.request_stop();
  const auto got = asked->answer.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::cancelled);
}

TEST(AcquireAsync, AStopTokenThatHasFiredEndsItAtOnce) {
  Fixture f;
  f.server->mode = Mode::deaf;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(acquire(f.lock(), stop.get_token())->answer.get().error().kind, ErrorKind::cancelled);
  f.server->hear_again();
}

TEST(AcquireAsync, AStopAfterTheGrantIsNotHeard) {
  Fixture f;
  std::stop_source stop;
  auto got = acquire(f.lock(), stop.get_token())->answer.get();
  stop.request_stop();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->held());
}

TEST(AcquireAsync, StoppedAtAnyMomentItAnswersOnce) {
  Fixture f;
  const auto lock = f.lock();
  for (int i = 0; i < 300; ++i) {
    std::stop_source stop;
    const auto asked = acquire(lock, stop.get_token());
    const std::jthread stops([&stop] { stop.request_stop(); });
    const auto got = asked->answer.get();
    EXPECT_TRUE(got || got.error().kind == ErrorKind::cancelled);
  }
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

/// Asks a handle whether it is held when the driver is about to send its release.
struct AsksAtRelease final : Observer {
  void step(const core::Event& event, const core::Effects&, core::LocalInstant) override {
    if (std::holds_alternative<core::ReleaseAsked>(event)) held = handle->held();
  }
  const LockHandle* handle = nullptr;
  std::optional<bool> held;
};

TEST(Release, BeforeAnythingIsSentTheHandleIsNotHeld) {
  const auto asks = std::make_shared<AsksAtRelease>();
  auto parts = production_parts(std::make_shared<FakeServer>(),
                                std::make_unique<core::ProviderCore>("", 4));
  parts.observer = asks;
  const auto provider = detail::Access::provider(Driver::make(std::move(parts)));
  auto handle = provider.create_lock("lock").value().try_acquire().value();
  asks->handle = &handle;
  EXPECT_EQ(handle.release(), ReleaseResult::released);
  EXPECT_EQ(asks->held, std::optional(false));
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

TEST(Release, WithoutBlockingTellsWhatItFound) {
  Fixture f;
  auto handle = f.lock().try_acquire();
  Released released;
  f.server->mode = Mode::deaf;
  handle->release_async([&](ReleaseResult found) { released.promise.set_value(found); });
  EXPECT_FALSE(handle->held());
  EXPECT_FALSE(released.answered());
  f.server->hear_again();
  EXPECT_EQ(released.answer.get(), ReleaseResult::released);
}

TEST(Release, EveryoneWhoAsksGetsTheSameAnswer) {
  Fixture f;
  auto handle = f.lock().try_acquire();
  Released first, second, third;
  f.server->mode = Mode::deaf;
  handle->release_async([&](ReleaseResult found) { first.promise.set_value(found); });
  handle->release_async([&](ReleaseResult found) { second.promise.set_value(found); });
  f.server->hear_again();
  EXPECT_EQ(first.answer.get(), ReleaseResult::released);
  EXPECT_EQ(second.answer.get(), ReleaseResult::released);
  handle->release_async([&](ReleaseResult found) { third.promise.set_value(found); });
  EXPECT_EQ(third.answer.get(), ReleaseResult::released);
  EXPECT_EQ(handle->release(), ReleaseResult::released);
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

/// Whoever starts at boot may try again: that is no option of its.
TEST(Connect, ANameServerThatDoesNotAnswerIsNoBadUri) {
  const auto provider = LockProvider::connect("mongodb+srv://db.no-such-host.invalid/");
  ASSERT_FALSE(provider);
  EXPECT_EQ(provider.error().kind, ErrorKind::unavailable) << provider.error().message;
  EXPECT_EQ(LockProvider::connect("mongodb+srv://").error().kind, ErrorKind::invalid_option);
}

/// Until the next test brings a handler of the application's.
TEST(Connect, HasTheDriverLogErrorsOnly) {
  EXPECT_TRUE(LockProvider::connect("mongodb://127.0.0.1:1/?replicaSet=rs"));
  testing::internal::CaptureStderr();
  mongoc_log(MONGOC_LOG_LEVEL_WARNING, "driver", "a warning");
  mongoc_log(MONGOC_LOG_LEVEL_ERROR, "driver", "an error");
  const auto logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(logged.find("a warning"), std::string::npos) << logged;
  EXPECT_NE(logged.find("an error"), std::string::npos) << logged;
}

int lines_of_the_application = 0;

/// The handler stays for the tests after this one.
TEST(Connect, LeavesTheApplicationItsLogHandler) {
  mongoc_log_set_handler(
      [](mongoc_log_level_t, const char* domain, const char*, void*) {
        lines_of_the_application += std::string_view(domain) == "application" ? 1 : 0;
      },
      nullptr);
  EXPECT_TRUE(LockProvider::connect("mongodb://127.0.0.1:1/?replicaSet=rs"));
  mongoc_log(MONGOC_LOG_LEVEL_WARNING, "application", "a line");
  EXPECT_EQ(lines_of_the_application, 1);
}

/// What stands behind the first is a part of the password, which errors would name as a host.
TEST(Connect, ASecondAtSignOfALogInIsRefused) {
  const auto provider = LockProvider::connect("mongodb://u:sec@ret@127.0.0.1:1/");
  ASSERT_FALSE(provider);
  EXPECT_EQ(provider.error().kind, ErrorKind::invalid_option);
  EXPECT_EQ(provider.error().message,
            "uri: it has more than one @: in a user name or password it is written %40");
  EXPECT_TRUE(LockProvider::connect("mongodb://u:sec%40ret@127.0.0.1:1/?appName=ci@build"));
}

TEST(Connect, TheDatabaseOfOneMemberAloneIsRefused) {
  for (const ProviderOptions& options : {ProviderOptions{.database = "local"}, ProviderOptions()}) {
    const auto provider = LockProvider::connect("mongodb://127.0.0.1:1/local", options);
    ASSERT_FALSE(provider);
    EXPECT_EQ(provider.error().kind, ErrorKind::invalid_option);
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
  ASSERT_TRUE(run);
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
  ASSERT_TRUE(run);
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
  ASSERT_TRUE(run);
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

/// It does so in each program of unit and virtual tests.
TEST(Watchdog, NamesTheTestThatHangs) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork of a process with threads";
#endif
  EXPECT_EXIT((alarm(1), ::pause()), testing::KilledBySignal(SIGABRT),
              "Watchdog.NamesTheTestThatHangs has not ended after [0-9]+ s");
}

TEST(Contradiction, EndsTheProcessByAbortWithASentence) {
  const bool as_it_must_be = false;
  EXPECT_EXIT(LEASEHOLD_CHECK(as_it_must_be), testing::KilledBySignal(SIGABRT),
              "api_test.cpp:[0-9]+: check failed: as_it_must_be");
}

}  // namespace
}  // namespace leasehold::runtime
