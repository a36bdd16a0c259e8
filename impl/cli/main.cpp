#include <signal.h>

#include <cstdio>

#include "cli/cli.hpp"

namespace leasehold::cli {
namespace {

struct Subcommand {
  const char* name;
  int (*run)(const std::vector<std::string>&);
  const char* what;
};

constexpr Subcommand kSubcommands[] = {
    {"run", run, "runs a command while holding a lock"},
    {"ls", ls, "lists the locks"},
    {"show", show, "all about one lock"},
    {"watch", watch, "the locks, again and again"},
    {"release", release, "frees a lock that another holds"},
    {"doctor", doctor, "looks for what is wrong with the replica set and the collection"},
};

std::string help() {
  std::string text = "usage: leasehold SUBCOMMAND [OPTIONS]\n\nSubcommands:\n";
  for (const auto& s : kSubcommands) text += "  " + std::string(s.name) + "\t" + s.what + "\n";
  return text + "\nEach has --help.\n";
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("no subcommand; leasehold --help lists them");
  if (words[0] == "--help" || words[0] == "-h") throw HelpAsked{help()};
  if (words[0] == "--version") throw HelpAsked{"leasehold " LEASEHOLD_VERSION "\n"};
  for (const auto& s : kSubcommands) {
    if (words[0] == s.name) return s.run({words.begin() + 1, words.end()});
  }
  throw UsageError("unknown subcommand '" + words[0] + "'; leasehold --help lists them");
}

}  // namespace
}  // namespace leasehold::cli

int main(int argc, char** argv) {
  using namespace leasehold::cli;
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of a write, not our end
  try {
    return dispatch({argv + 1, argv + argc});
  } catch (const HelpAsked& asked) {
    std::fputs(asked.text.c_str(), stdout);
    return kDone;
  } catch (const UsageError& error) {
    say(error.what());
    return kUsage;
  } catch (const Failure& failure) {
    say(failure.what());
    return failure.code;
  } catch (const std::exception& error) {
    say(error.what());
    return kUnavailable;
  }
}
