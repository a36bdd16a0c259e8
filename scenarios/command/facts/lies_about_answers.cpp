#include "scenarios/command/facts/lies.hpp"

/// Of errors, confirmations, reads, members and the TTL index.
namespace leasehold::lab {
namespace {

using Said = std::optional<Json>;

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

Teller duplicate_key_swallowed() {
  return of("insert", [](Json& reply) {
    if (reply.contains("writeErrors")) reply["n"] = 1;
    reply.erase("writeErrors");
  });
}
Teller duplicate_key_of_another_code() {
  return of("insert", [](Json& reply) {
    if (reply.contains("writeErrors")) reply["writeErrors"][0]["code"] = 112;
  });
}
Teller upsert_that_overwrites() {
  return instead_of("update", [](Json& command) { command["updates"][0]["q"].erase("n"); });
}
Teller duplicate_key_of_the_id() {
  return of("insert", [](Json& reply) {
    if (reply.contains("writeErrors")) reply["writeErrors"][0]["keyPattern"] = {{"_id", 1}};
  });
}
Teller write_concern_error_left_out() {
  return of("findAndModify", [](Json& reply) { reply.erase("writeConcernError"); });
}
/// A server that does not wait for the other members would show this.
Teller majority_behind() {
  return of("hello", [](Json& reply) {
    Json& at = reply["lastWrite"]["majorityOpTime"]["ts"]["$timestamp"]["t"];
    at = at.get<std::int64_t>() - 1;
  });
}
Teller majority_read_behind() {
  return [](const Question& q) -> Said {
    if (!q.is("find") || q.command.value("readConcern", Json())["level"] != "majority") {
      return std::nullopt;
    }
    Json reply = q.reply();
    reply["cursor"]["firstBatch"] = Json::array();
    return reply;
  };
}
Teller no_match_of_an_hour_ago() {
  return of("delete", [](Json& reply) {
    Json& at = reply["operationTime"]["$timestamp"]["t"];
    at = at.get<std::int64_t>() - 3'600;
  });
}

/// A find answers as long ago: before there was anything.
Teller find_behind(bool linearizable) {
  return [linearizable](const Question& q) -> Said {
    const bool is_this = q.is("find") && q.command.contains("readConcern") == linearizable;
    if (!is_this) return std::nullopt;
    Json reply = q.reply();
    reply["cursor"]["firstBatch"] = Json::array();
    return reply;
  };
}
Teller linearizable_read_behind() { return find_behind(true); }
Teller read_behind() { return find_behind(false); }

Teller secondary_that_writes() {
  return [](const Question& q) -> Said {
    if (q.member == 0 || q.is("hello")) return std::nullopt;
    return q.ask(q.command);
  };
}
Teller second_primary() {
  return [](const Question& q) -> Said {
    if (q.member == 0 || !q.is("hello")) return std::nullopt;
    Json reply = q.reply();
    reply["isWritablePrimary"] = true;
    return reply;
  };
}
Teller standalone() {
  return of("hello", [](Json& reply) { reply.erase("setName"); });
}
Teller unknown_stage_left_out() {
  return instead_of("findAndModify", [](Json& command) {
    command["update"] = Json::array({{{"$set", {{"n", 1}}}}});
  });
}
Teller repetition_not_marked() {
  return of("findAndModify", [](Json& reply) { reply.erase("retriedStmtId"); });
}
Teller repetition_executed() {
  return instead_of("findAndModify", [](Json& command) { command.erase("txnNumber"); });
}

Teller index_of_other_seconds() {
  return instead_of("createIndexes",
                    [](Json& command) { command["indexes"][0]["expireAfterSeconds"] = 3'600; });
}
Teller index_without_seconds() {
  return instead_of("createIndexes",
                    [](Json& command) { command["indexes"][0].erase("expireAfterSeconds"); });
}
Teller index_conflict_swallowed() {
  return of("createIndexes", [](Json& reply) {
    reply.erase("code");
    reply["ok"] = 1;
  });
}
Teller ttl_monitor_disabled() {
  return of("getParameter", [](Json& reply) { reply["ttlMonitorEnabled"] = false; });
}
Teller ttl_monitor_too_early() {
  return [](const Question& q) -> Said {
    if (q.is("find")) {
      q.ask({{"delete", q.command["find"]},
             {"deletes", Json::array({{{"q", Json::object()}, {"limit", 0}}})}});
    }
    return std::nullopt;
  };
}

}  // namespace

std::vector<Lie> lies_about_answers() {
  return {
      {"a duplicate key is swallowed", "duplicate-key-is-11000", duplicate_key_swallowed},
      {"a duplicate key has another code", "duplicate-key-is-11000", duplicate_key_of_another_code},
      {"an upsert ignores its query", "duplicate-key-is-11000", upsert_that_overwrites},
      {"every duplicate key is of _id", "duplicate-key-names-its-index", duplicate_key_of_the_id},
      {"writeConcernError is left out", "unconfirmed-is-reported", write_concern_error_left_out,
       nullptr, "034"},
      {"w: majority does not wait", "confirmed-is-of-a-majority", majority_behind, nullptr, "034"},
      {"a majority does not have what it confirmed", "confirmed-is-of-a-majority",
       majority_read_behind},
      {"no match is of an hour ago", "no-match-is-not-older", no_match_of_an_hour_ago},
      {"a linearizable read is old", "linearizable-read-is-current", linearizable_read_behind},
      {"a read is old", "read-is-of-the-primary", read_behind},
      {"a secondary writes", "secondary-refuses-writes", secondary_that_writes},
      {"there are two primaries", "hello-tells-what-a-member-is", second_primary},
      {"there is no set", "hello-tells-what-a-member-is", standalone, "the server is a standalone"},
      {"an unknown stage is left out", "unknown-words-are-refused", unknown_stage_left_out,
       "corrupt lock document"},
      {"a repetition is not marked", "repeated-write-is-marked", repetition_not_marked, nullptr,
       "086"},
      {"a repetition is executed", "repeated-write-is-marked", repetition_executed},
      {"the TTL index waits an hour", "index-is-made-as-asked", index_of_other_seconds},
      {"the TTL index is a plain one", "index-is-made-as-asked", index_without_seconds},
      {"an index with other options is accepted", "index-is-made-as-asked",
       index_conflict_swallowed},
      {"the TTL monitor is disabled", "expired-document-is-removed", ttl_monitor_disabled},
      {"the TTL monitor removes what is held", "expired-document-is-removed",
       ttl_monitor_too_early},
  };
}

}  // namespace leasehold::lab
