#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/plan/fault.hpp"

namespace leasehold::sim::live {

/// What a script says of its store.
struct StoreAbout {
  std::string name;  ///< with the version
  int members = 0;
  std::vector<std::string> ports;  ///< names of those that each member listens on
  /// The kinds of faults that its servers can have. Those of processes are always possible.
  std::set<FaultPlan::Kind> faults;
  std::string uri;      ///< for workers, with `{member.port}` where an address belongs
  std::string missing;  ///< why it cannot run on this machine, and the remedy; empty: it can
  std::int64_t recovers_ms = 3'000;  ///< how long after a fault its servers may be busy with it
};

/// How a server is started.
struct StoreCommand {
  std::vector<std::string> words, environment;  ///< the latter as NAME=VALUE
};

/// A store as a program says it, which is called with six verbs, each for one answer: about,
/// prepare, ready, leader, lead and rejoin; see scenarios/WORKERS.md. It starts no server itself.
///
/// A call returns within the time that its verb has, because the program is killed then. All throw
/// std::runtime_error that names the store and the verb, with what the program said of its failure.
/// Not thread-safe.
class StoreScript {
 public:
  using Json = nlohmann::ordered_json;

  /// Asks it about the store.
  explicit StoreScript(std::string program);

  [[nodiscard]] const std::string& program() const { return program_; }
  [[nodiscard]] const StoreAbout& about() const { return about_; }

  /// Whose folder this is ends calls that make files, too, if this process is killed.
  void belong_to(class Janitor& janitor) { janitor_ = &janitor; }

  // `layout` is the members' folders and ports.

  /// Makes the members' files. Returns how each is started.
  [[nodiscard]] std::vector<StoreCommand> prepare(const Json& layout) const;
  /// Whether it takes writes.
  [[nodiscard]] bool ready(const Json& layout) const;
  [[nodiscard]] int leader(const Json& layout) const;  ///< -1: none is known
  /// Makes a member the leader. Returns whether it became it.
  [[nodiscard]] bool lead(int member, const Json& layout) const;
  /// Prepares a dead member for its next start. Returns how it is started; no words: as before.
  [[nodiscard]] StoreCommand rejoin(int member, const Json& layout) const;

 private:
  struct Ended {
    int code = -1;  ///< -1: it was killed
    std::string out;
  };
  [[nodiscard]] Ended run(const std::vector<std::string>& verb, const Json& input,
                          std::chrono::seconds limit) const;
  [[nodiscard]] Json ask(const std::vector<std::string>& verb, const Json& input,
                         std::chrono::seconds limit) const;
  [[noreturn]] void fail(const std::vector<std::string>& verb, const std::string& why) const;

  const std::string program_;
  StoreAbout about_;
  class Janitor* janitor_ = nullptr;
};

/// The kinds of faults that such a store's servers may have: those that need no more than
/// processes, clocks and links.
[[nodiscard]] const std::set<FaultPlan::Kind>& scriptable_faults();

}  // namespace leasehold::sim::live
