#include "sim/live/proxy/wire_message.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sim/plan/fault.hpp"

namespace leasehold::sim::live {

namespace {

constexpr std::int32_t kLargestMessage = 48'000'000;
constexpr std::int32_t kSmallestDocument = 5;

/// Where the command's document begins.
std::optional<std::size_t> command_at(std::string_view message) {
  if (message.size() < kMessageHeader) return std::nullopt;
  switch (op_code_of(message)) {
    case op_code::msg: return kMessageHeader + 5;  // flags, and the kind of the only section
    case op_code::query: {
      const auto name_ends = message.find('\0', kMessageHeader + 4);
      if (name_ends == std::string_view::npos) return std::nullopt;
      return name_ends + 1 + 8;
    }
    default: return std::nullopt;
  }
}

std::string text_at(const bson_t& document, const char* path) {
  bson_iter_t root, found;
  if (!bson_iter_init(&root, &document) || !bson_iter_find_descendant(&root, path, &found) ||
      !BSON_ITER_HOLDS_UTF8(&found)) {
    return "";
  }
  std::uint32_t size = 0;
  const char* text = bson_iter_utf8(&found, &size);
  return {text, size};
}

}  // namespace

std::int32_t int32_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return static_cast<std::int32_t>(BSON_UINT32_FROM_LE(value));
}

std::optional<std::size_t> message_size(std::string_view bytes) {
  const auto size = int32_at(bytes, 0);
  if (size < static_cast<std::int32_t>(kMessageHeader) || size > kLargestMessage) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(size);
}

std::int32_t op_code_of(std::string_view message) { return int32_at(message, 12); }

std::optional<std::string_view> document_at(std::string_view message, std::size_t begin) {
  if (begin + kSmallestDocument > message.size()) return std::nullopt;
  const auto size = int32_at(message, begin);
  if (size < kSmallestDocument || static_cast<std::size_t>(size) > message.size() - begin) {
    return std::nullopt;
  }
  const auto found = message.substr(begin, static_cast<std::size_t>(size));
  bson_t document;
  const bool whole = read_in_place(found, document) &&
                     bson_validate(&document, BSON_VALIDATE_NONE, nullptr);
  return whole ? std::optional(found) : std::nullopt;
}

bool read_in_place(std::string_view document, bson_t& out) {
  return bson_init_static(&out, reinterpret_cast<const std::uint8_t*>(document.data()),
                          document.size());
}

std::optional<std::string_view> command_in(std::string_view message) {
  const auto begin = command_at(message);
  return begin ? document_at(message, *begin) : std::nullopt;
}

std::string peer_of(std::string_view message, const std::map<int, int>& member_by_port) {
  const auto found = command_in(message);
  bson_t document;
  if (!found || !read_in_place(*found, document)) return "";
  const auto host = text_at(document, "hostInfo");
  const auto colon = host.rfind(':');
  if (colon == std::string::npos) return text_at(document, "client.application.name");
  const auto member = member_by_port.find(std::atoi(host.c_str() + colon + 1));
  if (member == member_by_port.end()) return "";
  const bool beat = text_at(document, "client.driver.name") == "NetworkInterfaceTL-ReplNetwork";
  return member_name(member->second) + (beat ? "/beat" : "/sync");
}

}  // namespace leasehold::sim::live
