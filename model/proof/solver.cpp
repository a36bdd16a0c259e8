#include "model/proof/solver.hpp"

#include <z3.h>

#include <memory>
#include <stdexcept>

namespace leasehold::model::proof {
namespace {

struct Delete {
  void operator()(Z3_context context) const { Z3_del_context(context); }
};
using Context = std::unique_ptr<_Z3_context, Delete>;

Context new_context() {
  Z3_config config = Z3_mk_config();
  Context context(Z3_mk_context(config));
  Z3_del_config(config);
  Z3_set_error_handler(context.get(), [](Z3_context, Z3_error_code) {});  // else it ends us
  return context;
}

}  // namespace

Answer ask(const std::string& script, unsigned timeout_ms) {
  const Context context = new_context();
  const std::string limited =
      "(set-option :timeout " + std::to_string(timeout_ms) + ")\n" + script + "(check-sat)\n";
  const std::string said = Z3_eval_smtlib2_string(context.get(), limited.c_str());
  if (said == "unsat\n") return Answer::unsatisfiable;
  if (said == "sat\n") return Answer::satisfiable;
  if (said == "unknown\n" || said == "timeout\n") return Answer::unknown;
  throw std::runtime_error("the solver says " + said);
}

std::string solver_name() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return "Z3 " + std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(build);
}

}  // namespace leasehold::model::proof
