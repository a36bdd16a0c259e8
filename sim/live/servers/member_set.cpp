#include "sim/live/servers/member_set.hpp"

#include <algorithm>

#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {
namespace {

/// Rises with every election.
std::string election_of(const Json& hello) {
  return hello.contains("electionId") ? hello["electionId"].value("$oid", "") : "";
}

}  // namespace

int MemberSet::primary_now() {
  int found = -1;
  std::string latest;
  for (int i = 0; i < size(); ++i) {
    if (!reachable(i)) continue;
    Json hello;
    try {
      hello = member(i).run("admin", {{"hello", 1}});
    } catch (const std::exception&) {
      continue;  // it does not answer
    }
    if (!hello.value("isWritablePrimary", false)) continue;
    if (found >= 0 && election_of(hello) <= latest) continue;
    found = i;
    latest = election_of(hello);
  }
  return found;
}

int MemberSet::primary() {
  int found = -1;
  until_true(
      "finding the primary", [&] { return (found = primary_now()) >= 0; },
      std::chrono::seconds(30));
  return found;
}

int MemberSet::sent_to() { return std::max(primary_now(), 0); }

void MemberSet::set_link_rule(const Link& link, const LinkRule& rule) {
  proxy().set(link.peer, link.member, rule);
}

void MemberSet::reset_link(const Link& link) { proxy().reset(link.peer, link.member); }

std::int64_t MemberSet::touched(const Link& link) {
  return proxy().touched(link.peer, link.member);
}

}  // namespace leasehold::sim::live
