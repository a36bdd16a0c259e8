#include "properties/run_folder.hpp"

#include <filesystem>
#include <fstream>

namespace leasehold::properties {

namespace fs = std::filesystem;

void keep_run(const std::string& folder, const sim::Plan& plan, const model::History& history,
              const std::vector<model::Finding>& findings, const sim::live::ReplicaSet* servers) {
  fs::create_directories(folder);
  std::ofstream(folder + "/plan.scn") << to_scn(plan);
  std::ofstream history_file(folder + "/history.jsonl");
  model::write(history_file, history);
  std::ofstream verdict(folder + "/verdict.txt");
  for (const auto& f : findings) {
    verdict << to_string(f.guarantee) << ' ' << to_string(f.verdict) << ' ' << f.why << '\n';
  }
  if (servers == nullptr) return;
  for (const auto& log : servers->log_files()) {
    fs::copy_file(log, fs::path(folder) / fs::path(log).filename(),
                  fs::copy_options::overwrite_existing);
  }
}

}  // namespace leasehold::properties
