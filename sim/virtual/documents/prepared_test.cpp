#include "sim/virtual/documents/prepared.hpp"

#include <gtest/gtest.h>

#include "core/document/lock_queue.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "sim/plan/random.hpp"
#include "sim/virtual/commands/collection.hpp"
#include "sim/virtual/documents/usual_replies.hpp"

namespace leasehold::sim::simulated::prepared_test {
namespace {

using std::chrono::milliseconds;
using Body = decltype(core::Command::body);

constexpr int kDraws = 4'000;
constexpr std::int64_t kNow_ms = 1'700'000'000'000;

/// Commands and documents of few owners and names, so that they often have to do with each other.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  core::Command command() {
    return {1, milliseconds(random_.between(1, 20'000)), body()};
  }

  Document document() {
    if (random_.chance(15)) return nullptr;
    Object out{{{"_id"_key, std::string("l")}}};
    out.set("lockId", lock_id_field());
    if (random_.chance(95)) out.set("acquiredAt", date());
    out.set("expiresAt", random_.chance(95) ? date() : Value(Null{}));
    out.set("fencingToken", token());
    if (random_.chance(5)) out.set("LockId", Null{});
    return std::make_shared<const Object>(std::move(out));
  }

 private:
  core::Owner owner() { return {7, static_cast<std::uint64_t>(random_.between(1, 3))}; }
  std::optional<core::Owner> maybe_owner() {
    return random_.chance(50) ? std::optional(owner()) : std::nullopt;
  }
  milliseconds span() { return milliseconds(random_.between(100, 4'000)); }
  std::string lock_id(core::Owner of) {
    const auto beat = static_cast<std::uint64_t>(random_.between(1, 200));
    return core::format_lock_id({of, span().count(), beat, random_.chance(20) ? "host" : ""});
  }
  Value date() { return Date{random_.chance(10) ? 0 : kNow_ms + random_.between(-5'000, 5'000)}; }

  Value lock_id_field() {
    if (random_.chance(5)) return std::int32_t{5};
    if (random_.chance(10)) return std::string("0123456789abcdef0123456789abcdef");
    if (random_.chance(5)) return std::string();
    std::string whole = lock_id(owner());
    for (auto left = random_.between(0, 3); left > 0; --left) {
      const auto until = std::to_string(kNow_ms + random_.between(-3'000, 3'000));
      whole += '~' + until + core::entry_without_until(span(), span(), lock_id(owner()));
    }
    if (random_.chance(30)) {
      whole += "~+." + std::to_string(random_.between(0, 9)) +
               (random_.chance(90) ? '.' + std::to_string(random_.between(0, 9)) : "");
    }
    return whole;
  }
  Value token() {
    if (random_.chance(5)) return std::string("12");
    if (random_.chance(5)) return 3.7;
    if (random_.chance(5)) return std::numeric_limits<std::int64_t>::max();
    return random_.between(0, 1'000'000);
  }

  Body body() {
    switch (random_.between(0, 6)) {
      case 0: return extension();
      case 1: return core::DeleteCommand{"l", owner(), maybe_owner(), random_.chance(50)};
      case 2: return core::PassOnCommand{"l", owner(), maybe_owner(), random_.chance(50)};
      case 3: {
        const auto to = owner();
        return core::HandOverCommand{1, "l", owner(), to, lock_id(to), span(), span()};
      }
      case 4: return core::ReadHoldersCommand{{"l", "no lock"}};
      default: {
        const auto by = owner();
        core::AcquireCommand out{1, "l", by, lock_id(by), {}, span(), span()};
        if (random_.chance(30)) out.observed = lock_id(owner());
        if (random_.chance(50)) out.queues_for = span();
        if (random_.chance(30)) out.queue_room = static_cast<std::size_t>(random_.between(1, 3));
        if (random_.chance(30)) out.ticket = random_.between(1, 9);
        return out;
      }
    }
  }

  core::ExtendCommand extension() {
    core::ExtendCommand out;
    for (auto left = random_.between(1, 6); left > 0; --left) {
      const auto by = owner();
      const core::ServerInstant at{kNow_ms + random_.between(-2, 2)};
      out.statements.push_back({1, "l", by, at, lock_id(by), span(), span(),
                                FencingToken(random_.between(0, 1'000'000))});
    }
    return out;
  }

  Random random_;
};

Object built(const core::Command& command) {
  return to_object(*mongo::build(command, kCollection).get());
}

Executed executed(const Object& command, const Document& document) {
  Collection collection;
  if (document) collection.apply({"l", document});
  return execute(command, collection, {Date{kNow_ms}, Timestamp{1'700'000'000, 3}});
}

TEST(Prepared, SaysWhatTheAdapterBuilds) {
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const auto command = Draw(seed).command();
    ASSERT_EQ(with_pipelines(command), built(command)) << seed;
  }
}

/// The interpreter is the slow twin of the compiled programs.
TEST(Prepared, DoesWhatTheInterpreterDoes) {
  int changes = 0;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    Draw draw(seed);
    const auto command = draw.command();
    const auto document = draw.document();
    const auto fast = executed(prepared(command, false), document);
    const auto slow = executed(built(command), document);
    ASSERT_EQ(fast.reply, slow.reply) << seed;
    ASSERT_EQ(fast.changes.size(), slow.changes.size()) << seed;
    for (std::size_t i = 0; i < fast.changes.size(); ++i) {
      const Document &a = fast.changes[i].after, &b = slow.changes[i].after;
      ASSERT_EQ(a == nullptr, b == nullptr) << seed;
      ASSERT_TRUE(!a || *a == *b) << seed;
    }
    changes += static_cast<int>(fast.changes.size());
  }
  EXPECT_GT(changes, kDraws / 4);
}

TEST(UsualReplies, SayWhatTheAdapterReads) {
  int usual = 0;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    Draw draw(seed);
    const auto command = draw.command();
    auto reply = executed(built(command), draw.document()).reply;
    reply.set("operationTime", Timestamp{1'700'000'000, 4});
    if (seed % 10 == 0) reply.set("writeConcernError", Object{{{"code"_key, std::int32_t{64}}}});
    const auto fast = usual_reply(command, reply);
    if (!fast) continue;
    ++usual;
    ASSERT_EQ(*fast, mongo::read_reply(command, *Bytes(reply).get())) << seed;
  }
  EXPECT_GT(usual, kDraws / 2);
}

}  // namespace
}  // namespace leasehold::sim::simulated::prepared_test
