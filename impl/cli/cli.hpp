#pragma once

#include <leasehold/leasehold.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command_line.hpp"

/// The command `leasehold`: one file a subcommand.
namespace leasehold::cli {

/// Exit codes. `run` passes on the code of its command; these codes avoid the usual ones.
enum Exit {
  kDone = 0,
  kFound = 1,            ///< doctor: something is wrong; show, release: there is no such lock
  kUsage = 64,           ///< bad input, nothing was done
  kUnavailable = 69,     ///< no server answers, or access is denied
  kFailed = 70,          ///< the system refused what the program itself needs
  kCannotWrite = 74,     ///< standard output
  kNotAcquired = 75,     ///< run, hold: another held the lock for the whole wait
  kLost = 76,            ///< run: the lock was lost while the command ran
  kCannotExecute = 126,  ///< run: as shells say it
  kNotFound = 127,       ///< run: as shells say it
  kSignalled = 128       ///< run: plus the number of the signal that ended the command or the wait
};

/// What a subcommand cannot do; ends it with this exit code, in silence if it is the empty text.
struct Failure : std::runtime_error {
  Failure(int code_, const std::string& what) : std::runtime_error(what), code(code_) {}
  int code;
};

/// Throws it unless the system made the descriptor, the pipe or the process: "no WHAT: CAUSE".
void require_made(bool made, const char* what);

/// Ends the program by this signal instead of a code, because it ended the command or the wait: a
/// shell goes on with the next command of a loop unless it sees that.
struct EndedBySignal {
  int number;
  bool whole_group = false;  ///< the terminal sent it to the command's group: our group gets it too
};
[[noreturn]] void end_by(EndedBySignal by);
/// Whether it is SIGINT or SIGQUIT, which a shell looks for.
[[nodiscard]] bool is_of_keyboard(int signal);

/// The replica set, and where its locks are.
struct Server {
  std::string uri, database, collection;
};

/// --uri, --uri-file, --database and --collection.
[[nodiscard]] po::options_description server_options();

/// From the options, the environment (`LEASEHOLD_URI`) or a file. Throws UsageError, which never
/// shows the URI: it may have a password. A URI with a password is not taken from the command line,
/// because every user of the machine can read that.
[[nodiscard]] Server server_of(const po::variables_map& values);

/// Parses the words of a subcommand that is about one lock, whose name needs no --name.
[[nodiscard]] po::variables_map parse_with_name(const std::string& usage,
                                                const po::options_description& options,
                                                const std::vector<std::string>& words);

/// The name of a lock that a person typed. Throws UsageError.
[[nodiscard]] std::string lock_name_in(const po::variables_map& values);

/// One line on standard error.
void say(const std::string& line);

/// For a reader that is a program; text that is no UTF-8 is made so.
[[nodiscard]] std::string text_of(const nlohmann::ordered_json& json);
void print_json(const nlohmann::ordered_json& json);

int run(const std::vector<std::string>& words);
int hold(const std::vector<std::string>& words);
int ls(const std::vector<std::string>& words);
int show(const std::vector<std::string>& words);
int trace(const std::vector<std::string>& words);
int release(const std::vector<std::string>& words);
int doctor(const std::vector<std::string>& words);

}  // namespace leasehold::cli
