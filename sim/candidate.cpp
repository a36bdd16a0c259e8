#include "sim/candidate.hpp"

#include <utility>

#include "core/check.hpp"
#include "mongo/commands.hpp"

namespace leasehold::sim {

/// It waits as its lock says. No pause is left after the term, because `run` ends with it.
Candidate::Candidate(Lock lock, runtime::Executor& executor, Begun begun)
    : executor_(executor),
      begun_(std::move(begun)),
      leadership_(
          std::move(lock),
          [this](const std::stop_token& stop, FencingToken token) { work(stop, token); },
          {.on_ended = [this](const Term&) { stop_.request_stop(); }}) {}

void Candidate::run() { (void)leadership_.run(stop_.get_token()); }

void Candidate::give_up() {
  const std::lock_guard guard(mutex_);
  if (!asked_) stop_.request_stop();
}

void Candidate::end_term() {
  const std::lock_guard guard(mutex_);
  done_ = true;
  changed_.notify_all();
}

bool Candidate::had_term() const {
  const std::lock_guard guard(mutex_);
  return asked_.has_value();
}

std::stop_token Candidate::lost() const {
  const std::lock_guard guard(mutex_);
  return *asked_;
}

/// It goes on after a loss as other users do, so that the laboratory sees what a late one would do.
void Candidate::work(const std::stop_token& stop, FencingToken token) {
  {
    const std::lock_guard guard(mutex_);
    if (stop_.stop_requested()) return;
    asked_ = stop;
  }
  begun_(token);
  std::unique_lock lock(mutex_);
  executor_.wait(lock, changed_, core::Duration::max(), [this] { return done_; });
}

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

/// Null: unchanged.
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
  Json json = json_of(*mongo::build(command, collection).get());
  LEASEHOLD_CHECK(sabotage != Sabotage::dies_deleting || !json.contains("deletes"));
  if (sabotage == Sabotage::writes_for_one && json.contains("writeConcern")) {
    json["writeConcern"]["w"] = 1;
    return json;
  }
  const char* const statements =
      sabotage == Sabotage::deletes_without_owner ? "deletes" : "updates";
  const bool of_owners = sabotage == Sabotage::deletes_without_owner ||
                         sabotage == Sabotage::extends_without_owner;
  if (!of_owners || !json.contains(statements)) return {};
  for (Json& statement : json[statements]) statement["q"] = {{"_id", statement["q"]["_id"]}};
  return json;
}

void hide_queue(core::Reply& reply) {
  for (auto& document : reply.documents) document.queue.clear();
}

}  // namespace leasehold::sim
