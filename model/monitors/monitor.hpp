#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/containers/enum_set.hpp"
#include "model/monitors/commands.hpp"
#include "model/verdict/finding.hpp"

namespace leasehold::model {

/// One rule of the proof. It sees the events of a run one after the other.
class Monitor {
 public:
  Monitor(Check check, EnumSet<Kind> kinds)
      : looks_at(kinds), found(finding(check)) {}
  virtual ~Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  /// Constant time. `commands` knows all events before this one.
  /// REQUIRES: it looks at events of this kind.
  virtual void see(Index i, const Fact& e, const Commands& commands) = 0;

  const EnumSet<Kind> looks_at;
  Finding found;
};

using Monitors = std::vector<std::unique_ptr<Monitor>>;

void add_client_rules(Monitors& monitors, const Digest& d);
void add_document_rules(Monitors& monitors, const Digest& d);

/// Whether the put has the dates of the document. If not, the rules that need them are unknown.
inline bool require_dates(const Dates& document, Finding& f) {
  if (document.expires_at_ms != 0) return true;
  f.leave_open(Open::other, "the history does not say what stands in its documents: an older "
                            "release wrote it");
  return false;
}

/// "lock 'a': acquire 7 of p1".
inline std::string command_of(const Event& send) {
  return "lock '" + send.name + "': " + send.verb + ' ' + std::to_string(send.command) + " of " +
         send.process;
}

}  // namespace leasehold::model
