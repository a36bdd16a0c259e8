#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/contend/load.hpp"
#include "bench/contend/samples.hpp"

namespace leasehold::bench {

/// The order of one OS process with some of the clients, as JSON on its command line. The process
/// connects, acquires a lock of its own per client, writes "ready", reads when the measured time
/// begins (CLOCK_BOOTTIME, ns), runs, and writes a WorkerResult. A program in another language that
/// does the same can be compared with the strategies (bench/README.md).
struct WorkerOrder {
  Load load;
  int first_client = 0, clients = 1;
  double arrivals_per_s = 0;  ///< of this process, in an open loop
  std::string uri, database;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkerOrder, load, first_client, clients, arrivals_per_s, uri,
                                   database)

struct WorkerResult {
  std::vector<Sample> samples;
  WireCounts wire;
  std::string error;  ///< not empty: why the run is worth nothing
};

/// A sample as an array: client, lock, asked, granted, released; null for times that never came.
void to_json(nlohmann::json& json, const WorkerResult& result);
void from_json(const nlohmann::json& json, WorkerResult& result);

/// Does what `order` says. Returns the exit code.
int run_worker(const std::string& order, std::istream& in, std::ostream& out);

}  // namespace leasehold::bench
