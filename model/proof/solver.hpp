#pragma once

#include <string>

namespace leasehold::model::proof {

enum class Answer { unsatisfiable, satisfiable, unknown };

/// Asks the SMT solver whether the assertions of an SMT-LIB script can all be true. Throws
/// std::runtime_error for a script with an error.
[[nodiscard]] Answer ask(const std::string& script, unsigned timeout_ms);

/// Its name and version.
[[nodiscard]] std::string solver_name();

}  // namespace leasehold::model::proof
