#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/faults/cluster_control.hpp"
#include "sim/live/proxy/fault_proxy.hpp"
#include "sim/live/servers/local_members.hpp"
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
  template <typename Read>
  [[nodiscard]] auto ask(const std::vector<std::string>& verb, const Json& input,
                         std::chrono::seconds limit, const Read& read) const;
  [[noreturn]] void fail(const std::vector<std::string>& verb, const std::string& why) const;

  const std::string program_;
  StoreAbout about_;
  class Janitor* janitor_ = nullptr;
};

/// The kinds of faults that such a store's servers may have: those that need no more than
/// processes, clocks and links.
[[nodiscard]] const std::set<FaultPlan::Kind>& scriptable_faults();

/// One of the servers below.
class ScriptedServer : public ServerProcess {
 public:
  ScriptedServer(std::string folder, StoreCommand how, Janitor& janitor);
  void start();

  StoreCommand command;
};

/// The servers of a store that a script describes, on this machine: processes of ours, each in a
/// group of its own, with a proxy before each port and a wall clock of its own where it uses libc
/// for it. Gone when this is, even by SIGKILL.
///
/// For faults: what the script does not offer is std::logic_error. A link between two members is
/// all that the first says to the second, so that "member-0/beat" and "member-0/sync" are one.
///
/// Not thread-safe, but `began` and the proxy are.
///
///     ScriptedServers servers(std::make_shared<StoreScript>("scenarios/stores/etcd"));
///     auto run = LiveRun::on(servers, "fresh", janitor);
class ScriptedServers final : public LocalMembers<ScriptedServer> {
 public:
  /// Starts them and waits until they take writes. Throws NoServers, or std::runtime_error.
  explicit ScriptedServers(std::shared_ptr<StoreScript> script);

  [[nodiscard]] const StoreAbout& about() const { return script_->about(); }
  /// For workers; it leads through the proxies.
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] FaultProxy& proxy() { return proxy_; }
  /// From now on faults of links reach this process.
  void began(const std::string& name, pid_t process) { owners_.add(name, process); }
  /// Processes and members that are connected to a member's own port now, so that no fault of that
  /// link reaches them.
  [[nodiscard]] std::set<std::string> past_proxies() const {
    return owners_.connected_to(listens_);
  }

  /// Starts those that are dead, and waits until the store takes writes.
  void restart_dead();

  [[nodiscard]] int primary_now() override;
  [[nodiscard]] bool is_primary(int member) override { return primary_now() == member; }
  bool step_up(int member, std::chrono::milliseconds limit) override;
  bool step_down() override;
  /// Throws as long as the store takes no writes: to be called again.
  void restart(const std::vector<int>& members) override;
  void wipe(int member) override;
  [[nodiscard]] bool all_have_all_data() override { return script_->ready(layout_); }
  [[nodiscard]] bool shows_its_clock(int member) override;
  void settle() override;

 private:
  void lay_out();
  void start(int member);
  void start_again(int member);
  void wait_until_ready(const std::string& what);
  [[noreturn]] void not_offered(const char* what) const;

  const std::shared_ptr<StoreScript> script_;
  SocketOwners owners_;
  FaultProxy proxy_{[this](int from, int to) { return owners_.of(from, to); }};
  StoreScript::Json layout_;
  std::string uri_;
  std::set<int> listens_;  ///< the members' own ports
};

}  // namespace leasehold::sim::live
