#include "sim/live/servers/real_servers.hpp"

namespace leasehold::sim::live {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kResolution{1};
constexpr int kClockTries = 20;

milliseconds real_time() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

void RealMembers::kill(const std::vector<int>& members) {
  for (const int m : members) servers_.mongod(m).begin_kill();
  for (const int m : members) servers_.mongod(m).kill();
}

void RealMembers::restart(const std::vector<int>& members) {
  for (const int m : members) servers_.mongod(m).begin_restart();
  for (const int m : members) servers_.mongod(m).restart();
}

void RealMembers::stop(const std::vector<int>& members) {
  for (const int m : members) servers_.mongod(m).stop();
}

void RealMembers::resume(const std::vector<int>& members) {
  for (const int m : members) servers_.mongod(m).resume();
}

void RealMembers::set_clock(int member, std::int64_t ahead_ms, std::int64_t rate_ppm) {
  auto& clock = servers_.mongod(member).clock();
  clock.set(milliseconds(ahead_ms));
  if (rate_ppm != 0) clock.drift(rate_ppm);
}

std::int64_t RealMembers::clock_ahead_ms(int member) {
  return std::chrono::round<milliseconds>(servers_.mongod(member).clock().ahead()).count();
}

/// True time lies between question and answer. A quick answer shows a small difference.
bool RealMembers::shows_its_clock(int member) {
  const bool ahead = clock_ahead_ms(member) > 0;
  for (int i = 0; i < kClockTries; ++i) {
    const auto before = real_time();
    const auto hello = servers_.member(member).run("admin", {{"hello", 1}});
    const auto shown = date(hello.at("localTime")), after = real_time();
    if (ahead ? shown > after + kResolution : shown < before - kResolution) return true;
  }
  return false;
}

void RealMembers::settle() {
  for (int i = 0; i < servers_.size(); ++i) set_clock(i, 0, 0);
  until_true("starting the TTL monitors",
             [this] { return servers_.set_ttl_monitor(true), true; });
  wait_for_writes("majority");
  if (!all_have_all_data()) renew_secondaries();
}

/// A mongod may leave its connections alone for half a minute after its clock moved back; a new
/// process has no such memory.
void RealMembers::renew_secondaries() {
  const int primary = servers_.primary();
  for (int i = 0; i < servers_.size(); ++i) {
    if (i == primary) continue;
    servers_.mongod(i).kill();
    servers_.mongod(i).restart();
    wait_for_writes("majority");
  }
  wait_for_writes(servers_.size());
}

}  // namespace leasehold::sim::live
