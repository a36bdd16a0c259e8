#include "bench/contend/figures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

namespace leasehold::bench {
namespace {

/// The least value that a share of `q` does not exceed.
double quantile(std::vector<double>& values, double q) {
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double jain_of(const std::map<int, std::int64_t>& counts, int clients) {
  double sum = 0, squares = 0;
  for (const auto& [client, count] : counts) {
    sum += static_cast<double>(count);
    squares += static_cast<double>(count) * static_cast<double>(count);
  }
  return sum * sum / (clients * squares);
}

}  // namespace

Figures figures_of(const RunResult& result, const Load& load) {
  Figures out;
  std::vector<double> waits;
  std::map<int, std::int64_t> counts;
  for (const Sample& s : result.samples) {
    if (s.granted_ns >= 0 && s.granted_ns < load.end_ns()) ++counts[s.client];
    const bool asked_in_time = s.asked_ns >= 0 && s.asked_ns < load.end_ns();
    if (!asked_in_time) continue;
    const auto until = std::min(s.granted_ns, load.given_up_ns());
    waits.push_back(static_cast<double>(until - s.asked_ns) * 1e-6);
  }
  for (const auto& [client, count] : counts) out.acquisitions += static_cast<double>(count);
  if (counts.empty() || waits.empty()) {
    throw std::runtime_error("'" + load.strategy + "' acquired nothing in the measured time");
  }
  const double seconds = static_cast<double>(load.measured_ms) * 1e-3;
  out.seconds_per_acquisition = seconds / out.acquisitions;
  out.share_of_ideal = out.acquisitions / (seconds * ideal_per_s(load, result.write_ms));
  out.commands = static_cast<double>(result.wire.writes + result.wire.reads) / out.acquisitions;
  out.wait_p50_ms = quantile(waits, 0.5);
  out.wait_p99_ms = quantile(waits, 0.99);
  out.jain = jain_of(counts, load.all_clients());
  if (result.server_cpu_s >= 0) out.server_cpu_ms = 1e3 * result.server_cpu_s / out.acquisitions;
  return out;
}

}  // namespace leasehold::bench
