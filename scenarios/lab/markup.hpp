#pragma once

#include <pugixml.hpp>
#include <string_view>

/// The one way of text into XML. pugixml escapes it when the nodes are written.
namespace leasehold::lab {

void set_attribute(pugi::xml_node node, const char* name, std::string_view value);

}  // namespace leasehold::lab
