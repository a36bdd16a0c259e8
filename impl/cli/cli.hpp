#pragma once

#include <leasehold/leasehold.hpp>
#include <string>
#include <vector>

#include "cli/command_line.hpp"

/// The command `leasehold`: one file a subcommand.
namespace leasehold::cli {

/// Exit codes. `run` passes the command's own on; these are out of the usual ones' way.
enum Exit {
  kDone = 0,
  kFound = 1,            ///< doctor: something is wrong; show, release: there is no such lock
  kUsage = 64,           ///< bad input, nothing was done
  kUnavailable = 69,     ///< no server, or none that lets us
  kNotAcquired = 75,     ///< run: the lock was not free in time
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

/// Which locks of which replica set.
struct Server {
  std::string uri, database, collection;
};

/// --uri, --uri-file, --database and --collection.
[[nodiscard]] po::options_description server_options();

/// From the options, the environment (`LEASEHOLD_URI`) or a file. Throws UsageError, which never
/// shows the URI: it may have a password. One with a password is not taken from the command line,
/// which everybody on the machine can read.
[[nodiscard]] Server server_of(const po::variables_map& values);

/// One line on standard error.
void say(const std::string& line);

int run(const std::vector<std::string>& words);
int hold(const std::vector<std::string>& words);
int ls(const std::vector<std::string>& words);
int show(const std::vector<std::string>& words);
int trace(const std::vector<std::string>& words);
int release(const std::vector<std::string>& words);
int doctor(const std::vector<std::string>& words);

}  // namespace leasehold::cli
