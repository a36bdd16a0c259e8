#include <fstream>
#include <iostream>

#include "scenarios/lab/lab.hpp"
#include "scenarios/lab/report/exports.hpp"

namespace leasehold::lab {

int export_history(const std::vector<std::string>& words) {
  std::string file, out_file;
  po::options_description options(
      "Writes the operations of a recorded history's locks as JSON, for Porcupine or another "
      "linearizability checker. Options");
  options.add_options()("history", po::value(&file)->required(),
                        "the history, or the folder of a kept run")(
      "out", po::value(&out_file)->value_name("FILE"), "where to; standard output otherwise");
  parse("export HISTORY [OPTIONS]", options, words,
        po::positional_options_description().add("history", 1));
  require_writable("out", out_file);
  const auto history = read_history(file);
  if (history.empty()) throw UsageError("history '" + file + "': it has no event");
  if (out_file.empty()) {
    write_operations(std::cout, history);
    return std::cout.flush() ? kHolds : kHarnessFailure;
  }
  std::ofstream out(out_file);
  write_operations(out, history);
  if (!out.flush()) throw std::runtime_error("cannot write " + out_file);
  return kHolds;
}

}  // namespace leasehold::lab
