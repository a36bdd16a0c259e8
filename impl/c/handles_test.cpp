#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "c/objects.hpp"
#include "runtime/testing/fake_server.hpp"

/// What the C functions do with a server that answers. What they refuse: misuse_test.c.
namespace leasehold::c {
namespace {

using runtime::WarningHook;
using Mode = runtime::FakeServer::Mode;

bool readable(int fd, int timeout_ms = 0) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, timeout_ms) == 1 && (wait.revents & POLLIN) != 0;
}

/// Whether it is that again after a read, which a child of fork may have made.
bool stays_readable(int fd) {
  std::uint64_t taken = 0;
  return read(fd, &taken, sizeof taken) == sizeof taken && readable(fd);
}

/// How many of this process's descriptors a program gets that it executes.
int inherited_by_programs() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int flags = fcntl(std::stoi(entry.path().filename()), F_GETFD);
    count += flags >= 0 && (flags & FD_CLOEXEC) == 0 ? 1 : 0;
  }
  return count;
}

/// A provider in C on a server of one lock.
class CHandles : public testing::Test {
 protected:
  ~CHandles() override {
    server->hear_again();
    leasehold_free(&handle);
    leasehold_close(&provider);
  }

  leasehold_handle* acquire(std::int64_t expiry_ms = 0) {
    leasehold_lock_options options{.size = sizeof options, .expiry_ms = expiry_ms};
    leasehold_acquire(provider, "lock", &options, 0, &handle, &error);
    return handle;
  }

  std::shared_ptr<runtime::FakeServer> server = std::make_shared<runtime::FakeServer>();
  leasehold_provider* provider = new leasehold_provider{runtime::provider_for(server)};
  leasehold_handle* handle = nullptr;
  leasehold_call* call = nullptr;
  leasehold_error error{};
};

TEST_F(CHandles, HoldTheLockWithItsTokenInBothForms) {
  ASSERT_NE(acquire(), nullptr) << error.message;
  EXPECT_EQ(leasehold_held(handle), 1);
  EXPECT_GT(leasehold_remaining_ns(handle), 20'000'000'000);
  std::uint64_t timestamp = 0;
  const auto token = leasehold_fencing_token(handle, &timestamp);
  EXPECT_GT(token, 0);
  const auto seconds = static_cast<std::uint32_t>(timestamp >> 32);
  const auto increment = static_cast<std::uint32_t>(timestamp);
  EXPECT_EQ(FencingToken::from_timestamp(seconds, increment).value(), token);
  EXPECT_EQ(leasehold_fencing_token(handle, nullptr), token);
  EXPECT_EQ(leasehold_slot(handle), -1) << "it is of a lock";
}

TEST_F(CHandles, UsedAfterTheReleaseHoldNothingAndSayWhatWasFound) {
  ASSERT_NE(acquire(), nullptr);
  const auto token = leasehold_fencing_token(handle, nullptr);
  leasehold_close(&provider);
  EXPECT_EQ(leasehold_held(handle), 1) << "it outlives its provider";
  EXPECT_EQ(leasehold_release(handle, &error), LEASEHOLD_RELEASED);
  EXPECT_EQ(leasehold_held(handle), 0);
  EXPECT_EQ(leasehold_remaining_ns(handle), 0);
  EXPECT_EQ(leasehold_fencing_token(handle, nullptr), token);
  EXPECT_FALSE(readable(leasehold_lost_fd(handle, &error))) << "a release is no loss";
  EXPECT_EQ(leasehold_release(handle, &error), LEASEHOLD_RELEASED);
  EXPECT_EQ(server->deletes, 1);
  leasehold_free(&handle);
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(leasehold_release(handle, &error), -1);
  EXPECT_EQ(error.kind, LEASEHOLD_INVALID_OPTION);
}

TEST_F(CHandles, AreReadableOnceLostWhileTheServerHangs) {
  ASSERT_NE(acquire(200), nullptr) << error.message;
  server->mode = Mode::deaf;
  const int fd = leasehold_lost_fd(handle, &error);
  ASSERT_GE(fd, 0) << error.message;
  EXPECT_EQ(leasehold_lost_fd(handle, &error), fd) << "one descriptor for its whole life";
  EXPECT_TRUE(readable(fd, 10'000));
  EXPECT_TRUE(stays_readable(fd));
  EXPECT_EQ(leasehold_held(handle), 0);
}

TEST_F(CHandles, AskedForAfterTheLossAreReadableAtOnce) {
  ASSERT_NE(acquire(200), nullptr);
  server->mode = Mode::deaf;
  const std::stop_token lost = handle->handle.lost();
  std::promise<void> fired;
  const std::stop_callback heard(lost, [&fired] { fired.set_value(); });
  fired.get_future().wait();
  EXPECT_TRUE(readable(leasehold_lost_fd(handle, nullptr)));
}

TEST_F(CHandles, FreedReleaseInTheBackgroundAndWaitForNothing) {
  runtime::AnsweredReleases released(1);
  leasehold_close(&provider);
  provider = new leasehold_provider{runtime::provider_for(server, 4, released.counter())};
  ASSERT_NE(acquire(), nullptr);
  server->mode = Mode::deaf;
  leasehold_free(&handle);
  EXPECT_EQ(server->deletes, 0);
  server->hear_again();
  leasehold_close(&provider);
  EXPECT_EQ(server->deletes, 1);
  released.wait();
}

TEST_F(CHandles, HaveNoDescriptorThatAnExecutedProgramGets) {
  leasehold_close(&provider);
  const int before = inherited_by_programs();
  provider = new leasehold_provider{runtime::provider_for(server)};
  ASSERT_NE(acquire(), nullptr);
  EXPECT_GE(leasehold_lost_fd(handle, &error), 0) << error.message;
  leasehold_acquire_begin(provider, "lock", nullptr, -1, &call, &error);
  EXPECT_GE(leasehold_call_fd(call), 0);
  EXPECT_EQ(inherited_by_programs(), before);
  leasehold_handle* second = nullptr;
  leasehold_call_end(&call, &second, &error);
  leasehold_free(&second);
}

TEST_F(CHandles, ACallThatIsEndedEarlyIsCancelled) {
  server->mode = Mode::refuse;
  EXPECT_EQ(leasehold_acquire(provider, "lock", nullptr, 0, &handle, &error), LEASEHOLD_REFUSED);
  EXPECT_STREQ(error.message, "lock 'lock': held by other software");
  ASSERT_EQ(leasehold_acquire_begin(provider, "lock", nullptr, -1, &call, &error), LEASEHOLD_OK);
  EXPECT_FALSE(readable(leasehold_call_fd(call)));
  EXPECT_EQ(leasehold_call_end(&call, &handle, &error), LEASEHOLD_CANCELLED);
  EXPECT_EQ(handle, nullptr);
  EXPECT_STREQ(leasehold_kind_name(error.kind), "cancelled");
}

TEST_F(CHandles, ACallThatIsEndedAtAnyMomentIsGrantedOrCancelled) {
  int granted = 0, cancelled = 0;
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(leasehold_acquire_begin(provider, "lock", nullptr, -1, &call, &error), LEASEHOLD_OK);
    const int fd = leasehold_call_fd(call);
    EXPECT_TRUE(i % 2 != 0 || (readable(fd, 10'000) && stays_readable(fd)));
    const int kind = leasehold_call_end(&call, &handle, &error);
    granted += static_cast<int>(kind == LEASEHOLD_OK);
    cancelled += static_cast<int>(kind == LEASEHOLD_CANCELLED);
    EXPECT_EQ(call, nullptr);
    EXPECT_EQ(leasehold_held(handle), static_cast<int>(kind == LEASEHOLD_OK));
    leasehold_free(&handle);
  }
  EXPECT_EQ(granted + cancelled, 300);
  EXPECT_GE(granted, 150) << "whose answer was waited for";
}

TEST_F(CHandles, ServeSeveralThreads) {
  ASSERT_NE(acquire(), nullptr);
  std::set<int> descriptors, outcomes;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        const int fd = leasehold_lost_fd(handle, nullptr);
        const int found = leasehold_release(handle, nullptr);
        const std::lock_guard lock(mutex);
        descriptors.insert(fd);
        outcomes.insert(found);
      });
    }
  }
  EXPECT_EQ(descriptors.size(), 1U);
  EXPECT_EQ(outcomes, std::set{static_cast<int>(LEASEHOLD_RELEASED)});
  EXPECT_EQ(server->deletes, 1);
}

TEST_F(CHandles, ACallWhoseProviderIsClosedIsShutDown) {
  server->mode = Mode::refuse;
  ASSERT_EQ(leasehold_acquire_begin(provider, "lock", nullptr, -1, &call, &error), LEASEHOLD_OK);
  leasehold_close(&provider);
  EXPECT_TRUE(readable(leasehold_call_fd(call), 10'000));
  EXPECT_EQ(leasehold_call_end(&call, &handle, &error), LEASEHOLD_SHUT_DOWN);
}

TEST_F(CHandles, WithoutADescriptorAreUnavailable) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UBSan asks by a pipe whether memory is readable, and takes none for an answer";
#endif
  ASSERT_NE(acquire(), nullptr);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{2, before.rlim_max};  // those two are open
  setrlimit(RLIMIT_NOFILE, &none);
  const int begun = leasehold_acquire_begin(provider, "other", nullptr, 0, &call, &error);
  const int lost_fd = leasehold_lost_fd(handle, nullptr);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(begun, LEASEHOLD_UNAVAILABLE);
  EXPECT_EQ(call, nullptr);
  EXPECT_NE(std::strstr(error.message, "no file descriptor"), nullptr) << error.message;
  EXPECT_EQ(lost_fd, -1);
}

TEST_F(CHandles, SayInAMessageThatIsTooLongWholeCharacters) {
  std::string name;
  while (name.size() < sizeof error.message) name += "\xC3\xA4";
  leasehold_lock_options options{.size = sizeof options, .waiting = name.c_str()};
  leasehold_acquire(provider, "lock", &options, 0, &handle, &error);
  const std::string said = error.message;
  EXPECT_EQ(said.size(), sizeof error.message - 2) << "the last byte but the NUL is half of one";
  EXPECT_EQ(said.substr(said.size() - 2), "\xC3\xA4");
}

TEST_F(CHandles, AnInspectionShowsAnothersHolding) {
  core::LockDocument document;
  document.name = "lock";
  document.lock_id = core::format_lock_id({{1, 2}, 9'000, 1, "\xC3\xA4-host"});
  document.acquired_at = {100'000};
  document.expires_at = {139'000};
  document.read_at = {120'000};
  document.fencing_token = 77;
  server->shown = {document};
  leasehold_seen_holder seen{sizeof seen};
  ASSERT_EQ(leasehold_inspect(provider, "lock", 5'000, &seen, &error), LEASEHOLD_OK);
  EXPECT_EQ(seen.is_there, 1);
  EXPECT_STREQ(seen.holder, "\xC3\xA4-host");
  EXPECT_EQ((std::vector{seen.since_ms, seen.until_ms, seen.left_ms, seen.lease_ms,
                         seen.token_at_least}),
            (std::vector<std::int64_t>{100'000, 139'000, 19'000, 9'000, 77}));
  server->shown = {};
  ASSERT_EQ(leasehold_inspect(provider, "lock", 5'000, &seen, &error), LEASEHOLD_OK);
  EXPECT_EQ(seen.is_there + seen.until_ms + seen.holder[0], 0) << "it is free";
  EXPECT_EQ(seen.size, sizeof seen);
}

TEST_F(CHandles, ASharedLockSaysThatItIs) {
  EXPECT_EQ(leasehold_shared(acquire()), 0);
  EXPECT_EQ(leasehold_shared(nullptr), 0);
  leasehold_free(&handle);
  leasehold_lock_options options{.size = sizeof options, .shared = 1};
  ASSERT_EQ(leasehold_acquire(provider, "lock", &options, 0, &handle, &error), LEASEHOLD_OK)
      << error.message;
  EXPECT_EQ(leasehold_shared(handle), 1);
  EXPECT_EQ(leasehold_release(handle, &error), LEASEHOLD_RELEASED);
}

TEST_F(CHandles, AWriterGoesOnToReadByAHandleOfItsOwn) {
  acquire();
  leasehold_handle* reader = nullptr;
  ASSERT_EQ(leasehold_downgrade(handle, &reader, &error), LEASEHOLD_OK) << error.message;
  EXPECT_EQ(leasehold_held(handle) + leasehold_shared(handle), 0);
  EXPECT_EQ(leasehold_held(reader) + leasehold_shared(reader), 2);
  leasehold_free(&reader);
  EXPECT_EQ(leasehold_downgrade(nullptr, &reader, &error), LEASEHOLD_INVALID_OPTION);
  EXPECT_EQ(reader, nullptr);
}

TEST_F(CHandles, AnInspectionShowsHowManyShareIt) {
  core::LockDocument document{.name = "lock", .expires_at = {139'000}};
  document.lock_id = std::string(core::kReadersOwner) + "000009000.0.shared";
  for (const std::uint64_t reader : {1, 2}) {
    document.lock_id += "|1700000060000.1700000000000." +
                        core::format_lock_id({{reader, 0}, 9'000, 1, "h", {}, core::kReaders});
  }
  server->shown = {document};
  leasehold_seen_holder seen{sizeof seen};
  ASSERT_EQ(leasehold_inspect(provider, "lock", 5'000, &seen, &error), LEASEHOLD_OK);
  EXPECT_EQ(seen.readers, 2);
  EXPECT_STREQ(seen.holder, "h") << "the first";
}

TEST_F(CHandles, AHandleOfASemaphoreHasASlot) {
  leasehold_lock_options options{.size = sizeof options, .permits = 3};
  ASSERT_EQ(leasehold_acquire(provider, "lock", &options, 0, &handle, &error), LEASEHOLD_OK);
  EXPECT_EQ(leasehold_slot(handle), 0);
  EXPECT_EQ(leasehold_held(handle), 1);
  EXPECT_EQ(leasehold_release(handle, &error), LEASEHOLD_RELEASED);
  leasehold_free(&handle);
  ASSERT_EQ(leasehold_acquire_begin(provider, "lock", &options, 0, &call, &error), LEASEHOLD_OK);
  EXPECT_TRUE(readable(leasehold_call_fd(call), 10'000));
  EXPECT_EQ(leasehold_call_end(&call, &handle, &error), LEASEHOLD_OK) << error.message;
  EXPECT_EQ(leasehold_slot(handle), 0);
  leasehold_free(&handle);
}

int rounds() {
  const char* wanted = std::getenv("LEASEHOLD_ROUNDS");
  return wanted == nullptr ? 3 : std::atoi(wanted);
}

/// Where a process is with its one lock when it forks.
enum class At { call_waits, call_answered, held, lost, released, freed };

/// Whether a child of the fork uses and frees all that its parent has, and ends by itself.
bool child_ends(leasehold_provider* provider, leasehold_call* call, leasehold_handle* handle) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    leasehold_handle* none = nullptr;
    leasehold_error error;
    bool right = leasehold_held(handle) == 0;
    if (call != nullptr) {
      right &= leasehold_call_end(&call, &none, &error) == LEASEHOLD_SHUT_DOWN && none == nullptr;
      right &= call == nullptr;
    }
    right &= leasehold_acquire(provider, "lock", nullptr, -1, &none, &error) == LEASEHOLD_SHUT_DOWN;
    leasehold_seen_holder seen{sizeof seen};
    right &= leasehold_inspect(provider, "lock", 5'000, &seen, &error) == LEASEHOLD_SHUT_DOWN;
    if (handle != nullptr) leasehold_release(handle, &error);
    leasehold_free(&handle);
    leasehold_close(&provider);
    _exit(right ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

/// Whatever other threads do at that moment.
TEST_F(CHandles, InAForksChildNothingHangsWhateverTheParentWasDoing) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers' allocator keeps, in a fork's child, the locks of other threads";
#endif
  leasehold_lock_options options{.size = sizeof options, .expiry_ms = 200};
  const std::jthread other([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      leasehold_handle* held = nullptr;
      leasehold_acquire(provider, "other", &options, 0, &held, nullptr);
      leasehold_free(&held);
    }
  });
  for (int i = 0; i < rounds(); ++i) {
    for (const At at : {At::call_waits, At::call_answered, At::held, At::lost, At::released,
                        At::freed}) {
      leasehold_call* call = nullptr;
      leasehold_handle* mine = nullptr;
      server->mode = at == At::call_waits ? Mode::refuse : Mode::serve;
      const bool calls = at == At::call_waits || at == At::call_answered;
      if (calls) {
        leasehold_acquire_begin(provider, "lock", &options, 10'000, &call, &error);
        const bool answers = at == At::call_answered;
        ASSERT_TRUE(!answers || readable(leasehold_call_fd(call), 10'000));
      } else {
        leasehold_acquire(provider, "lock", &options, 10'000, &mine, &error);
        ASSERT_NE(mine, nullptr) << error.message;
        const int fd = leasehold_lost_fd(mine, &error);
        if (at == At::lost) {
          server->mode = Mode::hang;
          ASSERT_TRUE(readable(fd, 10'000));
          server->mode = Mode::serve;
        }
        if (at == At::released) leasehold_release_begin(mine, &error);
        if (at == At::freed) leasehold_free(&mine);
      }
      ASSERT_TRUE(child_ends(provider, call, mine)) << "state " << static_cast<int>(at);
      if (call != nullptr) leasehold_call_end(&call, &mine, &error);
      leasehold_free(&mine);
    }
  }
}

TEST_F(CHandles, AReleaseThatIsBegunIsOverAtOnceAndItsAnswerComesLater) {
  ASSERT_NE(acquire(), nullptr);
  server->mode = Mode::deaf;
  EXPECT_EQ(leasehold_release_begin(handle, &error), LEASEHOLD_OK);
  EXPECT_EQ(leasehold_held(handle), 0);
  EXPECT_EQ(server->deletes, 0);
  server->hear_again();
  EXPECT_EQ(leasehold_release(handle, &error), LEASEHOLD_RELEASED) << "the first waited in vain";
  EXPECT_EQ(leasehold_release_begin(nullptr, &error), LEASEHOLD_INVALID_OPTION);
}

/// A provider whose function for warnings is this.
leasehold_provider* provider_that_warns(std::shared_ptr<WarningHook> hook) {
  auto provider = runtime::provider_for(std::make_shared<runtime::FakeServer>());
  return new leasehold_provider{std::move(provider), std::move(hook)};
}

TEST(CWarnings, AreOverOnceTheProviderIsClosed) {
  std::atomic<bool> called = false, closing = false, returned = false;
  const auto hook = std::make_shared<WarningHook>([&](const std::string&) {
    called = true;
    while (!closing) std::this_thread::yield();
    for (int i = 0; i < 1'000; ++i) std::this_thread::yield();
    returned = true;
  });
  auto* provider = provider_that_warns(hook);
  std::jthread warns([&] { hook->warn("first"); });
  while (!called) std::this_thread::yield();
  closing = true;
  leasehold_close(&provider);
  EXPECT_TRUE(returned) << "closing waits for a call that runs";
  warns.join();
  called = false;
  testing::internal::CaptureStderr();
  hook->warn("later");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "leasehold: later\n");
  EXPECT_FALSE(called);
}

TEST(CWarnings, MayCloseTheProviderThemselves) {
  leasehold_provider* provider = nullptr;
  const auto hook =
      std::make_shared<WarningHook>([&](const std::string&) { leasehold_close(&provider); });
  provider = provider_that_warns(hook);
  hook->warn("close it");
  EXPECT_EQ(provider, nullptr);
}

/// As on_warning may, or on_event of C++.
TEST_F(CHandles, AUsersFunctionThatBlocksDelaysNoAnswerAndNoCancellation) {
  // The function may end after the test, so nothing that it uses is the test's.
  const auto blocked = std::make_shared<std::promise<void>>();
  std::promise<void> over;
  const auto block = [blocked, until = over.get_future().share()](const LockEvent& e) {
    if (e.kind != LockEvent::Kind::acquired || e.lock != "first") return;
    blocked->set_value();
    until.wait();
  };
  leasehold_close(&provider);
  provider = new leasehold_provider{runtime::provider_for(server, 2, block)};
  ASSERT_EQ(leasehold_acquire(provider, "first", nullptr, 1'000, &handle, &error), LEASEHOLD_OK);
  blocked->get_future().wait();
  leasehold_handle* second = nullptr;
  ASSERT_EQ(leasehold_acquire_begin(provider, "l", nullptr, 60'000, &call, &error), LEASEHOLD_OK);
  EXPECT_TRUE(readable(leasehold_call_fd(call), 60'000));
  EXPECT_EQ(leasehold_call_end(&call, &second, &error), LEASEHOLD_OK) << error.message;
  leasehold_free(&second);
  server->mode = Mode::refuse;
  ASSERT_EQ(leasehold_acquire_begin(provider, "l", nullptr, -1, &call, &error), LEASEHOLD_OK);
  EXPECT_EQ(leasehold_call_end(&call, &second, &error), LEASEHOLD_CANCELLED) << error.message;
  server->mode = Mode::serve;
  over.set_value();
}

}  // namespace
}  // namespace leasehold::c
