#pragma once

#include "bench/contend/load.hpp"
#include "bench/contend/samples.hpp"

namespace leasehold::bench {

/// What one run says of its strategy. Waits count as long as they really were, also those that
/// ended after the measured time; of requests made in it.
struct Figures {
  double acquisitions = 0;    ///< granted in the measured time
  double share_of_ideal = 0;  ///< relative to a lock that is never idle
  double commands = 0;        ///< on the wire, per acquisition
  double wait_p50_ms = 0, wait_p99_ms = 0;
  double jain = 0;  ///< Jain's index of the clients' acquisitions; 1: all got equally many
  double server_cpu_ms = -1;  ///< per acquisition; -1: not known
  double seconds_per_acquisition = 0;
};

/// `result.write_ms` is what one majority write takes there. Throws std::runtime_error if no
/// request was granted, because nothing can be said then.
[[nodiscard]] Figures figures_of(const RunResult& result, const Load& load);

}  // namespace leasehold::bench
