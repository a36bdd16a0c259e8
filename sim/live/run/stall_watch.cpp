#include "sim/live/run/stall_watch.hpp"

#include <chrono>
#include <utility>

#include "sim/live/servers/mongod.hpp"

namespace leasehold::sim::live {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{5};
constexpr milliseconds kPingEvery{100};
constexpr std::int64_t kStallFrom_ns = 100'000'000;

}  // namespace

StallWatch::StallWatch(std::vector<Member> members, std::function<std::int64_t()> now_ns)
    : now_ns_(std::move(now_ns)) {
  threads_.emplace_back([this](const std::stop_token& stop) { watch_machine(stop); });
  for (auto& member : members) {
    threads_.emplace_back([this, member = std::move(member)](const std::stop_token& stop) {
      watch_member(stop, member);
    });
  }
}

StallWatch::~StallWatch() {
  for (auto& thread : threads_) thread.request_stop();
}

model::History StallWatch::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(stalls_, {});
}

/// A thread that sleeps for a moment and wakes much later was not let run; nor were others.
void StallWatch::watch_machine(const std::stop_token& stop) {
  for (auto last = now_ns_(); !stop.stop_requested();) {
    std::this_thread::sleep_for(kTick);
    const auto now = now_ns_();
    note(model::kMachine, last, now);
    last = now;
  }
}

/// A ping waits for no lock and no disk.
void StallWatch::watch_member(const std::stop_token& stop, const Member& member) {
  MongoClient client(direct_uri(member.port) +
                     "&serverSelectionTimeoutMS=1000&connectTimeoutMS=1000"
                     "&socketTimeoutMS=2000&appName=stall-watch");
  while (!stop.stop_requested()) {
    const auto asked = now_ns_();
    try {
      (void)client.run_once("admin", {{"ping", 1}});
    } catch (const std::exception&) {
      // The ping failed; its time counts all the same.
    }
    note(member.name, asked, now_ns_());
    std::this_thread::sleep_for(kPingEvery);
  }
}

void StallWatch::note(const std::string& victim, std::int64_t from_ns, std::int64_t to_ns) {
  if (to_ns - from_ns <= kStallFrom_ns) return;
  model::Event e;
  e.kind = model::Kind::stall;
  e.victim = victim;
  e.from_ns = from_ns;
  e.at_ns = to_ns;
  const std::lock_guard lock(mutex_);
  stalls_.push_back(std::move(e));
}

}  // namespace leasehold::sim::live
