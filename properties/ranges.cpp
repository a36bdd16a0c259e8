#include "properties/ranges.hpp"

#include "model/lock_rules.hpp"

namespace leasehold::properties {

FaultRanges ranges_of(sim::FaultPlan::Kind kind, std::int64_t clock_margin_ms) {
  using K = sim::FaultPlan::Kind;
  switch (kind) {
    case K::crash:
    case K::step_up:
    case K::step_down:
    case K::drop_collection:
    case K::delete_document: return {};
    case K::pause:
    case K::suspend: return {{100, 3'500}, {}};
    case K::clock_jump: return {{}, {-clock_margin_ms, clock_margin_ms}};
    case K::clock_drift: return {{500, 3'000}, {-200'000, 200'000}};
    case K::errors: return {{}, {1, 5}};
    case K::wall_clock: return {{500, 4'000}, {-4'000, 4'000}};
    case K::kill_member:
    case K::stop_member:
    case K::split_members:
    case K::two_primaries: return {{300, 3'000}, {}};
    case K::kill_two:
    case K::kill_all: return {{300, 1'500}, {}};
    // Longer than an election: who comes back empty must not vote for who lags.
    case K::lost_data: return {{2'000, 3'000}, {}};
    case K::drop_index: return {{500, 3'500}, {}};
    case K::change_index: return {{500, 3'500}, {1, 3'600}};
    case K::ttl_off: return {{500, 3'500}, {}};
    default: return {{200, 2'500}, {5, 900}};
  }
}

int long_hold_leases(const std::string& lock) {
  const auto known = model::lock_named(lock);
  return !known || model::rules_of(*known).extends ? 2 : 1;
}

}  // namespace leasehold::properties
