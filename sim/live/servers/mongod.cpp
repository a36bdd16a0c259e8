#include "sim/live/servers/mongod.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/threads/os_entropy.hpp"

namespace leasehold::sim::live {

namespace {

namespace fs = std::filesystem;

/// Whether a server listens. Asked before the driver is, because the driver leaves a server that
/// refused alone for five seconds.
bool listens(int port) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback_address(port);
  const bool connected = connect(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(s);
  return connected;
}

/// The first port that the kernel may give to a connection's own end.
int first_ephemeral_port() {
  int first = 32'768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return first;
}

constexpr const char* kParameters[] = {
    "enableTestCommands=1", "diagnosticDataCollectionEnabled=false", "ttlMonitorSleepSecs=1"};
// Without them a paused or restarted member holds up majority writes for many seconds.
constexpr const char* kPromptParameters[] = {
    "shutdownTimeoutMillisForSignaledShutdown=0",
    "oplogNetworkTimeoutBufferSeconds=1",
    "oplogFetcherSteadyStateMaxFetcherRestarts=0",
    "oplogRetriedFindMaxSeconds=1",
    "oplogInitialFindMaxSeconds=2",
    "failpoint.forceBgSyncSyncSourceRetryWaitMS={mode:\"alwaysOn\",data:{sleepMS:50}}",
    "failpoint.forceSyncSourceRetryWaitForInitialSync={mode:\"alwaysOn\",data:{retryMS:50}}"};

/// The script that fetches one: installed beside the program, or in the sources.
std::string fetcher() {
  const auto installed = fs::read_symlink("/proc/self/exe").parent_path() / "fetch-mongod";
  return fs::exists(installed) ? installed.string() : "scripts/fetch-mongod";
}

/// Where scripts/fetch-mongod has its cache.
std::string cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string cache_home = cache != nullptr && *cache != '\0' ? std::string(cache)
                                 : home != nullptr                  ? std::string(home) + "/.cache"
                                                                    : "/root/.cache";
  return cache_home + "/leasehold";
}

}  // namespace

std::string find_mongod() {
  std::vector<std::string> candidates;
  if (const char* named = std::getenv("LEASEHOLD_MONGOD")) {
    if (access(named, X_OK) == 0) return named;
    throw NoMongod(std::string("LEASEHOLD_MONGOD is ") + named + ": it must be a program");
  }
  if (const char* path = std::getenv("PATH")) {
    std::istringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      candidates.push_back(folder + "/mongod");
    }
  }
  candidates.push_back(cache_folder() + "/mongod");
  for (const auto& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw NoMongod("no mongod: set LEASEHOLD_MONGOD, put one on the PATH, or run " + fetcher() +
                 ", which fetches one");
}

bool is_supported(const Json& build_info) {
  constexpr std::pair<std::int64_t, std::int64_t> kOldest{5, 1};
  const auto& parts = build_info.at("versionArray");
  return std::pair(integer(parts.at(0)), integer(parts.at(1))) >= kOldest;
}

std::vector<int> free_ports(int count) {
  constexpr int kFirst = 10'240, kMostTries = 1'000;
  const int end = std::max(first_ephemeral_port(), 2 * kFirst);
  const auto entropy = runtime::os_entropy();
  std::vector<int> sockets, ports;
  for (int tries = 0; tries < kMostTries && static_cast<int>(ports.size()) < count; ++tries) {
    const int port =
        kFirst + static_cast<int>(entropy->draw() % static_cast<unsigned>(end - kFirst));
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockets.push_back(s);
    auto address = loopback_address(port);
    if (bind(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) ports.push_back(port);
  }
  for (const int s : sockets) close(s);
  if (static_cast<int>(ports.size()) < count) throw std::runtime_error("no free port found");
  return ports;
}

sockaddr_in loopback_address(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string address_of(int port) { return "127.0.0.1:" + std::to_string(port); }

std::string direct_uri(int port) {
  return "mongodb://" + address_of(port) + "/?directConnection=true";
}

Mongod::Mongod(const std::string& program, int port, const ReplicaSetOptions& set,
               Janitor& janitor)
    : ServerProcess(janitor.folder() + "/" + std::to_string(port), janitor),
      program_(program),
      port_(port) {
  fs::create_directories(folder());
  if (set.faulty) {
    make_clock();
    words_ = {"env", clock().preload(), clock().file_variable()};
  }
  const auto add = [this](const auto&... words) { words_.insert(words_.end(), {words...}); };
  const auto add_parameters = [&add](const auto& parameters) {
    for (const char* one : parameters) add("--setParameter", one);
  };
  add(program, "--port", std::to_string(port), "--bind_ip", "127.0.0.1", "--dbpath", folder(),
      "--logpath", log_file(), "--logappend", "--nounixsocket", "--wiredTigerCacheSizeGB", "0.25",
      "--wiredTigerEngineConfigString", "log=(file_max=1MB,prealloc=false)");
  add_parameters(kParameters);
  if (!set.standalone) {
    add("--replSet", "rs", "--oplogSize", "64");
    if (!set.own_settings) add_parameters(kPromptParameters);
  }
  begin_restart();
}

void Mongod::begin_restart() {
  if (alive_) return;
  client_.reset();
  start(words_);
  starting_ = true;
}

/// A new client remembers no times when the member did not answer.
void Mongod::connect() {
  client_ = std::make_unique<MongoClient>(
      direct_uri(port_) + "&serverSelectionTimeoutMS=1000&connectTimeoutMS=1000"
                          "&socketTimeoutMS=5000&appName=harness");
}

void Mongod::wait_until_ready() {
  if (!starting_) return;
  until_true("starting " + program_, [&] {
    if (!process_.running()) {
      alive_ = starting_ = false;  // the next restart starts it again
      throw NoMongod(program_ + " " + how_it_ended(process_.exit_status()) +
                     ": it could not start, or its port was taken");
    }
    if (!listens(port_)) return false;
    if (!client_) connect();
    const auto about = client_->must("admin", {{"buildInfo", 1}});
    if (is_supported(about)) return true;
    throw NoMongod(program_ + " is " + about.value("version", "?") +
                   ": it must be 5.1 or newer");
  });
  starting_ = false;
}

void Mongod::shut_down() {
  process_.send_signal(SIGTERM);
  process_.wait_ms(20'000);
  kill();
}

void Mongod::wipe() {
  fs::remove_all(folder());
  fs::create_directories(folder());
}

void Mongod::resume() {
  if (ServerProcess::resume()) connect();
}

double Mongod::cpu_seconds() const {
  constexpr std::size_t kUser = 11, kSystem = 12;
  const auto stat = kernel_stat(process_.pid());
  if (stat.size() <= kSystem) return 0;
  const auto ticks = std::stoll(stat[kUser]) + std::stoll(stat[kSystem]);
  return static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace leasehold::sim::live
