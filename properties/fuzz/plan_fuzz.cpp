#include <stdexcept>

#include "properties/fuzz/fuzz.hpp"
#include "sim/plan/plan.hpp"

/// `.scn` files, which people write: refused with a reason, or read to a plan that is written and
/// read again without a difference.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace leasehold;
  sim::Plan plan;
  try {
    plan = sim::plan_from_scn(std::string(reinterpret_cast<const char*>(bytes), size));
  } catch (const std::runtime_error& refused) {
    fuzz::must(std::string_view(refused.what()).starts_with("line "), "a refusal names the line");
    return 0;
  }
  fuzz::must(sim::plan_from_scn(sim::to_scn(plan)) == plan, "a plan reads back to itself");
  return 0;
}
