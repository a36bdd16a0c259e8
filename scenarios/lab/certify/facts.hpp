#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/algorithm/string/replace.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/document/lock_id.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "sim/live/system/mongo_client.hpp"

/// The facts about servers that the lock rests on, each with a trial for any replica set: without a
/// fault, by a role that may write, on a collection of its own.
namespace leasehold::lab {

using sim::live::Json;
using sim::live::MongoClient;

/// A trial's finding that the fact is not so.
struct Fails : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// A trial's finding that nothing can be said of the fact.
struct NotTried : std::runtime_error {
  /// `of_this_set`: no other role and no second try would change that.
  explicit NotTried(const std::string& why, bool of_this_set_ = false)
      : std::runtime_error(why), of_this_set(of_this_set_) {}
  bool of_this_set;
};
/// Throws Fails with the text unless it is so.
template <typename... Parts>
void require(bool so, fmt::format_string<const Parts&...> else_seen, const Parts&... parts) {
  if (!so) throw Fails(fmt::format(else_seen, parts...));
}

/// One connection to the servers, for one thread. A test has some that lie.
struct Servers {
  /// The reply of the primary (0) or another member to a command, which is sent once. Throws
  /// NoReply.
  std::function<mongo::Bson(const std::string& database, const mongo::Bson& command,
                            std::uint32_t member)>
      ask;
  std::function<std::vector<MongoClient::Member>()> members;  ///< REQUIRES: a command was answered
};
using Connect = std::function<Servers()>;

/// Through a mongos, if the servers are a cluster, which the number chooses.
[[nodiscard]] Servers connect_to(const std::string& uri, std::size_t number = 0);

/// A connection with the words of the trials. For one thread.
class Asker {
 public:
  using Body = decltype(core::Command::body);

  Asker(Servers servers, std::string database, std::string collection)
      : servers_(std::move(servers)),
        database_(std::move(database)),
        collection_(std::move(collection)) {}

  /// The reply to a command of the lock, in the bytes that a provider sends.
  core::Reply send(const Body& body, std::uint32_t member = 0) {
    // Its stream waits for news for half of that.
    constexpr std::chrono::milliseconds kCommandTimeout{5'000}, kStreamTimeout{800};
    const bool is_step = std::holds_alternative<core::StreamCommand>(body);
    const core::Command command{1, is_step ? kStreamTimeout : kCommandTimeout, body};
    const auto bytes = servers_.ask(database_, mongo::build(command, collection_), member);
    return mongo::read_reply(command, *bytes.get());
  }
  /// The same, executed and confirmed. Throws Fails if it was refused, else NotTried.
  core::Reply sure(const Body& body) { return confirmed(send(body)); }
  /// The document that this left. Throws as `sure`, and Fails if there is none.
  core::LockDocument document(const Body& body) {
    const auto reply = sure(body);
    require(!reply.documents.empty(), "the reply has no document");
    return reply.documents.front();
  }

  /// The reply to a command on the trials' database, whether it failed or not. In the text @ stands
  /// for the collection, # for `name`, and % for a majority's confirmation.
  Json run(const std::string& command, const std::string& name = "") {
    return mongo::to_json(*ask(database_, command, name).get());
  }
  /// The same, executed and confirmed, as `sure`.
  Json must(const std::string& command, const std::string& name = "") {
    const auto bytes = ask(database_, command, name);
    // Errors of any command stand where those of a delete do.
    (void)confirmed(mongo::read_reply({0, {}, core::DeleteCommand{}}, *bytes.get()));
    return mongo::to_json(*bytes.get());
  }
  Json admin(const std::string& command, std::uint32_t member = 0) {
    return mongo::to_json(*ask("admin", command, "", member).get());
  }
  Json hello(std::uint32_t member = 0) { return admin(R"({"hello": 1})", member); }
  /// The document of this name as a plain read of the primary shows it, or null.
  Json stored(const std::string& name) {
    return first_in(must(R"({"find": "@", "filter": {"_id": "#"}, "singleBatch": true})", name));
  }
  /// The first document of a find's reply, or null.
  static Json first_in(const Json& reply) {
    return reply["cursor"]["firstBatch"].empty() ? Json() : reply["cursor"]["firstBatch"][0];
  }
  [[nodiscard]] std::vector<MongoClient::Member> members() const { return servers_.members(); }

 private:
  mongo::Bson ask(const std::string& database, std::string command, const std::string& name,
                  std::uint32_t member = 0) {
    boost::replace_all(command, "%", R"("writeConcern": {"w": "majority"})");
    boost::replace_all(command, "@", collection_);
    boost::replace_all(command, "#", name);
    return servers_.ask(database, mongo::from_json(Json::parse(command)), member);
  }
  static core::Reply confirmed(core::Reply reply) {
    constexpr int kUnauthorized = 13;
    if (reply.outcome == core::Outcome::done && reply.code == 0) return reply;
    const auto said = reply.message + " (code " + std::to_string(reply.code) + ')';
    if (reply.code == kUnauthorized) throw NotTried(said);
    const bool refused = reply.outcome == core::Outcome::configuration ||
                         reply.outcome == core::Outcome::duplicate_key;
    if (refused) throw Fails("refused: " + said);
    throw NotTried("no certain answer: " + said);
  }

  Servers servers_;
  std::string database_, collection_;
};

/// The lease of an attempt of the trials.
inline constexpr std::chrono::seconds kTrialLease{60};

/// Where facts are tried: a few connections to the same servers. For the thread that runs the
/// trials; what `at_once` runs has one Asker for each thread.
class TrialSite {
 public:
  static constexpr std::size_t kConnections = 4;

  /// REQUIRES: no other process uses the collection. Throws NoReply.
  TrialSite(const Connect& connect, const std::string& database, const std::string& collection)
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

  Asker& operator[](std::size_t connection) { return askers_.at(connection); }
  /// By how many mongos the connections go, each number to the next; 0: the servers are a set.
  [[nodiscard]] std::size_t routers() const { return routers_; }
  /// From here on each connection has the number below its own.
  void turn() { std::rotate(askers_.begin(), askers_.begin() + 1, askers_.end()); }
  /// Runs this for each connection at the same time, and throws what one of them throws.
  void at_once(const std::function<void(std::size_t, Asker&)>& use) {
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

  /// An attempt of an owner, or of a new one, as a provider makes it.
  core::AcquireCommand attempt(const std::string& name) { return attempt(name, owner()); }
  core::AcquireCommand attempt(const std::string& name, core::Owner owner) {
    core::AcquireCommand command{};
    command.name = name;
    command.owner = owner;
    command.lease = kTrialLease;
    command.lock_id = core::format_lock_id(
        {owner, std::chrono::milliseconds(kTrialLease).count(), ++beats_, "leasehold-certify"});
    return command;
  }
  /// The attempt that took a lock which no trial has used.
  core::AcquireCommand taken(const std::string& of) {
    const auto lock = attempt(name(of));
    askers_[0].sure(lock);
    return lock;
  }
  /// A new one of the provider that these trials are, or of another one.
  core::Owner owner() { return {provider_, ++owners_}; }
  core::Owner other_owner() { return {provider_ + 1, ++owners_}; }
  [[nodiscard]] std::uint64_t provider() const { return provider_; }
  /// A name that no trial has used, for people to recognise.
  std::string name(const std::string& of) { return of + '-' + std::to_string(++names_); }

 private:
  const std::uint64_t provider_;
  std::atomic<std::uint64_t> owners_ = 0, beats_ = 0, names_ = 0;
  std::vector<Asker> askers_;
  std::size_t routers_ = 0;
};

/// This machine's clock that runs during suspend, too.
[[nodiscard]] std::chrono::milliseconds our_clock();

/// `says`, if it does not fail; then `means` is what that does to the lock.
struct Fact {
  std::string name, says, means;
  bool needed;  ///< a guarantee rests on it; else only news or the removal of documents
  void (*trial)(TrialSite& site);  ///< throws Fails or NotTried; null: none without a fault
};
/// Those of scenarios/SERVERS.md, in the order in which they are tried.
[[nodiscard]] const std::vector<Fact>& facts();

struct Finding {
  enum class Is { holds, fails, not_tried };
  const Fact* fact;
  Is is;
  std::string seen;       ///< what fails, or why it was not tried
  bool prevents = false;  ///< the certificate, because the fact is needed and could have been tried
};
/// Throws NoReply, and what the connection throws.
[[nodiscard]] Finding try_fact(const Fact& fact, TrialSite& site);

}  // namespace leasehold::lab
