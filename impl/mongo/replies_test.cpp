#include "mongo/replies.hpp"

#include <gtest/gtest.h>


namespace leasehold::mongo {
namespace {

using core::Command;
using core::Outcome;

/// BSON from extended JSON.
class Json {
 public:
  explicit Json(const char* text) {
    bson_error_t error;
    EXPECT_TRUE(bson_init_from_json(&bytes_, text, -1, &error)) << error.message;
  }
  ~Json() { bson_destroy(&bytes_); }
  operator const bson_t&() const { return bytes_; }  // NOLINT

 private:
  bson_t bytes_;
};

const Command kAcquire{1, {}, core::AcquireCommand{}};
const Command kExtend{2, {}, core::ExtendCommand{}};
const Command kDelete{3, {}, core::DeleteCommand{}};

/// What a reply that says no error gives, virtual runs show.
TEST(ReadReply, HasTheOutcomeThatIsCertainAndItsDocumentAllTheSame) {
  const struct {
    const char* what;
    const Command& command;
    const char* reply;
    Outcome outcome;
    std::size_t documents = 0;
  } rows[]{
      {"no operationTime is no grant", kAcquire,
       R"({"ok": 1, "value": {"_id": "n", "lockId": "x.1"}})", Outcome::unknown, 1},
      {"an extension needs none", kExtend, R"({"ok": 1, "n": 1})", Outcome::done},
      {"no majority", kAcquire, R"({"ok": 1, "value": {"_id": "n", "lockId": "x"},
          "writeConcernError": {"code": 64}})", Outcome::unknown, 1},
      // Found by the fuzzer: in another form than usual it was passed over, and the write counted.
      {"a list", kAcquire, R"({"ok": 1, "n": 1, "writeConcernError": ["code"]})", Outcome::unknown},
      {"null", kAcquire, R"({"ok": 1, "n": 1, "writeConcernError": null})", Outcome::unknown},
      {"no list", kAcquire, R"({"ok": 1, "n": 1, "writeErrors": {"code": 11600}})",
       Outcome::unknown},
      {"a step-down is no match of nothing", kDelete, R"({"ok": 1, "n": 0,
          "writeErrors": [{"index": 0, "code": 189}], "writeConcernError": {"code": 189}})",
       Outcome::unknown},
      {"nor for a batch", kExtend, R"({"ok": 1, "n": 0,
          "writeErrors": [{"index": 0, "code": 189}], "writeConcernError": {"code": 189}})",
       Outcome::unknown},
      {"a race", kAcquire, R"({"ok": 0, "code": 11000, "keyPattern": {"_id": 1}})",
       Outcome::duplicate_key},
      {"another index", kAcquire, R"({"ok": 0, "code": 11000, "keyPattern": {"x": 1}})",
       Outcome::configuration},
      {"an error beside that of a write concern is read first", kAcquire,
       R"({"ok": 0, "code": 10107, "writeConcernError": {"code": 11602}})", Outcome::not_executed},
      {"nothing", kAcquire, "{}", Outcome::unknown},
  };
  for (const auto& row : rows) {
    const auto reply = read_reply(row.command, Json(row.reply));
    EXPECT_EQ(reply.outcome, row.outcome) << row.what;
    EXPECT_EQ(reply.documents.size(), row.documents) << row.what;
  }
  EXPECT_EQ(read_reply(kAcquire, Json(rows[0].reply)).message,
            "the reply has no operationTime, from which the fencing token is made");
  EXPECT_TRUE(read_reply(kAcquire, Json(R"({"ok": "yes?", "value": 3})")).documents.empty());
}

TEST(ReadReply, AWriteConcernThatNoServersCanMeetIsHopeless) {
  for (const auto& [code, hopeless] : {std::pair{64, false}, {79, true}, {100, true}}) {
    const auto text = R"({"ok": 1, "writeConcernError": {"code": )" + std::to_string(code) + "}}";
    const auto reply = read_reply(kAcquire, Json(text.c_str()));
    EXPECT_EQ(reply.code, code);
    EXPECT_EQ(reply.permanent, hopeless) << code;
  }
}

TEST(ReadReply, AStatementsOwnErrorLeavesTheRestOfTheBatch) {
  const auto r = read_reply(kExtend, Json(R"({"ok": 1, "n": 2,
      "writeErrors": [{"index": 1, "code": 16554, "errmsg": "odd"}]})"));
  EXPECT_EQ(r.outcome, Outcome::done);
  EXPECT_EQ(r.matched, 2);
  EXPECT_EQ(r.failed, std::vector<std::size_t>{1});
}

TEST(ReadReply, AChangeStreamGivesItsCursorAndNothingOfADeletion) {
  const Command next{5, {}, core::StreamCommand{core::StreamCommand::Step::next, 9}};
  const auto r = read_reply(next, Json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "9"},
      "nextBatch": [{"_id": {"_data": "82"}, "documentKey": {"_id": "a"},
                     "clusterTime": {"$timestamp": {"t": 1577836801, "i": 7}}},
                    {"_id": {"_data": "83"}, "documentKey": {"_id": {"$oid":
                      "5f9f1b9b9b9b9b9b9b9b9b9b"}}}]}})"));
  EXPECT_EQ(r.outcome, Outcome::done);
  EXPECT_EQ(r.cursor, 9);
  EXPECT_TRUE(r.named.empty());
  const auto gone =
      read_reply(next, Json(R"({"ok": 0, "code": 43, "errmsg": "cursor not found"})"));
  EXPECT_EQ(gone.outcome, Outcome::unknown);
  EXPECT_EQ(gone.cursor, 0);
}

const std::string kReaders = "00000000000000000000000000000000.000030000.0.shared|"
    "1700000060000.1700000000000.000000000000000a0000000000000001.000030000.7.a|"
    "1700000050000.1700000000005.000000000000000b0000000000000002.000030000.8.b~queue";

TEST(ReadReply, AReaderIsShownItsOwnEntryAndOthersTheGroup) {
  const auto shown = [](decltype(Command::body) body) {
    const auto text = R"({"ok": 1, "value": {"_id": "n", "lockId": ")" + kReaders +
                      R"(", "acquiredAt": {"$date": {"$numberLong": "3"}}}})";
    return read_reply({1, {}, std::move(body)}, Json(text.c_str())).documents.at(0);
  };
  const auto group = kReaders.substr(0, kReaders.find('~'));
  const auto bens = shown(core::AcquireCommand{.owner = {0xB, 2}, .room = core::kReaders});
  EXPECT_EQ(bens.lock_id, "000000000000000b0000000000000002.000030000.8.b");
  EXPECT_EQ(bens.acquired_at.since_1970_ms, 1'700'000'000'005);
  EXPECT_EQ(bens.queue, "queue");
  EXPECT_EQ(shown(core::HandOverCommand{.owner = {0xA, 1}}).acquired_at.since_1970_ms,
            1'700'000'000'000);
  EXPECT_EQ(shown(core::AcquireCommand{.owner = {0xC, 3}, .room = core::kReaders}).lock_id, group);
  EXPECT_EQ(shown(core::PassOnCommand{.owner = {0xA, 1}}).lock_id, group);
}

TEST(ReadReply, AnEventOfReadersIsOneForEach) {
  const auto text = R"({"ok": 1, "cursor": {"id": 9, "nextBatch": [
      {"documentKey": {"_id": "a"}, "clusterTime": {"$timestamp": {"t": 1577836801, "i": 7}},
       "updateDescription": {"updatedFields": {"fencingToken": 7, "lockId": ")" + kReaders +
                    R"("}}}]}})";
  const Command next{5, {}, core::StreamCommand{core::StreamCommand::Step::next, 9}};
  const auto named = read_reply(next, Json(text.c_str())).named;
  ASSERT_EQ(named.size(), 2);
  for (const auto& one : named) {
    EXPECT_EQ(one.as, core::NamedOwner::As::holder) << "dates that did not change are not told";
    EXPECT_EQ(one.document.name, "a");
    EXPECT_EQ(one.document.queue, "queue");
    EXPECT_EQ(one.at.value() & 0xFFFFFFFF, 7);
  }
  EXPECT_EQ(named[1].document.lock_id, "000000000000000b0000000000000002.000030000.8.b");
  EXPECT_EQ(named[1].document.acquired_at.since_1970_ms, 1'700'000'000'005);
}

TEST(ReadReply, CorruptDocumentsSayWhatIsWrong) {
  const auto corruption = [](const char* value) {
    const std::string text = std::string(R"({"ok": 1, "value": )") + value + "}";
    return read_reply(kAcquire, Json(text.c_str())).documents.at(0).corruption;
  };
  EXPECT_EQ(corruption(R"({"_id": "n"})"), "lockId is missing");
  EXPECT_EQ(corruption(R"({"_id": "n", "lockId": 7})"), "lockId is an integer");
  EXPECT_EQ(corruption(R"({"_id": "n", "lockId": "x", "expiresAt": "tomorrow"})"),
            "expiresAt is a string");
  EXPECT_EQ(corruption(R"({"_id": "n", "lockId": "x", "expiresAt": [1]})"),
            "expiresAt is an array");
  EXPECT_EQ(corruption(R"({"_id": "n", "lockId": "x", "expiresAt": null})"), "expiresAt is null");
}

TEST(Hello, OnlyAReplicaSetOrAClusterOf51OrNewerWhosePrimaryNamesItselfMayHoldLocks) {
  const std::pair<const char*, const char*> rows[]{
      {R"({"setName": "rs", "maxWireVersion": 17})", ""},
      {R"({"maxWireVersion": 17})", "standalone"},
      {R"({"msg": "isdbgrid", "maxWireVersion": 17})", ""},
      {R"({"msg": "isdbgrid", "maxWireVersion": 13})", "too old"},
      {R"({"setName": "rs", "maxWireVersion": 13})", "too old"},
      // As FerretDB 1.24 answers that was started with --repl-set-name.
      {R"({"setName": "rs", "maxWireVersion": 21, "isWritablePrimary": true})",
       "hello-tells-what-a-member-is"},
      {R"({"setName": "rs", "maxWireVersion": 21, "ismaster": true})",
       "hello-tells-what-a-member-is"},
      {R"({"setName": "rs", "maxWireVersion": 21, "ismaster": false})", ""},
      {R"({"setName": "rs", "maxWireVersion": 21, "ismaster": true, "primary": "h:1"})", ""},
  };
  for (const auto& [hello, why] : rows) {
    const auto refusal = refusal_of_hello(Json(hello));
    EXPECT_EQ(refusal.has_value(), *why != '\0') << hello;
    EXPECT_NE(refusal.value_or("").find(why), std::string::npos) << hello;
  }
}

TEST(Hello, AChosenMemberThatWasLostSightOfIsNoStandalone) {
  EXPECT_FALSE(refusal_of_chosen(Json(R"({"setName": "rs", "maxWireVersion": 17})")));
  EXPECT_EQ(refusal_of_chosen(Json("{}"))->outcome, Outcome::not_executed);
  EXPECT_EQ(refusal_of_chosen(Json(R"({"maxWireVersion": 17})"))->outcome, Outcome::configuration);
}

TEST(Sharding, ACollectionIsShardedByItsIdAloneOrNotAtAll) {
  const auto refusal = [](const char* key) {
    return refusal_of_sharding(
        Json((R"({"ok": 1, "cursor": {"firstBatch": [{"_id": "d.c", "key": )" + std::string(key) +
              "}]}}")
                 .c_str()));
  };
  EXPECT_FALSE(refusal(R"({"_id": 1})"));
  EXPECT_FALSE(refusal(R"({"_id": "hashed"})"));
  EXPECT_FALSE(refusal_of_sharding(Json(R"({"ok": 1, "cursor": {"firstBatch": []}})")));
  for (const char* key : {R"({"lockId": 1})", R"({"_id": 1, "lockId": 1})", "{}"}) {
    const auto refused = refusal(key);
    ASSERT_TRUE(refused) << key;
    EXPECT_EQ(refused->outcome, Outcome::configuration) << key;
  }
  EXPECT_NE(refusal(R"({"lockId": 1})")->message.find("sharded by {lockId}"), std::string::npos);
}

TEST(Sharding, AnUnknownShardingIsRefused) {
  const auto of_role = refusal_of_sharding(Json(R"({"ok": 0, "code": 13, "errmsg": "no"})"));
  EXPECT_EQ(of_role->outcome, Outcome::configuration);
  EXPECT_NE(of_role->message.find("config.collections: no"), std::string::npos);
  EXPECT_EQ(refusal_of_sharding(Json(R"({"ok": 0, "code": 6, "errmsg": "down"})"))->outcome,
            Outcome::not_executed);
  EXPECT_EQ(refusal_of_sharding(Json("{}"))->outcome, Outcome::not_executed);
  EXPECT_TRUE(says_unsharded(Json(R"({"ok": 1, "sharded": false})")));
  for (const char* stats : {R"({"ok": 1, "sharded": true})", R"({"ok": 1})", "{}",
                            R"({"ok": 0, "sharded": false})"}) {
    EXPECT_FALSE(says_unsharded(Json(stats))) << stats;
  }
}

TEST(Shard, IsASetThatHasAShardIdentity) {
  EXPECT_TRUE(is_of_a_shard(
      Json(R"({"ok": 1, "cursor": {"firstBatch": [{"_id": "shardIdentity"}]}})")));
  for (const char* other : {R"({"ok": 1, "cursor": {"firstBatch": []}})", "{}",
                            R"({"ok": 0, "code": 13})"}) {
    EXPECT_FALSE(is_of_a_shard(Json(other))) << other;
  }
}

TEST(ErrorTable, OnlyWhatCertainlyDidNotHappenFailedBefore) {
  for (const int code : {24, 112, 10107, 13435, 13436}) {
    EXPECT_EQ(outcome_of_error(code), Outcome::not_executed) << code;
  }
}

TEST(ErrorTable, AnErrorThatNoRetryFixesIsConfiguration) {
  for (const int code : {2,   9,   13,  14,  16,  18,  59,  61, 67,  72,    73,    115,  121,
                         166, 167, 168, 197, 224, 238, 263, 322, 323, 10334, 16554, 51144}) {
    EXPECT_EQ(outcome_of_error(code), Outcome::configuration) << code;
  }
}

TEST(ErrorTable, EverythingElseIsUnknown) {
  for (const int code :
       {0, 6, 7, 26, 50, 64, 79, 89, 91, 100, 189, 262, 9001, 11600, 11601, 11602, 424'242}) {
    EXPECT_EQ(outcome_of_error(code), Outcome::unknown) << code;
  }
}

}  // namespace
}  // namespace leasehold::mongo
