// A worker around this library's lock, by the protocol of scenarios/WORKERS.md.
#include <cstdio>
#include <ctime>
#include <iostream>
#include <leasehold/leasehold.hpp>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

using Json = nlohmann::json;
using std::chrono::milliseconds;

namespace {

std::mutex mutex;  // of all below
std::map<std::int64_t, leasehold::LockHandle> handles;
std::map<std::int64_t, std::stop_callback<std::function<void()>>> watches;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void say(const Json& answer) {
  const auto line = answer.dump() + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);  // one call: threads do not mix their lines
  std::fflush(stdout);
}

void acquire(const leasehold::Lock& lock, std::int64_t id, milliseconds timeout) {
  auto handle = lock.try_acquire(timeout);
  const auto at_ns = now_ns();
  const std::lock_guard guard(mutex);
  if (!handle) return say({{"id", id}, {"is", "failed"}, {"why", handle.error().message}});
  const auto& kept = handles.emplace(id, std::move(handle).value()).first->second;
  say({{"id", id}, {"is", "granted"}, {"at_ns", at_ns}, {"token", kept.fencing_token().value()}});
  watches.try_emplace(id, kept.lost(), [id] { say({{"id", id}, {"is", "lost"}}); });
}

void release(std::int64_t id) {
  std::unique_lock guard(mutex);
  auto handle = std::move(handles.at(id));
  guard.unlock();
  constexpr const char* kWords[] = {"released", "not_owner", "unknown"};
  say({{"id", id}, {"is", kWords[static_cast<int>(handle.release())]}});
}

}  // namespace

int main() {
  std::optional<leasehold::LockProvider> provider;
  leasehold::LockOptions options;
  for (std::string line; std::getline(std::cin, line);) {
    const auto asked = Json::parse(line);
    const std::string what = asked["do"];
    const std::int64_t id = asked.value("id", 0), at_ns = now_ns();
    if (what == "stop") break;
    if (what == "start") {
      options.expiry = milliseconds(asked["lease_ms"]);
      provider.emplace(
          *leasehold::LockProvider::connect(asked["uri"], {.database = asked["database"]}));
      say({{"is", "ready"}});
    } else if (what == "acquire") {
      std::thread(acquire, *provider->create_lock(asked["name"], options), id,
                  milliseconds(asked["timeout_ms"]))
          .detach();
    } else if (what == "ask") {
      const std::lock_guard guard(mutex);
      say({{"id", id}, {"is", handles.at(id).held() ? "held" : "not_held"}, {"at_ns", at_ns}});
    } else if (what == "release") {
      std::thread(release, id).detach();
    }
  }
  std::quick_exit(0);  // threads of acquires may still wait
}
