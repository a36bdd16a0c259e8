#include "sim/faults/lasting_faults.hpp"

#include <stdexcept>
#include <utility>

namespace leasehold::sim {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kTryAgain = 200 * kNsPerMs;

}  // namespace

void LastingFaults::note(const FaultPlan& fault, const std::string& hit, Part part,
                         std::int64_t amount, std::int64_t at_ns, const std::string& lock_id) {
  cluster_.emit({.at_ns = at_ns,
                 .kind = model::Kind::fault,
                 .victim = hit,
                 .lock_id = lock_id,
                 .fault = to_string(fault.kind),
                 .begins = part == Part::begins,
                 .ends = part == Part::ends,
                 .amount = amount});
}

void LastingFaults::for_a_while(const FaultPlan& fault, std::vector<std::string> hit,
                                std::int64_t for_ms, const Begin& begin, End end_it) {
  const auto from = cluster_.now_ns();
  // Before it does anything, because its effect may be seen before this returns.
  for (const auto& each : hit) note(fault, each, Part::begins, fault.amount, from);
  const Id id = ++last_;
  lasting_[id] = {fault, std::move(hit), std::move(end_it)};
  try {
    begin(id);
  } catch (const std::exception&) {
    end(id);  // whatever it had done
    throw;
  }
  cluster_.call_at(from + for_ms * kNsPerMs, [this, id] { end(id); });
}

/// Both the fault's own time and `end_all` come here; the first of them does it.
void LastingFaults::end(Id id) {
  if (try_to_end(id)) return;
  // A server did not answer in time.
  cluster_.call_at(cluster_.now_ns() + kTryAgain, [this, id] { end(id); });
}

bool LastingFaults::try_to_end(Id id) {
  const auto found = lasting_.find(id);
  if (found == lasting_.end()) return true;
  Lasting& fault = found->second;
  try {
    if (fault.end(id)) count(fault.fault);
  } catch (const std::exception& error) {
    fault.complaint = error.what();
    return false;
  }
  for (const auto& each : fault.hit) note(fault.fault, each, Part::ends, 0, cluster_.now_ns());
  lasting_.erase(found);
  return true;
}

void LastingFaults::end_all(const std::function<bool(FaultPlan::Kind)>& wanted) {
  cluster_.insist("ending the faults", [&] {
    std::vector<Id> ids;
    for (const auto& [id, fault] : lasting_) {
      if (wanted(fault.fault.kind)) ids.push_back(id);
    }
    std::string complaint;
    // All are tried, so that one unanswering server keeps no other fault alive.
    for (const Id id : ids) {
      if (try_to_end(id) || !complaint.empty()) continue;
      const Lasting& left = lasting_.at(id);
      complaint = std::string(to_string(left.fault.kind)) + ": " + left.complaint;
    }
    if (!complaint.empty()) throw std::runtime_error(complaint);
    return true;
  });
}

}  // namespace leasehold::sim
