#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "sim/explored/core_scope.hpp"
#include "sim/explored/core_states.hpp"

namespace leasehold::sim::explored {

/// The servers of an exploration. They execute the core's commands by the virtual world's
/// evaluator, with the effect of the fault that hits the command.
///
/// Thread safety: none.
class CoreServer {
 public:
  explicit CoreServer(CoreStates& states) : states_(states) {}

  /// What executing a request did.
  ///
  /// INVARIANT: it depends on the request, the documents, the server's clock and the oplog's
  /// length.
  struct Execution {
    std::uint32_t documents = 0;
    unsigned writes = 0;  ///< entries of the oplog
    core::Reply reply;
  };
  /// Executes the request with this number. Stores nothing.
  const Execution& execute(const World& w, std::uint32_t number, std::optional<CoreFault> fault);

  /// The primary's wall clock, since 1970.
  [[nodiscard]] static std::int64_t clock_ms(const World& w);
  /// The time of the oplog's entry of this number, as a fencing token.
  [[nodiscard]] static std::int64_t order_of(unsigned entry);

 private:
  simulated::Object run(const core::Command& command, const simulated::Start& start,
                        Execution& done);

  CoreStates& states_;
  Memo<Execution> executions_;
};

}  // namespace leasehold::sim::explored
