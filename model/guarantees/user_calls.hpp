#pragma once

#include <string>

#include "model/verdict/waiters.hpp"

namespace leasehold::model {

/// What G7 asks of a user's call that makes several acquire calls: for a permit, or for several
/// locks.
struct UserCall {
  const Asked& ask;
  Index asked, ended;     ///< `ended` may be kNone
  std::int64_t commands;  ///< of one that does not wait: at most so many, one after the other
};

/// It ends when it said. `told`: the call, for people.
template <typename Told>
void check_ends_on_time(const Digest& d, Finding& f, const UserCall& call, const Told& told) {
  const Asked& ask = call.ask;
  if (!ask.single_attempt && ask.give_up_ns == 0) return;
  const auto latest = ask.single_attempt
                          ? ask.at_ns + at_most(d, ask, call.commands * ask.operation_timeout_ms)
                          : ask.give_up_ns + d.allowed.lateness_ns;
  if (latest >= d.finished_ns) return;
  if (!d.ran_throughout(ask.process, {ask.at_ns, latest})) return excuse(f, Excuse::pause);
  const auto happened = call.ended == kNone ? kNever : d.fact(call.ended).at_ns;
  check_bound(d, f, {ask.at_ns, latest, happened, kNever, Needs::machine},
              [&] {
                return told() + " ended " +
                       (call.ended == kNone ? "never" : ms(happened - latest) + " late");
              },
              {call.asked, call.ended});
}

/// Once faults are over it gets what it asked for, because its time-out is longer than all turns.
/// REQUIRES: it began then, and ended without
template <typename Told>
void check_not_in_vain(const Digest& d, Finding& f, const UserCall& call, const Told& told) {
  const Span waited{call.ask.at_ns, d.fact(call.ended).at_ns};
  if (!d.ran_throughout(call.ask.process, waited)) return excuse(f, Excuse::pause);
  violate(f, told() + " although all faults had stopped: " + d.at(call.ended).outcome,
          {call.asked, call.ended});
}

}  // namespace leasehold::model
