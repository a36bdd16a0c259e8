#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/faults/cluster_control.hpp"
#include "sim/live/proxy/fault_proxy.hpp"
#include "sim/live/servers/member_clock.hpp"
#include "sim/live/stores/socket_owners.hpp"
#include "sim/live/stores/store_script.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::sim::live {

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
class ScriptedServers final : public MemberControl, public ProxiedLinks {
 public:
  /// Starts them and waits until they take writes. Throws NoServers, or std::runtime_error.
  explicit ScriptedServers(std::shared_ptr<StoreScript> script);
  ~ScriptedServers() override;

  [[nodiscard]] const StoreAbout& about() const { return script_->about(); }
  /// For workers; it leads through the proxies.
  [[nodiscard]] const std::string& uri() const { return uri_; }
  [[nodiscard]] FaultProxy& proxy() override { return *proxy_; }
  [[nodiscard]] std::vector<std::string> log_files() const;
  /// From now on faults of links reach this process.
  void began(const std::string& name, pid_t process) { owners_.add(name, process); }
  /// Processes and members that are connected to a member's own port now, so that no fault of that
  /// link reaches them.
  [[nodiscard]] std::set<std::string> past_proxies() const {
    return owners_.connected_to(listens_);
  }

  /// A member that ended and that no fault killed. Each is returned once.
  struct Ended {
    int member = 0, status = 0;  ///< the latter as waitpid(2) says it
    std::string log_file;
  };
  [[nodiscard]] std::vector<Ended> ended();
  /// Starts those that are dead, and waits until the store takes writes.
  void restart_dead();

  [[nodiscard]] int size() override { return static_cast<int>(members_.size()); }
  [[nodiscard]] int primary_now() override;
  [[nodiscard]] bool is_primary(int member) override { return primary_now() == member; }
  [[nodiscard]] bool reachable(int member) override;
  bool step_up(int member, std::chrono::milliseconds limit) override;
  bool step_down() override;
  void kill(const std::vector<int>& members) override;
  /// Throws as long as the store takes no writes: to be called again.
  void restart(const std::vector<int>& members) override;
  void wipe(int member) override;
  void stop(const std::vector<int>& members) override;
  void resume(const std::vector<int>& members) override;
  [[nodiscard]] bool all_have_all_data() override { return script_->ready(layout_); }
  void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) override;
  [[nodiscard]] std::int64_t clock_ahead_ms(int member) override {
    return at(member).clock.ahead_ms();
  }
  [[nodiscard]] bool shows_its_clock(int member) override;
  void settle() override;

  /// Clients of such stores may speak to any member.
  [[nodiscard]] int sent_to() override { return -1; }

 private:
  struct Member {
    std::string folder;
    StoreCommand command;
    MemberClock clock;
    ChildProcess process = {};
    bool alive = false, stopped = false;
  };
  [[nodiscard]] Member& at(int member) { return members_.at(static_cast<std::size_t>(member)); }
  void begin();
  void end();
  void lay_out();
  void start(int member);
  void start_again(int member);
  void wait_until_ready(const std::string& what);
  [[noreturn]] void not_offered(const char* what) const;

  const std::shared_ptr<StoreScript> script_;
  Janitor janitor_;
  SocketOwners owners_;
  std::unique_ptr<FaultProxy> proxy_;
  StoreScript::Json layout_;
  std::string uri_;
  std::set<int> listens_;  ///< the members' own ports
  std::vector<Member> members_;
};

}  // namespace leasehold::sim::live
