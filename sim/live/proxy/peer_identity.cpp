#include "sim/live/proxy/peer_identity.hpp"

#include <bson/bson.h>

#include <cstdint>
#include <cstdlib>

#include "sim/live/proxy/wire_message.hpp"
#include "sim/plan/fault.hpp"

namespace leasehold::sim::live {
namespace {

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

std::string peer_of(std::string_view message, const std::map<int, int>& member_by_port) {
  const auto found = command_in(message);
  if (!found) return "";
  bson_t document;
  if (!bson_init_static(&document, reinterpret_cast<const std::uint8_t*>(found->data()),
                        found->size())) {
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
