#pragma once

#include <string>

#include "model/verdict/waiters.hpp"

namespace leasehold::model {

/// What G7 asks of a user's call that makes several acquire calls: for a permit, or for several
/// locks.
struct UserCall {
  const Fact& ask;
  Index asked, ended;     ///< `ended` may be kNone
  std::int64_t commands;  ///< of one that does not wait: at most so many, one after the other
};

/// It ends when it said. `told`: the call, for people.
template <typename Told>
void check_ends_on_time(const Digest& d, Finding& f, const UserCall& call, const Told& told) {
  const Fact& ask = call.ask;
  if (!ask->single_attempt && ask->give_up_ns == 0) return;
  const auto latest = ask->single_attempt
                          ? ask.at_ns + at_most(d, ask, call.commands * ask->operation_timeout_ms)
                          : ask->give_up_ns + d.allowed.lateness_ns;
  if (latest >= d.finished_ns) return;
  const auto happened = call.ended == kNone ? kNever : d.fact(call.ended).at_ns;
  check_bound(d, f,
              {ask->single_attempt ? ask.at_ns : ask->give_up_ns, latest, happened,
               d.process_of[ask.process]->alive_until, d.delays(ask.process, Needs::process)},
              [&] {
                return told() + " ended " +
                       (call.ended == kNone ? "never" : ms(happened - latest) + " late");
              },
              {call.asked, call.ended});
}

/// Once faults are over it gets what it asked for, because nine tenths of its time-out are longer
/// than all turns.
/// REQUIRES: it began then, and ended without
template <typename Told>
void check_not_in_vain(const Digest& d, Finding& f, const UserCall& call, const Told& told) {
  const Span waited{call.ask.at_ns, d.fact(call.ended).at_ns};
  const auto latest = waited.to - (waited.to - waited.from) / 10;
  check_bound(
      d, f, {waited.from, latest, kNever, waited.to, d.delays(call.ask.process, Needs::servers)},
      [&] {
        return told() + " although all faults had stopped: " + d.at(call.ended).outcome;
      },
      {call.asked, call.ended});
}

}  // namespace leasehold::model
