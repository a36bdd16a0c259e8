#pragma once

#include <boost/program_options.hpp>
#include <exception>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "model/history/history.hpp"
#include "sim/plan/plan.hpp"

/// The command `leasehold-lab`: one file a subcommand.
namespace leasehold::lab {

namespace po = boost::program_options;

/// Exit codes, the same everywhere.
enum Exit {
  kHolds = 0,
  kViolated = 1,
  kUnknown = 2,
  kUsage = 64,
  kNoServers = 69,
  kHarnessFailure = 70,  ///< a process died that was not killed, or the laboratory itself failed
};

using cli::HelpAsked;
using cli::UsageError;

/// Parses the words after the subcommand. Throws UsageError or HelpAsked.
po::variables_map parse(const std::string& usage, po::options_description options,
                        const std::vector<std::string>& words,
                        const po::positional_options_description& positional = {});

/// The files in which a command writes what it found. It writes none that has no name.
struct Outputs {
  std::string json, junit, page, summary, history;

  /// Adds --json and --junit, which write `what`.
  void add_to(po::options_description& options, const std::string& what = "report");
  /// Adds --report, with this help.
  void add_page(po::options_description& options, const char* help);
  /// Throws UsageError for the first that cannot be written.
  void require_writable() const;
};

/// What `read` returns. An error of it is a UsageError that begins with `what`.
template <typename Read>
auto reading(const std::string& what, const Read& read) {
  try {
    return read();
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    throw UsageError(what + error.what());
  }
}

/// Fails early, before a long run, if the file cannot be written. Leaves nothing. Empty is fine.
void require_writable(const std::string& option, const std::string& file);

/// Throws UsageError unless runs can be kept in the folder, or it can be made. Leaves nothing.
void require_folder(const std::string& option, const std::string& folder);

/// Throws UsageError unless `--lock` names a known lock, which runs live if `live`.
void require_lock(const std::string& lock, bool live = false);

/// "queue,uniform", as `--waiting` has it; throws UsageError for an unknown name.
std::vector<sim::Waiting> parse_waitings(const std::string& text);

/// Throws UsageError unless low <= value <= high.
void require_range(const std::string& option, std::int64_t value, std::int64_t low,
                   std::int64_t high);

/// Throws UsageError that names the file, and `what` it is.
[[nodiscard]] std::string read_file(const std::string& what, const std::string& file);

/// Throws UsageError that names the file, and the line if it is one.
[[nodiscard]] sim::Plan read_plan(const std::string& file);

/// The same, for a plan that the live world can run.
[[nodiscard]] sim::Plan read_live_plan(const std::string& file);

/// The folder of the failure stories: LEASEHOLD_SCENARIOS, or where they were installed with the
/// program; in a build those of its sources.
[[nodiscard]] std::string scenario_folder();

int certify(const std::vector<std::string>& words);
int verify(const std::vector<std::string>& words);
/// A kept history, or the history of a kept run's folder. Throws UsageError.
[[nodiscard]] model::History read_history(const std::string& file);

int check(const std::vector<std::string>& words);
int explore(const std::vector<std::string>& words);
int prove(const std::vector<std::string>& words);
int simulate(const std::vector<std::string>& words);
int soak(const std::vector<std::string>& words);
int cluster(const std::vector<std::string>& words);
int scenario(const std::vector<std::string>& words);
int matrix(const std::vector<std::string>& words);
int import_incident(const std::vector<std::string>& words);
int export_history(const std::vector<std::string>& words);
int diagram(const std::vector<std::string>& words);

}  // namespace leasehold::lab
