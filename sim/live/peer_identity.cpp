#include "sim/live/peer_identity.hpp"

#include <bson/bson.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sim/faults/fault.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::size_t kHeader = 16;
constexpr std::int32_t kLargest = 48'000'000;
constexpr std::int32_t kOpQuery = 2004, kOpMsg = 2013;

std::int32_t int32_at(std::string_view bytes, std::size_t at) {
  std::int32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return BSON_UINT32_FROM_LE(value);
}

/// Where the command's document begins.
std::optional<std::size_t> document_at(std::string_view message) {
  if (message.size() < kHeader + 5) return std::nullopt;
  switch (int32_at(message, 12)) {
    case kOpMsg: return kHeader + 5;  // flags, and the kind of the only section
    case kOpQuery: {
      const auto name_ends = message.find('\0', kHeader + 4);
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

std::optional<std::size_t> message_size(std::string_view bytes) {
  const auto size = int32_at(bytes, 0);
  if (size < static_cast<std::int32_t>(kHeader) || size > kLargest) return std::nullopt;
  return static_cast<std::size_t>(size);
}

std::string peer_of(std::string_view message, const std::map<int, int>& member_by_port) {
  const auto begin = document_at(message);
  if (!begin || *begin + 5 > message.size()) return "";
  const auto size = int32_at(message, *begin);
  if (size < 5 || static_cast<std::size_t>(size) > message.size() - *begin) return "";
  bson_t document;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(message.data() + *begin);
  if (!bson_init_static(&document, bytes, static_cast<std::size_t>(size)) ||
      !bson_validate(&document, BSON_VALIDATE_NONE, nullptr)) {
    return "";
  }
  const auto host = text_at(document, "hostInfo");
  const auto colon = host.rfind(':');
  if (colon == std::string::npos) return text_at(document, "client.application.name");
  const auto member = member_by_port.find(std::atoi(host.c_str() + colon + 1));
  if (member == member_by_port.end()) return "";
  const bool beat = text_at(document, "client.driver.name") == "NetworkInterfaceTL-ReplNetwork";
  return member_name(member->second) + (beat ? "/beat" : "/sync");
}

}  // namespace leasehold::sim::live
