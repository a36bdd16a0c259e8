#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include "bench/contend/live/live_run.hpp"
#include "bench/contend/strategies.hpp"
#include "cli/command_line.hpp"
#include "cli/inherited.hpp"
#include "cli/output.hpp"

/// `leasehold-bench`.
namespace leasehold::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;
using cli::UsageError;
using std::chrono::milliseconds;

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
  std::string strategy = "uniform,adaptive,queue", worker, round_trip_text = "0ms", world = "live";
  std::vector<std::string> strategies;
  bool is_virtual = false, processes = false;
  milliseconds round_trip{0};
  int repetitions = 0;
  std::uint64_t seed = 1;
  std::string uri, out = "contention";
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
      "which strategies to compare, with commas between: names (leasehold-bench strategies lists "
      "them), or shared objects with a strategy of one's own (./mine.so)")(
      "worker", po::value<std::string>()->notifier(take_worker),
      "a command: compare the lock of this worker too, which speaks the lines of "
      "scenarios/WORKERS.md; what it sends is not counted")(
      "clients", number("clients", 1, 10'000, load.clients)->default_value(16),
      "how many clients, each with connections of its own: 1 to 10000")(
      "callers", number("callers", 1, 1'000, load.callers)->default_value(1),
      "threads of each client, which queue inside it: 1 to 1000")(
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
      "round-trip", text(s.round_trip_text),
      "added to every command, by a proxy, half each way: 0 to 10s")(
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

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

/// Checks which options go together.
void require_fitting(const Settings& s) {
  refuse_if(s.is_virtual && s.processes,
            "--processes needs --world live: nothing virtual is an OS process");
  refuse_if(s.is_virtual && s.load.callers != 1, "--callers needs --world live");
  refuse_if(s.is_virtual && !s.uri.empty(),
            "--uri needs --world live: the virtual world has its own servers");
  refuse_if(s.is_virtual && !s.worker.empty(),
            "--worker needs --world live: it is a real process");
  refuse_if(!s.uri.empty() && s.round_trip.count() > 0,
            "--round-trip needs the bench's own members, before which it puts its proxy: "
            "leave out --uri");
  refuse_if(is_lock(s.load.beside) && !s.is_virtual,
            "--beside is '" + s.load.beside +
                "', the lock of other software: that needs --world virtual");
}

Settings settings_of(const std::vector<std::string>& words) {
  Settings s;
  Load& load = s.load;
  (void)cli::parse(kHelp, options_of(s), words);
  (void)Holding::parse(load.hold);
  (void)Locks::parse(load.locks);
  if (Arrivals::parse(load.arrivals).kind == Arrivals::Kind::once) load.warm_up_ms = 0;
  s.strategies = split(s.strategy);
  refuse_if(s.strategies.empty(), "--strategy is '': it must name one at least");
  for (const auto& strategy : s.strategies) (void)strategy_named(strategy);
  if (!s.worker.empty()) s.strategies.push_back(s.worker);
  if (!load.beside.empty() && !is_lock(load.beside)) (void)strategy_named(load.beside);
  std::set<std::string> labels;
  for (const auto& strategy : s.strategies) {
    const auto label = label_of(strategy);
    refuse_if(!labels.insert(label).second, "--strategy has '" + label + "' twice");
  }
  s.is_virtual = s.world == "virtual";
  refuse_if(s.world != "live" && !s.is_virtual,
            "--world is '" + s.world + "': it must be live or virtual");
  s.round_trip = cli::duration_of("round-trip", s.round_trip_text);
  refuse_if(s.round_trip > std::chrono::seconds(10),
            "--round-trip is '" + s.round_trip_text + "': it must be 0 to 10s");
  if (s.repetitions == 0) s.repetitions = s.is_virtual ? 10 : 5;
  require_fitting(s);
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
  std::vector<std::string> labels;
  for (const auto& strategy : s.strategies) labels.push_back(label_of(strategy));
  j["strategies"] = labels;
  j["beside"] = s.load.beside.empty() ? "" : label_of(s.load.beside);
  j["world"] = s.is_virtual ? "virtual" : "live";
  j["processes"] = s.processes;
  j["round_trip_ms"] = s.round_trip.count();
  j["own_servers"] = s.uri.empty();
  j["repetitions"] = s.repetitions;
  j["seed"] = s.seed;
  j["hottest_share"] = Locks::parse(s.load.locks).hottest_share();
  return j;
}

/// The user's servers, asked before anything is written.
std::optional<Servers> servers_there(const Settings& s) {
  if (s.is_virtual || s.uri.empty()) return std::nullopt;
  return std::optional<Servers>(std::in_place, s.uri, s.round_trip);
}

/// All runs, one after the other, each written as soon as it is over.
class Campaign {
 public:
  explicit Campaign(const Settings& settings)
      : s_(settings),
        servers_(servers_there(settings)),
        samples_(writer(s_, "samples.csv")),
        runs_(writer(s_, "runs.csv")) {
    writer(s_, "settings.json") << described(s_).dump(2) << '\n';
    samples_ << kSamplesHeader;
    runs_ << kRunsHeader;
    if (!s_.is_virtual && !servers_) servers_.emplace(s_.uri, s_.round_trip);
  }

  void run() {
    const auto began = boot_ns();
    for (int repetition = 1; repetition <= s_.repetitions; ++repetition) {
      const auto order = shuffled(repetition);
      // One rate for all strategies of a repetition, so that all get the same requests.
      const double write_ms = s_.is_virtual ? virtual_write_ms(s_.round_trip) : live_write_ms();
      for (const auto& strategy : order) one(strategy, repetition, write_ms);
      std::fprintf(stderr, "repetition %d of %d: %.0f s\n", repetition, s_.repetitions,
                   static_cast<double>(boot_ns() - began) * 1e-9);
    }
  }

 private:
  [[nodiscard]] std::uint64_t seed_of(int repetition) const {
    return s_.seed + static_cast<std::uint64_t>(repetition) - 1;
  }
  /// A name that no other database has; it is dropped after the run.
  [[nodiscard]] std::string database(const std::string& what) const {
    return "leasehold_bench_" + std::to_string(begun_) + "_" + what;
  }

  [[nodiscard]] double live_write_ms() const {
    const auto name = database("writes");
    const double ms = servers_->write_ms(name);
    servers_->drop(name);
    return ms;
  }

  [[nodiscard]] std::vector<std::string> shuffled(int repetition) const {
    auto order = s_.strategies;
    Random random(seed_of(repetition));
    for (std::size_t i = order.size(); i > 1; --i) {
      const auto other = random.between(0, static_cast<std::int64_t>(i) - 1);
      std::swap(order[i - 1], order[static_cast<std::size_t>(other)]);
    }
    return order;
  }

  void one(const std::string& strategy, int repetition, double write_ms) {
    Load load = s_.load;
    load.strategy = strategy;
    load.seed = seed_of(repetition);
    const auto arrivals = Arrivals::parse(load.arrivals);
    if (arrivals.kind == Arrivals::Kind::open) {
      load.arrivals_per_s = arrivals.share_of_ideal * ideal_per_s(load, write_ms);
    }
    const int number = ++run_;
    auto result = s_.is_virtual
                      ? run_virtual(load, s_.round_trip)
                      : run_live(load, s_.processes, *servers_, database(std::to_string(number)));
    result.run = number;
    result.strategy = label_of(strategy);
    result.repetition = repetition;
    result.seed = load.seed;
    result.arrivals_per_s = load.arrivals_per_s;
    result.wire.counted = !strategy.starts_with(kWorker);
    write_samples(samples_, result, load.end_ns());
    write_run(runs_, result);
    samples_.flush();
    runs_.flush();
  }

  const Settings& s_;
  std::optional<Servers> servers_;
  std::ofstream samples_, runs_;
  const std::int64_t begun_ = boot_ns();
  int run_ = 0;
};

/// Measures, and writes CSV and JSON into a folder. Throws UsageError, HelpAsked, NoMongod or
/// std::runtime_error.
int contend(const std::vector<std::string>& words) {
  const auto settings = settings_of(words);
  Campaign(settings).run();
  std::cout << settings.out << "/samples.csv, runs.csv, settings.json\n";
  return 0;
}

int list_strategies(const std::vector<std::string>& words) {
  (void)cli::parse("leasehold-bench strategies", po::options_description("Options"), words);
  for (const auto& name : strategy_names()) std::cout << name << '\n';
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
      return bench::run_worker(argv[2], std::cin, std::cout);
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
