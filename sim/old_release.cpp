#include "sim/old_release.hpp"

#include "mongo/commands.hpp"

namespace leasehold::sim {
namespace {

using mongo::Json;

Json json_of(const bson_t& bytes) {
  char* text = bson_as_canonical_extended_json(&bytes, nullptr);
  Json json = Json::parse(text);
  bson_free(text);
  return json;
}

/// `lockId` of a document as it is to be: the writer's own part stands in front of the queue's.
void forget_queue(Json& document) {
  Json& lock_id = document["lockId"];
  Json own = lock_id;
  if (own.contains("$concat")) own = Json(own["$concat"][0]);
  if (own.contains("$reduce")) own = Json(own["$reduce"]["initialValue"]);
  lock_id = own;
}

}  // namespace

Json without_queue(const core::Command& command, const std::string& collection) {
  const bool acquires = std::holds_alternative<core::AcquireCommand>(command.body);
  const bool receives = std::holds_alternative<core::HandOverCommand>(command.body);
  const bool extends = std::holds_alternative<core::ExtendCommand>(command.body);
  if (!acquires && !receives && !extends) return {};
  Json json = json_of(*mongo::build(command, collection).get());
  if (acquires) forget_queue(json["update"][0]["$replaceWith"]["$cond"][1]);
  if (receives) forget_queue(json["update"][0]["$replaceWith"]);
  if (extends) {
    for (Json& statement : json["updates"]) forget_queue(statement["u"][0]["$set"]);
  }
  return json;
}

void hide_queue(core::Reply& reply) {
  for (auto& document : reply.documents) document.queue.clear();
}

}  // namespace leasehold::sim
