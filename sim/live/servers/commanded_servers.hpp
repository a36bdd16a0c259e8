#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sim/faults/cluster_control.hpp"
#include "sim/live/servers/member_set.hpp"

namespace leasehold::sim::live {

// What faults do to a real replica set, the run's or the user's, by commands of an administrator
// and by the proxies before its members. Each change is asked for again at the servers.
//
// Not thread-safe. A call returns within some seconds, whatever state the servers are in.

/// What commands can do with members. Their processes and clocks belong to the program that started
/// them.
class CommandedMembers : public MemberControl {
 public:
  /// `database`: where writes may be tried.
  CommandedMembers(MemberSet& members, std::string database)
      : members_(members), database_(std::move(database)) {}

  [[nodiscard]] int size() override { return members_.size(); }
  [[nodiscard]] int primary() override { return members_.primary_now(); }
  [[nodiscard]] bool is_primary(int member) override { return members_.is_primary(member); }
  [[nodiscard]] bool reachable(int member) override { return members_.answers(member); }
  bool step_up(int member, std::chrono::milliseconds limit) override;
  bool step_down() override { return members_.step_down(); }
  [[nodiscard]] bool all_have_all_data() override;

 protected:
  void wait_for_writes(const Json& w);

 private:
  MemberSet& members_;
  const std::string database_;
};

/// Collections that faults hit, each with its database.
struct FaultyCollections {
  std::string administered;  ///< its documents and its index are deleted and changed
  std::string failing;       ///< writes to it get errors
};

class CommandedData final : public DataControl {
 public:
  CommandedData(MemberSet& members, FaultyCollections hit)
      : members_(members), locks_(std::move(hit.administered)), failing_at_(hit.failing) {}

  void set_ttl_monitor(bool on) override { members_.set_ttl_monitor(on); }
  [[nodiscard]] std::int64_t ttl_passes() override;
  [[nodiscard]] std::optional<std::int64_t> ttl_seconds() override;
  void set_ttl_seconds(std::optional<std::int64_t> seconds) override;
  bool drop_locks() override;
  std::string delete_lock(std::int64_t pick) override;
  [[nodiscard]] std::vector<std::string> held_locks() override;
  void ask(const core::Command& command, Answered answered) override;
  /// At the primary of now.
  void fail_next(std::int64_t count, int code, bool executed) override;
  std::int64_t stop_failing() override;
  /// At the present primary, for all processes.
  [[nodiscard]] std::optional<Inside> hold_inside(const std::string& process, std::int64_t wait_ms,
                                                  std::int64_t for_ms) override;

 private:
  [[nodiscard]] std::string database() const { return locks_.substr(0, locks_.find('.')); }
  [[nodiscard]] std::string collection() const { return locks_.substr(locks_.find('.') + 1); }
  [[nodiscard]] MongoClient& primary_client();
  Json administer(Json command);
  [[nodiscard]] Json ttl_index();
  /// Returns how often it was entered; 0 if the member lost its fail points.
  std::int64_t end_fail_point(int member, const std::string& name);

  MemberSet& members_;
  const std::string locks_;
  const std::string failing_at_;
  Json index_;        ///< the TTL index at first sight; null: never seen
  int failing_ = -1;  ///< the member with failing commands
};

/// Acts by the proxies before the members. REQUIRES: there are some.
class ProxiedLinks final : public LinkControl {
 public:
  explicit ProxiedLinks(MemberSet& members) : members_(members) {}

  void set_link_rule(const Link& link, const LinkRule& rule) override;
  void reset_link(const Link& link) override;
  [[nodiscard]] std::int64_t touched(const Link& link) override;

 private:
  MemberSet& members_;
};

/// The three sides of a live set.
class LiveServers {
 public:
  LiveServers(MemberSet& set, FaultyCollections hit, std::unique_ptr<CommandedMembers> members)
      : members_(std::move(members)), data_(set, std::move(hit)), links_(set) {}
  [[nodiscard]] ServerControl control() { return {*members_, &data_, links_}; }

 private:
  std::unique_ptr<CommandedMembers> members_;
  CommandedData data_;
  ProxiedLinks links_;
};

}  // namespace leasehold::sim::live
