#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/cli.hpp"
#include "cli/inherited.hpp"
#include "cli/output.hpp"
#include "mongo/client/json_client.hpp"

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

int outcome_of(const std::vector<std::string>& words) {
  try {
    return run_leasehold(words);
  } catch (const HelpAsked& asked) {
    print(asked.text);
    return kDone;
  } catch (const UsageError& error) {
    say(error.what());
    return kUsage;
  } catch (const Failure& failure) {
    if (*failure.what() != '\0') say(failure.what());
    return failure.code;
  }
}

/// A reader that has gone away has read enough, and ends us as it ends other programs.
int output_failed(const OutputFailed& failure) {
  if (failure.error == EPIPE && !was_ignored(SIGPIPE)) end_by({SIGPIPE});
  say(failure.what());
  return kCannotWrite;
}

}  // namespace

void require_made(bool made, const char* what) {
  if (!made) throw Failure(kCannotExecute, std::string("no ") + what + ": " + std::strerror(errno));
}

bool is_of_keyboard(int signal) { return signal == SIGINT || signal == SIGQUIT; }

/// Process number 1 is not ended by a signal: it returns what a shell says of one.
void end_by(EndedBySignal by) {
  prctl(PR_SET_DUMPABLE, 0);  // the command has left its core, this program has none to show
  signal(by.number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, by.number);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  if (by.whole_group) kill(0, by.number);
  raise(by.number);
  _exit(kSignalled + by.number);
}

}  // namespace leasehold::cli

int main(int argc, char** argv) {
  using namespace leasehold::cli;
  settle_inherited_state();
  try {
    const int code = outcome_of({argv + 1, argv + argc});
    flush_output();
    return code;
  } catch (const EndedBySignal& by) {
    end_by(by);
  } catch (const OutputFailed& failure) {
    return output_failed(failure);
  } catch (const leasehold::mongo::NoReply& error) {
    say(error.what());
    return kUnavailable;
  } catch (const std::exception& error) {
    say(words_of(error));
    return kFailed;
  }
}
