#pragma once

#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <ios>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.hpp"
#include "model/history/history.hpp"
#include "model/spec/diagrams.hpp"
#include "model/verdict/checkers.hpp"
#include "model/workers/promises.hpp"
#include "sim/live/run/live_world.hpp"
#include "sim/plan/plan.hpp"

/// The command `leasehold-lab`: one file a subcommand, and what they share.
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
template <typename To>
[[nodiscard]] auto in_range(const char* option, To& number, std::int64_t low, std::int64_t high) {
  using Number = typename decltype(std::optional(number))::value_type;
  return po::value<Number>()->notifier([=, &number](const Number& given) {
    require_range(option, static_cast<std::int64_t>(given), low, high);
    number = given;
  });
}
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

/// Throws UsageError.
[[nodiscard]] model::Promises read_promises(const std::string& file);

/// A plan that is to run on the user's own replica set, or on another store.
struct WantedPlan {
  sim::Plan plan;
  /// Where the user chose it, as "--plan is 'x.scn'": nothing is left out of it. Empty: it was
  /// generated, without faults that the set does not allow.
  std::string chosen = {};
};

/// The runs that are wanted there.
struct WantedRuns {
  std::function<std::vector<WantedPlan>(const sim::live::TheirSet&)> plans;
  std::set<std::string> faults;  ///< groups that generated plans were to have
  std::string database;          ///< where rights are tried
  /// Where the user chose these groups, as "--faults is 'clock'": servers that are not ours must
  /// have some of each. Empty: what is not possible is left out.
  std::string faults_chosen = {};
};

/// The lock that is checked and its servers, if they are not ours: `--worker COMMAND --promises
/// FILE` is the user's lock; `--store NAME` is another lock service than MongoDB, on which it
/// stands; `--uri URI --keep` is the user's own replica set.
struct SiteOptions {
  std::string worker, promises_file, store, uri;
  bool keep = false;

  void add_to(po::options_description& options);

  /// The user's lock. Promises are never guessed: a lock without a file of promises can break none.
  /// Throws UsageError.
  [[nodiscard]] std::optional<sim::live::ForeignLock> lock(const po::variables_map& given) const;

  /// Whether the servers are not ours.
  [[nodiscard]] bool elsewhere() const { return !store.empty() || !uri.empty(); }

  /// What may be done to those servers; an empty set if they are ours. Asks whether they, the
  /// user's rights and chosen plans allow what is wanted, and reports on standard error which kinds
  /// of faults are left out. Removes promises from `foreign` that cannot be checked there. With a
  /// URI signals are only noted from then on (`interrupted`), so that nothing stays on the set.
  /// Throws UsageError with all that is missing, also for a fault that the user chose and that
  /// these servers cannot have, or NoServers if none answers or a store cannot run here.
  [[nodiscard]] sim::live::TheirSet prepare(const WantedRuns& runs,
                                            std::optional<sim::live::ForeignLock>& foreign) const;
};

/// A kept history, or the history of a kept run's folder. Throws UsageError.
[[nodiscard]] model::History read_history(const std::string& file);

int certify(const std::vector<std::string>& words);
int verify(const std::vector<std::string>& words);
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

// What the laboratory writes. A command says once what it found, as a `Conclusion`: the last lines
// that it prints, JSON, JUnit XML, the summary of a CI job and the page are renderings of it.

/// A test case of JUnit.
struct JunitCase {
  std::string name;
  model::Verdict verdict = model::Verdict::holds;
  std::string why = {};  ///< unless it holds
  bool skipped = false;  ///< no failure, if only a stall explains it
  std::string checks = {};
};

struct Conclusion {
  std::string command = {};  ///< "verify"
  double seconds = 0;
  std::vector<model::Finding> findings = {};
  model::Verdict verdict = model::Verdict::unknown;
  std::string harness_failure = {}, advice = {}, repeat = {};
  std::optional<model::Promises> promises = {};  ///< of a worker's lock, which has no diagrams
  std::vector<std::string> left_out = {};        ///< what is not checked of it, and why
  std::optional<model::ArrowCounts> arrows = {};
  nlohmann::ordered_json facts = {};  ///< what this command alone reports; they begin its JSON
  std::string run = {};               ///< what was run, in a line for the summary
  /// Those of a command that checks no history; else each finding is one.
  std::optional<std::vector<JunitCase>> cases = {};

  /// Adds a case, by which it is violated before unknown before holds.
  void add(JunitCase one, double took_s = 0) {
    using enum model::Verdict;
    if (!cases) {
      cases.emplace();
      verdict = holds;
    }
    if (verdict == holds || one.verdict == violated) verdict = one.verdict;
    seconds += took_s;
    cases->push_back(std::move(one));
  }
  /// Sets what is left out of a worker's lock with these promises, or the arrows of ours.
  void is_of(const std::optional<model::Promises>& worker, const model::ArrowCounts& taken);
};

/// The table of findings; the arrows of the diagrams, or what is left out.
[[nodiscard]] std::string findings_text(const Conclusion& conclusion);

/// "12,054 checks, 13.8 % excused".
[[nodiscard]] std::string checks_of(const model::Finding& finding);

/// The first violation's events, as in the history. For a worker, because users see no commands:
/// what happened between its users, in words and in ms from the start of the run.
[[nodiscard]] std::string story(const std::vector<model::Finding>& findings,
                                const model::History& history, bool of_a_worker = false);

/// As Markdown: a heading with the verdict, a row for each finding, how to repeat it. No text of
/// the run can end a cell, or be taken for markup.
[[nodiscard]] std::string to_markdown(const Conclusion& conclusion);

/// As JUnit XML. A harness failure is a case of its own, and an error.
[[nodiscard]] std::string to_junit(const Conclusion& conclusion);

/// A run as one self-contained page: a lane for each process with what it waited for and held,
/// tokens, faults as bands, the members' clocks, the documents' changes, the verdict and the story.
/// It opens at the first violation, or with `#all` at the whole run; it zooms and pans. Tokens are
/// text, so none is rounded. Its title is what was run, else the lock and its world.
[[nodiscard]] std::string run_page(const model::History& history, const Conclusion& c = {});

/// Files that the build embeds (scenarios/CMakeLists.txt): the facts about servers, a new story,
/// and the parts of that page.
namespace pages {
extern const std::string_view SERVERS_md, new_story_scn_in, run_page_css, run_page_html,
    run_page_js;
}  // namespace pages

/// {"operations": [{"client_id", "lock", "operation", "call_ns", "return_ns"}, ...]}, for
/// Porcupine: times from the start of the run. A holding is an acquire that returns when held() was
/// first true for its user, and a release that is called when it was last true. So the lock as an
/// object (an acquire needs it free, a release frees it) is linearizable exactly if no two
/// certainly held at once, which is G2.
/// REQUIRES: the history has an event.
void write_operations(std::ostream& out, const model::History& history);

/// Writes nothing if the file's name is empty. Throws std::runtime_error.
void write_file(const std::string& file, const std::function<void(std::ostream&)>& write,
                std::ios::openmode mode = std::ios::out);
void write_file(const std::string& file, const std::string& text,
                std::ios::openmode mode = std::ios::out);
void write_json(const std::string& file, const nlohmann::ordered_json& json);

/// Writes the files; `shown` is the run of the page and the history. Returns the exit code.
int write(const Conclusion& conclusion, const Outputs& outputs, const model::History& shown = {});
/// Prints a harness failure, the advice and the verdict before.
int conclude(const Conclusion& conclusion, const Outputs& outputs,
             const model::History& shown = {});

}  // namespace leasehold::lab
