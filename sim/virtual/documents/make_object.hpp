#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "sim/virtual/documents/value.hpp"

namespace leasehold::sim::simulated {

/// For requests and documents that are written down: `make({{"find", std::string("locks")}})`.
inline Object make(std::initializer_list<std::pair<std::string, Value>> fields) {
  Object object;
  for (const auto& [key, value] : fields) object.set(key, value);
  return object;
}

}  // namespace leasehold::sim::simulated
