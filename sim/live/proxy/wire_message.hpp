#pragma once

#include <bson/bson.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// Messages of MongoDB's wire protocol, as far as a proxy has to understand them.
namespace leasehold::sim::live {

/// Begins each message: its size, its number, the number that it answers, and its kind.
inline constexpr std::size_t kMessageHeader = 16;

namespace op_code {
inline constexpr std::int32_t reply = 1;  ///< of the old handshake, like `query`
inline constexpr std::int32_t query = 2004;
inline constexpr std::int32_t msg = 2013;
}  // namespace op_code

/// REQUIRES: four bytes are there.
[[nodiscard]] std::int32_t int32_at(std::string_view bytes, std::size_t at);

/// The size of the message that begins with these bytes, once its first four are there. Nothing for
/// a size that no server takes.
[[nodiscard]] std::optional<std::size_t> message_size(std::string_view bytes);

/// REQUIRES: the header is there.
[[nodiscard]] std::int32_t op_code_of(std::string_view message);

/// The BSON document that begins there; nothing if none does, or it is not whole.
[[nodiscard]] std::optional<std::string_view> document_at(std::string_view message,
                                                          std::size_t begin);

/// Reads a whole document where it stands, for as long as its bytes do. False: it is none.
[[nodiscard]] bool read_in_place(std::string_view document, bson_t& out);

/// The document of the command in a request (OP_MSG, OP_QUERY).
[[nodiscard]] std::optional<std::string_view> command_in(std::string_view message);

/// The sender of a connection's first message (OP_QUERY or OP_MSG): the application's name, or for
/// a member, known by its port, "member-N/beat" or "member-N/sync". Empty: it does not say.
[[nodiscard]] std::string peer_of(std::string_view message,
                                  const std::map<int, int>& member_by_port);

}  // namespace leasehold::sim::live
