#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

/// By so much a time of a process's clock may be off after it was converted.
constexpr std::int64_t kConverted = 10'000;

/// The kinds of error with which a call for a lock may end, by its header.
bool is_promised(std::string_view kind, bool single_attempt) {
  constexpr std::array kAny{"timed_out", "cancelled", "shut_down", "configuration"};
  constexpr std::array kOfOneAttempt{"refused", "unavailable", "unknown_outcome"};
  const auto is_kind = [kind](const char* one) { return kind == one; };
  return std::ranges::any_of(kAny, is_kind) ||
         (single_attempt && std::ranges::any_of(kOfOneAttempt, is_kind));
}

class CallsChecker {
 public:
  explicit CallsChecker(const Digest& d) : d_(d) {
    for (const SessionDigest& s : d.sessions) {
      if (s.ask != kNone) asked_[{s.process, s.asked.name}].push_back(&s);
    }
  }

  Finding check() {
    for (const UsersCall& call : d_.users_calls) {
      check_in_time(call);
      if (call.returned == kNone) continue;
      const std::string& verb = d_.at(call.called).verb;
      const bool of_a_handle = d_.at(call.called).session != 0;
      if (verb.find("acquire") != std::string::npos || verb == "downgrade") {
        check_acquired(call);
      } else if (of_a_handle && verb.starts_with("release")) {
        check_released(call);
      } else if (of_a_handle && verb == "ensure") {
        check_ensured(call);
      }
    }
    for (const Index held : d_.remaining) check_remaining(held);
    return std::move(f_);
  }

 private:
  [[nodiscard]] std::string told(const UsersCall& call) const {
    return subject(d_, call.called) + "'s " + d_.at(call.called).verb + "()";
  }
  [[nodiscard]] Span span_of(const UsersCall& call) const {
    return {d_.fact(call.called).at_ns, d_.fact(call.returned).at_ns};
  }
  void violate(const UsersCall& call, const std::string& what, Index because = kNone) {
    model::violate(f_, told(call) + ' ' + what, {call.called, because, call.returned});
  }

  /// Until then an answer was seen: not while other functions of the user kept the thread that
  /// calls back until the process was killed.
  [[nodiscard]] std::int64_t answered_until(const ProcessDigest& process) const {
    const auto kept_since = process.crash == kNone ? 0 : d_.at(process.crash).from_ns;
    return kept_since != 0 ? std::min(process.alive_until, kept_since) : process.alive_until;
  }

  /// A call that waits for other functions of its user is not late.
  void check_in_time(const UsersCall& call) {
    const Fact& e = d_.fact(call.called);
    const auto give_up = d_.at(call.called).give_up_ns;
    const auto& process = d_.process_of[e.process];
    if (give_up == 0 || process == nullptr) return;
    auto returned = kNever;
    if (call.returned != kNone) {
      const auto kept_since = d_.at(call.returned).from_ns;
      returned = kept_since != 0 ? kept_since : d_.fact(call.returned).at_ns;
    }
    check_bound(d_, f_,
                {e.at_ns, give_up + d_.allowed.lateness_ns, returned, answered_until(*process),
                 d_.delays(e.process, Needs::process)},
                told(call) + (returned == kNever ? " never returned"
                                                 : " returned " + ms(returned - give_up) + " late"),
                {call.called, call.returned});
  }

  /// What the user was given is what its session won; the error is the one that its session met.
  void check_acquired(const UsersCall& call) {
    ++f_.checked;
    const Event &e = d_.at(call.called), &end = d_.at(call.returned);
    const Span span = span_of(call);
    if (end.outcome == "granted") {
      const SessionDigest& s = d_.session_of(d_.fact(call.returned));
      const bool won = end.session != 0 && s.granted != kNone &&
                       d_.at(s.granted).token == end.token && d_.at(s.granted).name == e.name &&
                       d_.fact(s.granted).at_ns >= span.from && d_.fact(s.granted).at_ns <= span.to;
      if (!won) violate(call, "returned a lock that was not granted");
      if (won && e.verb == "downgrade" && !is_of_its_caller(call, s)) {
        violate(call, "returned a lock that others could have had in between", s.granted);
      }
      return;
    }
    if (!is_promised(end.outcome, e.single_attempt)) {
      return violate(call, "returned '" + end.outcome + "', which is not promised");
    }
    if (end.outcome == "configuration" && !met_configuration(call)) {
      return violate(call, "returned 'configuration', but no server said so");
    }
    bool asked = false;
    const Fact& of_call = d_.fact(call.called);
    for (const SessionDigest* s : asked_[{of_call.process, of_call.name}]) {
      if (s->asked.at_ns < span.from || s->asked.at_ns > span.to) continue;
      asked = true;
      if (s->ended != kNone && d_.fact(s->ended).at_ns <= span.to &&
          d_.at(s->ended).outcome == end.outcome) {
        return;
      }
    }
    // One that was cancelled before it began asks for nothing.
    if (!asked && end.outcome == "cancelled") return;
    violate(call, "returned '" + end.outcome + "', and no attempt of it ended so");
  }

  /// By one write, in the place of its caller's owner.
  [[nodiscard]] bool is_of_its_caller(const UsersCall& call, const SessionDigest& reader) const {
    const SessionDigest& writer = d_.session_of(d_.fact(call.called));
    const Index send = d_.writer(reader.granted).send;
    return send != kNone && writer.granted != kNone && d_.fact(send).verb == Verb::hand_over &&
           d_.fact(send).other_owner == d_.fact(writer.granted).owner;
  }

  [[nodiscard]] bool met_configuration(const UsersCall& call) const {
    const Span span = span_of(call);
    return std::ranges::any_of(d_.all_replies, [&](Index i) {
      const Fact& reply = d_.fact(i);
      return reply.process == d_.fact(call.called).process && reply.at_ns >= span.from &&
             reply.at_ns <= span.to && d_.at(i).outcome == "configuration";
    });
  }

  /// `release` checks whether that is so.
  void check_released(const UsersCall& call) {
    ++f_.checked;
    const SessionDigest& s = d_.session_of(d_.fact(call.called));
    const bool found =
        s.released != kNone && d_.fact(s.released).at_ns <= d_.fact(call.returned).at_ns;
    if (found && d_.at(s.released).outcome == d_.at(call.returned).outcome) return;
    violate(call,
            "returned '" + d_.at(call.returned).outcome + "', but the release found " +
                (found ? '\'' + d_.at(s.released).outcome + '\'' : "nothing yet"),
            s.released);
  }

  /// Until when the handle is held by what its process knew then, by the harness's clock: its own
  /// may have stood still since.
  [[nodiscard]] std::int64_t held_until(const SessionDigest& s, std::int64_t by) const {
    std::int64_t until = 0, since = 0;
    const auto know = [&](Index i) {
      const Fact& e = d_.fact(i);
      if (e.at_ns > by || e->deadline_ns <= until) return;
      until = e->deadline_ns;
      since = e.at_ns;
    };
    if (s.granted != kNone) know(s.granted);
    for (const Index i : d_.extended[s.id]) know(i);
    return until + in_common(d_.process_of[s.process]->suspended, {since, by});
  }
  [[nodiscard]] bool over(const SessionDigest& s, std::int64_t by) const {
    return std::ranges::any_of(std::array{s.lost, s.release},
                               [&](Index i) { return i != kNone && d_.fact(i).at_ns <= by; });
  }

  /// Yes: it is held for that long after the call. No: it was not held for that long already.
  void check_ensured(const UsersCall& call) {
    ++f_.checked;
    const SessionDigest& s = d_.session_of(d_.fact(call.called));
    const Span span = span_of(call);
    const auto asked_for = d_.at(call.returned).deadline_ns;
    const auto late = d_.allowed.lateness_ns;
    if (d_.fact(call.returned).outcome == Outcome::yes) {
      // The process may have stood still between the answer and its record.
      const auto stood_still = in_common(d_.delays(s.process, Needs::process).all(), span) + late;
      const auto missing = asked_for - stood_still - held_until(s, span.to);
      if (over(s, span.from) || missing > kConverted) {
        violate(call, "promised " + ms(std::max<std::int64_t>(missing, 0)) + " too much",
                over(s, span.from) ? (s.lost != kNone ? s.lost : s.release) : s.granted);
      }
    } else if (!over(s, span.to) &&
               held_until(s, span.from - late) > asked_for + late + kConverted) {
      violate(call, "returned no, but the lease lasted longer", s.granted);
    }
  }

  /// After a no nothing remains.
  void check_remaining(Index held) {
    ++f_.checked;
    const SessionDigest& s = d_.session_of(d_.fact(held));
    const auto said = d_.at(held).deadline_ns - held_until(s, d_.at(held).first_answered_ns);
    const bool no = d_.fact(held).outcome == Outcome::no;
    if (!no && said <= kConverted) return;
    model::violate(f_,
                   subject(d_, held) + "'s remaining() was " +
                       (no ? "above zero after the end" : ms(said) + " more than what is left"),
                   {s.granted, held});
  }

  const Digest& d_;
  Finding f_ = finding(Check::calls);
  std::map<std::pair<Id, Id>, std::vector<const SessionDigest*>> asked_;  ///< by process and name
};

/// Whether the machine stood still for more than half of the time in which the process should have
/// ended.
bool was_held_up(const Digest& d, std::int64_t killed_ns) {
  std::vector<Span> stalls;
  for (const Event& e : *d.history) {
    if (e.kind == Kind::stall && e.victim == kMachine) stalls.push_back({e.from_ns, e.at_ns});
  }
  const MergedSpans merged(std::move(stalls));
  const auto still_ns = in_common(merged.all(), {d.healed_ns, killed_ns});
  return 2 * still_ns > killed_ns - d.healed_ns;
}

/// The line that says most, for a list; the event has them all.
std::string telling_line(const std::string& words) {
  auto at = words.find("check failed");
  if (at == std::string::npos) at = words.find("Sanitizer");
  if (at == std::string::npos) at = words.find("terminate called");
  const auto line = at == std::string::npos ? at : words.rfind('\n', at);
  const auto begin = line == std::string::npos ? 0 : line + 1;
  return words.substr(begin, words.find('\n', begin) - begin);
}

}  // namespace

Finding check_calls(const Digest& d) {
  if (d.of_a_document) return finding(Check::calls);  // a published lock promises less
  return CallsChecker(d).check();
}

Finding check_alive(const Digest& d) {
  Finding f = finding(Check::alive);
  for (Index i = 0; i < d.facts.all.size(); ++i) {
    if (d.fact(i).kind == Kind::start) ++f.checked;
    if (d.fact(i).kind != Kind::exit || !died_of_itself(d.at(i))) continue;
    const Event& exit = d.at(i);
    if (exit.outcome == "did not end" && was_held_up(d, exit.at_ns)) {
      excuse(f, Excuse::stall);
      continue;
    }
    const auto words = telling_line(exit.message);
    violate(f, describe_exit(exit) + (words.empty() ? "" : ": " + words), {i});
  }
  return f;
}

}  // namespace leasehold::model
