#include <algorithm>
#include <array>
#include <charconv>
#include <leasehold/metrics.hpp>
#include <ostream>

namespace leasehold::inline v0_1 {
namespace {

using Kind = LockEvent::Kind;

constexpr std::size_t kMostNames = 100;
constexpr const char* kOthers = "(others)";

/// A label's value with what the format reserves escaped.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? "\\n" : std::string(1, c);
  }
  return out;
}

/// With a point, whatever the locale of the application.
std::string seconds(std::chrono::nanoseconds time) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, static_cast<double>(time.count()) * 1e-9,
                                 std::chars_format::general, 9);
  return {text, end.ptr};
}

using std::chrono_literals::operator""ms;
constexpr std::array kUpTo{1ms,     5ms,      10ms,     50ms,     100ms,     500ms,      1'000ms,
                           5'000ms, 10'000ms, 30'000ms, 60'000ms, 300'000ms, 1'800'000ms};

/// With a point, as OpenMetrics wants it: series of both formats have the same labels.
std::string bound(std::chrono::nanoseconds time) {
  const auto text = seconds(time);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

bool begins_holding(Kind kind) {
  return kind == Kind::acquired || kind == Kind::handed_over || kind == Kind::passed_on ||
         kind == Kind::joined;
}

std::string sample(const std::string& name, const std::string& labels, const std::string& value) {
  return name + '{' + labels + "} " + value + '\n';
}

}  // namespace

const char* to_string(Kind kind) {
  switch (kind) {
    case Kind::attempt: return "attempt";
    case Kind::refused: return "refused";
    case Kind::attempt_failed: return "attempt_failed";
    case Kind::acquired: return "acquired";
    case Kind::gave_up: return "gave_up";
    case Kind::extended: return "extended";
    case Kind::extension_failed: return "extension_failed";
    case Kind::handed_over: return "handed_over";
    case Kind::passed_on: return "passed_on";
    case Kind::lost: return "lost";
    case Kind::released: return "released";
    case Kind::cleaned_up: return "cleaned_up";
    case Kind::joined: return "joined";
  }
  return "?";
}

std::ostream& operator<<(std::ostream& out, Kind kind) { return out << to_string(kind); }

void Metrics::Histogram::add(std::chrono::nanoseconds value) {
  const auto at = std::ranges::lower_bound(kUpTo, value) - kUpTo.begin();
  ++counts[static_cast<std::size_t>(at)];
  sum += value;
}

std::string Metrics::Histogram::text(const std::string& name, const std::string& label) const {
  std::string out;
  std::uint64_t up_to = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    up_to += counts[i];
    const auto le = i < kUpTo.size() ? bound(kUpTo[i]) : "+Inf";
    out += sample(name + "_bucket", label + ",le=\"" + le + '"', std::to_string(up_to));
  }
  return out + sample(name + "_sum", label, seconds(sum)) +
         sample(name + "_count", label, std::to_string(up_to));
}

void Metrics::count(const LockEvent& event) {
  const std::lock_guard lock(mutex_);
  const bool known = locks_.contains(event.lock) || locks_.size() < kMostNames;
  OfLock& of = locks_[known ? event.lock : kOthers];
  ++of.events[event.kind];
  if (begins_holding(event.kind)) {
    ++of.waits["acquired"];
    of.waited.add(event.took);
    ++of.holders;
  } else if (event.kind == Kind::gave_up) {
    ++of.waits[event.detail];
    of.given_up.add(event.took);
  } else if (ends_holding(event)) {
    of.held.add(event.took);
    --of.holders;
  }
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

std::string Metrics::prometheus() const { return text(Format::prometheus); }
std::string Metrics::openmetrics() const { return text(Format::openmetrics); }

std::string Metrics::text(Format format) const {
  const bool open = format == Format::openmetrics;
  const auto head = [open](const std::string& name, const std::string& type) {
    std::string unit;
    if (open && name.ends_with("_seconds")) unit = "# UNIT " + name + " seconds\n";
    const bool total = !open && type == "counter";  // only OpenMetrics names the family
    return "# TYPE " + name + (total ? "_total " : " ") + type + '\n' + unit;
  };
  const std::lock_guard lock(mutex_);
  std::string events = head("leasehold_events", "counter");
  std::string ended = head("leasehold_waits", "counter");
  std::string waits = head("leasehold_wait_seconds", "histogram");
  std::string given_up = head("leasehold_given_up_wait_seconds", "histogram");
  std::string holds = head("leasehold_hold_seconds", "histogram");
  std::string held = head("leasehold_held_locks", "gauge");
  for (const auto& [name, of] : locks_) {
    const std::string label = "lock=\"" + escaped(name) + '"';
    for (const auto& [kind, count] : of.events) {
      events += sample("leasehold_events_total", label + ",event=\"" + to_string(kind) + '"',
                       std::to_string(count));
    }
    for (const auto& [outcome, count] : of.waits) {
      ended += sample("leasehold_waits_total", label + ",outcome=\"" + outcome + '"',
                      std::to_string(count));
    }
    waits += of.waited.text("leasehold_wait_seconds", label);
    given_up += of.given_up.text("leasehold_given_up_wait_seconds", label);
    holds += of.held.text("leasehold_hold_seconds", label);
    held += sample("leasehold_held_locks", label, std::to_string(of.holders));
  }
  return events + ended + waits + given_up + holds + held + (open ? "# EOF\n" : "");
}

}  // namespace leasehold
