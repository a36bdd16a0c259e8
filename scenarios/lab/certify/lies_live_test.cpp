#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "mongo/replies.hpp"
#include "scenarios/lab/certify/facts.hpp"
#include "sim/live/live_test.hpp"

/// Servers that break a fact, by what stands before a real set, and lies. Locks notice the lie, or
/// the laboratory notices a mutant with the same error.
namespace leasehold::lab {
namespace {

using sim::live::shared_set;
using Said = std::optional<Json>;

constexpr const char* kCollection = "certify";

/// One command on its way to a real server.
struct Question {
  const Json& command;
  /// The real reply to the command as it is.
  std::function<Json()> reply;
  /// The real reply to another command on the trials' database.
  std::function<Json(const Json& command)> ask;

  [[nodiscard]] bool is(const char* name) const { return command.begin().key() == name; }
  [[nodiscard]] bool upserts() const {
    return is("findAndModify") && command.value("upsert", false);
  }
};
/// What is said instead; nothing: the truth. Called by several threads.
using Teller = std::function<Said(const Question&)>;

Connect lying_about(const std::string& uri, const Teller& teller) {
  return [uri, teller] {
    auto servers = connect_to(uri);
    servers.ask = [real = servers.ask, teller](const std::string& database,
                                               const mongo::Bson& command, std::uint32_t member) {
      const Json asked = mongo::to_json(*command.get());
      const auto really = [&](const mongo::Bson& bytes, std::uint32_t whom) {
        return mongo::to_json(*real(database, bytes, whom).get());
      };
      const auto said = teller({asked, [&] { return really(command, member); },
                                [&](const Json& other) {
                                  return really(mongo::from_json(other), 0);
                                }});
      return said ? mongo::from_json(*said) : real(database, command, member);
    };
    return servers;
  };
}

/// The reply to commands of this name, changed.
template <typename Change>
Teller of(const char* command, Change change) {
  return [command, change](const Question& q) -> Said {
    if (!q.is(command)) return std::nullopt;
    Json reply = q.reply();
    change(reply);
    return reply;
  };
}
/// The reply to a findAndModify that shows a document, changed.
template <typename Change>
Teller of_attempts(Change change) {
  return of("findAndModify", [change](Json& reply) {
    if (reply.contains("value") && reply["value"].is_object()) change(reply);
  });
}
/// Another command instead of one of this name.
template <typename Change>
Teller instead_of(const char* name, Change change) {
  return [name, change](const Question& q) -> Said {
    if (!q.is(name)) return std::nullopt;
    Json command = q.command;
    change(command);
    return q.ask(command);
  };
}
/// After each attempt that was refused, or was the owner's second.
Teller after_updates(const Json& change) {
  return [change](const Question& q) -> Said {
    if (!q.upserts()) return std::nullopt;
    Json reply = q.reply();
    if (reply["lastErrorObject"].contains("upserted")) return reply;
    q.ask({{"update", q.command["findAndModify"]},
           {"updates", Json::array({{{"q", q.command["query"]}, {"u", change}}})},
           {"writeConcern", {{"w", "majority"}}}});
    return reply;
  };
}
Json delete_of(const Question& q, const Json& query) {
  return {{"delete", q.command["findAndModify"]},
          {"deletes", Json::array({{{"q", query}, {"limit", 1}}})}};
}
void move(Json& number, int by) { number = number.get<std::int64_t>() + by; }

Teller now_off_by(std::int64_t ms) {
  return of_attempts([ms](Json& reply) {
    Json& at = reply["value"]["acquiredAt"];
    at = {{"$date", {{"$numberLong", std::to_string(sim::live::date_ms(at) + ms)}}}};
  });
}

/// An attempt that is refused finds the lock free after all.
Said lease_that_ends_early(const Question& q) {
  if (!q.is("findAndModify")) return std::nullopt;
  Json reply = q.reply();
  if (reply["lastErrorObject"].contains("upserted")) return reply;
  q.ask(delete_of(q, {{"_id", q.command["query"]["_id"]}}));
  return q.reply();
}

/// As if every type were a date or a text.
Said types_ignored(const Question& q) {
  if (!q.upserts()) return std::nullopt;
  q.ask(delete_of(q, q.command["query"]));
  return q.reply();
}

Said operation_time_of_the_last_write(const Question& q) {
  if (!q.is("findAndModify")) return std::nullopt;
  Json reply = q.reply();
  reply["operationTime"] = q.ask({{"insert", q.command["findAndModify"]},
                                  {"documents", Json::array({Json::object()})},
                                  {"writeConcern", {{"w", "majority"}}}})["operationTime"];
  return reply;
}

Said hand_over_that_inserts(const Question& q) {
  if (!q.is("findAndModify") || q.upserts()) return std::nullopt;
  Json command = q.command;
  command["query"].erase("lockId");
  command["upsert"] = true;
  return q.ask(command);
}

Teller event_left_out() {
  return of("getMore", [left = std::make_shared<bool>(false)](Json& reply) {
    Json& batch = reply["cursor"]["nextBatch"];
    const bool has_one = batch.is_array() && !batch.empty();
    if (has_one && !std::exchange(*left, true)) batch.erase(batch.begin());
  });
}

struct Lie {
  const char* name;
  const char* fact;     ///< that has to fail
  const char* refused;  ///< what the lock says of it; null: it does not notice
  const char* mutant;   ///< that makes the same error in properties/mutants; or null
  Teller teller;
};

std::vector<Lie> lies() {
  return {
      {"MaxLowersADate", "attempt-knows-its-earlier-win", nullptr, "037",
       after_updates(Json::array({{{"$set",
                                    {{"expiresAt", {{"$subtract", {"$expiresAt", 1'000}}}}}}}}))},
      {"AnOwnerIsNotRecognised", "attempt-knows-its-earlier-win", nullptr, "002",
       of("findAndModify",
          [](Json& reply) {
            if (reply["lastErrorObject"].contains("upserted")) return;
            reply["value"]["lockId"] = "another";
          })},
      {"CLUSTERTIMEIsThatOfTheWrite", "cluster-time-is-below-the-write",
       "is not above the stored", nullptr, of_attempts([](Json& reply) {
         if (!reply["value"].contains("fencingToken")) return;
         reply["value"]["fencingToken"] = mongo::packed_timestamp(reply["operationTime"]);
       })},
      {"WMajorityDoesNotWait", "confirmed-is-of-a-majority", nullptr, "034",
       of("hello",
          [](Json& reply) {
            move(reply["lastWrite"]["majorityOpTime"]["ts"]["$timestamp"]["t"], -1);
          })},
      {"TypesAreIgnored", "corrupt-document-is-held", "the lock was lost", nullptr,
       types_ignored},
      {"ADeleteFindsByNameAlone", "delete-is-by-owner", nullptr, "006",
       instead_of("delete", [](Json& asked) { asked["deletes"][0]["q"].erase("lockId"); })},
      {"ADeleteIsCountedAndNotExecuted", "delete-is-by-owner",
       "timed out; last attempt: held by", "026",
       [](const Question& q) -> Said {
         if (!q.is("delete")) return std::nullopt;
         Json command = q.command;
         command["deletes"][0]["q"]["_id"] = "nobody's";
         Json reply = q.ask(command);
         reply["n"] = 1;
         return reply;
       }},
      {"AnEventIsLeftOut", "each-grant-is-reported-once", nullptr, "094", event_left_out()},
      {"StatementsThatFoundNothingAreCounted", "extensions-are-counted", nullptr, "079",
       [](const Question& q) -> Said {
         if (!q.is("update")) return std::nullopt;
         Json reply = q.reply();
         reply["n"] = q.command["updates"].size();
         return reply;
       }},
      {"AHandOverIgnoresItsQuery", "hand-over-needs-its-owner", nullptr, "046",
       hand_over_that_inserts},
      {"ThereIsNoSet", "hello-tells-what-a-member-is", "the server is a standalone", nullptr,
       of("hello", [](Json& reply) { reply.erase("setName"); })},
      {"ALeaseEndsEarly", "lock-expires-by-the-primary", "the lock was lost", nullptr,
       lease_that_ends_early},
      {"NOWIsAMinuteAhead", "now-is-the-primarys", "the lock was lost", nullptr,
       now_off_by(60'000)},
      {"NOWIsAMinuteBehind", "now-is-the-primarys", "the lock was lost", nullptr,
       now_off_by(-60'000)},
      {"OperationTimeIsBeforeTheWrite", "operation-time-is-the-writes",
       "is not above the stored", nullptr,
       of_attempts([](Json& reply) { move(reply["operationTime"]["$timestamp"]["i"], -1); })},
      {"OperationTimeIsOfTheLastWriteOfAll", "operation-time-is-the-writes", nullptr, "098",
       operation_time_of_the_last_write},
      {"ARefusedAttemptWrites", "refused-attempt-changes-nothing", nullptr, "001",
       after_updates({{"$inc", {{"fencingToken", 1}}}})},
      {"ARepetitionIsNotMarked", "repeated-write-is-marked", nullptr, "086",
       of("findAndModify", [](Json& reply) { reply.erase("retriedStmtId"); })},
      {"WriteConcernErrorIsLeftOut", "unconfirmed-is-reported", nullptr, "034",
       of("findAndModify", [](Json& reply) { reply.erase("writeConcernError"); })},
      {"AnUnknownStageIsLeftOut", "unknown-words-are-refused", "corrupt lock document",
       nullptr, instead_of("findAndModify", [](Json& command) {
         command["update"] = Json::array({{{"$set", {{"n", 1}}}}});
       })},
  };
}

/// On a database of its own, which is gone after it.
Finding found(const char* name, const Connect& connect) {
  const auto database = sim::live::fresh_database();
  const auto fact = std::find_if(facts().begin(), facts().end(), [name](const Fact& one) {
    return std::string(one.name) == name;
  });
  Finding finding;
  {
    TrialSite site(connect, database, kCollection);
    site[0].must(R"({"create": "@"})");
    finding = try_fact(*fact, site);
  }
  MongoClient(shared_set().uri()).must(database, {{"dropDatabase", 1}});
  return finding;
}

/// As a provider's own, but for the driver's failures.
class LyingTransport final : public core::Transport {
 public:
  LyingTransport(Connect connect, std::string database)
      : connect_(std::move(connect)), database_(std::move(database)) {}
  std::unique_ptr<core::Connection> connect() override {
    return std::make_unique<Connection>(Asker(connect_(), database_, sim::live::kLockCollection));
  }

 private:
  struct Connection final : core::Connection {
    explicit Connection(Asker liar_) : liar(std::move(liar_)) {}
    core::Reply execute(const core::Command& command) override {
      try {
        const Json hello = liar.hello();
        const auto refused = mongo::refusal_of_chosen(*mongo::from_json(hello).get());
        return refused ? *refused : liar.send(command.body);
      } catch (const mongo::NoReply&) {
        return {};
      }
    }
    void interrupt(core::CommandId) noexcept override {}
    Asker liar;
  };
  Connect connect_;
  std::string database_;
};

/// What two providers of one lock say of a server first, in one sentence; empty: nothing is wrong.
/// One takes the lock, is extended and releases it; another is refused, and gets it then.
std::string what_locks_say(const Connect& liar, const std::string& database) {
  constexpr std::chrono::milliseconds kTimeout{2'000};
  const auto transport = std::make_shared<LyingTransport>(liar, database);
  std::mutex mutex;
  std::string first;  // protected by the mutex
  const auto complain = [&](const std::string& said) {
    const std::lock_guard lock(mutex);
    if (first.empty()) first = said;
  };
  const auto provider = [&] {
    auto parts = runtime::production_parts(
        transport, std::make_unique<core::ProviderCore>("of a lying server", 4));
    parts.on_warning = complain;
    return detail::Access::provider(runtime::Driver::make(std::move(parts)));
  };
  {
    auto one = provider(), other = provider();
    const auto mine = one.create_lock("job"), theirs = other.create_lock("job");
    auto held = mine->try_acquire(kTimeout);
    if (!held) return held.error().message;
    auto second = theirs->try_acquire();
    if (second) {
      second->release();
    } else if (second.error().kind != ErrorKind::refused) {
      complain(second.error().message);
    }
    const auto all = mine->options().expiry;
    std::this_thread::sleep_for(all / 100);  // so that it asks, however fast the machine
    if (!held->ensure(all - all / 100) && !held->held()) complain("the lock was lost");
    if (held->release() != ReleaseResult::released) complain("the lock was not released");
    auto next = theirs->try_acquire(kTimeout);
    if (!next) complain(next.error().message);
  }
  const std::lock_guard lock(mutex);
  return first;
}

class Lies : public testing::TestWithParam<Lie> {};

TEST_P(Lies, AreFound) {
  const auto honest = lying_about(shared_set().uri(), [](const Question& q) { return q.reply(); });
  const auto finding = found(GetParam().fact, honest);
  EXPECT_TRUE(finding.is == Finding::Is::holds) << finding.seen;
  const auto lied = found(GetParam().fact, lying_about(shared_set().uri(), GetParam().teller));
  EXPECT_TRUE(lied.is == Finding::Is::fails) << lied.seen;
  EXPECT_TRUE(lied.prevents);
}

/// What locks notice may hang on where the write stands in its second.
TEST_P(Lies, AreRefusedByLocksAsSaid) {
  constexpr int kTries = 5;
  const char* refused = GetParam().refused;
  std::string said;
  for (int i = 0; i < kTries && said.empty(); ++i) {
    const auto database = sim::live::fresh_database();
    said = what_locks_say(lying_about(shared_set().uri(), GetParam().teller), database);
    MongoClient(shared_set().uri()).must(database, {{"dropDatabase", 1}});
    if (refused == nullptr) break;
  }
  EXPECT_NE(said.find(refused == nullptr ? "" : refused), std::string::npos) << said;
  EXPECT_EQ(said.empty(), refused == nullptr) << said;
}

INSTANTIATE_TEST_SUITE_P(Each, Lies, testing::ValuesIn(lies()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace leasehold::lab
