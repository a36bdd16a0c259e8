#include <algorithm>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

/// The first moment at or after `instant` at which the process runs and goes on running for the
/// allowance.
std::int64_t when_running(const ProcessDigest& process, std::int64_t instant) {
  auto spans = process.away;
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.from < b.from; });
  for (const Span& away : spans) {
    if (away.from <= instant + kSchedulingAllowance && away.to > instant) instant = away.to;
  }
  return instant;
}

/// When the lease of a grant or an extension ends. The handles of the documents' locks know no such
/// time; their leases end all the same.
std::int64_t lease_end(const Digest& d, const SessionDigest& s, Index event) {
  const Event& e = d.at(event);
  if (!d.of_a_document || s.ask == kNone) return e.until_ns;
  return std::min(e.until_ns, e.sent_ns + d.at(s.ask).expiry_ms * kMs);
}

}  // namespace

Finding check_loss_told(const Digest& d) {
  Finding f = finding("G5", "a holder whose lease ended unreleased is told so by its deadline");
  for (const auto& [key, s] : d.sessions) {
    if (s.granted == kNone) continue;
    const ProcessDigest& process = d.processes.at(key.first);
    auto deadline = lease_end(d, s, s.granted);
    if (deadline <= d.at(s.granted).at_ns) {
      violate(f, key.first + ": a lease was granted that was over already", {s.granted});
    }
    for (const Index e : s.extended) {
      if (d.at(e).at_ns >= deadline) {
        violate(f, key.first + ": an extension revived a lease that was over", {s.granted, e});
      }
      deadline = std::max(deadline, lease_end(d, s, e));
    }
    const auto due = when_running(process, deadline);
    if (due == kNever) continue;
    const auto latest = due + kSchedulingAllowance;
    const auto over_before = [&](Index end) { return end != kNone && d.at(end).at_ns <= latest; };
    const bool told = over_before(s.lost);
    const bool killed = process.known_alive_until() <= latest;
    if (!told && (killed || over_before(s.release) || d.finished_ns <= latest)) continue;
    ++f.checked;
    if (!told) {
      const std::string when =
          s.lost == kNone ? "never" : ms(d.at(s.lost).at_ns - deadline) + " after its deadline";
      violate(f,
              "lock '" + d.at(s.granted).name + "': " + key.first + " was told of its loss " + when,
              {s.granted, s.lost});
    }
  }
  return f;
}

}  // namespace leasehold::model
