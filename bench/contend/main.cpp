#include <cstdio>
#include <cstring>
#include <iostream>

#include "bench/contend/contend.hpp"
#include "bench/contend/live/worker.hpp"
#include "cli/command_line.hpp"
#include "cli/inherited.hpp"
#include "cli/output.hpp"
#include "sim/live/servers/replica_set.hpp"

namespace {

constexpr leasehold::cli::Subcommand kSubcommands[] = {
    {"contend", leasehold::bench::contend,
     "clients that fight over locks: raw samples of each waiting strategy"},
    {"strategies", leasehold::bench::list_strategies, "the names that --strategy knows"},
};

enum Exit { kDone = 0, kUsage = 64, kNoMongod = 69, kFailed = 70 };

int fail(const std::string& what, int code) {
  std::fprintf(stderr, "leasehold-bench: %s\n", what.c_str());
  return code;
}

int run_or_help(const std::vector<std::string>& words) {
  try {
    return leasehold::cli::dispatch(
        "leasehold-bench", kSubcommands,
        "Exit codes: 0 done, 64 usage, 69 no mongod found, 70 the run failed.", words);
  } catch (const leasehold::cli::HelpAsked& asked) {
    leasehold::cli::print(asked.text);
    return kDone;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace leasehold;
  cli::settle_inherited_state();
  sim::live::init_driver();
  try {
    if (argc == 3 && std::strcmp(argv[1], "client") == 0) {  // started by contend
      return bench::run_worker(argv[2], std::cin, std::cout);
    }
    const int code = run_or_help({argv + 1, argv + argc});
    cli::flush_output();
    return code;
  } catch (const cli::UsageError& error) {
    return fail(error.what(), kUsage);
  } catch (const sim::live::NoMongod& error) {
    return fail(error.what(), kNoMongod);
  } catch (const std::exception& error) {
    return fail(cli::words_of(error), kFailed);
  }
}
