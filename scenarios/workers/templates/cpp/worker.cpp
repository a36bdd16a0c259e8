// A worker in C++, by the protocol of scenarios/WORKERS.md: put your own lock between the marks.
#include <iostream>
#include <leasehold/leasehold.hpp>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

using namespace leasehold;
using std::chrono::milliseconds;
void say(nlohmann::json answer, const std::string& is) {
  answer["is"] = is;
  std::cout << answer.dump() + '\n' << std::flush;  // in one piece: threads do not mix their lines
}
std::mutex mutex;  // of all below
std::map<std::int64_t, LockHandle> held;
std::map<std::int64_t, std::stop_callback<std::function<void()>>> watches;
// >>> YOUR LOCK: an acquire and a release; main answers all else
void acquire(const Lock& lock, std::int64_t id, milliseconds timeout) {
  auto handle = lock.try_acquire(timeout);
  const std::lock_guard guard(mutex);
  if (!handle) {
    const std::string is = to_string(handle.error().kind);  // or what the protocol has not
    return say({{"id", id}}, is == "refused" || is == "timed_out" ? is : "failed");
  }
  const auto& kept = held.emplace(id, std::move(handle).value()).first->second;
  say({{"id", id}, {"token", kept.fencing_token().value()}}, "granted");
  watches.try_emplace(id, kept.lost(), [id] { say({{"id", id}}, "lost"); });
}
void release(std::int64_t id) {
  auto handle = [&] { return std::lock_guard(mutex), std::move(held.at(id)); }();
  const char* const words[] = {"released", "not_owner", "unknown"};
  say({{"id", id}}, words[static_cast<int>(handle.release())]);
}
// <<< YOUR LOCK
int main() {
  std::optional<LockProvider> provider;
  LockOptions options;
  for (std::string line; std::getline(std::cin, line);) {
    const auto asked = nlohmann::json::parse(line);
    const std::string what = asked["do"];
    const std::int64_t id = asked.value("id", std::int64_t{});
    const auto at = std::chrono::steady_clock::now().time_since_epoch();  // CLOCK_MONOTONIC
    if (what == "stop") break;
    if (what == "start") {
      options.expiry = milliseconds(asked["lease_ms"]);
      provider.emplace(*LockProvider::connect(asked["uri"], {.database = asked["database"]}));
      say(nlohmann::json::object(), "ready");
    } else if (what == "acquire") {
      auto lock = *provider->create_lock(asked["name"], options);
      if (asked.value("shared", false)) lock = lock.shared();
      std::thread(acquire, lock, id, milliseconds(asked["timeout_ms"])).detach();
    } else if (what == "ask") {
      const std::lock_guard guard(mutex);
      say({{"id", id}, {"at_ns", at.count()}}, held.at(id).held() ? "held" : "not_held");
    } else if (what == "release") {
      std::thread(release, id).detach();
    }
  }
  std::quick_exit(0);  // threads of acquires may still wait
}
