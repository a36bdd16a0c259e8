#include "cli/facts/facts.hpp"
#include "mongo/replies.hpp"

/// Facts on what replies say.
namespace leasehold::cli {
namespace {

using core::Outcome;

Json insert_of(const Asker& asker, const Json& document) {
  return {{"insert", asker.collection()},
          {"documents", Json::array({document})},
          {"writeConcern", {{"w", "majority"}}}};
}

void expect_duplicate(Asker& asker, const Json& command, const std::string& index) {
  const Json reply = asker.run(command);
  const Json errors = reply.value("writeErrors", Json::array());
  const auto code = errors.empty() ? 0 : mongo::integer(errors[0]["code"]);
  require(code == 11000, "a second document of one key is answered with code " +
                             std::to_string(code) + " instead of 11000");
  const auto named = mongo::duplicate_index(*mongo::from_json(reply).get());
  require(named == index, "the duplicate key of " + index + " is reported as of " + named);
}

std::string duplicate_key_is_11000(TrialSite& site) {
  const Json document{{"_id", site.name("twice")}, {"n", 1}};
  site[0].must(insert_of(site[0], document));
  expect_duplicate(site[1], insert_of(site[1], document), "{_id}");
  const Json past{{"q", {{"_id", document["_id"]}, {"n", {{"$lt", 0}}}}},
                  {"u", {{"$set", {{"n", 2}}}}},
                  {"upsert", true}};
  expect_duplicate(site[1],
                   {{"update", site[1].collection()},
                    {"updates", Json::array({past})},
                    {"writeConcern", {{"w", "majority"}}}},
                   "{_id}");
  require(site[0].stored(document["_id"])["n"] == 1, "a refused upsert changed the document");
  return "an insert and an upsert past its query are refused as duplicates of _id";
}

std::string duplicate_key_names_its_index(TrialSite& site) {
  const Json index{{"key", {{"only", 1}}}, {"name", "only_1"}, {"unique", true}, {"sparse", true}};
  const Json create{{"createIndexes", site[0].collection()}, {"indexes", Json::array({index})}};
  constexpr int kCannotCreateIndex = 67;
  if (site.routers() > 0 && mongo::integer(site[0].run(create)["code"]) == kCannotCreateIndex) {
    throw NotTried("a sharded collection has no other unique index", true);
  }
  site[0].must(create);
  const auto value = site.name("only");
  site[0].must(insert_of(site[0], {{"_id", site.name("one")}, {"only", value}}));
  expect_duplicate(site[1], insert_of(site[1], {{"_id", site.name("two")}, {"only", value}}),
                   "{only}");
  return "a duplicate of another unique index names that index";
}

std::string unconfirmed_is_reported(TrialSite& site) {
  constexpr int kMoreThanAnySet = 50;  // the largest w; a set has at most 50 members
  const auto name = site.name("unconfirmed");
  const Json reply = site[0].run({{"findAndModify", site[0].collection()},
                                  {"query", {{"_id", name}}},
                                  {"update", Json::array({{{"$set", {{"lockId", name}}}}})},
                                  {"upsert", true},
                                  {"new", true},
                                  {"writeConcern", {{"w", kMoreThanAnySet}, {"wtimeout", 500}}}});
  if (mongo::integer(reply["ok"]) == 0) throw NotTried(reply.value("errmsg", "refused"));
  const auto bytes = mongo::from_json(reply);
  const auto read = mongo::read_reply({1, {}, core::AcquireCommand{}}, *bytes.get());
  require(read.outcome == Outcome::unknown,
          "a write that more members are to confirm than there are is reported as confirmed");
  return "a write that too few members confirm has a writeConcernError";
}

std::string confirmed_is_of_a_majority(TrialSite& site) {
  constexpr int kTimes = 3;
  for (int i = 0; i < kTimes; ++i) {
    const auto lock = site.attempt(site.name("confirmed"));
    const auto reply = site[0].sure(lock);
    const Json hello = site[0].hello();
    if (site.routers() == 0) {
      const FencingToken confirmed(
          mongo::packed_timestamp(hello["lastWrite"]["majorityOpTime"]["ts"]));
      require(confirmed >= reply.operation_time,
              "the write at " + text_of(reply.operation_time) +
                  " is confirmed, and a majority has what was written until " + text_of(confirmed));
    }
    const Json found = site[1].must({{"find", site[1].collection()},
                                     {"filter", {{"_id", lock.name}}},
                                     {"readConcern", {{"level", "majority"}}}});
    require(found["cursor"]["firstBatch"].size() == 1,
            "a read of what a majority has does not show a confirmed write");
  }
  return std::to_string(kTimes) + " confirmed writes: a majority had each when the reply came";
}

std::string no_match_is_not_older(TrialSite& site) {
  const auto lock = site.attempt(site.name("late"));
  const auto won = site[0].sure(lock).operation_time;
  const auto none = site[1].sure(core::DeleteCommand{lock.name, site.owner(), {}});
  require(none.matched == 0, "another owner's delete found a lock");
  require(!none.is_before(won), "a reply that nothing matched is of " +
                                    text_of(none.operation_time) +
                                    ", before the confirmed write at " + text_of(won));
  return "the reply that nothing matched is of a time no earlier than the last confirmed write";
}

std::string linearizable_read_is_current(TrialSite& site) {
  constexpr int kTimes = 2;
  for (int i = 0; i < kTimes; ++i) {
    const auto lock = site.attempt(site.name("inspected"));
    site[0].sure(lock);
    const auto shown = site[1].document(site[1].sure(core::InspectCommand{lock.name}));
    require(shown.lock_id == lock.lock_id, "a confirmed write does not show");
    require(shown.read_at.since_1970_ms > 0, "$$NOW of a find is no date");
    site[0].sure(core::DeleteCommand{lock.name, lock.owner, {}});
    require(site[1].sure(core::InspectCommand{lock.name}).documents.empty(),
            "a deleted document shows");
  }
  return std::to_string(2 * kTimes) + " reads show what was confirmed just before";
}

std::string read_is_of_the_primary(TrialSite& site) {
  constexpr int kTimes = 2;
  for (int i = 0; i < kTimes; ++i) {
    const auto lock = site.attempt(site.name("read"));
    site[0].sure(lock);
    const auto shown = site[1].document(site[1].sure(core::ReadHoldersCommand{{lock.name}}));
    require(shown.lock_id == lock.lock_id, "a confirmed write does not show");
  }
  return std::to_string(kTimes) + " reads show what was confirmed just before";
}

std::string secondary_refuses_writes(TrialSite& site) {
  int refused = 0;
  for (const auto& member : site[0].connection().members()) {
    const auto lock = site.attempt(site.name("secondary"));
    try {
      const Json hello = site[0].hello(member.id);
      if (!hello.value("secondary", false)) continue;
      const auto outcome = site[0].send(lock, member.id).outcome;
      require(outcome == Outcome::not_executed,
              member.host + " is a secondary, and does not refuse a write");
    } catch (const mongo::NoReply&) {
      continue;  // it is down
    }
    require(site[0].stored(lock.name).is_null(), member.host + " executed what it refused");
    ++refused;
  }
  if (refused == 0) throw NotTried("no secondary answers", true);
  return std::to_string(refused) + " secondaries refused a write, and did not execute it";
}

std::string unknown_words_are_refused(TrialSite& site) {
  const auto name = site.name("unknown");
  const std::vector<Json> stages{{{"$leaseholdUnknownStage", Json::object()}},
                                 {{"$set", {{"n", {{"$leaseholdUnknownOperator", 1}}}}}}};
  for (const Json& stage : stages) {
    const Json reply = site[0].run({{"findAndModify", site[0].collection()},
                                    {"query", {{"_id", name}}},
                                    {"update", Json::array({stage})},
                                    {"upsert", true}});
    require(mongo::integer(reply["ok"]) == 0 && reply.contains("code"),
            "a pipeline with an unknown word was executed");
    require(site[0].stored(name).is_null(), "a pipeline with an unknown word wrote");
  }
  const Json reply = site[0].run({{"leaseholdUnknownCommand", 1}});
  constexpr int kCommandNotFound = 59;
  require(mongo::integer(reply["code"]) == kCommandNotFound,
          "an unknown command is answered with " + reply.dump());
  return "an unknown stage, operator and command were refused, and nothing was written";
}

/// The driver gives consecutive commands of one connection the same session.
std::string repeated_write_is_marked(TrialSite& site) {
  const auto name = site.name("repeated");
  const auto number = std::to_string(site.owner().low);  // rises in each session
  const Json add{
      {"$set", {{"n", {{"$add", Json::array({{{"$ifNull", Json::array({"$n", 0})}}, 1})}}}}}};
  const Json command{{"findAndModify", site[0].collection()},
                     {"query", {{"_id", name}}},
                     {"update", Json::array({add})},
                     {"upsert", true},
                     {"new", true},
                     {"writeConcern", {{"w", "majority"}}},
                     {"txnNumber", {{"$numberLong", number}}}};
  site[0].must(command);
  const Json again = site[0].must(command);
  require(site[0].stored(name)["n"] == 1, "a repeated write was executed twice");
  require(again.contains("retriedStmtId"), "the reply to a repeated write does not say so");
  return "the second reply to a numbered write says that it is a repetition";
}

std::string hello_tells_what_a_member_is(TrialSite& site) {
  const Json hello = site[0].hello();
  const auto refusal = mongo::refusal_of_hello(*mongo::from_json(hello).get());
  require(!refusal, refusal.value_or(""));
  require(hello.value("isWritablePrimary", false), "the member that takes writes is no primary");
  require(mongo::date_ms(hello.value("localTime", Json())) > 0, "there is no localTime");
  if (site.routers() > 0) return "one of " + std::to_string(site.routers()) + " mongos";
  for (const auto& member : site[0].connection().members()) {
    try {
      const Json said = site[0].hello(member.id);
      require(said["me"] == hello["me"] || !said.value("isWritablePrimary", false),
              said.value("me", "?") + " is a primary as well");
    } catch (const mongo::NoReply&) {
      continue;
    }
  }
  return "set '" + hello.value("setName", "?") + "', one primary";
}

}  // namespace

std::vector<Fact> facts_of_answers() {
  return {
      {"hello-tells-what-a-member-is",
       "hello names the set, the version and the one primary, or says that it is of a mongos",
       "locks may be kept on servers that cannot keep them", true, hello_tells_what_a_member_is},
      {"duplicate-key-is-11000", "a second document of one _id is refused with code 11000",
       "a lost race may be taken for won, and fenced_update may write past a later holder", true,
       duplicate_key_is_11000},
      {"duplicate-key-names-its-index", "the refusal names the fields of the unique index",
       "a lock that can never be taken is waited for without end", true,
       duplicate_key_names_its_index},
      {"unconfirmed-is-reported", "a write that too few members confirmed has a writeConcernError",
       "a lock may be held that an election takes back", true, unconfirmed_is_reported},
      {"confirmed-is-of-a-majority",
       "a write with w: majority is answered when a majority of the members has it",
       "a lock may be held that an election takes back", true, confirmed_is_of_a_majority},
      {"no-match-is-not-older",
       "a reply that nothing matched has the operationTime of the last write, or a later one",
       "a primary that was cut off may make holders lose their locks", true, no_match_is_not_older},
      {"linearizable-read-is-current", "a linearizable read shows the last confirmed write",
       "inspect() shows who held a lock earlier", false, linearizable_read_is_current},
      {"read-is-of-the-primary", "a read of the primary shows the last confirmed write",
       "an extended lock may be called lost", true, read_is_of_the_primary},
      {"secondary-refuses-writes",
       "a member that is no primary refuses a write and does not execute it",
       "a lock may be won that the set knows nothing of", true, secondary_refuses_writes},
      {"unknown-words-are-refused", "what a server does not know it refuses, and writes nothing",
       "a server that lacks an operator may write something else than was asked", true,
       unknown_words_are_refused},
      {"repeated-write-is-marked",
       "the reply to a write that was executed before has retriedStmtId",
       "a driver that retries may give two holders one token", true, repeated_write_is_marked},
  };
}

}  // namespace leasehold::cli
