#include "sim/live/canary.hpp"

#include "sim/live/mongo_client.hpp"

namespace leasehold::sim::live {
namespace {

struct Place {
  std::string uri, database, collection;
};

class CanaryConnection final : public core::Connection {
 public:
  CanaryConnection(std::unique_ptr<core::Connection> real, const Place& place)
      : real_(std::move(real)), place_(place), client_(place.uri) {}

  core::Reply execute(const core::Command& command) override {
    const auto* remove = std::get_if<core::DeleteCommand>(&command.body);
    return remove == nullptr ? real_->execute(command) : delete_by_name(remove->name);
  }
  void interrupt() noexcept override { real_->interrupt(); }

 private:
  core::Reply delete_by_name(const std::string& name) {
    core::Reply out;
    try {
      const Json reply = client_.run(
          place_.database, {{"delete", place_.collection},
                            {"deletes", Json::array({{{"q", {{"_id", name}}}, {"limit", 1}}})},
                            {"writeConcern", {{"w", "majority"}, {"wtimeout", 2'000}}}});
      if (integer(reply["ok"]) != 1 || reply.contains("writeConcernError")) return out;
      out.outcome = core::Outcome::done;
      out.matched = integer(reply["n"]);
      out.operation_time = FencingToken(packed_timestamp(reply["operationTime"]));
    } catch (const std::exception& error) {
      out.message = error.what();
    }
    return out;
  }

  std::unique_ptr<core::Connection> real_;
  Place place_;
  MongoClient client_;
};

class CanaryTransport final : public core::Transport {
 public:
  CanaryTransport(std::shared_ptr<core::Transport> real, Place place)
      : real_(std::move(real)), place_(std::move(place)) {}
  std::unique_ptr<core::Connection> connect() override {
    return std::make_unique<CanaryConnection>(real_->connect(), place_);
  }

 private:
  std::shared_ptr<core::Transport> real_;
  Place place_;
};

}  // namespace

std::shared_ptr<core::Transport> canary_transport(std::shared_ptr<core::Transport> real,
                                                  std::string uri, std::string database,
                                                  std::string collection) {
  return std::make_shared<CanaryTransport>(
      std::move(real), Place{std::move(uri), std::move(database), std::move(collection)});
}

}  // namespace leasehold::sim::live
