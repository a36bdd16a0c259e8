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

constexpr int kMostWrites = 100, kLeastWrites = 5;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kReadyLimit = 120 * kSecond;
constexpr std::int64_t kBeforeWarmUp = kSecond / 5;  ///< for "go" to reach every process
/// A client that got its lock at the last moment still holds and releases it.
constexpr std::int64_t kAfterDrain = 60 * kSecond;

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

/// A process with clients.
struct Child {
  ChildProcess process;
  std::string strategy;
  LineReader lines = {};

  [[nodiscard]] nlohmann::json said_until(std::int64_t until_ns) {
    const auto refuse = [this](const std::string& why) {
      throw std::runtime_error("a client of '" + strategy + "' " + why);
    };
    auto line = lines.next();
    for (; !line; line = lines.next()) {
      const auto left_ms = (until_ns - boot_ns()) / 1'000'000;
      pollfd ready{process.out(), POLLIN, 0};
      const bool in_time = left_ms > 0 && poll(&ready, 1, static_cast<int>(left_ms)) > 0;
      if (!in_time || (!lines.read_from(process.out()) && lines.ended())) {
        refuse("ended without a result, or hangs");
      }
    }
    auto said = nlohmann::json::parse(*line, nullptr, false);
    if (said.is_discarded()) refuse("says '" + line->substr(0, 200) + "', which is no result");
    if (said.contains("error")) refuse("failed: " + said["error"].get<std::string>());
    return said;
  }
};

std::vector<Child> start_children(const Load& load, bool processes, const std::string& uri,
                                  const std::string& database) {
  std::vector<Child> children;
  const int all = load.all_clients(), each = processes ? 1 : all;
  for (int first = 0; first < all; first += each) {
    const WorkerOrder order{load, first, each, load.arrivals_per_s * each / all, uri, database};
    children.push_back({ChildProcess({"/proc/self/exe", "client", nlohmann::json(order).dump()},
                                     ChildProcess::Io::pipes),
                        load.strategy});
  }
  return children;
}

}  // namespace

Servers::Servers(const std::string& uri) {
  if (uri.empty()) own_.emplace();
  uri_ = sim::live::with_option(own_ ? own_->uri() : uri, "appName=leasehold-bench");
  if (own_) return;
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
  auto children = start_children(load, processes, servers.uri(), database);
  const auto ready_until = boot_ns() + kReadyLimit;
  for (auto& child : children) (void)child.said_until(ready_until);  // that it is connected
  const auto start = boot_ns() + kBeforeWarmUp + load.warm_up_ms * 1'000'000;
  for (auto& child : children) child.process.say(std::to_string(start) + "\n");
  const auto until = [](std::int64_t at) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(at - boot_ns()));
  };
  const auto collect = [&] {
    for (auto& child : children) {
      const auto one = child.said_until(start + load.given_up_ns() + kAfterDrain).get<RunResult>();
      out.samples.insert(out.samples.end(), one.samples.begin(), one.samples.end());
      out.wire.add(one.wire);
    }
  };
  until(start);
  const double cpu = servers.cpu_s();
  const auto [idle, all] = machine_ticks();
  const bool once = Arrivals::parse(load.arrivals).kind == Arrivals::Kind::once;
  once ? collect() : until(start + load.end_ns());  // once: over when every caller was served
  const double cpu_after = servers.cpu_s();
  const auto [idle_after, all_after] = machine_ticks();
  if (!once) collect();
  out.write_ms = (before_ms + servers.write_ms(database)) / 2;
  if (cpu >= 0) out.server_cpu_s = cpu_after - cpu;
  out.machine_idle = all_after > all ? (idle_after - idle) / (all_after - all) : -1;
  servers.drop(database);
  return out;
}

}  // namespace leasehold::bench
