#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/history/history.hpp"

/// What the harness asks of the history that it writes, and how it puts it into its form. Pure.
namespace leasehold::sim::live {

/// Whether a lock's document is left in the server's truth, as far as that was read.
[[nodiscard]] bool documents_left(const model::History& history);

/// Nothing of a process may stand after the end, whenever its line was read.
/// REQUIRES: sorted by time, with one `finish`.
void put_end_last(model::History& history);

/// When a member was away because of the run.
struct Away {
  std::string member;  ///< empty: any, for members are started anew while we heal
  std::int64_t from_ns = 0, to_ns = 0;
};
/// The times of faults that stop or kill members; one that has not ended lasts until now.
[[nodiscard]] std::vector<Away> members_away(const model::History& history, std::int64_t now_ns);
/// Whether a `stall` is of a member that the run stopped or killed. The machine's own never is.
[[nodiscard]] bool is_ours(const model::Event& stall, const std::vector<Away>& away);

}  // namespace leasehold::sim::live
