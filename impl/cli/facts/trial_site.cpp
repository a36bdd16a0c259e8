#include "cli/facts/trial_site.hpp"

#include <algorithm>
#include <exception>
#include <latch>
#include <mutex>
#include <thread>

#include "core/document/lock_id.hpp"
#include "mongo/commands.hpp"
#include "mongo/errors.hpp"
#include "mongo/replies.hpp"
#include "runtime/threads/clock.hpp"
#include "runtime/threads/os_entropy.hpp"

namespace leasehold::cli {
namespace {

using core::Outcome;

/// Of one command, and of one reply: a set that needs longer is in trouble.
constexpr std::chrono::milliseconds kCommandTimeout{5'000}, kReplyTimeout{10'000};
/// A stream waits for news for a third of it.
constexpr std::chrono::milliseconds kStreamTimeout{1'200};

class RealConnection final : public TrialConnection {
 public:
  RealConnection(const std::string& uri, std::size_t number)
      : client_(uri, kReplyTimeout), number_(number) {}

  mongo::Bson ask(const std::string& database, const mongo::Bson& command,
                  std::uint32_t member) override {
    if (!router_) router_ = router();
    mongo::Bson reply;
    client_.send(database, *command.get(), member == 0 ? *router_ : member,
                 [&reply](const bson_t& bytes) { reply = mongo::Bson(bson_copy(&bytes)); });
    return reply;
  }
  [[nodiscard]] std::vector<mongo::JsonClient::Member> members() const override {
    return client_.members();
  }

 private:
  /// 0: the driver's choice, which is the primary of a set.
  std::uint32_t router() {
    bool is_cluster = false;
    client_.run_once("admin", {{"hello", 1}},
                     [&](const bson_t& hello) { is_cluster = mongo::is_mongos(hello); });
    if (!is_cluster) return 0;
    const auto all = client_.members();
    return all[number_ % all.size()].id;
  }

  mongo::JsonClient client_;
  const std::size_t number_;
  std::optional<std::uint32_t> router_;
};

/// Why a reply is none that a trial can go on with.
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

}  // namespace

std::unique_ptr<TrialConnection> connect_for_trials(const std::string& uri, std::size_t number) {
  return std::make_unique<RealConnection>(uri, number);
}

Asker::Asker(std::unique_ptr<TrialConnection> connection, std::string database,
             std::string collection)
    : connection_(std::move(connection)),
      database_(std::move(database)),
      collection_(std::move(collection)) {}

mongo::Bson Asker::ask(const mongo::Bson& command, std::uint32_t member) {
  return connection_->ask(database_, command, member);
}

core::Reply Asker::send(const Body& body, std::uint32_t member) {
  const bool is_step = std::holds_alternative<core::StreamCommand>(body);
  const core::Command command{1, is_step ? kStreamTimeout : kCommandTimeout, body};
  return mongo::read_reply(command, *ask(mongo::build(command, collection_), member).get());
}

std::optional<core::Reply> Asker::refusal() {
  return mongo::refusal_of_chosen(
      *connection_->ask("admin", mongo::from_json({{"hello", 1}}), 0).get());
}

core::Reply Asker::sure(const Body& body) {
  auto reply = send(body);
  expect_done(reply);
  return reply;
}

core::LockDocument Asker::document(const core::Reply& reply) const {
  require(!reply.documents.empty(), "the reply has no document");
  return reply.documents.front();
}

Json Asker::run(const Json& command) {
  return mongo::to_json(*ask(mongo::from_json(command), 0).get());
}

Json Asker::must(const Json& command) {
  const auto bytes = ask(mongo::from_json(command), 0);
  // Errors of any command stand where those of a delete do.
  expect_done(mongo::read_reply({0, {}, core::DeleteCommand{}}, *bytes.get()));
  return mongo::to_json(*bytes.get());
}

Json Asker::hello(std::uint32_t member) {
  return mongo::to_json(*connection_->ask("admin", mongo::from_json({{"hello", 1}}), member).get());
}

Json Asker::stored(const std::string& name) {
  const Json reply =
      must({{"find", collection_}, {"filter", {{"_id", name}}}, {"singleBatch", true}});
  const Json& found = reply["cursor"]["firstBatch"];
  return found.empty() ? Json() : found[0];
}

TrialSite::TrialSite(const Connect& connect, const std::string& database,
                     const std::string& collection)
    : provider_(runtime::os_entropy()->draw()) {
  for (std::size_t i = 0; i < kConnections; ++i) {
    askers_.emplace_back(connect(), database, collection);
  }
  // The driver looks for the members before the first command, and trials have limits of time.
  Json hello;
  for (Asker& one : askers_) hello = one.hello();
  if (mongo::is_mongos(*mongo::from_json(hello).get())) {
    routers_ = std::min(kConnections, askers_[0].connection().members().size());
  }
}

void TrialSite::turn() { std::rotate(askers_.begin(), askers_.begin() + 1, askers_.end()); }

void TrialSite::at_once(const std::function<void(std::size_t, Asker&)>& use) {
  std::latch all_are_there(kConnections);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kConnections; ++i) {
    threads.emplace_back([&, i] {
      all_are_there.arrive_and_wait();
      try {
        use(i, askers_[i]);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  threads.clear();  // waits for them
  if (first) std::rethrow_exception(first);
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
  static const auto clock = runtime::boottime_clock();
  return std::chrono::duration_cast<std::chrono::milliseconds>(clock->now().time_since_epoch());
}

Json timestamp_of(FencingToken token) {
  const auto packed = static_cast<std::uint64_t>(token.value());
  return {{"$timestamp",
           {{"t", (packed >> 32) + static_cast<std::uint64_t>(FencingToken::kEpochSeconds)},
            {"i", packed & 0xFFFF'FFFFu}}}};
}

std::string text_of(FencingToken token) {
  const Json at = timestamp_of(token)["$timestamp"];
  return '(' + at["t"].dump() + ", " + at["i"].dump() + ')';
}

}  // namespace leasehold::cli
