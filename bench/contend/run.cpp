#include "bench/contend/run.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <ostream>
#include <ranges>

namespace leasehold::bench {
namespace {

/// A field of CSV as RFC 4180 has it: names of strategies may be paths.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

std::string time_or_nothing(std::int64_t ns) { return ns == kNever ? "" : std::to_string(ns); }

std::string counted(const WireCounts& wire, std::int64_t number) {
  return wire.counted ? std::to_string(number) : "";
}

}  // namespace

void WireCounts::count(const std::string& command, std::int64_t at_ns, std::int64_t end_ns) {
  if (at_ns < 0 || at_ns >= end_ns) return;
  static const std::array kWrites{"findAndModify", "update", "delete", "insert", "createIndexes"};
  const bool write = std::find(kWrites.begin(), kWrites.end(), command) != kWrites.end();
  ++(write ? writes : reads);
  if (command == "findAndModify") ++attempts[at_ns / 1'000'000'000];
}

void WireCounts::add(const WireCounts& other) {
  writes += other.writes;
  reads += other.reads;
  for (const auto& [second, count] : other.attempts) attempts[second] += count;
}

std::int64_t WireCounts::all_attempts() const {
  const auto add = [](std::int64_t sum, const auto& of_second) { return sum + of_second.second; };
  return std::accumulate(attempts.begin(), attempts.end(), std::int64_t{0}, add);
}

std::int64_t WireCounts::most_attempts_per_s() const {
  return attempts.empty() ? 0 : std::ranges::max(std::views::values(attempts));
}

void write_samples(std::ostream& out, const RunResult& run, std::int64_t end_ns) {
  for (const Sample& s : run.samples) {
    out << run.run << ',' << quoted(run.strategy) << ',' << run.repetition << ',' << s.client << ','
        << s.lock << ',' << s.asked_ns << ',' << time_or_nothing(s.granted_ns) << ','
        << time_or_nothing(s.released_ns) << ',' << (s.granted_ns >= end_ns ? 1 : 0) << '\n';
  }
}

void write_run(std::ostream& out, const RunResult& run) {
  out << run.run << ',' << quoted(run.strategy) << ',' << run.repetition << ',' << run.seed << ','
      << counted(run.wire, run.wire.writes) << ',' << counted(run.wire, run.wire.reads) << ','
      << counted(run.wire, run.wire.all_attempts()) << ','
      << counted(run.wire, run.wire.most_attempts_per_s()) << ',' << run.write_ms << ',';
  if (run.server_cpu_s >= 0) out << run.server_cpu_s;
  out << ',';
  if (run.machine_idle >= 0) out << run.machine_idle;
  out << ',' << run.arrivals_per_s << '\n';
}

}  // namespace leasehold::bench
