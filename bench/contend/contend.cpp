#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <tuple>

#include "bench/contend/live/live_run.hpp"
#include "cli/command_line.hpp"
#include "cli/inherited.hpp"
#include "cli/output.hpp"

/// `leasehold-bench`.
namespace leasehold::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;
using cli::UsageError;

constexpr const char* kHelp =
    "leasehold-bench contend [OPTIONS]\n\n"
    "Clients acquire, hold and release locks, again and again, with one waiting strategy in each\n"
    "run. Repetitions are interleaved over the strategies, in an order that the seed shuffles, "
    "and\n"
    "all strategies of a repetition get the same requests. No wait is cut off: when the\n"
    "measured time is over nothing new is asked for, and waiting calls are still served; such a\n"
    "wait is marked as censored. Writes into --out: samples.csv (a row for each request), "
    "runs.csv\n"
    "(commands, time of a write) and settings.json. scripts/bench stats shows them as a table and\n"
    "a plot.";

struct Settings {
  Load load;
  std::string strategy = "uniform,adaptive,queue", worker, world = "live", uri, out = "contention";
  std::vector<std::string> strategies;
  bool is_virtual = false, processes = false;
  int repetitions = 0;
  std::uint64_t seed = 1;
};

void refuse_if(bool wrong, const std::string& why) {
  if (wrong) throw UsageError(why);
}

/// A number of so many units within bounds.
template <typename T>
po::typed_value<std::int64_t>* number(const std::string& option, std::int64_t least,
                                      std::int64_t most, T& to, std::int64_t unit = 1) {
  return po::value<std::int64_t>()->notifier([=, &to](std::int64_t value) {
    refuse_if(value < least || value > most,
              "--" + option + " is " + std::to_string(value) + ": it must be " +
                  std::to_string(least) + " to " + std::to_string(most));
    to = static_cast<T>(value * unit);
  });
}

po::options_description options_of(Settings& s) {
  po::options_description d("Options");
  Load& load = s.load;
  const auto text = [](std::string& to) { return po::value(&to)->default_value(to); };
  const auto take_worker = [&s](const std::string& command) {
    refuse_if(command.empty(), "--worker is '': it must be a command");
    s.worker = std::string(kWorker) + command;
  };
  d.add_options()(
      "strategy", text(s.strategy),
      "which strategies to compare, with commas between (leasehold-bench strategies lists them)")(
      "worker", po::value<std::string>()->notifier(take_worker),
      "a command: compare the lock of this worker too, which speaks the lines of "
      "scenarios/WORKERS.md; what it sends is not counted")(
      "clients", number("clients", 1, 10'000, load.clients)->default_value(16),
      "how many clients, each with connections of its own: 1 to 10000")(
      "callers", number("callers", 1, 1'000, load.callers)->default_value(1),
      "threads of each client, which queue inside it: 1 to 1000")(
      "reads", number("reads", 0, 100, load.reads)->default_value(0),
      "percent of the calls that share the lock: 0 to 100; --beside then only writes. The strategy "
      "'exclusive' lets those calls take it alone, too, as queue does")(
      "processes", po::bool_switch(&s.processes),
      "each client is an OS process; without it they are threads of one")(
      "beside", text(load.beside),
      "one more client, which waits with this strategy; reported apart. In the virtual world also "
      "distributed-lock: the lock of the .NET package, which polls and knows of no queue")(
      "hold", text(load.hold),
      "how long a lock is held: constant:TIME, uniform:LEAST:MOST, exponential:MEAN or "
      "pareto:MEAN[:EXPONENT] (1.5; cut at 100 times the mean)")(
      "arrivals", text(load.arrivals),
      "closed:PAUSE: each client asks again after a pause, uniform from 0 to PAUSE. open:PERCENT: "
      "requests come at random times (Poisson), served or not, so many that they ask for this "
      "share of the ideal rate; whichever client is idle serves the next. once: all ask at the "
      "same time, once")(
      "locks", text(load.locks),
      "one, many:COUNT (each equally often) or zipf:COUNT[:EXPONENT] (1)")(
      "world", text(s.world), "live: real servers; virtual: simulated ones, in virtual time")(
      "uri", text(s.uri), "a replica set of one's own; without it the bench starts three members")(
      "seconds", number("seconds", 1, 3'600, load.measured_ms, 1'000)->default_value(10),
      "measured time of each run: 1 to 3600")(
      "warm-up", number("warm-up", 0, 600, load.warm_up_ms, 1'000)->default_value(3),
      "seconds before it, for strategies that learn: 0 to 600")(
      "drain", number("drain", 1, 3'600, load.drain_ms, 1'000)->default_value(60),
      "seconds after it, at most, for waiting calls to be served: 1 to 3600")(
      "repetitions", number("repetitions", 1, 1'000, s.repetitions),
      "runs of each strategy: 1 to 1000; default 5, or 10 seeds in the virtual world")(
      "seed", number("seed", 0, INT64_MAX - 1'000, s.seed)->default_value(1),
      "of the first repetition; the next has the next: 0 or more")(
      "out", text(s.out), "the folder for the results; made if it is not there");
  return d;
}

/// Its name in tables.
std::string label_of(const std::string& strategy) {
  return strategy.starts_with(kWorker) ? "worker" : strategy;
}

Settings settings_of(const std::vector<std::string>& words) {
  Settings s;
  Load& load = s.load;
  (void)cli::parse(kHelp, options_of(s), words);
  (void)Holding::parse(load.hold);
  (void)Locks::parse(load.locks);
  if (Arrivals::parse(load.arrivals).kind == Arrivals::Kind::once) load.warm_up_ms = 0;
  s.strategies = split(s.strategy, ',');
  refuse_if(s.strategies.empty(), "--strategy is '': it must name one at least");
  for (const auto& strategy : s.strategies) {
    (void)strategy_named(strategy);
    refuse_if(std::ranges::count(s.strategies, strategy) > 1,
              "--strategy has '" + strategy + "' twice");
  }
  if (!s.worker.empty()) s.strategies.push_back(s.worker);
  if (!load.beside.empty() && !is_lock(load.beside)) (void)strategy_named(load.beside);
  s.is_virtual = s.world == "virtual";
  refuse_if(s.world != "live" && !s.is_virtual,
            "--world is '" + s.world + "': it must be live or virtual");
  if (s.repetitions == 0) s.repetitions = s.is_virtual ? 10 : 5;
  const std::tuple<const char*, bool, const char*> live_only[] = {
      {"processes", s.processes, ": nothing virtual is an OS process"},
      {"callers", load.callers != 1, ""},
      {"uri", !s.uri.empty(), ": the virtual world has its own servers"},
      {"worker", !s.worker.empty(), ": it is a real process"},
  };
  for (const auto& [option, given, why] : live_only) {
    refuse_if(s.is_virtual && given, std::string("--") + option + " needs --world live" + why);
  }
  refuse_if(load.reads > 0 && !s.worker.empty(),
            "--worker has no --reads: bench/services.py compares how workers share a lock");
  refuse_if(is_lock(load.beside) && !s.is_virtual,
            "--beside is '" + load.beside +
                "', the lock of other software: that needs --world virtual");
  return s;
}

std::ofstream writer(const Settings& s, const std::string& file) {
  std::error_code ignored;
  fs::create_directories(s.out, ignored);
  std::ofstream out;
  if (!s.out.empty()) out.open(fs::path(s.out) / file);
  if (!out.is_open())
    throw UsageError("--out is '" + s.out + "': it must be a folder that can be written");
  return out;
}

nlohmann::json described(const Settings& s) {
  nlohmann::json j = s.load;
  for (const char* of_a_run : {"strategy", "seed", "arrivals_per_s"}) j.erase(of_a_run);
  for (const auto& strategy : s.strategies) j["strategies"].push_back(label_of(strategy));
  j["world"] = s.world;
  j["processes"] = s.processes;
  j["own_servers"] = s.uri.empty();
  j["repetitions"] = s.repetitions;
  j["seed"] = s.seed;
  j["hottest_share"] = Locks::parse(s.load.locks).hottest_share();
  return j;
}

std::vector<std::string> shuffled(std::vector<std::string> order, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = order.size(); i > 1; --i) {
    const auto other = random.between(0, static_cast<std::int64_t>(i) - 1);
    std::swap(order[i - 1], order[static_cast<std::size_t>(other)]);
  }
  return order;
}

/// Measures, and writes each run into a folder as soon as it is over. Throws UsageError, HelpAsked,
/// NoMongod or std::runtime_error.
int contend(const std::vector<std::string>& words) {
  const auto s = settings_of(words);
  std::optional<Servers> servers;
  if (!s.uri.empty()) servers.emplace(s.uri);  // asked before anything is written
  auto samples = writer(s, "samples.csv"), runs = writer(s, "runs.csv");
  writer(s, "settings.json") << described(s).dump(2) << '\n';
  samples << kSamplesHeader;
  runs << kRunsHeader;
  if (!s.is_virtual && !servers) servers.emplace("");
  const auto began = boot_ns();
  // A name that no other database has; it is dropped after the run.
  const auto database = [began](const std::string& what) {
    return "leasehold_bench_" + std::to_string(began) + "_" + what;
  };
  const auto live_write_ms = [&] {
    const double ms = servers->write_ms(database("writes"));
    servers->drop(database("writes"));
    return ms;
  };
  const auto arrivals = Arrivals::parse(s.load.arrivals);
  int number = 0;
  for (int repetition = 1; repetition <= s.repetitions; ++repetition) {
    Load load = s.load;
    load.seed = s.seed + static_cast<std::uint64_t>(repetition) - 1;
    // One rate for all strategies of a repetition, so that all get the same requests.
    const double write_ms = s.is_virtual ? virtual_write_ms() : live_write_ms();
    if (arrivals.kind == Arrivals::Kind::open) {
      load.arrivals_per_s = arrivals.share_of_ideal * ideal_per_s(load, write_ms);
    }
    for (const auto& strategy : shuffled(s.strategies, load.seed)) {
      load.strategy = strategy;
      const auto place = database(std::to_string(++number));
      auto run = s.is_virtual ? run_virtual(load) : run_live(load, s.processes, *servers, place);
      run.run = number;
      run.strategy = label_of(strategy);
      run.repetition = repetition;
      run.seed = load.seed;
      run.arrivals_per_s = load.arrivals_per_s;
      run.wire.counted = !strategy.starts_with(kWorker);
      write_samples(samples, run, load.end_ns());
      write_run(runs, run);
      samples.flush();
      runs.flush();
    }
    std::fprintf(stderr, "repetition %d of %d: %.0f s\n", repetition, s.repetitions,
                 static_cast<double>(boot_ns() - began) * 1e-9);
  }
  std::cout << s.out << "/samples.csv, runs.csv, settings.json\n";
  return 0;
}

int list_strategies(const std::vector<std::string>& words) {
  (void)cli::parse("leasehold-bench strategies", po::options_description("Options"), words);
  for (const auto& [name, strategy] : strategies()) std::cout << name << '\n';
  return 0;
}

constexpr cli::Subcommand kSubcommands[] = {
    {"contend", contend, "clients that fight over locks: raw samples of each waiting strategy"},
    {"strategies", list_strategies, "the names that --strategy knows"},
};

enum ExitCode { kDone = 0, kUsage = 64, kNoMongod = 69, kFailed = 70 };

int fail(const std::string& what, int code) {
  std::fprintf(stderr, "leasehold-bench: %s\n", what.c_str());
  return code;
}

int run_or_help(const std::vector<std::string>& words) {
  try {
    return cli::dispatch("leasehold-bench", kSubcommands,
                         "Exit codes: 0 done, 64 usage, 69 no mongod found, 70 the run failed.",
                         words);
  } catch (const cli::HelpAsked& asked) {
    cli::print(asked.text);
    return kDone;
  }
}

}  // namespace
}  // namespace leasehold::bench

int main(int argc, char** argv) {
  using namespace leasehold;
  cli::settle_inherited_state();
  sim::live::init_driver();
  try {
    if (argc == 3 && std::strcmp(argv[1], "client") == 0) {  // started by contend
      return bench::run_worker(argv[2]);
    }
    const int code = bench::run_or_help({argv + 1, argv + argc});
    cli::flush_output();
    return code;
  } catch (const cli::UsageError& error) {
    return bench::fail(error.what(), bench::kUsage);
  } catch (const sim::live::NoMongod& error) {
    return bench::fail(error.what(), bench::kNoMongod);
  } catch (const std::exception& error) {
    return bench::fail(cli::words_of(error), bench::kFailed);
  }
}
