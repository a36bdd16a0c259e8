#include "model/generated/promise.hpp"

/// What G7 promises calls for several locks, each promise kept to the last
/// millisecond, and broken by the next.
namespace leasehold::model {
namespace {

const std::vector<std::string>& both() {
  static const std::vector<std::string> names{"x", "y"};
  return names;
}

/// A call of e has x, and waits for y.
void has_x(Scene& s, int until, bool healed = false) {
  s.h.asks_all(s.at, "e", 1, both(), until, healed);
  s.h.named("x").ask(s.at, "e", 1, until).win(s.at, s.at + 9, "e", 1, s.order(s.at));
  s.h.named("y").ask(s.at + 10, "e", 2, until);
}

const std::vector<Promise>& joint_promises() {
  using enum Check;
  static const std::vector<Promise> all{
      {"ACallForTwoLocksReturnsByItsTimeoutOrInTheTimeOfACommandForEach", G7, " late",
       [](Scene& s, int by) {
         const bool waits = s.draw.one_in(2);
         const int until = s.at + (waits ? 400 : 2 * s.kTimeout);
         s.h.asks_all(s.at, "e", 1, both(), waits ? until : 0);
         s.h.gets_not_all(until + s.late + by, "e", 1, both(), waits ? "timed_out" : "refused");
         s.due = waits ? until : s.at;
       },
       kProcess},
      {"ACallOnceFaultsAreOverGetsAll", G7, "did not get them",
       [](Scene& s, int by) {
         const int until = s.at + 1'000;
         s.h.asks_all(s.at, "e", 1, both(), until, true).stall(s.at + 10, s.at + 110 - by);
         s.h.gets_not_all(until, "e", 1, both(), "timed_out");
       }},
      {"ALockThatWasLostMeanwhileIsNotReturned", G7, "after it was lost",
       [](Scene& s, int by) {
         const int lost = s.at + 500;
         has_x(s, s.at + 9'000);
         s.h.named("x").lose(lost, "e", 1, "not_owner").named("y");
         s.h.win(lost - 20, lost - 11, "e", 2, s.order(lost - 20));
         s.h.gets_all(lost + s.late + by, "e", 1, both(), {s.order(s.at), s.order(lost - 20)});
         s.due = lost;
       },
       kProcess},
      {"WhatIsReturnedWasGranted", G7, "was never granted it",
       [](Scene& s, int by) {
         has_x(s, s.at + 9'000);
         s.h.win(s.at + 20, s.at + 28, "e", 2, s.order(s.at + 20));
         s.h.gets_all(s.at + 30, "e", 1, both(),
                      {s.order(s.at), s.order(s.at + 20) + std::max(by, 0)});
       }},
      {"OnlyALossDuringTheCallExplainsItsEnd", G7, "did not get them",
       [](Scene& s, int by) {
         const int lost = s.at - std::clamp(by, 0, 1), ends = s.at + 400;
         s.h.named("x").ask(s.at - 45, "e", 3);
         s.h.win(s.at - 45, s.at - 40, "e", 3, s.order(s.at - 45));
         s.h.slow(lost - 20, lost - 10, "e").lose(lost, "e", 3, "not_owner");
         s.h.asks_all(s.at, "e", 1, both(), ends, true);
         s.h.gets_not_all(ends, "e", 1, both(), "unavailable");
       }},
      {"AnAttemptOfACallOnceFaultsAreOverEndsByNoError", G7, "(unauthorized)",
       [](Scene& s, int by) {
         s.h.asks_all(s.at, "e", 1, both(), s.at + 900, by > 0);
         s.h.named("x").ask(s.at + 5, "e", 1, -1, true).ended(s.at + 20, "e", 1, "unauthorized");
         s.h.gets_not_all(s.at + 20, "e", 1, both(), "cancelled");
       }},
      {"OnlyADelayInTheLeaseBeforeExplainsALoss", G7, "did not get them",
       [](Scene& s, int by) {
         const int lost = s.at + 1'300, slow = lost - 1'000 - by;
         has_x(s, s.at + 1'400, true);
         s.h.named("x").lose(lost, "e", 1, "not_owner").slow(slow - 10, slow, "e");
         s.h.named("y").ended(s.at + 1'400, "e", 2, "timed_out");
         s.h.gets_not_all(s.at + 1'400, "e", 1, both(), "unavailable");
       }},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Joint, KeptPromises, testing::ValuesIn(joint_promises()), promise_name);

}  // namespace
}  // namespace leasehold::model
