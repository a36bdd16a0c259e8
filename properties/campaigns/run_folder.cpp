#include "properties/campaigns/run_folder.hpp"

#include <filesystem>
#include <fstream>

namespace leasehold::properties {

namespace fs = std::filesystem;

namespace {
constexpr const char* kPromises = "promises.json";
}  // namespace

void keep_run(const std::string& folder, const sim::Plan& plan, const model::History& history,
              const std::vector<model::Finding>& findings, const std::vector<std::string>& logs,
              const std::optional<model::Promises>& promises) {
  fs::create_directories(folder);
  std::ofstream(folder + "/plan.scn") << to_scn(plan);
  std::ofstream history_file(folder + "/history.jsonl");
  model::write(history_file, history);
  std::ofstream verdict(folder + "/verdict.txt");
  for (const auto& f : findings) {
    verdict << to_string(f.check) << ' ' << to_string(f.verdict) << ' ' << f.why << '\n';
  }
  if (promises) std::ofstream(fs::path(folder) / kPromises) << to_json(*promises) << '\n';
  for (const auto& log : logs) {
    fs::copy_file(log, fs::path(folder) / fs::path(log).filename(),
                  fs::copy_options::overwrite_existing);
  }
}

std::optional<model::Promises> kept_promises(const std::string& history) {
  const fs::path given(history);
  std::ifstream in((fs::is_directory(given) ? given : given.parent_path()) / kPromises);
  if (!in) return std::nullopt;
  return model::promises_from_json({std::istreambuf_iterator<char>(in), {}});
}

}  // namespace leasehold::properties
