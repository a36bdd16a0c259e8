#include "properties/campaigns/campaign.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "scenarios/lab/lab.hpp"

namespace leasehold::lab {

namespace {

constexpr std::uint64_t kSeeds = 20;

/// The fault that shows it best: none if the lock breaks without, else the first of the table.
void write_scenarios(const properties::Matrix& matrix, const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& [lock, rows] : matrix) {
    for (const auto g : model::kPromised) {
      for (const auto& fault : properties::matrix_faults()) {
        const auto& cell = rows.at(fault).at(g);
        if (cell.verdict != model::Verdict::violated) continue;
        const auto found = properties::matrix_plan(lock, fault, cell.seed);
        const auto plan = minimised(found, [g](const sim::Plan& candidate) {
          return properties::breaks(properties::simulate(candidate).judgement, g);
        });
        const auto number = std::string(to_string(g)).substr(1);
        const auto file = fmt::format("{}/{}-breaks-g{}.scn", folder, lock, number);
        std::ofstream(file) << fmt::format("# {}, fault {}: {}\n", to_string(g), fault, cell.why)
                            << sim::to_scn(plan);
        fmt::print("{}: {} entries\n", file, properties::entries(plan));
        break;
      }
    }
  }
}

}  // namespace

int matrix(const std::vector<std::string>& words) {
  std::string world = "virtual", markdown, json_file, scenarios, runs;
  po::options_description options(
      "Which lock keeps which promise under which fault: five locks, every fault kind, G1 to G9. "
      "Options");
  options.add_options()("world", po::value(&world)->default_value(world),
                        "virtual, or live: one run each, compared with the virtual table")(
      "markdown", to_file("markdown", markdown), "write the tables as Markdown")(
      "scenarios", to_folder("scenarios", scenarios),
      "write the smallest plan that shows each broken promise, one for each lock and guarantee")(
      "runs", to_folder("runs", runs), "keep the live runs that broke a guarantee, for `check`")(
      "json", to_file("json", json_file), "write all cells as JSON");
  parse("matrix [OPTIONS]", options, words);
  if (world != "virtual" && world != "live") refuse("--world", world, kWorlds);
  if (world == "virtual" && !runs.empty()) {
    refuse("--runs", runs, "virtual runs are repeated by their seeds");
  }
  StatusLine line;
  const auto watch = [&](const char* what) {
    return [&line, what](std::size_t done, std::size_t all) {
      line.show(fmt::format("{} of {} {}", done, all, what));
    };
  };
  const auto found = properties::run_matrix(kSeeds, watch("rows"));
  if (world == "live") {
    const auto live = properties::run_live_matrix(runs, watch("live runs"));
    line.end();
    const auto compared = compare(live, found);
    fmt::print("{}\n{}", to_markdown(live, 1), compared.text);
    write_json(json_file, to_json(live));
    return compared.only_live ? kViolated : kHolds;
  }
  line.end();
  const auto text = to_markdown(found, kSeeds);
  fmt::print("{}", text);
  write_file(markdown, text);
  write_json(json_file, to_json(found));
  if (!scenarios.empty()) write_scenarios(found, scenarios);
  return keeps_its_promises(found, "leasehold") ? kHolds : kViolated;
}

}  // namespace leasehold::lab
