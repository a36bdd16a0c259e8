#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "model/history.hpp"

/// A history in the formats that other tools read.
namespace leasehold::lab {

struct ExportFormat {
  std::string name;
  std::string about;
  void (*write)(std::ostream& out, const model::History& history);
};

/// - perfetto: the trace event format of Chrome and Perfetto. A process is a process of the run, a
///   lane one caller of it: who waited and held, with tokens, writes to the resource, stops,
///   faults.
/// - jepsen: one EDN map a line, as in a history.edn of Jepsen: acquire, write and release, and the
///   faults as those of the process :nemesis. Who crashes has an :info, and a new number after it.
/// - porcupine: {"operations": [{"client_id", "lock", "operation", "call_ns", "return_ns"}, ...]},
///   times from the start of the run. A holding is an acquire that returns when held() was first
///   true for its user, and a release called when it was last true. So the lock as an object (an
///   acquire needs it free, a release frees it) is linearizable exactly if no two certainly held at
///   once, which is G2.
[[nodiscard]] const std::vector<ExportFormat>& export_formats();

}  // namespace leasehold::lab
