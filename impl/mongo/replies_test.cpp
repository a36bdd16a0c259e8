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
const Command kLook{4, {}, core::ReadHoldersCommand{}};

TEST(ReadReply, AnAcquireGivesTheDocumentAndTheOperationTimeAsToken) {
  const auto r = read_reply(kAcquire, Json(R"({"ok": 1,
      "operationTime": {"$timestamp": {"t": 1577836801, "i": 7}},
      "value": {"_id": "n", "lockId": "x.1", "acquiredAt": {"$date": {"$numberLong": "5"}},
                "expiresAt": {"$date": {"$numberLong": "9"}},
                "fencingToken": {"$numberLong": "9007199254740993"}}})"));
  EXPECT_EQ(r.outcome, Outcome::done);
  EXPECT_EQ(r.operation_time, FencingToken(4'294'967'296 + 7));
  ASSERT_EQ(r.documents.size(), 1u);
  EXPECT_EQ(r.documents[0], (core::LockDocument{"n", "x.1", {5}, 9'007'199'254'740'993, ""}));
}

TEST(ReadReply, AnAcquireWithoutAnOperationTimeIsNoGrantButShowsTheHolder) {
  const auto r = read_reply(kAcquire, Json(R"({"ok": 1, "value": {"_id": "n", "lockId": "x.1",
      "acquiredAt": {"$date": {"$numberLong": "5"}}}})"));
  EXPECT_EQ(r.outcome, Outcome::unknown);
  EXPECT_EQ(r.message, "the reply has no operationTime, from which the fencing token is made");
  EXPECT_EQ(r.documents.size(), 1u);
  EXPECT_EQ(read_reply(kExtend, Json(R"({"ok": 1, "n": 1})")).outcome, Outcome::done);
}

TEST(ReadReply, AnInspectionGivesTheDatesToo) {
  const Command inspect{4, {}, core::InspectCommand{"n"}};
  const auto r = read_reply(inspect, Json(R"({"ok": 1, "cursor": {"id": {"$numberLong": "0"},
      "firstBatch": [{"_id": "n", "lockId": "x.1", "fencingToken": {"$numberLong": "7"},
                      "acquiredAt": {"$date": {"$numberLong": "5"}},
                      "expiresAt": {"$date": {"$numberLong": "9"}},
                      "now": {"$date": {"$numberLong": "6"}}}]}})"));
  ASSERT_EQ(r.documents.size(), 1u);
  EXPECT_EQ(r.documents[0].expires_at.since_1970_ms, 9);
  EXPECT_EQ(r.documents[0].read_at.since_1970_ms, 6);
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

TEST(ReadReply, AWriteConcernErrorIsUnknownAndKeepsTheDocument) {
  const auto r = read_reply(kAcquire, Json(R"({"ok": 1, "value": {"_id": "n", "lockId": "x"},
      "writeConcernError": {"code": 64, "errmsg": "waiting for replication timed out"}})"));
  EXPECT_EQ(r.outcome, Outcome::unknown);
  EXPECT_EQ(r.code, 64);
  EXPECT_FALSE(r.permanent);
  EXPECT_EQ(r.documents.size(), 1u);
  const auto w = read_reply(kAcquire, Json(R"({"ok": 1, "writeConcernError": {"code": 100}})"));
  EXPECT_TRUE(w.permanent);
}

/// Found by the fuzzer: in another form than usual it was passed over, and the write counted.
TEST(ReadReply, AFailureThatCannotBeReadIsStillOne) {
  for (const char* odd : {R"({"ok": 1, "n": 1, "writeConcernError": ["code"]})",
                          R"({"ok": 1, "n": 1, "writeConcernError": null})",
                          R"({"ok": 1, "n": 1, "writeErrors": {"code": 11600}})"}) {
    EXPECT_EQ(read_reply(kAcquire, Json(odd)).outcome, Outcome::unknown) << odd;
  }
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

TEST(ReadReply, AStepDownInsideWriteErrorsIsNotAMatchOfNothing) {
  const char* reply = R"({"ok": 1, "n": 0, "writeErrors": [{"index": 0, "code": 189}],
                          "writeConcernError": {"code": 189}})";
  EXPECT_EQ(read_reply(kDelete, Json(reply)).outcome, Outcome::unknown);
  EXPECT_EQ(read_reply(kExtend, Json(reply)).outcome, Outcome::unknown);
}

TEST(ReadReply, AStatementsOwnErrorLeavesTheRestOfTheBatch) {
  const auto r = read_reply(kExtend, Json(R"({"ok": 1, "n": 2,
      "writeErrors": [{"index": 1, "code": 16554, "errmsg": "odd"}]})"));
  EXPECT_EQ(r.outcome, Outcome::done);
  EXPECT_EQ(r.matched, 2);
  EXPECT_EQ(r.failed, std::vector<std::size_t>{1});
}

TEST(ReadReply, ADuplicateKeyIsALostRaceOnlyOnTheName) {
  EXPECT_EQ(
      read_reply(kAcquire, Json(R"({"ok": 0, "code": 11000, "keyPattern": {"_id": 1}})")).outcome,
      Outcome::duplicate_key);
  EXPECT_EQ(
      read_reply(kAcquire, Json(R"({"ok": 0, "code": 11000, "keyPattern": {"x": 1}})")).outcome,
      Outcome::configuration);
}

TEST(ReadReply, AnErrorBesideAWriteConcernErrorIsReadFirst) {
  const auto r = read_reply(kAcquire, Json(R"({"ok": 0, "code": 10107, "errmsg": "not primary",
                                              "writeConcernError": {"code": 11602}})"));
  EXPECT_EQ(r.outcome, Outcome::not_executed);
}

TEST(ReadReply, ARetriedReplyIsMarked) {
  EXPECT_TRUE(read_reply(kAcquire, Json(R"({"ok": 1, "retriedStmtId": 0})")).retried);
}

TEST(ReadReply, ALookListsTheDocumentsFound) {
  const auto r = read_reply(kLook, Json(R"({"ok": 1, "cursor": {"firstBatch": [
      {"_id": "a", "lockId": "x"}, {"_id": "b", "lockId": "y"}]}})"));
  ASSERT_EQ(r.documents.size(), 2u);
  EXPECT_EQ(r.documents[1].lock_id, "y");
}

TEST(ReadReply, GarbageIsUnknown) {
  EXPECT_EQ(read_reply(kAcquire, Json("{}")).outcome, Outcome::unknown);
  EXPECT_EQ(read_reply(kAcquire, Json(R"({"ok": "yes?", "value": 3})")).documents.size(), 0u);
}

TEST(Hello, OnlyAReplicaSetOrAClusterOf51OrNewerMayHoldLocks) {
  EXPECT_FALSE(refusal_of_hello(Json(R"({"setName": "rs", "maxWireVersion": 17})")));
  EXPECT_NE(refusal_of_hello(Json(R"({"maxWireVersion": 17})"))->find("standalone"),
            std::string::npos);
  EXPECT_FALSE(refusal_of_hello(Json(R"({"msg": "isdbgrid", "maxWireVersion": 17})")));
  EXPECT_NE(refusal_of_hello(Json(R"({"msg": "isdbgrid", "maxWireVersion": 13})"))->find("too old"),
            std::string::npos);
  EXPECT_NE(refusal_of_hello(Json(R"({"setName": "rs", "maxWireVersion": 13})"))->find("too old"),
            std::string::npos);
}

/// As FerretDB 1.24 answers that was started with --repl-set-name.
TEST(Hello, APrimaryThatDoesNotNameItselfIsRefused) {
  for (const char* office : {"isWritablePrimary", "ismaster"}) {
    const auto said = std::string(R"({"setName": "rs", "maxWireVersion": 21, ")") + office + "\": ";
    const auto refusal = refusal_of_hello(Json((said + "true}").c_str())).value_or("");
    EXPECT_NE(refusal.find("hello-tells-what-a-member-is"), std::string::npos);
    EXPECT_FALSE(refusal_of_hello(Json((said + "false}").c_str())));
    EXPECT_FALSE(refusal_of_hello(Json((said + R"(true, "primary": "h:1"})").c_str())));
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

/// As a router answers: the time of the write, below the cluster time that it passes on.
TEST(ReadReply, ARoutersClusterTimeIsNoToken) {
  const auto reply = read_reply(kAcquire, Json(R"({"ok": 1, "value": {"_id": "n", "lockId": "l"},
      "$clusterTime": {"clusterTime": {"$timestamp": {"t": 1700000009, "i": 7}}},
      "operationTime": {"$timestamp": {"t": 1700000001, "i": 2}}})"));
  EXPECT_EQ(reply.operation_time, FencingToken::from_timestamp(1'700'000'001, 2));
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

TEST(ErrorTable, UnsatisfiableWriteConcernsAreHopeless) {
  EXPECT_TRUE(is_permanent_write_concern_error(100));
  EXPECT_TRUE(is_permanent_write_concern_error(79));
  EXPECT_FALSE(is_permanent_write_concern_error(64));
}

}  // namespace
}  // namespace leasehold::mongo
