#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "model/history/history_builder.hpp"
#include "model/verdict/checkers.hpp"

/// What the tests of the checkers share: histories by hand, and the finding on one guarantee.
namespace leasehold::model {

/// `a` has the lock from 20 on, for a lease since 10; `b` and `c` are there.
inline HistoryBuilder a_holds() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").start(3, "c").ask(10, "a", 1);
  return std::move(s.win(10, 20, "a", 1, 100));
}

/// A release, a crash, a takeover after the lease, a late comer, a document for the TTL monitor.
inline HistoryBuilder good() {
  HistoryBuilder s;
  s.start(1, "a").start(2, "b").start(3, "c");
  s.calls(10, "a", "try_acquire", 5'000).ask(10, "a", 1).win(10, 20, "a", 1, 100);
  s.returns(20, "a", "granted", 1, 100);
  s.ask(12, "b", 1).refused(12, 22, "b", 1);
  s.write(30, 40, "a", 1, "accepted", 105);
  s.extend(300, 310, "a", 1, 110).yes(21, 320, "a", 1).yes(330, 399, "a", 1).no(411, 412, "a", 1);
  s.release(400, 410, "a", 1, 120);
  s.win(430, 440, "b", 1, 130);
  s.write(450, 460, "b", 1, "accepted", 135);
  s.ask(470, "c", 1, 5'000).refused(470, 475, "c", 1).seeing("b", 1).yes(441, 490, "b", 1);
  s.crash(500, "b");
  s.presuming("b", 1).win(1'480, 1'490, "c", 1, 140).yes(1'491, 2'479, "c", 1);
  s.lose(2'480, "c", 1).notified(2'480, "c", 1).no(2'481, 2'482, "c", 1);
  s.write(2'500, 2'510, "c", 1, "accepted", 150);
  s.release(2'520, 2'530, "c", 1, 160);
  s.start(4, "d").ask(2'600, "d", 1).win(2'600, 2'610, "d", 1, 165).crash(2'650, "d");
  s.gone(4'500, 180);
  return s;
}

inline Finding find(const std::vector<Finding>& findings, Check check) {
  for (const auto& f : findings) {
    if (f.check == check) return f;
  }
  return {};
}

inline Finding judged(const History& history, Check check) {
  return find(judge(digest(history)), check);
}

/// The finding on one guarantee of a history that is whole.
inline Finding judged(HistoryBuilder story, Check check, int end = 9'000) {
  const auto findings = judge(digest(story.end(end)));
  EXPECT_EQ(find(findings, Check::form).verdict, Verdict::holds)
      << find(findings, Check::form).why;
  return find(findings, check);
}

/// The answer to the command of this number never came.
inline History unanswered(History history, std::int64_t command) {
  for (auto& e : history) {
    if (e.kind != Kind::reply || e.command != command) continue;
    e.outcome = "unknown";
    e.matched = e.order = 0;
  }
  return history;
}

/// Session 2 of the process waits while session 1 holds.
inline HistoryBuilder two_callers() {
  auto s = a_holds().ask(30, "a", 2);
  return s;
}

/// A holder that asks until shortly before its deadline, at 1,010.
inline HistoryBuilder holder() {
  auto s = a_holds().yes(21, 1'009, "a", 1);
  return s;
}

/// `a` holds, and `b` is queued until 3,000 ms.
inline HistoryBuilder b_waits() {
  auto s = a_holds().ask(30, "b", 1).refused(30, 40, "b", 1);
  return std::move(s.joins_queue(35, "b", 1, 101, 3'000));
}

/// `c` is queued behind it.
inline HistoryBuilder two_wait(int good_until = 3'000) {
  auto s = b_waits().ask(50, "c", 1).refused(50, 60, "c", 1);
  return std::move(s.joins_queue(55, "c", 1, 102, good_until));
}

}  // namespace leasehold::model
