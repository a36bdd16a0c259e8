#pragma once

#include <stdexcept>
#include <string>

namespace leasehold::sim::live {

/// For tests: what a call says of its failure; empty: it has none.
template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace leasehold::sim::live
