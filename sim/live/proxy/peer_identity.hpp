#pragma once

#include <map>
#include <string>
#include <string_view>

namespace leasehold::sim::live {

/// The sender of a connection's first message (OP_QUERY or OP_MSG): the application's name, or for
/// a member, known by its port, "member-N/beat" or "member-N/sync". Empty: it does not say.
[[nodiscard]] std::string peer_of(std::string_view message,
                                  const std::map<int, int>& member_by_port);

}  // namespace leasehold::sim::live
