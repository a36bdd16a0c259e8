#include "scenarios/lab/markup.hpp"

#include <algorithm>
#include <sstream>

namespace leasehold::lab {
namespace {

/// XML has no name for control characters; pugixml would write numbers that no parser takes.
std::string printable(std::string text) {
  const auto odd = [](unsigned char c) { return c < ' ' && c != '\n' && c != '\t'; };
  std::replace_if(text.begin(), text.end(), odd, '?');
  return text;
}

}  // namespace

pugi::xml_node add_element(pugi::xml_node parent, const char* name, const std::string& text) {
  auto child = parent.append_child(name);
  child.text() = printable(text).c_str();
  return child;
}

void set_attribute(pugi::xml_node node, const char* name, std::string_view value) {
  node.append_attribute(name) = printable(std::string(value)).c_str();
}

std::string html_of(const pugi::xml_document& nodes) {
  std::ostringstream out;
  nodes.save(out, "",
             pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags);
  return out.str();
}

}  // namespace leasehold::lab
