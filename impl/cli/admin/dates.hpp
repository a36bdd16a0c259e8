#pragma once

#include <cstdint>
#include <string>

#include "mongo/client/json_client.hpp"

namespace leasehold::cli {

using mongo::date_ms;

/// "2 min 5 s": for people.
[[nodiscard]] std::string span(std::int64_t ms);
/// "2026-11-22 01:02:03Z".
[[nodiscard]] std::string date(std::int64_t since_1970_ms);

}  // namespace leasehold::cli
