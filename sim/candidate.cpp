#include "sim/candidate.hpp"

#include <utility>

#include "core/check.hpp"
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

/// `lockId` of the document to write: the writer's own part, then the queue's.
void forget_queue(Json& document) {
  Json& lock_id = document["lockId"];
  Json own = lock_id;
  if (own.contains("$concat")) own = Json(own["$concat"][0]);
  if (own.contains("$reduce")) own = Json(own["$reduce"]["initialValue"]);
  lock_id = own;
}

/// Null: unchanged. Such a release takes no place behind readers, and admits none.
Json without_queue(core::Command command, const std::string& collection) {
  auto* const acquires = std::get_if<core::AcquireCommand>(&command.body);
  auto* const passes_on = std::get_if<core::PassOnCommand>(&command.body);
  const bool admits = passes_on != nullptr && std::exchange(passes_on->room, 0) != 0;
  if (acquires != nullptr) acquires->queues_for.reset();
  const bool receives = std::holds_alternative<core::HandOverCommand>(command.body);
  const bool extends = std::holds_alternative<core::ExtendCommand>(command.body);
  if (!acquires && !admits && !receives && !extends) return {};
  Json json = json_of(*mongo::build(command, collection).get());
  if (acquires) forget_queue(json["update"][0]["$replaceWith"]["$cond"][1]);
  if (receives) forget_queue(json["update"][0]["$replaceWith"]);
  if (extends) {
    for (Json& statement : json["updates"]) forget_queue(statement["u"][0]["$set"]);
  }
  return json;
}

}  // namespace

/// Made of the adapter's bytes and not in the core, so that the lock under test is the production
/// code to the last byte, and the checkers are tested on what a server would see of a faulty one.
Json changed(const core::Command& command, const std::string& collection, const Changes& changes) {
  const auto sabotage = changes.sabotage;
  if (changes.old_release) {
    const auto json = without_queue(command, collection);
    if (!json.is_null()) return json;
  }
  if (sabotage == Sabotage::none || sabotage == Sabotage::reads_the_real_clock) return {};
  core::Command sent = command;
  const auto* const leave = std::get_if<core::PassOnCommand>(&command.body);
  if (sabotage == Sabotage::deletes_without_owner && leave != nullptr && leave->room != 0) {
    sent.body = core::DeleteCommand{leave->name, leave->owner};
  }
  const bool deletes = std::holds_alternative<core::DeleteCommand>(sent.body);
  const bool extends = std::holds_alternative<core::ExtendCommand>(sent.body);
  LEASEHOLD_CHECK(sabotage != Sabotage::dies_deleting || !deletes);
  // Most commands stay as they are, and to make JSON of each would be most of a run's work.
  const bool spoils = sabotage == Sabotage::writes_for_one ||
                      (sabotage == Sabotage::extends_without_owner && extends) ||
                      (sabotage == Sabotage::deletes_without_owner && deletes);
  if (!spoils) return {};
  Json json = json_of(*mongo::build(sent, collection).get());
  if (sabotage == Sabotage::writes_for_one) {
    if (!json.contains("writeConcern")) return {};
    json["writeConcern"]["w"] = 1;
    return json;
  }
  for (Json& one : json[extends ? "updates" : "deletes"]) one["q"] = {{"_id", one["q"]["_id"]}};
  return json;
}

void hide_queue(core::Reply& reply) {
  for (auto& document : reply.documents) document.queue.clear();
}

}  // namespace leasehold::sim
