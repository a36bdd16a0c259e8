#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/history.hpp"
#include "sim/live/replica_set.hpp"
#include "sim/plan.hpp"

namespace leasehold::sim::live {

/// Brings a plan's faults of servers and links about on a real replica set, and takes them away
/// again. A fault counts as having taken effect when the server, the proxy or the clock says so.
///
/// Not thread-safe. A call returns within some seconds, whatever state the servers are in.
class Faults {
 public:
  struct World {
    const Plan& plan;
    ReplicaSet& servers;
    std::string lock_namespace;  ///< database and collection
    std::function<std::int64_t()> now_ns;
    std::function<void(model::Event)> emit;
    std::function<void(FaultPlan::Kind)> count_effect;
  };

  explicit Faults(World world) : world_(std::move(world)) {}

  /// `process`: whose link it is, for faults of links.
  void inject(const FaultPlan& fault, const std::string& process);
  /// Ends what has lasted long enough. To be called often.
  void turn();
  /// Ends all faults and waits until all members take writes.
  void heal();

 private:
  struct Lasting {
    std::int64_t end_ns;
    FaultPlan::Kind kind;
    std::function<void()> end;
    std::string complaint = "not tried yet";  ///< why it did not end
  };
  void end_lasting(const std::function<bool(FaultPlan::Kind)>& wanted);
  void note(const FaultPlan& fault, const std::string& hit, const char* outcome,
            std::int64_t amount);
  void for_a_while(const FaultPlan& fault, const std::string& hit, std::int64_t for_ms,
                   const std::function<void()>& begin, std::function<void()> end);
  [[nodiscard]] int member_of(const FaultPlan& fault);
  [[nodiscard]] int successor(const FaultPlan& fault, int primary);
  void elect(const FaultPlan& fault);
  void take_members(const FaultPlan& fault);
  [[nodiscard]] std::string database() const;
  [[nodiscard]] std::string collection() const;
  [[nodiscard]] MongoClient& primary();
  Json administer(Json command);
  [[nodiscard]] Json ttl_index();
  void disturb_index(const FaultPlan& fault);
  void expire_after(std::int64_t seconds);
  void restore_index();
  void drop_collection(const FaultPlan& fault);
  void delete_document(const FaultPlan& fault);
  void split(const FaultPlan& fault);
  void move_clock(const FaultPlan& fault);
  [[nodiscard]] bool shows(int member, std::chrono::milliseconds ahead);
  void stop_ttl(const FaultPlan& fault);
  void set_ttl(bool on);
  [[nodiscard]] std::int64_t ttl_passes();
  void slow_majority(const FaultPlan& fault);
  void fail_commands(const FaultPlan& fault);
  void hold_inside(const FaultPlan& fault);
  void disturb_link(const FaultPlan& fault, const std::string& process);

  void wait_for_writes(const Json& w, std::chrono::milliseconds limit);
  void renew_secondaries();

  /// A link of the proxy: who speaks, and to which member.
  using Link = std::pair<std::string, int>;
  [[nodiscard]] std::vector<Link> links_of_member(int member) const;
  [[nodiscard]] std::vector<Link> sync_links() const;
  [[nodiscard]] std::vector<Link> links_of_process(const std::string& process) const;
  void set(const std::vector<Link>& links, const LinkRule& rule);
  /// Lifts the rule; `reset`: what waited is lost.
  void lift(const std::vector<Link>& links, bool reset);
  [[nodiscard]] std::int64_t touched(const std::vector<Link>& links) const;

  const World world_;
  std::vector<Lasting> lasting_;
  int members_away_ = 0;
  bool index_disturbed_ = false, lost_data_ = false;
  Json index_;  ///< the TTL index before it was first disturbed; null: it never was
};

}  // namespace leasehold::sim::live
