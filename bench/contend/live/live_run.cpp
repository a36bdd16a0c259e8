#include "bench/contend/live/live_run.hpp"

#include <poll.h>

#include <fstream>
#include <thread>

#include "cli/command_line.hpp"
#include "sim/live/own_set/user_set.hpp"
#include "sim/live/system/child_process.hpp"

namespace leasehold::bench {

using sim::live::ChildProcess;
using sim::live::LineReader;
using sim::live::MongoClient;

namespace {

constexpr const char* kApplication = "leasehold-bench";
constexpr int kMostWrites = 100, kLeastWrites = 5;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kReadyLimit = 120 * kSecond;
constexpr std::int64_t kBeforeWarmUp = kSecond / 5;  ///< for "go" to reach every process
/// A client that got its lock at the last moment still holds and releases it.
constexpr std::int64_t kAfterDrain = 60 * kSecond;

/// The next line of a child; empty if it ended, or the limit came first.
std::string line_of(const ChildProcess& child, LineReader& lines, std::int64_t until_ns) {
  for (;;) {
    if (auto line = lines.next()) return *line;
    const auto left_ms = (until_ns - boot_ns()) / 1'000'000;
    pollfd ready{child.out(), POLLIN, 0};
    if (left_ms <= 0 || poll(&ready, 1, static_cast<int>(left_ms)) <= 0) return "";
    if (!lines.read_from(child.out()) && lines.ended()) return "";
  }
}

/// Ticks of all cores since boot: idle ones, and all.
std::pair<double, double> machine_ticks() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  stat >> cpu;
  double all = 0, idle = 0, ticks = 0;
  for (int i = 0; i < 8 && stat >> ticks; ++i) {
    all += ticks;
    if (i == 3 || i == 4) idle += ticks;  // idle, iowait
  }
  return {idle, all};
}

/// The processes of one run.
class Clients {
 public:
  Clients(const Load& load, bool processes, const std::string& uri, const std::string& database)
      : load_(load) {
    const int each = processes ? 1 : load.all_clients();
    for (int first = 0; first < load.all_clients(); first += each) {
      const WorkerOrder order{load, first,   each, load.arrivals_per_s * each / load.all_clients(),
                              uri,  database};
      const auto text = nlohmann::json(order).dump();
      children_.push_back(
          {ChildProcess({"/proc/self/exe", "client", text}, ChildProcess::Io::pipes)});
    }
  }

  /// Waits until all are connected, and returns when the measured time begins.
  std::int64_t start() {
    const auto until = boot_ns() + kReadyLimit;
    for (auto& child : children_) {
      const auto line = line_of(child.process, child.lines, until);
      if (line != "ready") (void)result_of(line);
    }
    const auto start = boot_ns() + kBeforeWarmUp + load_.warm_up_ms * 1'000'000;
    for (auto& child : children_) child.process.say(std::to_string(start) + "\n");
    return start;
  }

  void collect(RunResult& out, std::int64_t start_ns) {
    const auto until = start_ns + load_.given_up_ns() + kAfterDrain;
    for (auto& child : children_) {
      const auto one = result_of(line_of(child.process, child.lines, until));
      out.samples.insert(out.samples.end(), one.samples.begin(), one.samples.end());
      out.wire.add(one.wire);
    }
  }

 private:
  struct Child {
    ChildProcess process;
    LineReader lines = {};
  };

  WorkerResult result_of(const std::string& line) const {
    const std::string subject = "a client of '" + load_.strategy + "' ";
    if (line.empty()) throw std::runtime_error(subject + "ended without a result, or hangs");
    WorkerResult result;
    try {
      nlohmann::json::parse(line).get_to(result);
    } catch (const nlohmann::json::exception&) {
      throw std::runtime_error(subject + "says '" + line.substr(0, 200) + "', which is no result");
    }
    if (!result.error.empty()) throw std::runtime_error(subject + "failed: " + result.error);
    return result;
  }

  const Load& load_;
  std::vector<Child> children_;
};

}  // namespace

Servers::Servers(const std::string& uri, std::chrono::milliseconds round_trip) {
  const std::string name = std::string("appName=") + kApplication;
  if (uri.empty()) {
    own_.emplace(sim::live::ReplicaSetOptions{.faulty = round_trip.count() > 0});
    uri_ = sim::live::with_option(own_->uri(), name);
    for (int m = 0; round_trip.count() > 0 && m < own_->size(); ++m) {
      own_->proxy().set(
          kApplication, m,
          {.delay_requests = round_trip / 2, .delay_replies = round_trip - round_trip / 2});
    }
    return;
  }
  uri_ = sim::live::with_option(uri, name);
  try {
    MongoClient(sim::live::with_option(uri_, "serverSelectionTimeoutMS=5000"))
        .must("admin", {{"ping", 1}});
  } catch (const std::exception& error) {
    throw cli::UsageError("--uri is '" + sim::live::without_password(uri) +
                          "': no primary answers there (" + error.what() + ")");
  }
}

double Servers::cpu_s() {
  if (!own_) return -1;
  double sum = 0;
  for (int i = 0; i < own_->size(); ++i) sum += own_->mongod(i).cpu_seconds();
  return sum;
}

double Servers::write_ms(const std::string& database) const {
  MongoClient client(uri_);
  const auto write = [&client, &database](int i) {
    client.must(
        database,
        {{"update", "writes"},
         {"updates", {{{"q", {{"_id", 1}}}, {"u", {{"$set", {{"i", i}}}}}, {"upsert", true}}}},
         {"writeConcern", {{"w", "majority"}}}});
  };
  write(-1);  // connects
  const auto began = boot_ns();
  int count = 0;
  while (count < kLeastWrites || (count < kMostWrites && boot_ns() - began < kSecond)) {
    write(count++);
  }
  return static_cast<double>(boot_ns() - began) * 1e-6 / count;
}

void Servers::drop(const std::string& database) const { sim::live::drop_database(uri_, database); }

RunResult run_live(const Load& load, bool processes, Servers& servers,
                   const std::string& database) {
  RunResult out;
  const double before_ms = servers.write_ms(database);
  Clients clients(load, processes, servers.uri(), database);
  const auto start = clients.start();
  const auto until = [](std::int64_t at) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(at - boot_ns()));
  };
  until(start);
  const double cpu = servers.cpu_s();
  const auto [idle, all] = machine_ticks();
  const bool once = Arrivals::parse(load.arrivals).kind == Arrivals::Kind::once;
  if (once) {
    clients.collect(out, start);  // over when every caller was served
  } else {
    until(start + load.end_ns());
  }
  const double cpu_after = servers.cpu_s();
  const auto [idle_after, all_after] = machine_ticks();
  if (!once) clients.collect(out, start);
  out.write_ms = (before_ms + servers.write_ms(database)) / 2;
  if (cpu >= 0) out.server_cpu_s = cpu_after - cpu;
  out.machine_idle = all_after > all ? (idle_after - idle) / (all_after - all) : -1;
  servers.drop(database);
  return out;
}

}  // namespace leasehold::bench
