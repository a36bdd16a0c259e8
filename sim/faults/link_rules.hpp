#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

/// What faults do to the links of a run, in either world.
namespace leasehold::sim {

/// What happens to the bytes between one peer and one member. Nothing is dropped from a connection
/// that lives on, because TCP does not do that either: bytes wait, or the connection is reset.
struct LinkRule {
  bool hold_requests = false;                   ///< bytes to the member wait until the rule changes
  bool hold_replies = false;                    ///< bytes from it
  std::chrono::milliseconds delay_requests{0};  ///< they arrive that much later, even if the sender
                                                ///< has closed by then
  std::chrono::milliseconds delay_replies{0};
  bool refuse = false;  ///< connections are reset, new ones as soon as they name their sender

  bool operator==(const LinkRule&) const = default;
};

/// Both at once: all that one of them holds or refuses, and the longer delays.
[[nodiscard]] LinkRule both(const LinkRule& a, const LinkRule& b);

/// The sender, and the member that it speaks to. A process speaks by its name, a member as
/// "member-0/beat" (heartbeats, votes) or "member-0/sync" (replication).
struct Link {
  std::string peer;
  int member = 0;

  auto operator<=>(const Link&) const = default;
};
using Links = std::vector<Link>;

/// All that faults ask of links at one time. Each fault owns a rule, so that the end of one leaves
/// what the others still do.
class LinkRules {
 public:
  using Owner = std::int64_t;

  /// REQUIRES: this owner has none.
  void add(Owner owner, Links links, const LinkRule& rule);
  /// Ends the rule of this owner alone, and returns the links that it was for; none if it had none.
  Links remove(Owner owner);
  /// All rules of this link at once.
  [[nodiscard]] LinkRule of(const Link& link) const;

 private:
  struct Owned {
    Links links;
    LinkRule rule;
  };
  std::map<Owner, Owned> rules_;
};

}  // namespace leasehold::sim
