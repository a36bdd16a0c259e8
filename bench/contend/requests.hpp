#pragma once

#include <optional>
#include <vector>

#include "bench/contend/load.hpp"

namespace leasehold::bench {

struct Request {
  std::int64_t at_ns = 0;  ///< when it is made, from the beginning of what is measured
  int lock = 0;
  std::int64_t hold_ns = 0;
};

/// The times and locks of callers' requests. The same seed gives every strategy the same requests:
/// in the closed loop to each caller, in the open loop to any idle caller. An open loop's times
/// never depend on when a caller was served. Not thread-safe.
class Requests {
 public:
  /// For `callers` of one process, numbered from `first_caller`; `arrivals_per_s` is this process's
  /// share of an open loop.
  Requests(const Load& load, int first_caller, int callers, double arrivals_per_s);

  /// The next request for an idle caller (counted from the first); none: the time is over. In an
  /// open loop it may lie in the past, and has waited since then.
  [[nodiscard]] std::optional<Request> next(int caller, std::int64_t now_ns);

 private:
  Request drawn(Random& random, std::int64_t at_ns) const;

  Arrivals arrivals_;
  Holding holding_;
  Locks locks_;
  std::int64_t end_ns_;
  double apart_ns_;              ///< between two arrivals, on average
  Random open_;                  ///< of the open loop
  double last_ns_;               ///< the last arrival of the open loop
  std::vector<Random> closed_;   ///< by caller
  std::vector<bool> has_asked_;  ///< by caller
};

}  // namespace leasehold::bench
