#include <gtest/gtest.h>

#include <cstdio>
#include <limits>
#include <map>
#include <random>

#include "model/history_builder.hpp"
#include "properties/simulate.hpp"

/// Checkers written a second time, from the words of the guarantees and with no thought of speed:
/// pairs of events, no digest. They have to agree with the real ones, on good histories and bad.
namespace leasehold::properties {
namespace {

using model::Event;
using model::History;
using model::Kind;
using model::Verdict;

bool same_session(const Event& a, const Event& b) {
  return a.process == b.process && a.session == b.session;
}

/// The time of the write that made this grant, or nothing.
std::optional<std::int64_t> written(const History& h, const Event& granted) {
  for (const Event& e : h) {
    if (e.kind == Kind::put && e.lock_id == granted.lock_id) return e.order;
  }
  return std::nullopt;
}

/// The time stamps of one kind of answer to this grant's user.
std::vector<const Event*> answers(const History& h, const Event& granted, const char* outcome) {
  std::vector<const Event*> found;
  for (const Event& e : h) {
    if (e.kind == Kind::held && same_session(e, granted) && e.outcome == outcome) {
      found.push_back(&e);
    }
  }
  return found;
}

std::int64_t lateness(const History& h) {
  return h.front().expiry_ms == 0 ? 400'000'000 : h.front().sent_ns;
}

std::int64_t truth_lag(const History& h) {
  return h.front().expiry_ms == 0 ? 1'000'000'000 : h.front().until_ns;
}

bool holds_too_long(const History& h, const Event& granted) {
  const auto all = answers(h, granted, "yes");
  const bool span = std::any_of(all.begin(), all.end(), [&](const Event* from) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Event* to) { return from->sent_ns <= to->until_ns; });
  });
  for (const Event* yes : span ? all : std::vector<const Event*>{}) {
    for (const Event* no : answers(h, granted, "no")) {
      if (yes->until_ns > no->until_ns) return true;
    }
    for (const Event& e : h) {
      const bool released = e.kind == Kind::release && same_session(e, granted);
      if (released && yes->until_ns > e.at_ns + lateness(h)) return true;
    }
  }
  return false;
}

bool two_hold(const History& h) {
  struct Held {
    const Event* grant;
    std::int64_t from, to;
  };
  std::vector<Held> all;
  for (const Event& a : h) {
    if (a.kind != Kind::granted) continue;
    if (holds_too_long(h, a)) return true;
    Held one{&a, std::numeric_limits<std::int64_t>::max(), -1};
    for (const Event* yes : answers(h, a, "yes")) {
      one.from = std::min(one.from, yes->sent_ns);
      one.to = std::max(one.to, yes->until_ns);
    }
    if (one.from <= one.to) all.push_back(one);
  }
  for (const Held& a : all) {
    for (const Held& b : all) {
      const bool rivals = a.grant != b.grant && a.grant->name == b.grant->name;
      if (rivals && a.from < b.to && b.from < a.to) return true;
    }
  }
  return false;
}

/// Who stood there before the write or deletion at this place in the server's order.
const Event* before(const History& h, const Event& change) {
  const Event* last = nullptr;
  for (const Event& e : h) {
    const bool earlier = (e.kind == Kind::put || e.kind == Kind::gone) && e.name == change.name &&
                         e.order < change.order;
    if (earlier && (last == nullptr || e.order > last->order)) last = &e;
  }
  return last;
}

const Event* sent(const History& h, const Event& put) {
  for (const Event& e : h) {
    if (e.kind == Kind::send && e.lock_id == put.lock_id) return &e;
  }
  return nullptr;
}

/// Whether the holder of `put` may itself have made the deletion.
bool own_deletion(const History& h, const Event& put, const Event& gone) {
  for (const Event& e : h) {
    const bool own = e.kind == Kind::send && e.detail == "delete" &&
                     e.owner == model::owner_of(put.lock_id) && e.at_ns <= gone.at_ns;
    if (!own) continue;
    bool nothing = false;
    for (const Event& r : h) {
      const bool answers_it =
          r.kind == Kind::reply && r.process == e.process && r.command == e.command;
      if (answers_it) nothing = r.outcome == "done" && r.order != gone.order;
    }
    if (!nothing) return true;
  }
  return false;
}

bool taken_in_mid_lease(const History& h) {
  for (const Event& put : h) {
    if (put.kind != Kind::put) continue;
    const Event* last = before(h, put);
    if (last != nullptr && last->kind == Kind::gone) {
      const Event* gone = last;
      last = before(h, *gone);
      if (last == nullptr || own_deletion(h, *last, *gone)) continue;
    }
    if (last == nullptr || model::owner_of(last->lock_id) == model::owner_of(put.lock_id)) continue;
    auto given = put.at_ns;
    const Event* send = sent(h, put);
    for (const Event& r : h) {
      const bool answer = r.kind == Kind::reply && r.process == send->process &&
                          r.command == send->command && r.outcome == "done";
      if (answer) given = std::min(given, r.at_ns);
    }
    if (given < sent(h, *last)->at_ns + 1'000'000'000) return true;  // the lease of all stories
  }
  return false;
}

bool deletes_anothers(const History& h) {
  for (const Event& r : h) {
    if (r.kind != Kind::reply || r.detail != "delete" || r.matched == 0) continue;
    for (const Event& gone : h) {
      if (gone.kind != Kind::gone || gone.order != r.order) continue;
      const Event* last = before(h, gone);
      if (last == nullptr || model::owner_of(last->lock_id) != r.owner) return true;
    }
  }
  return false;
}

/// All stories: a lease of 1,000 ms from the sending, nobody paused.
bool notified_wrong(const History& h, const Event& granted) {
  if (answers(h, granted, "yes").empty() && answers(h, granted, "no").empty()) return false;
  const auto deadline = granted.sent_ns + 1'000'001'000;
  for (const Event* yes : answers(h, granted, "yes")) {
    if (yes->until_ns > std::min(deadline, granted.until_ns)) return true;
    for (const Event* no : answers(h, granted, "no")) {
      if (yes->until_ns > no->until_ns) return true;
    }
  }
  const auto latest = std::min(deadline, granted.until_ns) + lateness(h);
  bool in_time = false, need_not = h.back().at_ns <= latest;
  for (const Event& e : h) {
    const bool own = same_session(e, granted);
    if (e.kind == Kind::told && own && e.at_ns <= latest) in_time = true;
    if (e.kind == Kind::release && own && e.at_ns <= latest) need_not = true;
    if (e.kind == Kind::crash && e.process == granted.process) need_not = true;
  }
  return !in_time && !need_not;
}

bool not_told(const History& h) {
  return std::any_of(h.begin(), h.end(), [&](const Event& e) {
    return e.kind == Kind::granted && notified_wrong(h, e);
  });
}

bool tokens_do_not_rise(const History& h) {
  for (const Event& a : h) {
    if (a.kind != Kind::granted) continue;
    const auto first = written(h, a);
    if (!first || *first != a.token) return true;
    for (const Event& b : h) {
      if (b.kind != Kind::granted || &a == &b || a.name != b.name) continue;
      const auto second = written(h, b);
      if (second && *first < *second && a.token >= b.token) return true;
    }
  }
  return false;
}

bool fence_fails(const History& h) {
  const auto rank = [&](const Event& stored) {
    for (const Event& e : h) {
      if (e.kind == Kind::granted && e.owner == stored.owner) return written(h, e);
    }
    return std::optional<std::int64_t>();
  };
  for (const Event& a : h) {
    if (a.kind != Kind::stored) continue;
    for (const Event& b : h) {
      if (b.kind != Kind::stored || a.name != b.name || b.order <= a.order) continue;
      const auto earlier = rank(a), later = rank(b);
      if (earlier && later && *earlier > *later) return true;
    }
  }
  for (const Event& w : h) {
    if (w.kind != Kind::write || w.outcome != "refused") continue;
    for (const Event& g : h) {
      if (g.kind != Kind::granted || !same_session(g, w)) continue;
      bool before = false, after = false;  // its user had held() true, and not once only
      for (const Event* yes : answers(h, g, "yes")) {
        before = before || yes->sent_ns <= w.sent_ns;
        after = after || yes->until_ns >= w.at_ns;
      }
      bool overtaken = false;  // by a later holder that has written, or may have by then
      for (const Event& s : h) {
        const bool by_then = s.at_ns <= w.at_ns + truth_lag(h);
        if (s.kind != Kind::stored || s.name != w.name || !by_then) continue;
        const auto own = written(h, g), other = rank(s);
        overtaken = overtaken || (other && (!own || *other > *own));
      }
      if (before && after && !overtaken) return true;
    }
  }
  return false;
}

/// Exchanges the tokens of two grants, as a lock that miscounts would.
void exchange_tokens(History& h, std::uint64_t seed) {
  std::vector<Event*> grants;
  for (Event& e : h) {
    if (e.kind == Kind::granted) grants.push_back(&e);
  }
  if (grants.size() < 2) return;
  const auto i = static_cast<std::size_t>(seed) % (grants.size() - 1);
  std::swap(grants[i]->token, grants[i + 1]->token);
}

/// Has the resource refuse a write that it took, or take two in the other order.
void spoil_the_fence(History& h, std::uint64_t seed) {
  std::vector<Event*> taken, stored;
  for (Event& e : h) {
    if (e.kind == Kind::write && e.outcome == "accepted") taken.push_back(&e);
    if (e.kind == Kind::stored) stored.push_back(&e);
  }
  if (seed % 4 == 1 && !taken.empty()) taken[seed % taken.size()]->outcome = "refused";
  if (seed % 4 == 2 && stored.size() > 1) {
    const auto i = seed % (stored.size() - 1);
    std::swap(stored[i]->order, stored[i + 1]->order);
  }
}

TEST(SlowCheckers, AgreeWithTheFastOnes) {
  std::map<std::string, int> violated;
  for (const char* lock : {"leasehold", "canary", "canary-extend"}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const auto plan = plan_from(numbers_of(seed),
                                  {.processes = 4, .locks = 1, .faulty_ms = 1'500, .lock = lock});
      auto one = simulate(plan);
      auto& h = one.run.history;
      if (seed % 4 == 0) exchange_tokens(h, seed);
      spoil_the_fence(h, seed);
      one.judgement = judge(h);
      const std::map<std::string, bool> slow{
          {"G2", two_hold(h)}, {"G3", fence_fails(h)}, {"G4", tokens_do_not_rise(h)}};
      for (const auto& f : one.judgement.findings) {
        const auto found = slow.find(f.guarantee);
        if (found == slow.end()) continue;
        EXPECT_EQ(f.verdict == Verdict::violated, found->second)
            << f.guarantee << " of " << lock << ", seed " << seed << ": " << f.why;
        violated[f.guarantee] += found->second ? 1 : 0;
      }
    }
  }
  for (const auto& [guarantee, times] : violated) {
    std::printf("%s was violated in %d of 120 histories\n", guarantee.c_str(), times);
  }
  EXPECT_GT(violated["G3"], 5);
  EXPECT_GT(violated["G4"], 5);
}

/// A history of two or three calls, right or wrong: who asks what, when the second takes over, who
/// releases late, and who is notified.
History drawn_history(std::mt19937& random) {
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  model::HistoryBuilder s;
  s.start(1, "a").start(2, "b").ask(10, "a", 1).win(10, 20, "a", 1, 100).ask(30, "b", 1);
  const int last = draw(0, 3) == 0 ? draw(1'000, 1'100) : draw(30, 1'000);
  s.yes(21, last, "a", 1);
  if (draw(0, 1) == 1) s.no(1'011, 1'012 + draw(0, 50), "a", 1);
  const int taken = draw(0, 2) == 0 ? draw(300, 1'100) : draw(1'010, 1'500);
  switch (draw(0, 3)) {
    case 0: s.release(std::min(last + 1, 299), 299, "a", 1, 105); break;
    case 1: s.lose(1'010, "a", 1).release(taken + 40, taken + 50, "a", 1, draw(0, 1) * 120); break;
    default:
      s.lose(1'010, "a", 1);
      if (draw(0, 2) > 0) s.told(draw(0, 2) == 0 ? draw(1'411, 1'600) : draw(1'010, 1'400), "a", 1);
  }
  s.win(taken, taken + 10, "b", 1, 110).yes(taken + 11, taken + draw(12, 900), "b", 1);
  return s.crash(taken + 950, "b").end(9'000);
}

TEST(SlowCheckers, AgreeOnAThousandDrawnHistories) {
  constexpr int kHistories = 1'000;
  std::mt19937 random(20);
  std::map<std::string, int> violated;
  int bad = 0;
  for (int i = 0; i < kHistories; ++i) {
    const auto h = drawn_history(random);
    const std::map<std::string, bool> slow{{"G1", taken_in_mid_lease(h)},
                                           {"G2", two_hold(h)},
                                           {"G5", not_told(h)},
                                           {"G6", deletes_anothers(h)}};
    bool any = false;
    for (const auto& f : model::judge(h, {})) {
      const auto found = slow.find(f.guarantee);
      if (found == slow.end()) continue;
      ASSERT_EQ(f.verdict == Verdict::violated, found->second)
          << "history " << i << ", " << f.guarantee << ": " << f.why;
      any = any || found->second;
      violated[f.guarantee] += found->second ? 1 : 0;
    }
    bad += any ? 1 : 0;
  }
  EXPECT_GE(bad * 3, kHistories);
  EXPECT_LT(bad, kHistories);
  for (const auto& [guarantee, times] : violated) {
    std::printf("%s was violated in %d of %d generated histories\n", guarantee.c_str(), times,
                kHistories);
    EXPECT_GT(times, 20) << guarantee;
  }
}

}  // namespace
}  // namespace leasehold::properties
