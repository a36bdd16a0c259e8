#include <signal.h>

#include <cstdio>

#include "cli/cli.hpp"

namespace leasehold::cli {
namespace {

constexpr Subcommand kSubcommands[] = {
    {"run", run, "runs a command while holding a lock"},
    {"hold", hold, "holds a lock until it is ended by a signal"},
    {"ls", ls, "lists the locks"},
    {"show", show, "shows one lock and its last writes"},
    {"trace", trace, "shows the life of a lock, from the oplog"},
    {"release", release, "frees a lock that another holds"},
    {"doctor", doctor, "reports what is wrong with the replica set and the collection"},
};

int run_leasehold(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"--version"}) {
    throw HelpAsked{"leasehold " LEASEHOLD_VERSION "\n"};
  }
  return dispatch("leasehold", kSubcommands, "The manual: man leasehold.", words);
}

}  // namespace
}  // namespace leasehold::cli

int main(int argc, char** argv) {
  using namespace leasehold::cli;
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of a write, not our end
  try {
    return run_leasehold({argv + 1, argv + argc});
  } catch (const HelpAsked& asked) {
    std::fputs(asked.text.c_str(), stdout);
    return kDone;
  } catch (const UsageError& error) {
    say(error.what());
    return kUsage;
  } catch (const Failure& failure) {
    if (*failure.what() != '\0') say(failure.what());
    return failure.code;
  } catch (const std::exception& error) {
    say(error.what());
    return kUnavailable;
  }
}
