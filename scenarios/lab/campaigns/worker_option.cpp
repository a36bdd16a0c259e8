#include "scenarios/lab/campaigns/worker_option.hpp"

namespace leasehold::lab {

void WorkerOption::add_to(po::options_description& options) {
  options.add_options()(
      "worker", po::value(&command)->value_name("COMMAND"),
      "check the lock of this worker instead, which speaks the lines of WORKERS.md")(
      "promises", po::value(&promises_file)->value_name("FILE"),
      "what that lock promises, as JSON");
}

std::optional<sim::live::ForeignLock> WorkerOption::lock(const po::variables_map& given) const {
  if (given.contains("worker") != given.contains("promises")) {
    throw UsageError("--worker COMMAND and --promises FILE go together: one of them is missing");
  }
  if (!given.contains("worker")) return std::nullopt;
  if (command.empty()) throw UsageError("--worker is '': it must be a command");
  return sim::live::ForeignLock{command, read_promises(promises_file)};
}

model::Promises read_promises(const std::string& file) {
  const auto text = read_file("--promises", file);
  try {
    return model::promises_from_json(text);
  } catch (const std::exception& error) {
    throw UsageError("--promises is '" + file + "': " + error.what());
  }
}

}  // namespace leasehold::lab
