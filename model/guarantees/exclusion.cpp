#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

struct HeldSpan {
  Span span;
  const SessionDigest* session;
  rules::Room room = 0;
  bool is_call = false;  ///< the lock was granted meanwhile, however late its answer came
};

/// The lockIds of a lock that is known by its answers say nothing: what it shares, it reads.
rules::Room room_of(const Digest& d, const SessionDigest& s) {
  const Fact& granted = d.fact(s.granted);
  if (!granted->shared) return 0;
  return d.promises != nullptr ? rules::kReaders : d.room(granted.lock_id);
}

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
void check_granted(const Digest& d, Finding& f, const HeldSpan& other, const HeldSpan& call) {
  if (other.span.to <= call.span.to) return;
  violate(f,
          subject(d, call.session->granted) + " was granted it while " +
              d.process_name(other.session->process) + " held it, for " +
              ms(other.span.to - call.span.to) + " more",
          {other.session->granted, other.session->answers.last, call.session->granted});
}

}  // namespace

Finding check_leases(const Digest& d) {
  Finding f = finding(Check::G1);
  for (const Tenure& t : std::views::join(d.tenures)) {
    const auto holder = writer_of(d, t);
    if (t.next_put == kNone || !holder) continue;
    if (d.fact(t.next_put).owner == t.owner) continue;
    const auto next = d.room(d.change(t.next_put).text);
    const bool shares = t.shared && !rules::excludes(d.room(t.lock_id), next);
    if (shares && t.next_put != t.next) continue;
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
      by_name[s.asked.name].push_back({call, &s, room_of(d, s), true});
    }
    const auto held = s.answers.held();
    if (held && s.granted != kNone) {
      by_name[d.fact(s.granted).name].push_back({*held, &s, room_of(d, s)});
    }
  }
  if (!d.sessions.empty()) f.counts["asked"] = asked;
  for (auto& spans : by_name) {
    std::ranges::sort(
        spans, {}, [](const HeldSpan& one) { return std::pair(one.span.from, !one.is_call); });
    std::map<rules::Room, std::vector<const HeldSpan*>> held;
    for (const HeldSpan& one : spans) {
      if (!one.is_call) {
        ++f.checked;
        check_end(d, f, one);
      }
      auto& beside = held[one.room];
      for (auto& [room, others] : held) {
        std::erase_if(others, [&one](const HeldSpan* h) { return !h->span.meets(one.span); });
        const auto longest =
            std::ranges::max_element(others, {}, [](const HeldSpan* h) { return h->span.to; });
        const bool full = &others == &beside && room > 0 && others.size() >= most_in(room);
        if (longest != others.end() && (full || rules::excludes(one.room, room))) {
          one.is_call ? check_granted(d, f, **longest, one) : check_pair(d, f, **longest, one);
        }
      }
      if (one.is_call) continue;
      beside.push_back(&one);
      if (one.room <= 0) continue;
      ++f.counts["permits_held"];
      if (one.room > 1 && beside.size() == most_in(one.room)) ++f.counts["permits_all_held"];
    }
  }
  return f;
}

}  // namespace leasehold::model
