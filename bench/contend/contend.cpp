#include "bench/contend/contend.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>

#include "bench/boot_clock.hpp"
#include "bench/contend/live/live_run.hpp"
#include "bench/contend/strategies.hpp"
#include "bench/contend/virtual_run.hpp"
#include "cli/command_line.hpp"

namespace leasehold::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;
using cli::UsageError;
using std::chrono::milliseconds;

constexpr const char* kUsage =
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
  std::vector<std::string> strategies;
  bool is_virtual = false, processes = false;
  milliseconds round_trip{0};
  int repetitions = 5;
  std::uint64_t seed = 1;
  std::string uri, out;
};

po::options_description described() {
  po::options_description d("Options");
  auto text = [](const char* value) { return po::value<std::string>()->default_value(value); };
  auto number = [](std::int64_t value) { return po::value<std::int64_t>()->default_value(value); };
  d.add_options()("strategy", text("uniform,adaptive,queue"),
                  "which strategies to compare, with commas between: names (leasehold-bench "
                  "strategies lists them), shared objects with a strategy of one's own (./mine.so),"
                  " or client programs (bench/README.md)")(
      "worker", po::value<std::string>(),
      "a command: compare the lock of this worker too, which speaks the lines of "
      "scenarios/WORKERS.md; what it sends is not counted")(
      "clients", number(16), "how many clients, each with connections of its own: 1 to 10000")(
      "callers", number(1), "threads of each client, which queue inside it: 1 to 1000")(
      "processes", "each client is an OS process; without it they are threads of one")(
      "beside", text(""),
      "one more client, which waits with this strategy; reported apart. In the virtual world also "
      "distributed-lock: the lock of the .NET package, which polls and knows of no queue")(
      "hold", text("constant:5ms"),
      "how long a lock is held: constant:TIME, uniform:LEAST:MOST, exponential:MEAN or "
      "pareto:MEAN[:EXPONENT] (1.5; cut at 100 times the mean)")(
      "arrivals", text("closed:100ms"),
      "closed:PAUSE: each client asks again after a pause, uniform from 0 to PAUSE. open:PERCENT: "
      "requests come at random times (Poisson), served or not, so many that they ask for this "
      "share of the ideal rate; whichever client is idle serves the next. once: all ask at the "
      "same time, once")("locks", text("one"),
                         "one, many:COUNT (each equally often) or zipf:COUNT[:EXPONENT] (1)")(
      "round-trip", text("0ms"), "added to every command, by a proxy, half each way: 0 to 10s")(
      "world", text("live"), "live: real servers; virtual: simulated ones, in virtual time")(
      "uri", text(""), "a replica set of one's own; without it the bench starts three members")(
      "seconds", number(10), "measured time of each run: 1 to 3600")(
      "warm-up", number(3), "seconds before it, for strategies that learn: 0 to 600")(
      "drain", number(60), "seconds after it, at most, for waiting calls to be served: 1 to 3600")(
      "repetitions", po::value<std::int64_t>(),
      "runs of each strategy: 1 to 1000; default 5, or 10 seeds in the virtual world")(
      "seed", number(1), "of the first repetition; the next has the next: 0 or more")(
      "out", text("contention"), "the folder for the results; made if it is not there");
  return d;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

std::int64_t in_range(const po::variables_map& given, const std::string& option, std::int64_t least,
                      std::int64_t most) {
  const auto value = given[option].as<std::int64_t>();
  if (value >= least && value <= most) return value;
  throw UsageError("--" + option + " is " + std::to_string(value) + ": it must be " +
                   std::to_string(least) + " to " + std::to_string(most));
}

milliseconds round_trip_of(const po::variables_map& given) {
  const auto text = given["round-trip"].as<std::string>();
  const auto value = cli::duration_of("round-trip", text);
  if (value <= std::chrono::seconds(10)) return value;
  throw UsageError("--round-trip is '" + text + "': it must be 0 to 10s");
}

Load load_of(const po::variables_map& given) {
  Load load;
  load.beside = given["beside"].as<std::string>();
  load.clients = static_cast<int>(in_range(given, "clients", 1, 10'000));
  load.callers = static_cast<int>(in_range(given, "callers", 1, 1'000));
  load.hold = given["hold"].as<std::string>();
  load.arrivals = given["arrivals"].as<std::string>();
  load.locks = given["locks"].as<std::string>();
  load.measured_ms = 1'000 * in_range(given, "seconds", 1, 3'600);
  load.warm_up_ms = 1'000 * in_range(given, "warm-up", 0, 600);
  load.drain_ms = 1'000 * in_range(given, "drain", 1, 3'600);
  (void)Holding::parse(load.hold);
  (void)Locks::parse(load.locks);
  if (Arrivals::parse(load.arrivals).kind == Arrivals::Kind::once) load.warm_up_ms = 0;
  return load;
}

/// Checks which options go together.
void require_fitting(const Settings& s) {
  const bool programs = std::any_of(s.strategies.begin(), s.strategies.end(), is_program);
  const bool worker = std::any_of(s.strategies.begin(), s.strategies.end(), is_worker);
  const bool program_beside = !s.load.beside.empty() && is_program(s.load.beside);
  if (s.is_virtual) {
    if (s.processes)
      throw UsageError("--processes needs --world live: nothing virtual is an OS process");
    if (s.load.callers != 1) throw UsageError("--callers needs --world live");
    if (!s.uri.empty())
      throw UsageError("--uri needs --world live: the virtual world has its own servers");
    if (programs || program_beside) {
      throw UsageError("a program as --strategy or --beside needs --world live");
    }
    if (worker) throw UsageError("--worker needs --world live: it is a real process");
  }
  if (!s.uri.empty() && s.round_trip.count() > 0) {
    throw UsageError(
        "--round-trip needs the bench's own members, before which it puts its proxy: "
        "leave out --uri");
  }
  if (program_beside && !s.processes) throw UsageError("a program as --beside needs --processes");
  if (is_lock(s.load.beside) && !s.is_virtual) {
    throw UsageError("--beside is '" + s.load.beside +
                     "', the lock of other software: that needs --world virtual");
  }
}

std::string worker_of(const std::string& command) {
  if (command.empty()) throw UsageError("--worker is '': it must be a command");
  return command;
}

Settings settings_of(const po::variables_map& given) {
  Settings s;
  s.load = load_of(given);
  s.strategies = split(given["strategy"].as<std::string>());
  if (s.strategies.empty()) throw UsageError("--strategy is '': it must name one at least");
  for (const auto& strategy : s.strategies) require_strategy(strategy);
  if (given.contains("worker")) {
    s.strategies.push_back(worker_strategy(worker_of(given["worker"].as<std::string>())));
  }
  if (!s.load.beside.empty() && !is_lock(s.load.beside)) require_strategy(s.load.beside);
  std::vector<std::string> labels;
  for (const auto& strategy : s.strategies) labels.push_back(label_of(strategy));
  std::sort(labels.begin(), labels.end());
  const auto twice = std::adjacent_find(labels.begin(), labels.end());
  if (twice != labels.end()) throw UsageError("--strategy has '" + *twice + "' twice");
  const auto world = given["world"].as<std::string>();
  if (world != "live" && world != "virtual") {
    throw UsageError("--world is '" + world + "': it must be live or virtual");
  }
  s.is_virtual = world == "virtual";
  s.processes = given.contains("processes");
  s.round_trip = round_trip_of(given);
  s.repetitions = s.is_virtual ? 10 : 5;
  if (given.contains("repetitions")) {
    s.repetitions = static_cast<int>(in_range(given, "repetitions", 1, 1'000));
  }
  s.seed = static_cast<std::uint64_t>(in_range(given, "seed", 0, INT64_MAX - 1'000));
  s.uri = given["uri"].as<std::string>();
  s.out = given["out"].as<std::string>();
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
    write_samples_header(samples_);
    write_runs_header(runs_);
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

}  // namespace

int contend(const std::vector<std::string>& words) {
  const auto settings = settings_of(cli::parse(kUsage, described(), words));
  Campaign(settings).run();
  std::cout << settings.out << "/samples.csv, runs.csv, settings.json\n";
  return 0;
}

int list_strategies(const std::vector<std::string>& words) {
  (void)cli::parse("leasehold-bench strategies", po::options_description("Options"), words);
  for (const auto& name : strategy_names()) std::cout << name << '\n';
  return 0;
}

}  // namespace leasehold::bench
