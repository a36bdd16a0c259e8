#include "sim/live/servers/member_set.hpp"

#include <thread>

#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {
namespace {

using std::chrono::milliseconds;

bool says_primary(const Json& hello) { return hello.value("isWritablePrimary", false); }

/// Rises with every election.
std::string election_of(const Json& hello) {
  return hello.contains("electionId") ? hello["electionId"].value("$oid", "") : "";
}

}  // namespace

int MemberSet::primary_now() {
  int found = -1;
  std::string latest;
  for (int i = 0; i < size(); ++i) {
    if (!answers(i)) continue;
    Json hello;
    try {
      hello = member(i).run("admin", {{"hello", 1}});
    } catch (const std::exception&) {
      continue;  // it does not answer
    }
    if (!says_primary(hello) || (found >= 0 && election_of(hello) <= latest)) continue;
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

bool MemberSet::is_primary(int index) {
  if (!answers(index)) return false;
  try {
    return says_primary(member(index).run("admin", {{"hello", 1}}));
  } catch (const std::exception&) {
    return false;
  }
}

bool MemberSet::step_up(int index) {
  if (is_primary(index)) return false;
  until_true("step-up", [&] {
    (void)member(index).run("admin", {{"replSetStepUp", 1}});
    return is_primary(index);
  });
  return true;
}

bool MemberSet::try_step_up(int index, milliseconds limit) {
  if (is_primary(index)) return false;
  const auto until = std::chrono::steady_clock::now() + limit;
  // Each failed election takes the primary from an overloaded set, so it asks less and less often.
  for (auto pause = milliseconds(20);; pause *= 2) {
    if (std::chrono::steady_clock::now() >= until || !answers(index)) return false;
    (void)member(index).run("admin", {{"replSetStepUp", 1}});
    if (is_primary(index)) return true;
    std::this_thread::sleep_for(pause);
  }
}

bool MemberSet::step_down() {
  const int primary = primary_now();
  if (primary < 0) return false;
  (void)member(primary).run(
      "admin", {{"replSetStepDown", 2}, {"secondaryCatchUpPeriodSecs", 0}, {"force", true}});
  return !is_primary(primary);
}

bool MemberSet::confirms(const Json& w, milliseconds limit, const std::string& database) {
  const int primary = primary_now();
  if (primary < 0) return false;
  const auto reply = member(primary).run(
      database, {{"insert", "start"},
                 {"documents", {{{"x", 1}}}},
                 {"writeConcern", {{"w", w}, {"wtimeout", limit.count()}}}});
  return integer(reply["ok"]) == 1 && !reply.contains("writeConcernError");
}

std::int64_t MemberSet::fail_point(int index, const std::string& name, const Json& mode,
                                   const Json& data) {
  Json command{{"configureFailPoint", name}, {"mode", mode}};
  if (!data.is_null()) command["data"] = data;
  return integer(member(index).must("admin", command)["count"]);
}

void MemberSet::set_ttl_monitor(bool on) {
  for (int i = 0; i < size(); ++i) {
    if (answers(i)) member(i).must("admin", {{"setParameter", 1}, {"ttlMonitorEnabled", on}});
  }
}

}  // namespace leasehold::sim::live
