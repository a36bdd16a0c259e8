#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

struct HeldSpan {
  Span span;
  const SessionDigest* session;
  bool reads = false;
  bool is_call = false;  ///< the lock was granted meanwhile, however late its answer came
};

/// held() turns false for ever, by the release at the latest. A process may record its release
/// late.
void check_end(const Digest& d, Finding& f, const HeldSpan& b) {
  const SessionDigest& s = *b.session;
  if (s.answers.revived()) {
    violate(f, subject(d, s.granted) + "'s held() was true again after it was false",
            {s.answers.denied, s.answers.last});
  }
  if (s.release == kNone || b.span.to <= d.fact(s.release).at_ns + d.allowed.lateness_ns) return;
  violate(f,
          subject(d, s.granted) + "'s held() was true for " +
              ms(b.span.to - d.at(s.release).at_ns) + " after its release",
          {s.release, s.answers.last});
}

void check_pair(const Digest& d, Finding& f, const HeldSpan& a, const HeldSpan& b) {
  if (!a.span.meets(b.span)) return;
  const auto overlap = std::min(a.span.to, b.span.to) - std::max(a.span.from, b.span.from);
  const auto one = d.process_name(a.session->process), other = d.process_name(b.session->process);
  violate(f,
          "lock '" + d.at(a.session->granted).name + "': held() was true in " +
              (one == other ? "two callers of " + one : one + " and " + other) + " at once for " +
              ms(overlap),
          {a.session->answers.first, a.session->answers.last, b.session->answers.first,
           b.session->answers.last});
}

/// No call is granted a lock while another holds it from before the call until after the grant.
void check_granted(const Digest& d, Finding& f, const std::vector<HeldSpan>& by_begin) {
  const HeldSpan* longest = nullptr;
  for (const HeldSpan& one : by_begin) {
    const bool lasts = longest != nullptr && longest->span.to > one.span.to;
    if (!one.is_call && !lasts) longest = &one;
    if (!one.is_call || !lasts) continue;
    violate(f,
            subject(d, one.session->granted) + " was granted it while " +
                d.process_name(longest->session->process) + " held it, for " +
                ms(longest->span.to - one.span.to) + " more",
            {longest->session->granted, longest->session->answers.last, one.session->granted});
  }
}

}  // namespace

Finding check_leases(const Digest& d) {
  Finding f = finding(Check::G1);
  for (const Tenure& t : std::views::join(d.tenures)) {
    const auto holder = writer_of(d, t);
    if (t.next_put == kNone || !holder) continue;
    const bool reads = !d.change(t.next_put).readers.empty();
    if (d.fact(t.next_put).owner == t.owner || !rules::excludes(t.shared, reads)) continue;
    if (passed_on(d, t)) {
      ++f.counts["passed_on"];
      continue;
    }
    if (handed_over(d, t)) {
      ++f.counts["hand_overs"];
      continue;
    }
    if (may_have_deleted(d, t)) continue;  // its own release or clean-up
    const auto successor = writer_of(d, t.next_put);
    if (d.promises != nullptr ? !t.acquired && !t.next_gone : !successor) continue;
    ++f.checked;
    ++f.counts["takeovers"];
    const auto lease_end = earliest_end(d, *holder, t, t.next_put);
    const auto given =
        successor ? executed_by(d, *successor, t.next_put) : d.fact(t.next_put).at_ns;
    if (given >= lease_end) continue;
    const bool ours = d.promises == nullptr;
    violate(f,
            "lock '" + d.at(t.last_put).name + "' was given to another at least " +
                ms(lease_end - given) + " before the lease of " +
                d.at(holder->command.send).process + " ran out",
            {ours ? holder->command.send : holder->command.reply, t.last_put, t.next, t.next_put,
             ours ? successor->command.reply : kNone});
  }
  return f;
}

Finding check_exclusion(const Digest& d) {
  Finding f = finding(Check::G2);
  std::vector<std::vector<HeldSpan>> by_name(d.facts.names.size());
  std::int64_t asked = 0;
  for (const SessionDigest& s : d.sessions) {
    asked += s.answers.yes + s.answers.no;
    // Our own handles answer for themselves.
    if (d.promises != nullptr && s.granted != kNone && s.ask != kNone) {
      const Span call{s.asked.at_ns, d.fact(s.granted).at_ns};
      by_name[s.asked.name].push_back({call, &s, false, true});
    }
    const auto held = s.answers.held();
    if (held && s.granted != kNone) {
      by_name[d.fact(s.granted).name].push_back({*held, &s, d.at(s.granted).shared});
    }
  }
  if (!d.sessions.empty()) f.counts["asked"] = asked;
  for (auto& spans : by_name) {
    std::ranges::sort(
        spans, {}, [](const HeldSpan& one) { return std::pair(one.span.from, !one.is_call); });
    std::array<const HeldSpan*, 2> longest{};  // of writers, and of readers
    for (const HeldSpan& one : spans) {
      if (one.is_call) continue;
      ++f.checked;
      check_end(d, f, one);
      for (const HeldSpan* other : longest) {
        if (other != nullptr && rules::excludes(one.reads, other->reads)) {
          check_pair(d, f, *other, one);
        }
      }
      const HeldSpan*& longest_of_kind = longest[one.reads ? 1 : 0];
      if (longest_of_kind == nullptr || one.span.to > longest_of_kind->span.to) {
        longest_of_kind = &one;
      }
    }
  }
  for (const auto& spans : by_name) check_granted(d, f, spans);
  return f;
}

}  // namespace leasehold::model
