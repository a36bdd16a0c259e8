#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/document/lock_id.hpp"
#include "mongo/commands.hpp"

/// What each release sends is kept in `kept`, so that a later one can be tried against it.
namespace leasehold::mongo::kept_test {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::seconds;

constexpr core::Owner kGiver{1, 2}, kReceiver{3, 4};
constexpr seconds kLease{30}, kTimeout{10};

std::string id(core::Owner owner, std::uint64_t beat) {
  const std::int64_t lease_ms = std::chrono::milliseconds(kLease).count();
  return core::format_lock_id({owner, lease_ms, beat, "host:1:old"});
}

Json sent(decltype(core::Command::body) body) {
  const Bson bytes = build({1, kTimeout, std::move(body)}, "distributed.locks");
  char* text = bson_as_canonical_extended_json(bytes.get(), nullptr);
  auto json = Json::parse(text);
  bson_free(text);
  return json;
}

/// The commands of one life of a lock, with fixed owners; dates and tokens that a server gives
/// stand as themselves: whoever plays this release puts in what it was given.
Json commands() {
  constexpr core::ServerInstant kAcquiredAt{4'070'908'800'000};
  constexpr FencingToken kToken(1'234'567'890'123);
  const auto acquire = [](std::uint64_t beat) {
    return sent(core::AcquireCommand{1, "kept", kGiver, id(kGiver, beat), {}, kLease, kLease});
  };
  const auto wait = [](std::optional<std::int64_t> ticket) {
    return sent(core::AcquireCommand{1, "kept", kReceiver, id(kReceiver, 1), {}, kLease, kLease,
                                     kTimeout, core::kMostInQueue, ticket});
  };
  return {
      {"acquire", acquire(1)},
      {"acquire_again", acquire(2)},
      {"extend", sent(core::ExtendCommand{
                     {{1, "kept", kGiver, kAcquiredAt, id(kGiver, 3), kLease, kLease, kToken}}})},
      {"hand_over",
       sent(core::HandOverCommand{2, "kept", kGiver, kReceiver, id(kReceiver, 4), kLease, kLease})},
      {"release", sent(core::DeleteCommand{"kept", kGiver, {}})},
      {"release_of_receiver", sent(core::DeleteCommand{"kept", kReceiver, {}})},
      {"wait", wait({})},
      {"wait_with_ticket", wait(5)},
      {"pass_on", sent(core::PassOnCommand{"kept", kGiver, {}, false})},
      {"offer", sent(core::PassOnCommand{"kept", kGiver, kReceiver, true})},
  };
}

TEST(Kept, AreTheCommandsOfThisRelease) {
  const std::string file = std::string(LEASEHOLD_KEPT) + "/" LEASEHOLD_VERSION ".json";
  const Json now = commands();
  if (std::getenv("LEASEHOLD_KEEP") != nullptr) {
    std::ofstream out(file);
    const char* before = "{\n";
    for (const auto& [name, command] : now.items()) {
      out << std::exchange(before, ",\n") << " \"" << name << "\": " << command.dump();
    }
    out << "\n}\n";
  }
  std::ifstream in(file);
  ASSERT_TRUE(in) << file << ": a new version keeps its commands; run this with LEASEHOLD_KEEP=1";
  EXPECT_EQ(Json::parse(in), now)
      << "what a release sends has changed: raise the version in CHANGELOG.md, keep the new form "
         "with LEASEHOLD_KEEP=1, and leave the old file for the upgrade test";
}

}  // namespace
}  // namespace leasehold::mongo::kept_test
