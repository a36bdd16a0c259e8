#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/live/own_set/undo_process.hpp"
#include "sim/live/servers/commanded_servers.hpp"
#include "sim/live/servers/member_set.hpp"

namespace leasehold::sim::live {

/// A user's replica set, with a fault proxy on this machine before each member. Its configuration
/// stays as it is: the proxies change what members say of it to clients that came through them, and
/// so any driver stays behind the proxies.
///
/// What `set_ttl_monitor` and `fail_point` changed on a server is put back at the latest when this
/// object ends, or when this process ends in any way.
///
/// Not thread-safe.
///
///     UserSet set("mongodb://db1,db2,db3/?replicaSet=rs");
///     MongoClient client(set.uri() + "&appName=p0");
///     set.proxy().set("p0", 0, {.hold_replies = true});
class UserSet final : public MemberSet {
 public:
  /// Asks the set for its members. Member 0 is the primary of now. REQUIRES: nothing stands in the
  /// way of proxies (`why_no_proxies`). Throws std::runtime_error if no server answers.
  explicit UserSet(const std::string& uri);
  ~UserSet() override { (void)put_back(); }

  /// For clients: the given URI with the proxies for hosts.
  [[nodiscard]] const std::string& uri() const { return uri_; }
  /// The address of this member in the set's configuration.
  [[nodiscard]] const std::string& address(int index) const { return at(index).address; }

  /// A URI of this member alone, past its proxy.
  [[nodiscard]] const std::string& member_uri(int index) const { return at(index).uri; }

  [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }
  [[nodiscard]] MongoClient& member(int index) override { return *at(index).client; }
  [[nodiscard]] bool answers(int index) override;
  [[nodiscard]] FaultProxy& proxy() override { return proxy_; }

  std::int64_t fail_point(int index, const std::string& name, const Json& mode,
                          const Json& data = {}) override;
  /// Off where it ran; on where this object turned it off.
  void set_ttl_monitor(bool on) override;

  /// Clients of these names that a member hears of from elsewhere than the proxies, so that no
  /// fault of a link reaches them. `known`: a client that certainly came through them. Nothing is
  /// returned if a member does not see it come from a proxy's port (something translates
  /// addresses), or shows clients only to users with more rights.
  [[nodiscard]] std::set<std::string> past_proxies(const std::vector<std::string>& names,
                                                   const std::string& known);

  /// Puts back what was changed. Returns what could not be put back, and why.
  [[nodiscard]] std::vector<std::string> put_back();

 private:
  struct Member {
    std::string address;
    std::string uri;  ///< of this member alone
    std::unique_ptr<MongoClient> client;
  };
  struct Undo {
    int member = 0;
    Json command;
  };
  [[nodiscard]] const Member& at(int index) const {
    return members_.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] bool runs_ttl_monitor(int index);
  void remember(const std::string& what, int index, const Json& command);
  void forget(const std::string& what);

  std::vector<Member> members_;
  FaultProxy proxy_;
  std::string uri_;
  /// By a name for people. Each is written down before the command that changes it.
  std::map<std::string, Undo> changed_;
  std::unique_ptr<UndoProcess> undo_process_;  ///< since something was changed
};

/// That set, for faults: no more than commands can do.
class UserMembers final : public CommandedMembers {
 public:
  UserMembers(UserSet& set, std::string database)
      : CommandedMembers(set, std::move(database)), set_(set) {}

  // The processes and the clocks of its members are out of reach here: std::logic_error.
  void kill(const std::vector<int>& members) override;
  void restart(const std::vector<int>& members) override;
  void wipe(int member) override;
  void stop(const std::vector<int>& members) override;
  void resume(const std::vector<int>& members) override;
  void set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) override;
  [[nodiscard]] std::int64_t clock_ahead_ms(int member) override;
  [[nodiscard]] bool shows_its_clock(int member) override;

  void settle() override;

 private:
  UserSet& set_;
};

}  // namespace leasehold::sim::live
