#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>
#include <set>
#include <string>
#include <typeinfo>
#include <vector>

#include "c/options.hpp"

/// What the structs of the C header mean, and what the library exports.
namespace leasehold::c {
namespace {

/// Those of all members: misuse_test.c.
TEST(COptions, AreCheckedByTheRulesOfAnAcquire) {
  leasehold_error error;
  leasehold_lock_options options{.size = sizeof options, .permits = 1'001};
  EXPECT_EQ(leasehold_check("lock", nullptr, &error), LEASEHOLD_OK);
  EXPECT_EQ(leasehold_check("lock", &options, &error), LEASEHOLD_INVALID_OPTION);
  EXPECT_STREQ(error.message, "permits is 1001: it must be 1 to 1000");
  options.permits = 1'000;
  EXPECT_EQ(leasehold_check("lock", &options, &error), LEASEHOLD_OK) << error.message;
  options.permits = 0;
  options.operation_timeout_ms = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(leasehold_check("lock", &options, &error), LEASEHOLD_INVALID_OPTION) << error.message;
}

TEST(COptions, WarningsGoToTheFunctionThatTheyName) {
  std::string heard;
  leasehold_provider_options options{.size = sizeof options};
  options.on_warning = [](const char* message, void* context) {
    *static_cast<std::string*>(context) += message;
  };
  options.warning_context = &heard;
  read(&options).on_warning("the index is missing");
  EXPECT_EQ(heard, "the index is missing");
  options.on_warning = nullptr;
  EXPECT_FALSE(read(&options).on_warning);
}

/// Clang warns of a typeid with a call in it.
template <class Pointer>
const std::type_info& type_behind(const Pointer& pointer) {
  const auto& object = *pointer;
  return typeid(object);
}

TEST(COptions, ZeroesAreTheDefaults) {
  leasehold_lock_options zeroes{.size = sizeof zeroes};
  auto options = read(&zeroes), untouched_lock = LockOptions();
  EXPECT_EQ(type_behind(options.waiting), type_behind(untouched_lock.waiting));
  options.waiting = untouched_lock.waiting;
  EXPECT_EQ(options, untouched_lock);
  leasehold_provider_options none{.size = sizeof none};
  const auto provider = read(&none), untouched = ProviderOptions();
  EXPECT_EQ(provider.database, untouched.database);
  EXPECT_EQ(provider.collection, untouched.collection);
  EXPECT_EQ(provider.holder, untouched.holder);
  EXPECT_EQ(provider.workers, untouched.workers);
  EXPECT_EQ(provider.server_selection_timeout, untouched.server_selection_timeout);
  none.holder = "";
  EXPECT_EQ(read(&none).holder, "") << "but an empty name is none";
}

TEST(COptions, EachMemberArrives) {
  using std::chrono::milliseconds;
  const leasehold_lock_options all{
      sizeof all, 9'000, 2'000, 3'000, 1'000, 5'000, 6, 0.25, "adaptive", 0, 1};
  EXPECT_TRUE(shared(&all));
  const auto options = read(&all);
  EXPECT_EQ(options.expiry, milliseconds(9'000));
  EXPECT_EQ(options.extension_cadence, milliseconds(2'000));
  EXPECT_EQ(options.clock_margin, milliseconds(3'000));
  EXPECT_EQ(options.operation_timeout, milliseconds(1'000));
  EXPECT_EQ(options.max_holding, milliseconds(5'000));
  EXPECT_EQ(options.hand_overs_in_a_row, 6);
  EXPECT_EQ(options.max_drift, 0.25);
  EXPECT_EQ(type_behind(options.waiting), type_behind(adaptive_waiting()));
  const leasehold_provider_options given{sizeof given, "db", "locks", "me", 7, 800};
  const auto provider = read(&given);
  EXPECT_EQ(provider.database, "db");
  EXPECT_EQ(provider.collection, "locks");
  EXPECT_EQ(provider.holder, "me");
  EXPECT_EQ(provider.workers, 7);
  EXPECT_EQ(provider.server_selection_timeout, milliseconds(800));
}

TEST(COptions, ASemaphoreIsNotShared) {
  leasehold_error error;
  leasehold_lock_options both{.size = sizeof both, .permits = 4, .shared = 1};
  EXPECT_EQ(leasehold_check("lock", &both, &error), LEASEHOLD_INVALID_OPTION);
  EXPECT_STREQ(error.message,
               "permits is 4, and shared 1: a semaphore is not shared, so one of them must be 0");
  both.shared = 2;
  EXPECT_EQ(leasehold_check("lock", &both, &error), LEASEHOLD_INVALID_OPTION);
  EXPECT_STREQ(error.message, "shared is 2: it must be 0 or 1");
}

TEST(COptions, AnOlderCallersOptionsEndWhereItsStructDid) {
  leasehold_lock_options old{};
  old.size = offsetof(leasehold_lock_options, permits);
  old.permits = 5;  // what the caller's stack has there
  EXPECT_EQ(permits(&old), 0);
}

TEST(COptions, NoneIsReallyNone) {
  leasehold_lock_options none{.size = sizeof none};
  none.clock_margin_ms = none.hand_overs_in_a_row = LEASEHOLD_NONE;
  none.max_drift = LEASEHOLD_NONE;
  const auto options = read(&none);
  EXPECT_EQ(options.clock_margin, std::chrono::milliseconds(0));
  EXPECT_EQ(options.hand_overs_in_a_row, 0);
  EXPECT_EQ(options.max_drift, 0);
}

TEST(CSeenHolder, ALaterCallerGetsZeroesWhereThisLibraryKnowsNothing) {
  struct Later {
    leasehold_seen_holder known;
    std::int64_t unheard_of, beyond;
  } later{{}, 7, 7};
  later.known.size = sizeof later - sizeof later.beyond;
  SeenHolder seen;
  seen.holder = std::string(263, 'x') + "\xC3\xA4";  // cut amid a character
  write(seen, later.known);
  EXPECT_EQ(later.known.holder, std::string(263, 'x'));
  EXPECT_EQ(later.unheard_of, 0);
  EXPECT_EQ(later.beyond, 7);
}

std::string printed_by(const std::string& command) {
  std::string printed;
  FILE* const pipe = popen(command.c_str(), "r");
  for (int byte; (byte = std::fgetc(pipe)) != EOF;) printed += static_cast<char>(byte);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return printed;
}

std::set<std::string> all_of(const std::string& text, const std::regex& pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

TEST(CLibrary, ExportsTheFunctionsOfItsHeaderAlone) {
  std::ifstream file(LEASEHOLD_C_HEADER);
  const std::string header{std::istreambuf_iterator<char>(file), {}};
  const auto declared = all_of(header, std::regex("\n\\w[\\w ]*?[ *]+(leasehold_\\w+)\\("));
  const auto exported = all_of(printed_by("nm -D --defined-only " LEASEHOLD_C_LIBRARY),
                               std::regex("[^A] (\\S+?)@@LEASEHOLD_1\n"));
  EXPECT_EQ(declared, exported);
  EXPECT_LE(declared.size(), 20U) << "few enough to bind by hand";
  EXPECT_GE(declared.size(), 12U);
}

/// Whoever changes one of these changes the number of the ABI too; the structs of options may grow.
TEST(CLibrary, KeepsItsNumbersAndLayouts) {
  const std::vector<std::string> kinds{"ok",        "invalid_option", "refused",
                                       "timed_out", "cancelled",      "unavailable",
                                       "unknown_outcome", "configuration", "shut_down", "?"};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(leasehold_kind_name(static_cast<int>(i)), kinds[i]);
  }
  EXPECT_EQ((std::vector<int>{LEASEHOLD_OK, LEASEHOLD_INVALID_OPTION, LEASEHOLD_REFUSED,
                              LEASEHOLD_TIMED_OUT, LEASEHOLD_CANCELLED, LEASEHOLD_UNAVAILABLE,
                              LEASEHOLD_UNKNOWN_OUTCOME, LEASEHOLD_CONFIGURATION,
                              LEASEHOLD_SHUT_DOWN}),
            (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ((std::vector<int>{LEASEHOLD_RELEASED, LEASEHOLD_NOT_OWNER, LEASEHOLD_RELEASE_UNKNOWN,
                              LEASEHOLD_NONE}),
            (std::vector<int>{0, 1, 2, -1}));
  EXPECT_EQ(sizeof(leasehold_error), 1024U);
  EXPECT_EQ(offsetof(leasehold_error, code), 4U);
  EXPECT_EQ(offsetof(leasehold_error, message), 8U);
  EXPECT_EQ(offsetof(leasehold_provider_options, workers), 32U);
  EXPECT_EQ(offsetof(leasehold_provider_options, warning_context), 56U);
  EXPECT_EQ(offsetof(leasehold_lock_options, max_holding_ms), 40U);
  EXPECT_EQ(offsetof(leasehold_lock_options, waiting), 64U);
  EXPECT_EQ(offsetof(leasehold_lock_options, permits), 72U);
  EXPECT_EQ(offsetof(leasehold_lock_options, shared), 80U);
  EXPECT_EQ(offsetof(leasehold_seen_holder, token_at_least), 48U);
  EXPECT_EQ(offsetof(leasehold_seen_holder, holder), 56U);
  EXPECT_EQ(offsetof(leasehold_seen_holder, readers), 320U);
}

TEST(CLibrary, HasTheNumberOfItsAbi) {
  const auto dynamic = printed_by("readelf -d " LEASEHOLD_C_LIBRARY);
  EXPECT_NE(dynamic.find("[libleasehold_c.so.1]"), std::string::npos) << dynamic;
}

}  // namespace
}  // namespace leasehold::c
