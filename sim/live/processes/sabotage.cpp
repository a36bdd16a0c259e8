#include "sim/live/processes/sabotage.hpp"

#include "core/check.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "sim/candidate.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {
namespace {

struct Place {
  Changes changes;
  std::string uri, database, collection;
};

/// The command as this lock sends it; null: unchanged.
Json sabotaged(Sabotage sabotage, Json command) {
  if (sabotage == Sabotage::writes_for_one && command.contains("writeConcern")) {
    command["writeConcern"]["w"] = 1;
    return command;
  }
  LEASEHOLD_CHECK(sabotage != Sabotage::dies_deleting || !command.contains("deletes"));
  if (sabotage == Sabotage::deletes_without_owner && command.contains("deletes")) {
    for (Json& statement : command["deletes"]) {
      statement["q"] = {{"_id", statement["q"]["_id"]}};
    }
    return command;
  }
  return {};
}

class ChangedConnection final : public core::Connection {
 public:
  ChangedConnection(std::unique_ptr<core::Connection> real, const Place& place)
      : real_(std::move(real)), place_(place), client_(place.uri) {}

  core::Reply execute(const core::Command& asked) override {
    core::Command command = asked;
    if (auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
      acquire->queue_room = place_.changes.queue_room;
    }
    core::Reply reply = execute_changed(command);
    if (place_.changes.old_release) hide_queue(reply);
    return reply;
  }
  void interrupt(core::CommandId command) noexcept override { real_->interrupt(command); }

 private:
  core::Reply execute_changed(const core::Command& command) {
    const Json changed = changed_bytes(command);
    if (changed.is_null()) return real_->execute(command);
    core::Reply out;
    try {
      client_.run_once(place_.database, changed,
                       [&](const bson_t& reply) { out = mongo::read_reply(command, reply); });
    } catch (const NoReply& error) {
      out.message = error.what();
    }
    return out;
  }

  Json changed_bytes(const core::Command& command) const {
    if (place_.changes.old_release) return without_queue(command, place_.collection);
    const auto bytes = mongo::build(command, place_.collection);
    char* text = bson_as_canonical_extended_json(bytes.get(), nullptr);
    const Json changed = sabotaged(place_.changes.sabotage, Json::parse(text));
    bson_free(text);
    return changed;
  }

  std::unique_ptr<core::Connection> real_;
  Place place_;
  MongoClient client_;
};

class ChangedTransport final : public core::Transport {
 public:
  ChangedTransport(std::shared_ptr<core::Transport> real, Place place)
      : real_(std::move(real)), place_(std::move(place)) {}
  std::unique_ptr<core::Connection> connect() override {
    return std::make_unique<ChangedConnection>(real_->connect(), place_);
  }

 private:
  std::shared_ptr<core::Transport> real_;
  Place place_;
};

}  // namespace

std::shared_ptr<core::Transport> changed_transport(std::shared_ptr<core::Transport> real,
                                                   const Changes& changes, const std::string& uri,
                                                   const std::string& database,
                                                   const std::string& collection) {
  return std::make_shared<ChangedTransport>(std::move(real),
                                            Place{changes, uri, database, collection});
}

}  // namespace leasehold::sim::live
