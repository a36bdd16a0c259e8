#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leasehold::sim::live {

/// A user's replica set, examined before anything runs on it.
struct Preflight {
  std::vector<std::string> missing;  ///< what a run needs, a sentence each, with its remedy
  bool unreachable = false;          ///< no primary answered: nothing else could be looked at
  std::vector<std::string> notes;    ///< what to know when reading a verdict
  std::int64_t ttl_period_ms = 60'000;
};

/// The reason why no proxies can stand before the members that this URI names, as a sentence with
/// its remedy; empty: there is none, or it is no URI.
[[nodiscard]] std::string why_no_proxies(const std::string& uri);

/// Looks at rights, version, TTL monitor, write concern and clocks, all at once. Writes to
/// `database`, and drops it. `clock_margin_ms`: the least of the plans that are to run.
[[nodiscard]] Preflight look_before_running(const std::string& uri, const std::string& database,
                                            std::int64_t clock_margin_ms);

/// Drops what a run wrote, collection by collection, because that needs no right but the run's.
void drop_database(const std::string& uri, const std::string& database);

}  // namespace leasehold::sim::live
