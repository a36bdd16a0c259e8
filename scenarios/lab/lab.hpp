#pragma once

#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "model/history/history.hpp"
#include "sim/live/run/harness.hpp"
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

/// Throws UsageError, as "--world is 'moon': it must be virtual or live".
[[noreturn]] void refuse(const std::string& what, const std::string& value,
                         const std::string& rule);

/// Values of options that parse() looks at; it throws UsageError. A file that can be written: it
/// fails early, before a long run, and leaves nothing.
[[nodiscard]] po::typed_value<std::string>* to_file(const char* option, std::string& file);
/// A folder in which runs can be kept, or that can be made. Leaves nothing.
[[nodiscard]] po::typed_value<std::string>* to_folder(const char* option, std::string& folder);
/// low <= number <= high.
void require_range(const std::string& option, std::int64_t value, std::int64_t low,
                   std::int64_t high);
template <typename T>
[[nodiscard]] po::typed_value<T>* in_range(const char* option, T& number, std::int64_t low,
                                           std::int64_t high) {
  return po::value(&number)->notifier([=](const T& given) {
    require_range(option, static_cast<std::int64_t>(given), low, high);
  });
}
[[nodiscard]] po::typed_value<int>* in_range(const char* option, std::optional<int>& number,
                                             int low, int high);
inline constexpr const char* kWorlds = "it must be virtual or live";

/// Parses the words after the subcommand. Throws UsageError or HelpAsked.
po::variables_map parse(const std::string& usage, po::options_description options,
                        const std::vector<std::string>& words,
                        const po::positional_options_description& positional = {});

/// The files in which a command writes what it found. It writes none that has no name.
struct Outputs {
  std::string json, junit, page, summary, history;

  /// Adds --json and --junit, which write `what`, and --report, if it has a help.
  void add_to(po::options_description& options, const char* page_help = nullptr,
              const std::string& what = "report");
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

/// As `to_file`. Empty is fine.
void require_writable(const std::string& option, const std::string& file);

/// Throws UsageError unless `--lock` names a known lock, which runs live if `live`.
void require_lock(const std::string& lock, bool live = false);

/// "queue,uniform", as `--waiting` has it; throws UsageError for an unknown name.
std::vector<sim::Waiting> parse_waitings(const std::string& text);

/// Throws UsageError that names the file, and `what` it is.
[[nodiscard]] std::string read_file(const std::string& what, const std::string& file);

/// Throws UsageError that names the file, and the line if it is one.
[[nodiscard]] sim::Plan read_plan(const std::string& file);

/// The same, for a plan that the live world can run.
[[nodiscard]] sim::Plan read_live_plan(const std::string& file);

/// The folder of the failure stories: LEASEHOLD_SCENARIOS, or where they were installed with the
/// program; in a build those of its sources.
[[nodiscard]] std::string scenario_folder();

/// At most `width` characters: the time, the activity, violations, the phase, and the present
/// faults; what has no room is left out from the right.
[[nodiscard]] std::string to_line(const sim::live::Progress& progress, int seconds,
                                  std::int64_t violations, std::size_t width);

/// "minimising the failing plan: 34 of at most 160 s".
[[nodiscard]] std::string minimising_line(double elapsed_s);

/// A line on standard error that overwrites itself on a terminal, and comes every ten seconds in a
/// log.
class StatusLine {
 public:
  ~StatusLine() { end(); }
  /// Without a time it comes on a terminal alone.
  void show(const std::string& line, double elapsed_s = -1);
  void end() const;

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  double next_s_ = 0;
};

/// The failing plan, minimised until the time for that is over; shows for how long it has been.
[[nodiscard]] sim::Plan minimised(const sim::Plan& plan,
                                  const std::function<bool(const sim::Plan&)>& fails);

/// The width of a line on the terminal behind this descriptor; 79 if it is none, or has no width.
[[nodiscard]] std::size_t line_width(int descriptor);

/// From here on Ctrl-C, SIGTERM and the end of the terminal do not end the process, because a long
/// command ends itself between two runs and reports what it has found. Another one, two seconds
/// later or more, ends the process at once.
void catch_interruptions();

/// Whether such a signal came. Thread safety: any thread.
[[nodiscard]] bool interrupted();

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
