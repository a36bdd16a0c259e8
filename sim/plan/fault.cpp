#include "sim/plan/fault.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace leasehold::sim {

const char* to_string(FaultPlan::Command command) {
  constexpr std::array kNames{"none",      "acquire", "extend", "delete",
                              "hand-over", "pass-on", "look"};
  return kNames[static_cast<std::size_t>(command)];
}

std::optional<FaultPlan::Kind> fault_named(const std::string& name) {
  const auto found = std::ranges::find(kAboutFaults, std::string_view(name), &AboutFault::name);
  if (found == kAboutFaults.end()) return std::nullopt;
  return found->kind;
}

bool is_of_documents(std::string_view group) {
  return group == "ttl" || group == "errors" || group == "administrator";
}

std::vector<FaultPlan::Kind> fault_kinds(Harm most) {
  std::vector<FaultPlan::Kind> kinds;
  for (const auto& each : kAboutFaults) {
    if (each.harm <= most) kinds.push_back(each.kind);
  }
  return kinds;
}

const std::vector<std::string>& fault_groups() {
  static const std::vector<std::string> groups{"process", "failover", "network", "clock",
                                               "ttl",     "majority", "errors",
                                               "administrator"};
  return groups;
}

int member_hit(const FaultPlan& fault, int primary, int members) {
  if (fault.member >= 0) return static_cast<int>(fault.member % members);
  if (fault.pick % 2 == 0 && primary >= 0) return primary;
  return static_cast<int>(fault.pick / 2 % members);
}

std::vector<int> members_hit(const FaultPlan& fault, int primary, int members) {
  using K = FaultPlan::Kind;
  int count = 1;
  if (fault.kind == K::kill_two) count = 2;
  if (fault.kind == K::kill_all) count = members;
  // Members that all lost their data are no set any more.
  if (fault.kind == K::lost_data) {
    count = static_cast<int>(std::clamp<std::int64_t>(fault.amount, 1, members - 1));
  }
  const int first = member_hit(fault, primary, members);
  std::vector<int> hit;
  for (int i = 0; i < std::min(count, members); ++i) hit.push_back((first + i) % members);
  return hit;
}

bool takes_members(FaultPlan::Kind kind) {
  using K = FaultPlan::Kind;
  return kind == K::kill_member || kind == K::stop_member || kind == K::kill_two ||
         kind == K::kill_all || kind == K::lost_data;
}

std::int64_t clock_amount(const FaultPlan& fault, std::int64_t clock_margin_ms) {
  if (fault.member >= 0) return fault.amount;
  auto limit = clock_margin_ms / 2;
  if (fault.kind == FaultPlan::Kind::clock_drift) {
    limit = limit * 1'000'000 / std::max<std::int64_t>(fault.for_ms, 1);
  }
  return std::clamp(fault.amount, -limit, limit);
}

int error_code(const FaultPlan& fault) {
  constexpr std::array kCodes{91, 11600, 11602, 189, 262};
  return kCodes[static_cast<std::size_t>(fault.pick / 2) % kCodes.size()];
}

}  // namespace leasehold::sim
