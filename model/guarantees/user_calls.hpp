#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/verdict/finding.hpp"
#include "model/workers/promises.hpp"

namespace leasehold::model {

/// What G7 asks of a user's call that makes one acquire call, or several: for several locks.
struct UserCall {
  const Fact& ask;
  Index asked, ended;     ///< `ended` may be kNone
  std::int64_t commands;  ///< of one that does not wait: at most so many, one after the other
};

/// It ends when it said. `told`: the call, for people. How long one attempt takes is not promised
/// of a lock that is known by its answers.
inline void check_ends_on_time(const Digest& d, Finding& f, const UserCall& call,
                               const std::string& told) {
  const Fact& ask = call.ask;
  const Promises* promises = d.promises;
  if (ask->single_attempt ? promises != nullptr : ask->give_up_ns == 0) return;
  const auto attempts = by_our_clock(d, ask, call.commands * ask->operation_timeout_ms * kMs);
  const auto said = ask->single_attempt ? ask.at_ns + attempts : ask->give_up_ns;
  const auto latest =
      said + (promises != nullptr ? promises->answers_within_ms * kMs : d.allowed.lateness_ns);
  if (latest >= d.finished_ns && (promises == nullptr || call.ended == kNone)) return;
  const auto happened = d.time_of(call.ended);
  const auto late = happened - (call.commands == 1 ? said : latest);
  check_bound(d, f,
              {ask->single_attempt ? ask.at_ns : said, latest, happened,
               d.process_of[ask.process]->alive_until, d.delays(ask.process, Needs::process)},
              told + " ended " + (call.ended == kNone ? "never" : ms(late) + " late"),
              {call.asked, call.ended});
}

/// Calls for several locks at once, as part of G7; each lock is checked as any is. A call ends when
/// it said. What it returns was not lost before. One that begins once faults are over gets all.
void check_all_calls(const Digest& d, Finding& f);

/// When calls for several locks were under way, and kept from their users what they had.
class AllCallTimes {
 public:
  explicit AllCallTimes(const Digest& d);
  /// From when a user of this process has what was granted then: at once, or when a call is over.
  [[nodiscard]] std::int64_t user_has_from(Id process, Id name, std::int64_t granted_ns) const;
  /// Whether an acquire call that began then may be of a call that began before faults were over,
  /// and ends as that does.
  [[nodiscard]] bool began_in_faults(const Fact& ask) const;

 private:
  struct Times : Span {
    bool healed = false;  ///< it began when faults were over
  };
  [[nodiscard]] std::vector<Times> at(Id process, Id name, std::int64_t at_ns) const;

  std::map<std::pair<Id, Id>, std::vector<Times>> calls_;  ///< by process and lock
};

}  // namespace leasehold::model
