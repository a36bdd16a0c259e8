#include "sim/live/sabotage.hpp"

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "sim/live/mongo_client.hpp"

namespace leasehold::sim::live {
namespace {

struct Place {
  Sabotage sabotage;
  std::string uri, database, collection;
};

/// The command as this lock sends it; null: as it is.
Json sabotaged(Sabotage sabotage, Json command) {
  if (sabotage == Sabotage::writes_for_one && command.contains("writeConcern")) {
    command["writeConcern"]["w"] = 1;
    return command;
  }
  if (sabotage == Sabotage::deletes_without_owner && command.contains("deletes")) {
    for (Json& statement : command["deletes"]) {
      statement["q"] = {{"_id", statement["q"]["_id"]}};
    }
    return command;
  }
  return {};
}

class SpoiltConnection final : public core::Connection {
 public:
  SpoiltConnection(std::unique_ptr<core::Connection> real, const Place& place)
      : real_(std::move(real)), place_(place), client_(place.uri) {}

  core::Reply execute(const core::Command& command) override {
    const auto bytes = mongo::build(command, place_.collection);
    char* text = bson_as_canonical_extended_json(bytes.get(), nullptr);
    const Json changed = sabotaged(place_.sabotage, Json::parse(text));
    bson_free(text);
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
  void interrupt() noexcept override { real_->interrupt(); }

 private:
  std::unique_ptr<core::Connection> real_;
  Place place_;
  MongoClient client_;
};

class SpoiltTransport final : public core::Transport {
 public:
  SpoiltTransport(std::shared_ptr<core::Transport> real, Place place)
      : real_(std::move(real)), place_(std::move(place)) {}
  std::unique_ptr<core::Connection> connect() override {
    return std::make_unique<SpoiltConnection>(real_->connect(), place_);
  }

 private:
  std::shared_ptr<core::Transport> real_;
  Place place_;
};

}  // namespace

std::shared_ptr<core::Transport> sabotaged_transport(std::shared_ptr<core::Transport> real,
                                                     Sabotage sabotage, const std::string& uri,
                                                     const std::string& database,
                                                     const std::string& collection) {
  return std::make_shared<SpoiltTransport>(std::move(real),
                                           Place{sabotage, uri, database, collection});
}

}  // namespace leasehold::sim::live
