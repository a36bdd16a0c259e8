#pragma once

#include <boost/program_options.hpp>
#include <chrono>
#include <leasehold/lock_options.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// Command lines: of `leasehold`, and of the laboratory's command.
namespace leasehold::cli {

namespace po = boost::program_options;

/// Bad input: one sentence that names the thing, the value and the rule. Exit code 64.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Asked for the help of a subcommand; exit code 0.
struct HelpAsked {
  std::string text;
};

/// Parses the words after the subcommand; `usage` is what its help begins with. Adds --help.
/// Throws UsageError or HelpAsked.
po::variables_map parse(const std::string& usage, po::options_description options,
                        const std::vector<std::string>& words,
                        const po::positional_options_description& positional = {});

struct Subcommand {
  const char* name;
  int (*run)(const std::vector<std::string>& words);
  const char* what;  ///< in a line
};

/// Runs the one that the first word names, with the rest; returns its exit code. `footer` ends the
/// help of `program`. `help` and `help SUBCOMMAND` ask for help, too.
/// Throws UsageError or HelpAsked.
int dispatch(const std::string& program, std::span<const Subcommand> all, const std::string& footer,
             const std::vector<std::string>& words);

/// "250ms", "1.5s", "5m", "2h"; a bare number is seconds. Throws UsageError that names the
/// option, also for more than `kLongestDuration`.
[[nodiscard]] std::chrono::milliseconds duration_of(const std::string& option,
                                                    const std::string& text);

}  // namespace leasehold::cli
