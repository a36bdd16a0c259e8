#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "properties/guided/abstract_states.hpp"
#include "properties/simulate.hpp"

/// Generated runs, steered by libFuzzer towards situations that no run was in before: its input is
/// the vector of numbers that a plan is read from, and what it counts as coverage are the abstract
/// states of the history. With LEASEHOLD_BLIND each run is that of the next seed instead, for
/// comparison. A run that violates a guarantee is a finding.
namespace {

using namespace leasehold::properties;

/// What libFuzzer takes for coverage beside the code's.
__attribute__((section("__libfuzzer_extra_counters")))
std::uint8_t counters[AbstractStates::kCount];

double cpu_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec) * 1e-6;
}

struct Progress {
  std::uint64_t runs = 0;
  std::set<std::uint16_t> states;

  void print() const {
    std::fprintf(stderr, "abstract states: %zu after %llu runs and %.1f s of CPU time\n",
                 states.size(), static_cast<unsigned long long>(runs), cpu_s());
  }
  ~Progress() { print(); }
};

PlanLimits all_limits() {
  PlanLimits limits;
  limits.waitings.clear();
  for (int w = 0; w < leasehold::sim::kWaitings; ++w) {
    limits.waitings.push_back(static_cast<leasehold::sim::Waiting>(w));  // with the queue
  }
  return limits;
}

Numbers numbers_from(const std::uint8_t* bytes, std::size_t size) {
  Numbers numbers(size / sizeof(Numbers::value_type));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes, numbers.size() * sizeof numbers[0]);
  return numbers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static Progress progress;
  static const bool blind = std::getenv("LEASEHOLD_BLIND") != nullptr;
  ++progress.runs;
  const auto plan = plan_from(blind ? numbers_of(progress.runs)
                                    : numbers_from(bytes, size),
                              all_limits());
  const auto one = simulate(plan);
  for (const auto state : AbstractStates::of(one.run.history)) {
    counters[state] = 1;
    progress.states.insert(state);
  }
  if (one.verdict() != leasehold::model::Verdict::violated) return 0;
  progress.print();
  for (const auto& finding : one.judgement.findings) {
    if (finding.violations > 0) std::fprintf(stderr, "violated: %s\n", finding.why.c_str());
  }
  std::fputs(leasehold::sim::to_scn(plan).c_str(), stderr);
  std::abort();
}
