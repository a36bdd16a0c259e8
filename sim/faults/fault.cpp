#include "sim/faults/fault.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace leasehold::sim {
namespace {

struct About {
  const char* name;
  const char* group;
};

/// In the order of the kinds.
constexpr std::array<About, kFaultKinds> kAbout{
    {{"crash", "process"},         {"pause", "process"},         {"step-up", "failover"},
     {"step-down", "failover"},    {"kill-member", "failover"},  {"stop-member", "failover"},
     {"split-members", "network"}, {"two-primaries", "network"}, {"cut-link", "network"},
     {"refuse-link", "network"},   {"slow-link", "network"},     {"lost-replies", "network"},
     {"late-requests", "network"}, {"waiting-inside", "errors"}, {"clock-jump", "clock"},
     {"clock-drift", "clock"},     {"ttl-off", "ttl"},           {"slow-majority", "majority"},
     {"errors", "errors"},         {"wall-clock", "clock"}}};

const About& about(FaultPlan::Kind kind) { return kAbout[static_cast<std::size_t>(kind)]; }

}  // namespace

const char* to_string(FaultPlan::Kind kind) { return about(kind).name; }

std::optional<FaultPlan::Kind> fault_named(const std::string& name) {
  const auto found = std::find_if(kAbout.begin(), kAbout.end(),
                                  [&](const About& a) { return std::string_view(name) == a.name; });
  if (found == kAbout.end()) return std::nullopt;
  return static_cast<FaultPlan::Kind>(found - kAbout.begin());
}

const char* group_of(FaultPlan::Kind kind) { return about(kind).group; }

const std::vector<std::string>& fault_groups() {
  static const std::vector<std::string> groups{"process", "failover", "network", "clock",
                                               "ttl",     "majority", "errors"};
  return groups;
}

std::string member_name(int member) { return "member-" + std::to_string(member); }

int member_hit(const FaultPlan& fault, int primary, int members) {
  if (fault.member >= 0) return static_cast<int>(fault.member % members);
  if (fault.pick % 2 == 0 && primary >= 0) return primary;
  return static_cast<int>(fault.pick / 2 % members);
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

bool hits_process(FaultPlan::Kind kind) {
  using K = FaultPlan::Kind;
  return kind == K::crash || kind == K::pause || kind == K::wall_clock;
}

}  // namespace leasehold::sim
