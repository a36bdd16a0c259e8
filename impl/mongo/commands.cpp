#include "mongo/commands.hpp"

#include <algorithm>
#include <limits>

#include "mongo/expressions.hpp"
#include "mongo/queue_expressions.hpp"

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

Bson type_is(std::string_view comparison, std::string_view field, std::string_view type) {
  const Bson type_of = one_argument("$type", field);
  return expression(comparison, nested(type_of), text(type));
}

void append_case(Bson& branches, std::string_view key, const Bson& condition, bool then) {
  branches.doc(key, [&](Bson& b) { b.copy("case", condition).flag("then", then); });
}

/// Whether an upsert made the document just now: it has nothing but its name.
Bson is_missing() {
  Bson seed;
  seed.text("_id", "$_id");
  return expression("$eq", text("$$ROOT"), nested(seed));
}

Bson is_corrupt() {
  const Bson odd_id = type_is("$ne", "$lockId", "string");
  const Bson odd_expiry = type_is("$ne", "$expiresAt", "date");
  return expression("$or", nested(odd_id), nested(odd_expiry));
}

/// Whether the lock may be taken.
Bson free_for(const AcquireCommand& command) {
  static const Bson missing = is_missing();
  static const Bson corrupt = is_corrupt();
  static const Bson expired = expression("$lte", text("$expiresAt"), text("$$NOW"));
  Bson e;
  e.doc("$switch", [&](Bson& s) {
    s.array("branches", [&](Bson& branches) {
      append_case(branches, "0", missing, true);
      append_case(branches, "1", corrupt, false);
      append_case(branches, "2", mine(command.owner), true);
      if (command.observed) {
        const Bson seen = literal(*command.observed);
        const Bson holder = holders_lock_id();
        append_case(branches, "3", expression("$eq", nested(holder), nested(seen)), true);
      }
    });
    s.copy("default", expired);
  });
  return e;
}

/// When the server may give the lock to another: the margin is for clocks of other members.
Bson until(milliseconds lease, milliseconds margin) {
  return expression("$add", text("$$NOW"), number((lease + margin).count()));
}

/// A token below the one that this write will have, and above the stored one; always a change.
Bson lower_bound() {
  constexpr std::int64_t kWord = 4'294'967'296;
  const Bson seconds = one_argument("$tsSecond", "$$CLUSTER_TIME");
  const Bson since = expression("$subtract", nested(seconds), number(FencingToken::kEpochSeconds));
  const Bson high = expression("$multiply", nested(since), number(kWord));
  const Bson low = one_argument("$tsIncrement", "$$CLUSTER_TIME");
  const Bson packed = expression("$add", nested(high), nested(low));
  Bson stored;  // an odd fencingToken is healed: it counts as 0
  stored.doc("$let", [](Bson& let) {
    let.doc("vars", [](Bson& vars) {
      vars.doc("t", [](Bson& t) {
        t.doc("$convert", [](Bson& c) {
          c.text("input", "$fencingToken").text("to", "long");
          c.int64("onError", 0).int64("onNull", 0);
        });
      });
    });
    const Bson positive = expression("$gte", text("$$t"), number(0));
    const Bson below_max =
        expression("$lt", text("$$t"), number(std::numeric_limits<std::int64_t>::max()));
    const Bson in_range = expression("$and", nested(positive), nested(below_max));
    let.doc("in", [&](Bson& in) {
      in.array("$cond", [&](Bson& c) { c.copy("0", in_range).text("1", "$$t").int64("2", 0); });
    });
  });
  const Bson next = expression("$add", nested(stored), number(1));
  return expression("$max", nested(next), nested(packed));
}

/// The document as this acquire or hand-over would leave it. A retry of the same owner keeps
/// `acquiredAt` and never lowers `expiresAt`: $$NOW is read when a command starts, not when it
/// executes.
template <typename Command>
Bson taken_document(const Command& command) {
  static const Bson is_text = type_is("$eq", "$lockId", "string");
  static const Bson token = lower_bound();
  const Bson is_mine = mine(command.owner);
  const Bson ours = expression("$and", nested(is_text), nested(is_mine));
  const Bson expiry = until(command.lease, command.margin);
  const Bson not_lower = expression("$max", text("$expiresAt"), nested(expiry));
  Bson d;
  d.text("_id", "$_id").copy("lockId", followed_by_queue(command.lock_id, command.owner));
  d.doc("acquiredAt", [&](Bson& a) {
    a.array("$cond",
            [&](Bson& c) { c.copy("0", ours).text("1", "$acquiredAt").text("2", "$$NOW"); });
  });
  d.doc("expiresAt", [&](Bson& a) {
    a.array("$cond", [&](Bson& c) { c.copy("0", ours).copy("1", not_lower).copy("2", expiry); });
  });
  d.copy("fencingToken", token);
  return d;
}

Bson build_body(const AcquireCommand& command, const std::string& collection,
                milliseconds timeout) {
  const Bson condition = free_for(command);
  const Bson taken = taken_document(command);
  Bson refused;
  if (command.queues_for) refused = queued_document(command);
  Bson d;
  d.text("findAndModify", collection);
  d.doc("query", [&](Bson& q) { q.text("_id", command.name); });
  d.array("update", [&](Bson& pipeline) {
    pipeline.doc("0", [&](Bson& stage) {
      stage.doc("$replaceWith", [&](Bson& r) {
        r.array("$cond", [&](Bson& c) {
          c.copy("0", condition).copy("1", taken);
          command.queues_for ? c.copy("2", refused) : c.text("2", "$$ROOT");
        });
      });
    });
  });
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
  const Bson expiry = until(s.lease, s.margin);
  updates.doc(key, [&](Bson& update) {
    update.doc("q", [&](Bson& q) {
      q.text("_id", s.name);
      append_owner(q, s.owner);
      q.date("acquiredAt", s.acquired_at.since_1970_ms);
    });
    update.array("u", [&](Bson& pipeline) {
      pipeline.doc("0", [&](Bson& stage) {
        stage.doc("$set", [&](Bson& set) {
          set.copy("lockId", followed_by_same_queue(s.lock_id));
          set.copy("expiresAt", expression("$max", text("$expiresAt"), nested(expiry)));
          set.copy("fencingToken",
                   expression("$max", text("$fencingToken"), number(s.token.value())));
        });
      });
    });
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
  const Bson taken = taken_document(command);
  Bson d;
  d.text("findAndModify", collection);
  d.doc("query", [&](Bson& q) {
    q.text("_id", command.name);
    append_owners(q, command.from, command.owner);
  });
  d.array("update", [&](Bson& pipeline) {
    pipeline.doc("0", [&](Bson& stage) { stage.copy("$replaceWith", taken); });
  });
  d.flag("new", true);
  append_limits(d, timeout);
  return d;
}

/// It matches by name alone: the owner may hold the lock, or wait, or neither.
Bson build_body(const PassOnCommand& command, const std::string& collection, milliseconds timeout) {
  static const Bson token = lower_bound();
  const Bson after = passed_on_document(command, token);
  Bson d;
  d.text("findAndModify", collection);
  d.doc("query", [&](Bson& q) { q.text("_id", command.name); });
  d.array("update", [&](Bson& pipeline) {
    pipeline.doc("0", [&](Bson& stage) { stage.copy("$replaceWith", after); });
  });
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
