#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>

#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "mongo/commands.hpp"
#include "sim/live/live_test.hpp"
#include "sim/live/system/mongo_client.hpp"
#include "sim/plan/random.hpp"
#include "sim/virtual/commands/collection.hpp"
#include "sim/virtual/documents/expression.hpp"

/// The simulated server against a real one: the same documents, the same bytes, the same outcome.
namespace leasehold::properties {
namespace {

using namespace sim::simulated;
using core::Command;
using sim::live::MongoClient;
using std::chrono::milliseconds;

constexpr const char* kName = "differential";
constexpr std::int64_t kTolerance_ms = 900;  ///< drawn dates keep further away from now
const core::Owner kOurs{0x1111, 0x2222}, kOther{0x3333, 0x4444};

std::int64_t wall_ms() {
  return std::chrono::duration_cast<milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t packed(const Object& reply) {
  const Value* time = reply.find("operationTime");
  const auto t = *time->as<Timestamp>();
  return FencingToken::from_timestamp(t.seconds, t.increment).value();
}

class Server {
 public:
  Server() : client_(sim::live::shared_set().uri()), database_(sim::live::fresh_database()) {}

  Object run(const bson_t& command) {
    bson_t reply;
    mongoc_client_command_with_opts(client_.get(), database_.c_str(), &command, nullptr, nullptr,
                                    &reply, nullptr);
    bson_t known = BSON_INITIALIZER;  // without what nobody compares
    bson_copy_to_excluding_noinit(&reply, &known, "$clusterTime", "electionId", "opTime",
                                  "codeName", nullptr);
    Object object = to_object(known);
    bson_destroy(&known);
    bson_destroy(&reply);
    return object;
  }

  /// The collection holds this document, or none.
  void preset(const Document& document) {
    const Object query = make({{"_id", std::string(kName)}});
    const Object change = document ? make({{"q", query}, {"u", *document}, {"upsert", true}})
                                   : make({{"q", query}, {"limit", 1}});
    const Object command =
        make({{document ? "update" : "delete", std::string("locks")},
              {document ? "updates" : "deletes", Array{{change}}}});
    const Object reply = run(*Bytes(command).get());
    ASSERT_TRUE(reply.find("ok")->truth());
    time = packed(reply);
  }

  Document stored() {
    const Object command = make({{"find", std::string("locks")},
                                 {"filter", make({{"_id", std::string(kName)}})}});
    const Object reply = run(*Bytes(command).get());
    const auto& batch = reply.find("cursor")->as<Object>()->find("firstBatch")->as<Array>()->items;
    return batch.empty() ? nullptr : std::make_shared<const Object>(*batch[0].as<Object>());
  }

  std::int64_t time = 0;  ///< of its last write, packed as a token

 private:
  MongoClient client_;
  const std::string database_;
};

/// Some holders have names with marks and with characters of two bytes.
std::string lock_id_at(core::Owner owner, std::int64_t beat, core::Room room = 0) {
  return core::to_hex(owner) + '.' + core::mark_of(room) + (room != 0 ? "0000" : "") + "3000." +
         std::to_string(beat) +
         (beat % 8 == 0 ? ".\u00e4|.0.\u00e4" : ".host:1");
}

std::string text_in(const Document& document, const char* field) {
  const Value* value = document->find(field);
  return value != nullptr && value->is<std::string>() ? *value->as<std::string>() : std::string();
}

/// How far the first entries of both, of readers or of queues, that differ are apart, by what was
/// then "now"; 0: none does. An entry of a reader has two dates.
std::int64_t shift_of_entries(const Document& real, const Document& simulated) {
  const auto a = text_in(real, "lockId"), b = text_in(simulated, "lockId");
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto mark = a.find_last_of("~|.", at);
  if (at == a.size() || mark == std::string::npos) return 0;
  const auto until = [mark](const std::string& text) {
    return std::atoll(text.substr(mark + 1, core::kUntilDigits).c_str());
  };
  return until(a) - until(b);
}

/// What a generated document is; each has to come up often.
enum class Kind {
  missing, ours, observed, expired, foreign, corrupt, held, readers, one_reader, kinds
};
constexpr const char* kKinds[] = {"missing", "ours", "observed", "expired",   "foreign",
                                  "corrupt", "held", "readers",  "one reader"};

class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {
    kind = static_cast<Kind>(random_.between(0, static_cast<int>(Kind::kinds) - 1));
    document = draw_document();
    command = draw_command();
  }

  Kind kind;
  Document document;
  Command command;

 private:
  std::int64_t far(bool past) {
    const std::int64_t span = random_.between(2'000, 100'000);
    return wall_ms() + (past ? -span : span);
  }

  Value odd() {
    switch (random_.between(0, 7)) {
      case 0: return Null{};
      case 1: return std::int32_t{7};
      case 2: return std::string("odd");
      case 3: return 1.5;
      case 4: return true;
      case 5: return Array{{std::string("a"), std::int32_t{1}}};
      case 6: return Object{};
      default: return Timestamp{5, 6};
    }
  }

  Value token() {
    switch (random_.between(0, 9)) {
      case 0: return std::int64_t{0};
      case 1: return std::int64_t{-5};
      case 2: return std::numeric_limits<std::int64_t>::max();
      case 3: return std::numeric_limits<std::int64_t>::max() - 1;
      case 4: return odd();
      case 5: return std::int32_t{12};
      case 6: return 3.7;
      case 7: return std::string("42");
      default: return random_.between(1, std::int64_t{1} << 62);
    }
  }

  core::Owner owner() {
    if (random_.chance(30)) return kOurs;
    return random_.chance(10) ? kOther
                              : core::Owner{5, static_cast<std::uint64_t>(random_.between(1, 3))};
  }

  core::Room draw_room() {
    if (random_.chance(50)) return core::kReaders;
    return static_cast<int>(random_.between(1, 3));
  }

  /// Sometimes as many as may be, or one more, or with what is no entry.
  std::string readers() {
    const auto room = draw_room();
    std::string all =
        std::string(core::kReadersOwner) + core::mark_of(room) + "00003000.0.shared";
    const auto many = static_cast<std::int64_t>(core::most_in(room)) - random_.between(-1, 2);
    const bool past = random_.chance(20);
    for (auto left = random_.chance(10) ? many : random_.between(1, 4); left > 0; --left) {
      all += core::kReaderMark;
      if (random_.chance(3)) all += random_.chance(50) ? "odd" : "17.x";
      all += std::to_string(far(past || random_.chance(20))) + '.' +
             core::since_text({kAcquired}, room, static_cast<int>(random_.between(0, 3))) + '.' +
             lock_id_at(owner(), random_.between(1, 1'000), room);
    }
    return all;
  }

  std::string entry() {
    const auto until = wall_ms() + random_.between(2'000, 90'000) * (random_.chance(70) ? 1 : -1);
    const auto beat = random_.between(1, 1'000);
    const auto id = lock_id_at(owner(), beat, random_.chance(40) ? draw_room() : core::Room());
    return std::to_string(until) +
           core::entry_without_until(milliseconds(random_.between(100, 90'000)),
                                     milliseconds(random_.between(100, 60'000)), id);
  }

  /// Mostly none, sometimes a full one, sometimes of what is no entry.
  std::string queue() {
    if (random_.chance(40)) return "";
    std::string all;
    const auto length = random_.chance(10) ? random_.between(60, 70) : random_.between(1, 4);
    for (std::int64_t i = 0; i < length; ++i) {
      all += '~' + (random_.chance(90) ? entry() : std::string(random_.chance(50) ? "odd" : ""));
    }
    if (random_.chance(30)) all += random_.chance(80) ? "~+.5.3" : "~+.5";
    return all;
  }

  Document draw_document() {
    if (kind == Kind::missing) return nullptr;
    Object d;
    d.set("_id", std::string(kName));
    const bool own = kind == Kind::ours;
    Value id = kind == Kind::foreign ? std::string("0f3c9a77e1d24b0c8a55f0e1d2c3b4a5")
               : own                 ? lock_id_at(kOurs, random_.between(1, 9))
                                     : lock_id_at(kOther, kind == Kind::observed ? 7 : 8);
    if (kind == Kind::readers) id = readers();
    if (kind == Kind::one_reader) {
      id = lock_id_at(random_.chance(50) ? kOurs : kOther, 7, draw_room());
    }
    if (kind != Kind::foreign || random_.chance(20)) id = *id.as<std::string>() + queue();
    const bool past = kind == Kind::expired || (own && random_.chance(30)) ||
                      (kind == Kind::foreign && random_.chance(30)) ||
                      (kind >= Kind::readers && random_.chance(15));
    Value expires = Date{far(past)};
    const bool odd_id = kind == Kind::corrupt && random_.chance(50);
    const auto put = [&](const char* key, Value value, bool spoil) {
      if (spoil && random_.chance(20)) return;  // missing
      d.set(key, spoil ? odd() : std::move(value));
    };
    put("lockId", std::move(id), odd_id);
    put("acquiredAt", Date{kAcquired}, kind == Kind::corrupt && random_.chance(20));
    put("expiresAt", std::move(expires), kind == Kind::corrupt && !odd_id);
    if (!random_.chance(10)) d.set("fencingToken", token());
    if (random_.chance(10)) d.set("extra", odd());
    return std::make_shared<const Object>(d);
  }

  Command draw_command() {
    Command c;
    c.id = 1;
    c.timeout = milliseconds(random_.between(2'000, 9'000));
    const milliseconds lease(random_.between(100, 60'000)), margin(random_.between(0, 30'000));
    const auto beat = random_.between(1, 1'000);
    core::Room room;
    if (random_.chance(kind >= Kind::readers ? 80 : 30)) room = draw_room();
    switch (random_.between(0, 11)) {
      case 0:
      case 1: {
        core::ExtendCommand extend;
        for (std::int64_t i = random_.between(1, 3); i > 0; --i) {
          const core::Owner owner = random_.chance(80) ? kOurs : kOther;
          const std::int64_t acquired = random_.chance(85) ? kAcquired : kAcquired + 1;
          extend.statements.push_back({1, kName, owner, core::ServerInstant{acquired},
                                       lock_id_at(owner, beat + i, room), lease, margin,
                                       FencingToken(random_.between(1, std::int64_t{1} << 62)),
                                       room, static_cast<int>(random_.between(0, 3))});
        }
        c.body = extend;
        break;
      }
      case 2: {
        core::DeleteCommand gone{kName, random_.chance(70) ? kOurs : kOther, std::nullopt};
        if (random_.chance(40)) gone.or_owner = kOurs;
        gone.unless_queued = random_.chance(50);
        c.body = gone;
        break;
      }
      case 6:
      case 7: {
        core::PassOnCommand gone{kName, random_.chance(60) ? kOurs : kOther, std::nullopt};
        if (random_.chance(30)) gone.or_owner = kOurs;
        gone.offers = random_.chance(30);
        gone.room = room;
        c.body = gone;
        break;
      }
      case 4:
      case 5:
        c.body = core::HandOverCommand{1,
                                       kName,
                                       random_.chance(70) ? kOther : core::Owner{7, 7},
                                       kOurs,
                                       lock_id_at(kOurs, beat, room),
                                       lease,
                                       margin};
        break;
      case 3: c.body = core::ReadHoldersCommand{{kName, "nobody"}}; break;
      default: {
        core::AcquireCommand acquire{1,     kName, kOurs, lock_id_at(kOurs, beat, room),
                                     std::nullopt, lease, margin};
        acquire.room = room;
        if (kind == Kind::observed || random_.chance(30)) {
          const bool same = random_.chance(40) && kind == Kind::readers;
          acquire.observed =
              same ? std::string(core::split_queue(text_in(document, "lockId")).lock_id)
                   : lock_id_at(kOther, 7, kind == Kind::one_reader ? room : core::Room());
        }
        if (random_.chance(60)) acquire.queues_for = milliseconds(random_.between(1, 60'000));
        if (random_.chance(30)) acquire.queue_room = random_.chance(50) ? 1 : 3;
        if (random_.chance(30)) acquire.ticket = random_.between(1, 9);
        c.body = acquire;
      }
    }
    return c;
  }

  static constexpr std::int64_t kAcquired = 1'700'000'000'123;
  sim::Random random_;
};

/// What both said. Messages are the servers' own; a lower bound by the cluster time is between the
/// writes before and after.
class Comparison {
 public:
  Comparison(std::int64_t before, std::int64_t after) : before_(before), after_(after) {}

  [[nodiscard]] bool same(const Object& real, const Object& simulated) const {
    const auto is_known = [&](const auto& field) {
      const auto& key = field.first.text();
      return key == "operationTime" || key == "ns" || key == "keyPattern" ||
             simulated.find(field.first) != nullptr;
    };
    const auto is_same = [&](const auto& field) {
      const Value* other = real.find(field.first);
      return other != nullptr && same(*other, field.second, field.first.text());
    };
    return std::ranges::all_of(real.fields, is_known) &&
           std::ranges::all_of(simulated.fields, is_same);
  }

 private:
  [[nodiscard]] bool same(const Value& real, const Value& simulated, const std::string& key) const {
    const auto *a = real.as<Object>(), *b = simulated.as<Object>();
    if (a != nullptr && b != nullptr) return same(*a, *b);
    const auto *x = real.as<Array>(), *y = simulated.as<Array>();
    if (x != nullptr && y != nullptr) {
      return std::ranges::equal(x->items, y->items, [this](const Value& one, const Value& other) {
        return same(one, other, "");
      });
    }
    if (key == "fencingToken" && is_cluster_time(simulated)) return is_cluster_time(real);
    return key == "errmsg" || key == "ns" || real == simulated;
  }
  [[nodiscard]] bool is_cluster_time(const Value& token) const {
    const auto* number = token.as<std::int64_t>();
    return number != nullptr && *number >= before_ && *number <= after_;
  }

  const std::int64_t before_, after_;
};

std::string extended_json(const Object& object) {
  char* text = bson_as_relaxed_extended_json(Bytes(object).get(), nullptr);
  std::string out(text);
  bson_free(text);
  return out;
}
std::string extended_json(const Document& document) {
  return document ? extended_json(*document) : "none";
}

std::pair<Executed, Document> simulate(const Object& command, const Document& document,
                                       const Start& start) {
  Collection collection;
  if (document) collection.apply({kName, document});
  auto executed = execute(command, collection, start);
  for (const auto& change : executed.changes) collection.apply(change);
  return {std::move(executed), collection.find(kName)};
}

/// How far the real server's $$NOW was from ours, read off a date that both wrote; 0 if none tells.
std::int64_t shift_of_now(const Document& real, const Document& simulated) {
  if (!real || !simulated) return 0;
  if (const auto shift = shift_of_entries(real, simulated); shift != 0) return shift;
  for (const auto& [key, value] : simulated->fields) {
    const Value* other = real->find(key);
    if (other == nullptr || !other->is<Date>() || !value.is<Date>()) continue;
    const std::int64_t shift = other->as<Date>()->ms - value.as<Date>()->ms;
    if (shift != 0 && std::abs(shift) <= kTolerance_ms) return shift;
  }
  return 0;
}

std::string compare_once(Server& server, const Drawn& drawn) {
  server.preset(drawn.document);
  const auto bytes = mongo::build(drawn.command, "locks");
  const std::int64_t before = server.time;
  const auto now = Date{wall_ms()};
  const Object real = server.run(*bytes.get());
  const Document real_after = server.stored();

  const std::int64_t epoch = FencingToken::kEpochSeconds;
  const Timestamp cluster_time{static_cast<std::uint32_t>((before >> 32) + epoch),
                               static_cast<std::uint32_t>(before & 0xFFFFFFFF)};
  const Object command = to_object(*bytes.get());
  auto [executed, simulated_after] = simulate(command, drawn.document, {now, cluster_time});
  const std::int64_t shift = shift_of_now(real_after, simulated_after);
  if (shift != 0) {
    std::tie(executed, simulated_after) =
        simulate(command, drawn.document, {Date{now.ms + shift}, cluster_time});
  }

  const Comparison comparison(before, packed(real));
  const bool both = real_after && simulated_after;
  if (comparison.same(real, executed.reply) &&
      (both ? comparison.same(*real_after, *simulated_after) : real_after == simulated_after)) {
    return "";
  }
  return "\nbefore: " + extended_json(drawn.document) +
         "\nreal: " + extended_json(real) + "\nand then: " + extended_json(real_after) +
         "\nsimulated: " + extended_json(executed.reply) +
         "\nand then: " + extended_json(simulated_after);
}

TEST(Differential, TheSimulatedServerDoesWhatARealOneDoes) {
  const char* asked = std::getenv("LEASEHOLD_DIFFERENTIAL_COMMANDS");
  const std::int64_t commands = asked == nullptr ? 4'000 : std::atoll(asked);
  const std::uint64_t seed = std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Server server;
  std::map<std::string, std::int64_t> seen;
  for (std::int64_t i = 0; i < commands; ++i) {
    const Drawn drawn(seed + static_cast<std::uint64_t>(i));
    ++seen[kKinds[static_cast<int>(drawn.kind)]];
    const auto why = compare_once(server, drawn);
    ASSERT_EQ(why, "") << "command " << i << " of seed " << seed;
  }
  for (const auto& [kind, count] : seen) {
    std::printf("%8lld %s\n", static_cast<long long>(count), kind.c_str());
    EXPECT_GE(count * 20, commands) << kind << ": fewer than 5 %";
  }
}

TEST(Differential, UnsupportedOperatorsAndCommandsThrow) {
  const Value empty = Object();
  const Scope scope{empty, {}, {}};
  Value out;
  EXPECT_THROW((void)evaluate(make({{"$dateDiff", Object{}}}), scope, out), Unsupported);
  EXPECT_THROW((void)execute(make({{"aggregate", std::string("locks")}}), {}, {}), Unsupported);
}

}  // namespace
}  // namespace leasehold::properties
