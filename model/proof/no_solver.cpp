#include <stdexcept>

#include "model/proof/solver.hpp"

/// Built if the solver's library was not found.
namespace leasehold::model::proof {

Answer ask(const std::string&, unsigned) {
  throw std::runtime_error(
      "this build has no SMT solver: install libz3-dev, remove build/CMakeCache.txt, build again");
}

std::string solver_name() { return "none"; }

}  // namespace leasehold::model::proof
