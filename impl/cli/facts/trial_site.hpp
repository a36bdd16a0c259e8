#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/protocol.hpp"
#include "mongo/bson.hpp"
#include "mongo/client/json_client.hpp"

/// Where facts are tried: a few connections to one replica set, and a collection of the trials'
/// own.
namespace leasehold::cli {

using mongo::Json;

/// Of a trial: the fact is not so.
struct Fails : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Of a trial: nothing can be said of the fact.
struct NotTried : std::runtime_error {
  /// `of_this_set`: no other role and no second try would change that.
  explicit NotTried(const std::string& why, bool of_this_set_ = false)
      : std::runtime_error(why), of_this_set(of_this_set_) {}
  bool of_this_set;
};

/// A connection as trials use it, for one thread. A test puts one before a real one that lies.
class TrialConnection {
 public:
  virtual ~TrialConnection() = default;
  /// The reply of the primary (0) or another member to a command, which is sent once. Throws
  /// mongo::NoReply.
  virtual mongo::Bson ask(const std::string& database, const mongo::Bson& command,
                          std::uint32_t member) = 0;
  /// REQUIRES: a command was answered.
  [[nodiscard]] virtual std::vector<mongo::JsonClient::Member> members() const = 0;
};
using Connect = std::function<std::unique_ptr<TrialConnection>()>;

/// Of a cluster, to one mongos, which the number chooses. Throws as `mongo::JsonClient` does.
[[nodiscard]] std::unique_ptr<TrialConnection> connect_for_trials(const std::string& uri,
                                                                  std::size_t number = 0);

/// A connection with the words of the trials. For one thread.
class Asker {
 public:
  using Body = decltype(core::Command::body);

  Asker(std::unique_ptr<TrialConnection> connection, std::string database, std::string collection);

  /// The reply to a command of the lock, in the bytes that a provider sends.
  core::Reply send(const Body& body, std::uint32_t member = 0);
  /// The same, executed and confirmed. Throws Fails if it was refused, else NotTried.
  core::Reply sure(const Body& body);
  /// As a provider is refused before its first command, if it is.
  std::optional<core::Reply> refusal();
  /// The document that the command left. Throws as `sure`, and Fails if there is none.
  core::LockDocument document(const core::Reply& reply) const;

  /// The reply to any command on the trials' database; also of one that failed.
  Json run(const Json& command);
  /// The same, executed and confirmed, as `sure`.
  Json must(const Json& command);
  Json hello(std::uint32_t member = 0);
  /// The document of this name as a plain read of the primary shows it, or null.
  Json stored(const std::string& name);

  [[nodiscard]] TrialConnection& connection() { return *connection_; }
  [[nodiscard]] const std::string& collection() const { return collection_; }

 private:
  mongo::Bson ask(const mongo::Bson& command, std::uint32_t member);

  std::unique_ptr<TrialConnection> connection_;
  std::string database_, collection_;
};

/// For the thread that runs the trials; what `at_once` runs has one Asker for each thread.
class TrialSite {
 public:
  static constexpr std::size_t kConnections = 4;

  /// REQUIRES: no other process uses the collection. Throws mongo::NoReply.
  TrialSite(const Connect& connect, const std::string& database, const std::string& collection);

  Asker& operator[](std::size_t connection) { return askers_.at(connection); }
  /// By how many mongos the connections go, each number to the next; 0: the servers are a set.
  [[nodiscard]] std::size_t routers() const { return routers_; }
  /// From here on each connection has the number below its own.
  void turn();
  /// Runs this for each connection at the same time, and throws what one of them throws.
  void at_once(const std::function<void(std::size_t connection, Asker& asker)>& use);

  /// An attempt of an owner, or of a new one, as a provider makes it.
  core::AcquireCommand attempt(const std::string& name) { return attempt(name, owner()); }
  core::AcquireCommand attempt(const std::string& name, core::Owner owner);
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

/// The lease of an attempt above.
inline constexpr std::chrono::seconds kTrialLease{60};

/// Throws Fails with the text unless it is so.
inline void require(bool so, const std::string& else_seen) {
  if (!so) throw Fails(else_seen);
}

/// This machine's clock that runs during suspend, too.
[[nodiscard]] std::chrono::milliseconds our_clock();

/// A token as the timestamp that it is made of.
[[nodiscard]] Json timestamp_of(FencingToken token);
/// As people and servers write it: "(seconds, increment)".
[[nodiscard]] std::string text_of(FencingToken token);

}  // namespace leasehold::cli
