#include <cstdio>
#include <leasehold/metrics.hpp>

namespace leasehold {
namespace {

using Kind = LockEvent::Kind;

constexpr std::size_t kMostNames = 100;
constexpr const char* kOthers = "(others)";

/// Of a label's value.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

std::string seconds(std::chrono::nanoseconds time) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(time.count()) * 1e-9);
  return text;
}

std::uint64_t count_of(const std::map<Kind, std::uint64_t>& events,
                       std::initializer_list<Kind> kinds) {
  std::uint64_t sum = 0;
  for (const Kind kind : kinds) {
    const auto found = events.find(kind);
    if (found != events.end()) sum += found->second;
  }
  return sum;
}

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::attempt: return "attempt";
    case Kind::refused: return "refused";
    case Kind::acquired: return "acquired";
    case Kind::gave_up: return "gave_up";
    case Kind::extended: return "extended";
    case Kind::extension_failed: return "extension_failed";
    case Kind::handed_over: return "handed_over";
    case Kind::lost: return "lost";
    case Kind::released: return "released";
    case Kind::cleaned_up: return "cleaned_up";
  }
  return "?";
}

void Metrics::count(const LockEvent& event) {
  const std::lock_guard lock(mutex_);
  const bool known = locks_.contains(event.lock) || locks_.size() < kMostNames;
  OfLock& of = locks_[known ? event.lock : kOthers];
  ++of.events[event.kind];
  const bool begins = event.kind == Kind::acquired || event.kind == Kind::handed_over;
  if (begins) of.waited += event.took;
  if (!ends_holding(event)) return;
  of.held += event.took;
  ++of.holdings;
}

bool Metrics::ends_holding(const LockEvent& event) {
  if (event.kind == Kind::lost) {
    ++lost_[{event.lock, event.token}];
    return true;
  }
  if (event.kind != Kind::released) return false;
  const auto lost = lost_.find({event.lock, event.token});
  if (lost == lost_.end()) return true;
  if (--lost->second == 0) lost_.erase(lost);
  return false;
}

std::string Metrics::prometheus() const {
  const std::lock_guard lock(mutex_);
  std::string events = "# TYPE leasehold_events_total counter\n";
  std::string waits = "# TYPE leasehold_wait_seconds summary\n";
  std::string holds = "# TYPE leasehold_hold_seconds summary\n";
  const auto summary = [](const char* name, const std::string& label, std::chrono::nanoseconds sum,
                          std::uint64_t count) {
    return std::string(name) + "_sum{" + label + "} " + seconds(sum) + "\n" + name + "_count{" +
           label + "} " + std::to_string(count) + "\n";
  };
  for (const auto& [name, of] : locks_) {
    const std::string label = "lock=\"" + escaped(name) + "\"";
    for (const auto& [kind, count] : of.events) {
      events += "leasehold_events_total{" + label + ",event=\"" + to_string(kind) + "\"} " +
                std::to_string(count) + "\n";
    }
    waits += summary("leasehold_wait_seconds", label, of.waited,
                     count_of(of.events, {Kind::acquired, Kind::handed_over}));
    holds += summary("leasehold_hold_seconds", label, of.held, of.holdings);
  }
  return events + waits + holds;
}

}  // namespace leasehold
