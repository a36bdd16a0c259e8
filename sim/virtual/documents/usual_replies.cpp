#include "sim/virtual/documents/usual_replies.hpp"

#include "core/document/lock_queue.hpp"

namespace leasehold::sim::simulated {
namespace {

/// findAndModify in its three uses: the document after it is in the reply.
bool shows_document(const core::Command& command) {
  return std::holds_alternative<core::AcquireCommand>(command.body) ||
         std::holds_alternative<core::HandOverCommand>(command.body) ||
         std::holds_alternative<core::PassOnCommand>(command.body);
}

/// update and delete: the reply says how many matched.
bool only_counts(const core::Command& command) {
  return std::holds_alternative<core::ExtendCommand>(command.body) ||
         std::holds_alternative<core::DeleteCommand>(command.body);
}

/// Nothing if a field is missing, of another type or unknown.
std::optional<core::LockDocument> usual_document(const Object& document) {
  constexpr std::size_t kFields = 5;
  if (document.fields.size() != kFields) return std::nullopt;
  core::LockDocument out;
  for (const auto& [key, value] : document.fields) {
    if (const auto* name = value.as<std::string>(); name != nullptr && key == "_id"_key) {
      out.name = *name;
    } else if (const auto* whole = value.as<std::string>();
               whole != nullptr && key == "lockId"_key) {
      const auto split = core::split_queue(*whole);
      out.lock_id = split.lock_id;
      out.queue = split.queue;
    } else if (const auto* date = value.as<Date>(); date != nullptr && key == "acquiredAt"_key) {
      out.acquired_at.since_1970_ms = date->ms;
    } else if (const auto* token = value.as<std::int64_t>();
               token != nullptr && key == "fencingToken"_key) {
      out.fencing_token = *token;
    // Of `expiresAt` only the type is looked at: no client decides by that date.
    } else if (!value.is<Date>() || key != "expiresAt"_key) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace

/// Nothing as soon as anything is not as in a plain success: the adapter's own code then reads it,
/// and that code alone knows what an error means.
std::optional<core::Reply> usual_reply(const core::Command& command, const Object& reply) {
  const bool shows = shows_document(command);
  if (!shows && !only_counts(command)) return std::nullopt;
  core::Reply out{.outcome = core::Outcome::done};
  bool ok = false;
  for (const auto& [key, value] : reply.fields) {
    if (key == "ok"_key) {
      ok = value.truth();
    } else if (key == "operationTime"_key && value.is<Timestamp>()) {
      const auto& time = *value.as<Timestamp>();
      out.operation_time = FencingToken::from_timestamp(time.seconds, time.increment);
    } else if (key == "n"_key && value.is<std::int32_t>()) {
      out.matched = value.integer();
    } else if (const auto* document = value.as<Object>(); document && shows && key == "value"_key) {
      auto usual = usual_document(*document);
      if (!usual) return std::nullopt;
      out.documents.push_back(std::move(*usual));
    // Known, and of no use: `value` here is null, as nothing matched.
    } else if (key != "$clusterTime"_key && key != "lastErrorObject"_key &&
               key != "nModified"_key && key != "value"_key) {
      return std::nullopt;
    }
  }
  if (!ok) return std::nullopt;
  return out;
}

}  // namespace leasehold::sim::simulated
