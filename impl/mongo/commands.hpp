#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/protocol.hpp"
#include "mongo/bson.hpp"

/// The bytes of every command, built purely: tested without a server, and executed by the simulated
/// one. The shapes and why they are so: `impl/README.md`.
namespace leasehold::mongo {

/// The server answers first: wtimeout < maxTimeMS < our own timer.
struct Limits {
  std::int64_t wtimeout_ms = 1, max_time_ms = 1;
};
[[nodiscard]] Limits limits_of(std::chrono::milliseconds timeout);

/// What a query by owner asks of `lockId`.
[[nodiscard]] std::string pattern_of(core::Owner owner, std::string_view rest = "");
[[nodiscard]] std::string pattern_of(core::Owner one, core::Owner other,
                                     std::string_view rest = "");
[[nodiscard]] std::string pattern_of(const core::DeleteCommand& command);

/// `timeout` is how long the caller waits for the reply; the server's own limits stay below it.
[[nodiscard]] Bson build(const core::Command& command, const std::string& collection);

}  // namespace leasehold::mongo
