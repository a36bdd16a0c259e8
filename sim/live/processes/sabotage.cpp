#include "sim/live/processes/sabotage.hpp"

#include "mongo/replies.hpp"
#include "sim/live/system/mongo_client.hpp"

namespace leasehold::sim::live {
namespace {

struct Place {
  Changes changes;
  std::string uri, database, collection;
};

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
    const Json bytes = changed(command, place_.collection, place_.changes);
    if (bytes.is_null()) return real_->execute(command);
    core::Reply out;
    try {
      client_.run_once(place_.database, bytes,
                       [&](const bson_t& reply) { out = mongo::read_reply(command, reply); });
    } catch (const NoReply& error) {
      out.message = error.what();
    }
    return out;
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
