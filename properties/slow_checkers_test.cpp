#include <gtest/gtest.h>

#include <cstdio>
#include <map>

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

/// When the holder of this grant stopped believing.
std::int64_t belief_end(const History& h, const Event& granted) {
  std::int64_t end = granted.until_ns;
  for (const Event& e : h) {
    if (e.kind == Kind::extended && same_session(e, granted)) end = std::max(end, e.until_ns);
  }
  for (const Event& e : h) {
    const bool ends = (e.kind == Kind::lost || e.kind == Kind::release) && same_session(e, granted);
    const bool dies = e.kind == Kind::crash && e.process == granted.process;
    if (ends || dies) end = std::min(end, e.at_ns);
  }
  return end;
}

/// The time of the write that made this grant, or nothing.
std::optional<std::int64_t> written(const History& h, const Event& granted) {
  for (const Event& e : h) {
    if (e.kind == Kind::put && e.lock_id == granted.lock_id) return e.order;
  }
  return std::nullopt;
}

bool two_believe(const History& h) {
  for (const Event& a : h) {
    if (a.kind != Kind::granted) continue;
    for (const Event& b : h) {
      if (b.kind != Kind::granted || &a == &b || a.name != b.name) continue;
      const auto from = std::max(a.at_ns, b.at_ns);
      if (from < std::min(belief_end(h, a), belief_end(h, b))) return true;
    }
  }
  return false;
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
      if (w.sent_ns >= g.at_ns && w.at_ns <= belief_end(h, g)) return true;
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

TEST(SlowCheckers, AgreeWithTheFastOnes) {
  std::map<std::string, int> violated;
  for (const char* lock : {"leasehold", "canary", "canary-extend"}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const auto plan = plan_from(numbers_of(seed),
                                  {.processes = 4, .locks = 1, .faulty_ms = 1'500, .lock = lock});
      auto one = simulate(plan);
      auto& h = one.run.history;
      if (seed % 4 == 0) {
        exchange_tokens(h, seed);
        one.judged = judge(h);
      }
      const std::map<std::string, bool> slow{
          {"G2", two_believe(h)}, {"G3", fence_fails(h)}, {"G4", tokens_do_not_rise(h)}};
      for (const auto& f : one.judged.findings) {
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
  EXPECT_GT(violated["G2"], 5);
  EXPECT_GT(violated["G3"], 5);
  EXPECT_GT(violated["G4"], 5);
}

}  // namespace
}  // namespace leasehold::properties
