#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "model/history/digest.hpp"
#include "scenarios/lab/report/report.hpp"

namespace leasehold::lab {
namespace {

using model::Digest;
using model::Event;
using model::Index;
using model::kNone;
using model::SessionDigest;
using nlohmann::ordered_json;

/// One acquire call and its result, with the caller of its process that made it.
struct Call {
  const std::string* process;
  const SessionDigest* digest;
  std::int64_t from_ns;
  std::int64_t to_ns;        ///< of the holding, or of the wait
  std::int64_t answered_ns;  ///< when its last answer had come
  int lane = 0;
};

std::int64_t time_of(const Digest& d, Index event, std::int64_t otherwise) {
  return event == kNone ? otherwise : d.at(event).at_ns;
}

std::int64_t end_of(const Digest& d, const std::string& process, const SessionDigest& s) {
  const auto last = d.history->back().at_ns;
  const auto dead = time_of(d, d.processes.at(process).crash, last);
  const auto over = std::min(s.over_ns, dead);
  const auto done = s.granted == kNone ? s.ended : s.released;
  return std::min(time_of(d, done, last), s.granted == kNone ? dead : over);
}

std::int64_t answered(const Digest& d, const SessionDigest& s) {
  return time_of(d, s.granted == kNone ? s.ended : s.released, d.history->back().at_ns);
}

/// In the order of their starts, each in the first lane of its process that is free then.
std::vector<Call> calls_of(const Digest& d) {
  std::vector<Call> calls;
  for (const SessionDigest& s : d.sessions) {
    if (s.ask == kNone) continue;
    const Event& ask = d.at(s.ask);
    calls.push_back({&ask.process, &s, ask.at_ns, std::max(end_of(d, ask.process, s), ask.at_ns),
                     answered(d, s)});
  }
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Call& a, const Call& b) { return a.from_ns < b.from_ns; });
  std::map<std::string, std::vector<std::int64_t>> busy_until;
  for (Call& call : calls) {
    auto& lanes = busy_until[*call.process];
    const auto is_free = [&](std::int64_t until) { return until <= call.from_ns; };
    const auto lane = std::find_if(lanes.begin(), lanes.end(), is_free);
    call.lane = static_cast<int>(lane - lanes.begin());
    if (lane == lanes.end()) lanes.emplace_back();
    lanes[static_cast<std::size_t>(call.lane)] = call.answered_ns;
  }
  return calls;
}

}  // namespace

void write_operations(std::ostream& out, const model::History& history) {
  const auto d = model::digest(history);
  const auto begin = history.front().at_ns;
  std::map<std::string, std::size_t> clients;  // each with its number
  const char* separator = "\n";
  out << R"({"operations":[)";
  for (const Call& call : calls_of(d)) {
    const auto held = call.digest->answers.held();
    if (!held || call.digest->granted == kNone) continue;
    const auto name = fmt::format("{}/{}", *call.process, call.lane);
    const auto client = clients.emplace(name, clients.size()).first->second;
    const auto add = [&](const char* operation, std::int64_t from, std::int64_t to) {
      out << separator
          << ordered_json{{"client_id", client},
                          {"lock", d.at(call.digest->ask).name},
                          {"operation", operation},
                          {"call_ns", from - begin},
                          {"return_ns", to - begin}}
                 .dump();
      separator = ",\n";
    };
    add("acquire", call.from_ns, held->from);
    add("release", held->to, std::max(call.to_ns, held->to));
  }
  out << "\n]}\n";
}

}  // namespace leasehold::lab
