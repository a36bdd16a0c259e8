#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

/// The one way of text into XML and HTML. pugixml escapes it when the nodes are written.
namespace leasehold::lab {

pugi::xml_node add_element(pugi::xml_node parent, const char* name, const std::string& text);
void set_attribute(pugi::xml_node node, const char* name, std::string_view value);

/// The nodes as HTML, which has end tags where XML needs none.
[[nodiscard]] std::string html_of(const pugi::xml_document& nodes);

}  // namespace leasehold::lab
