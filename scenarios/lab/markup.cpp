#include "scenarios/lab/markup.hpp"

#include <algorithm>

namespace leasehold::lab {
namespace {

/// XML has no name for control characters; pugixml would write numbers that no parser takes.
std::string printable(std::string text) {
  const auto odd = [](unsigned char c) { return c < ' ' && c != '\n' && c != '\t'; };
  std::replace_if(text.begin(), text.end(), odd, '?');
  return text;
}

}  // namespace

void set_attribute(pugi::xml_node node, const char* name, std::string_view value) {
  node.append_attribute(name) = printable(std::string(value)).c_str();
}

}  // namespace leasehold::lab
