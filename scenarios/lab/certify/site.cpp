#include <time.h>

#include <algorithm>
#include <future>
#include <latch>
#include <random>

#include "core/document/lock_id.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "scenarios/lab/certify/facts.hpp"

namespace leasehold::lab {
namespace {

using core::Outcome;

/// How long a command, and a reply, may take: a set that needs longer is in trouble.
constexpr std::chrono::milliseconds kCommandTimeout{5'000}, kReplyTimeout{10'000};
/// A stream waits for news for a third of it.
constexpr std::chrono::milliseconds kStreamTimeout{1'200};

/// 0: the driver's choice, which is the primary of a set.
std::uint32_t router_of(MongoClient& client, std::size_t number) {
  bool is_cluster = false;
  client.run_once("admin", {{"hello", 1}},
                  [&](const bson_t& hello) { is_cluster = mongo::is_mongos(hello); });
  if (!is_cluster) return 0;
  const auto all = client.members();
  return all[number % all.size()].id;
}

/// Throws if a trial cannot go on with such a reply.
void expect_done(const core::Reply& reply) {
  constexpr int kUnauthorized = 13;
  if (reply.outcome == Outcome::done && reply.code == 0) return;
  const auto said = reply.message + " (code " + std::to_string(reply.code) + ')';
  if (reply.code == kUnauthorized) throw NotTried(said);
  const bool refused =
      reply.outcome == Outcome::configuration || reply.outcome == Outcome::duplicate_key;
  if (refused) throw Fails("refused: " + said);
  throw NotTried("no certain answer: " + said);
}

void replace_all(std::string& text, char hole, const std::string& by) {
  for (auto at = text.find(hole); at != text.npos; at = text.find(hole, at + by.size())) {
    text.replace(at, 1, by);
  }
}

}  // namespace

Servers connect_to(const std::string& uri, std::size_t number) {
  const auto client = std::make_shared<MongoClient>(uri, kReplyTimeout);
  return {[client, number, router = std::optional<std::uint32_t>()](
              const std::string& database, const mongo::Bson& command,
              std::uint32_t member) mutable {
            if (!router) router = router_of(*client, number);
            mongo::Bson reply;
            client->send(
                database, *command.get(), member == 0 ? *router : member,
                [&reply](const bson_t& bytes) { reply = mongo::Bson(bson_copy(&bytes)); });
            return reply;
          },
          [client] { return client->members(); }};
}

core::Reply Asker::send(const Body& body, std::uint32_t member) {
  const bool is_step = std::holds_alternative<core::StreamCommand>(body);
  const core::Command command{1, is_step ? kStreamTimeout : kCommandTimeout, body};
  const auto bytes = servers_.ask(database_, mongo::build(command, collection_), member);
  return mongo::read_reply(command, *bytes.get());
}

core::Reply Asker::sure(const Body& body) {
  auto reply = send(body);
  expect_done(reply);
  return reply;
}

core::LockDocument Asker::document(const Body& body) {
  const auto reply = sure(body);
  require(!reply.documents.empty(), "the reply has no document");
  return reply.documents.front();
}

mongo::Bson Asker::bytes_of(std::string command, const std::string& name) const {
  replace_all(command, '@', collection_);
  replace_all(command, '#', name);
  return mongo::from_json(Json::parse(command));
}

Json Asker::run(const std::string& command, const std::string& name) {
  return mongo::to_json(*servers_.ask(database_, bytes_of(command, name), 0).get());
}

Json Asker::must(const std::string& command, const std::string& name) {
  const auto bytes = servers_.ask(database_, bytes_of(command, name), 0);
  // Errors of any command stand where those of a delete do.
  expect_done(mongo::read_reply({0, {}, core::DeleteCommand{}}, *bytes.get()));
  return mongo::to_json(*bytes.get());
}

Json Asker::admin(const std::string& command, std::uint32_t member) {
  return mongo::to_json(*servers_.ask("admin", bytes_of(command, ""), member).get());
}

Json Asker::stored(const std::string& name) {
  const Json reply = must(R"({"find": "@", "filter": {"_id": "#"}, "singleBatch": true})", name);
  const Json& found = reply["cursor"]["firstBatch"];
  return found.empty() ? Json() : found[0];
}

TrialSite::TrialSite(const Connect& connect, const std::string& database,
                     const std::string& collection)
    : provider_(std::random_device()() * 0x1'0000'0000u + std::random_device()()) {
  for (std::size_t i = 0; i < kConnections; ++i) {
    askers_.emplace_back(connect(), database, collection);
  }
  // The driver looks for the members before the first command, and trials have limits of time.
  for (Asker& one : askers_) {
    const bool is_cluster = mongo::is_mongos(*mongo::from_json(one.hello()).get());
    routers_ = is_cluster ? std::min(kConnections, one.members().size()) : 0;
  }
}

void TrialSite::turn() { std::rotate(askers_.begin(), askers_.begin() + 1, askers_.end()); }

void TrialSite::at_once(const std::function<void(std::size_t, Asker&)>& use) {
  std::latch all_are_there(kConnections);
  std::vector<std::future<void>> all;
  for (std::size_t i = 0; i < kConnections; ++i) {
    all.push_back(std::async(std::launch::async, [&, i] {
      all_are_there.arrive_and_wait();
      use(i, askers_[i]);
    }));
  }
  for (auto& one : all) one.get();  // the rest is waited for in any case
}

core::AcquireCommand TrialSite::attempt(const std::string& name, core::Owner owner) {
  core::AcquireCommand command{};
  command.name = name;
  command.owner = owner;
  command.lease = kTrialLease;
  command.lock_id = core::format_lock_id(
      {owner, std::chrono::milliseconds(kTrialLease).count(), ++beats_, "leasehold-certify"});
  return command;
}

std::chrono::milliseconds our_clock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::milliseconds(now.tv_sec * 1'000 + now.tv_nsec / 1'000'000);
}

}  // namespace leasehold::lab
