#include "mongo/commands.hpp"

#include <algorithm>

#include "mongo/stages.hpp"

namespace leasehold::mongo {
namespace {

using core::AcquireCommand;
using core::DeleteCommand;
using core::EnsureIndexCommand;
using core::ExtendCommand;
using core::ExtendStatement;
using core::HandOverCommand;
using core::PassOnCommand;
using core::ReadHoldersCommand;
using std::chrono::milliseconds;

void append_limits(Bson& d, milliseconds timeout) {
  const auto limits = limits_of(timeout);
  d.doc("writeConcern",
        [&](Bson& w) { w.text("w", "majority").int32("wtimeout", limits.wtimeout_ms); });
  d.int32("maxTimeMS", limits.max_time_ms);
}

/// A pipeline of one stage.
void append_pipeline(Bson& d, std::string_view key, const Bson& stage) {
  d.array(key, [&](Bson& pipeline) { pipeline.copy("0", stage); });
}

Bson build_body(const AcquireCommand& command, const std::string& collection,
                milliseconds timeout) {
  Bson d;
  d.text("findAndModify", collection);
  d.doc("query", [&](Bson& q) { q.text("_id", command.name); });
  append_pipeline(d, "update", stage_of(command));
  d.flag("upsert", true).flag("new", true);
  append_limits(d, timeout);
  return d;
}

/// `rest`: a pattern for what follows the owner.
void append_owner(Bson& query, core::Owner owner, const std::string& rest = "") {
  query.regex("lockId", pattern_of(owner, rest).c_str());
}

void append_owners(Bson& query, core::Owner one, core::Owner other, const std::string& rest = "") {
  query.regex("lockId", pattern_of(one, other, rest).c_str());
}

void append_extension(Bson& updates, std::string_view key, const ExtendStatement& s) {
  updates.doc(key, [&](Bson& update) {
    update.doc("q", [&](Bson& q) {
      q.text("_id", s.name);
      append_owner(q, s.owner);
      q.date("acquiredAt", s.acquired_at.since_1970_ms);
    });
    append_pipeline(update, "u", stage_of(s));
  });
}

Bson build_body(const ExtendCommand& command, const std::string& collection, milliseconds timeout) {
  Bson d;
  d.text("update", collection);
  d.array("updates", [&](Bson& updates) {
    for (std::size_t i = 0; i < command.statements.size(); ++i) {
      append_extension(updates, std::to_string(i), command.statements[i]);
    }
  });
  d.flag("ordered", false);
  append_limits(d, timeout);
  return d;
}

Bson build_body(const ReadHoldersCommand& command, const std::string& collection,
                milliseconds timeout) {
  Bson d;
  d.text("find", collection);
  d.doc("filter", [&](Bson& filter) {
    filter.doc("_id", [&](Bson& id) {
      id.array("$in", [&](Bson& names) {
        for (std::size_t i = 0; i < command.names.size(); ++i) {
          names.text(std::to_string(i), command.names[i]);
        }
      });
    });
  });
  d.doc("projection", [&](Bson& p) {
    p.int32("lockId", 1).int32("acquiredAt", 1);
    if (command.until) p.int32("expiresAt", 1);
  });
  d.int32("batchSize", 100'000).flag("singleBatch", true);
  d.int32("maxTimeMS", limits_of(timeout).max_time_ms);
  return d;
}

/// Linearizable: a primary that was cut off answers nothing rather than what is long over.
Bson build_body(const core::InspectCommand& command, const std::string& collection,
                milliseconds timeout) {
  Bson d;
  d.text("find", collection);
  d.doc("filter", [&](Bson& filter) { filter.text("_id", command.name); });
  d.doc("projection", [](Bson& p) {
    p.int32("lockId", 1).int32("acquiredAt", 1).int32("expiresAt", 1).int32("fencingToken", 1);
    p.text("now", "$$NOW");
  });
  d.int32("limit", 1).flag("singleBatch", true);
  d.doc("readConcern", [](Bson& concern) { concern.text("level", "linearizable"); });
  d.int32("maxTimeMS", limits_of(timeout).max_time_ms);
  return d;
}

Bson build_body(const DeleteCommand& command, const std::string& collection, milliseconds timeout) {
  Bson d;
  d.text("delete", collection);
  d.array("deletes", [&](Bson& deletes) {
    deletes.doc("0", [&](Bson& one) {
      one.doc("q", [&](Bson& q) {
        q.text("_id", command.name);
        const char* const rest = command.unless_queued ? "[^~]*$" : "";
        if (command.or_owner) {
          append_owners(q, command.owner, *command.or_owner, rest);
        } else {
          append_owner(q, command.owner, rest);
        }
      });
      one.int32("limit", 1);
    });
  });
  append_limits(d, timeout);
  return d;
}

Bson build_body(const HandOverCommand& command, const std::string& collection,
                milliseconds timeout) {
  Bson d;
  d.text("findAndModify", collection);
  d.doc("query", [&](Bson& q) {
    q.text("_id", command.name);
    append_owners(q, command.from, command.owner);
  });
  append_pipeline(d, "update", stage_of(command));
  d.flag("new", true);
  append_limits(d, timeout);
  return d;
}

/// It matches by name alone: the owner may hold the lock, or wait, or neither.
Bson build_body(const PassOnCommand& command, const std::string& collection, milliseconds timeout) {
  Bson d;
  d.text("findAndModify", collection);
  d.doc("query", [&](Bson& q) { q.text("_id", command.name); });
  append_pipeline(d, "update", stage_of(command));
  append_limits(d, timeout);
  return d;
}

Bson build_body(const EnsureIndexCommand&, const std::string& collection, milliseconds timeout) {
  Bson d;
  d.text("createIndexes", collection);
  d.array("indexes", [](Bson& indexes) {
    indexes.doc("0", [](Bson& index) {
      index.doc("key", [](Bson& key) { key.int32("expiresAt", 1); });
      index.text("name", "expiresAt_ttl").int32("expireAfterSeconds", 0);
    });
  });
  append_limits(d, timeout);
  return d;
}

/// A write by which an owner of this provider gets the lock changes the token's lower bound too;
/// one that only changes the queue behind its lockId does not, and is not reported.
void append_grants(Bson& any, std::uint64_t provider) {
  const std::string prefix = '^' + to_hex(core::Owner{provider, 0}).substr(0, 16);
  any.doc("0", [&](Bson& replaced) {
    replaced.text("operationType", "replace").regex("fullDocument.lockId", prefix.c_str());
  });
  any.doc("1", [&](Bson& updated) {
    updated.regex("updateDescription.updatedFields.lockId", prefix.c_str());
    updated.doc("updateDescription.updatedFields.fencingToken",
                [](Bson& token) { token.flag("$exists", true); });
  });
}

Bson open_stream(const core::StreamCommand& command, const std::string& collection,
                 milliseconds timeout) {
  Bson d;
  d.text("aggregate", collection);
  d.array("pipeline", [&](Bson& stages) {
    stages.doc("0", [&](Bson& stage) {
      stage.doc("$changeStream", [&](Bson& from) {
        if (command.since) from.timestamp("startAtOperationTime", command.since);
      });
    });
    stages.doc("1", [&](Bson& stage) {
      stage.doc("$match", [&](Bson& match) {
        match.array("$or", [&](Bson& any) { append_grants(any, command.provider); });
      });
    });
    stages.doc("2", [](Bson& stage) {
      stage.doc("$project", [](Bson& p) {
        p.int32("documentKey", 1).int32("clusterTime", 1).int32("fullDocument", 1);
        p.int32("updateDescription.updatedFields", 1);
      });
    });
  });
  d.doc("cursor", [](Bson&) {});
  d.int32("maxTimeMS", limits_of(timeout).max_time_ms);
  return d;
}

Bson build_body(const core::StreamCommand& command, const std::string& collection,
                milliseconds timeout) {
  using Step = core::StreamCommand::Step;
  if (command.step == Step::open) return open_stream(command, collection, timeout);
  Bson d;
  if (command.step == Step::next) {
    d.int64("getMore", command.cursor).text("collection", collection);
    d.int32("maxTimeMS", std::max<std::int64_t>(timeout.count() / 3, 1));
  } else {
    d.text("killCursors", collection);
    d.array("cursors", [&](Bson& cursors) { cursors.int64("0", command.cursor); });
  }
  return d;
}

/// Built by its protocol.
Bson build_body(const core::RawCommand& command, const std::string&, milliseconds) {
  return Bson::of(command.bson);
}

}  // namespace

Limits limits_of(milliseconds timeout) {
  return {std::max<std::int64_t>(timeout.count() * 8 / 10, 1),
          std::max<std::int64_t>(timeout.count() * 9 / 10, 1)};
}

std::string pattern_of(core::Owner owner, std::string_view rest) {
  return ('^' + to_hex(owner) + "\\.").append(rest);
}

std::string pattern_of(core::Owner one, core::Owner other, std::string_view rest) {
  return ("^(" + to_hex(one) + '|' + to_hex(other) + ")\\.").append(rest);
}

Bson build(const core::Command& command, const std::string& collection) {
  return std::visit([&](const auto& body) { return build_body(body, collection, command.timeout); },
                    command.body);
}

}  // namespace leasehold::mongo
