#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>

#include "scenarios/lab/exports.hpp"
#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {
namespace {

const ExportFormat& format_named(const std::string& name) {
  std::string known;
  for (const auto& format : export_formats()) {
    if (format.name == name) return format;
    known += (known.empty() ? "" : ", ") + format.name;
  }
  throw UsageError("--format is '" + name + "': it must be one of " + known);
}

std::string listed() {
  std::string text;
  for (const auto& format : export_formats()) {
    text += (text.empty() ? "" : "; ") + format.name + ": " + format.about;
  }
  return text;
}

}  // namespace

int export_history(const std::vector<std::string>& words) {
  std::string file, format_name, out_file;
  const auto about = listed();
  po::options_description options("Writes a recorded history for other tools. Options");
  options.add_options()("history", po::value(&file)->required(),
                        "the history, or the folder of a kept run")(
      "format", po::value(&format_name)->value_name("NAME")->required(), about.c_str())(
      "out", po::value(&out_file)->value_name("FILE"), "where to; standard output otherwise");
  parse("export HISTORY --format NAME [OPTIONS]", options, words,
        po::positional_options_description().add("history", 1));
  const auto& format = format_named(format_name);
  require_writable("out", out_file);
  const auto history = read_history(file);
  if (history.empty()) throw UsageError("history '" + file + "': it has no event");
  if (out_file.empty()) {
    format.write(std::cout, history);
    return std::cout.flush() ? kHolds : kHarnessFailure;
  }
  std::ofstream out(out_file);
  format.write(out, history);
  if (!out.flush()) throw std::runtime_error("cannot write " + out_file);
  return kHolds;
}

}  // namespace leasehold::lab
