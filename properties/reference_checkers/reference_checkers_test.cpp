#include "properties/reference_checkers/reference_checkers.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "properties/reference_checkers/comparison.hpp"
#include "properties/reference_checkers/histories/generated_histories.hpp"

/// Every checker and its slow twin have to agree on generated histories, good and bad.
namespace leasehold::properties {
namespace {

using model::Event;
using model::Kind;

std::string lines_of(const model::History& h) {
  std::string lines;
  for (const auto& e : h) lines += to_json(e) + '\n';
  return lines;
}

/// Whether both find the same. Shows the first history of which they do not: all `agreed` before.
bool agree(const model::History& h, int number, int agreed, const model::CheckSet& compared = {}) {
  const auto differs = difference(h, compared);
  if (!differs.empty() && agreed == number) {
    ADD_FAILURE() << "history " << number << ", " << differs << '\n'
                  << lines_of(smallest_different(h, compared));
  }
  return differs.empty();
}

class SlowCheckers : public testing::TestWithParam<model::Check> {};

/// All checkers look at all histories, but only the monitors at those that were generated to break
/// a rule: there single events are changed that have to agree with others. Each set is generated
/// for one guarantee, and enough of it breaks that one.
TEST_P(SlowCheckers, AgreeOnAThousandGeneratedHistories) {
  constexpr int kHistories = 1'000;
  const auto check = GetParam();
  const bool is_rule = kind_of(check) == model::CheckKind::rule;
  const auto compared = is_rule ? checks_of(model::CheckKind::rule) : model::CheckSet{};
  HistoryGenerator generator(check);
  int agreed = 0, bad = 0, good = 0;
  for (int i = 0; i < kHistories; ++i) {
    const auto h = generator.history();
    agreed += agree(h, i, agreed, compared) ? 1 : 0;
    for (const auto& f : model::judge(h, {})) {
      if (f.check != check) continue;
      bad += f.violations > 0 ? 1 : 0;
      good += f.violations == 0 && f.checked > 0 ? 1 : 0;
    }
  }
  std::printf(
      "%s: violated in %d of %d generated histories, holds in %d; all checkers agree in %d\n",
      to_string(check), bad, kHistories, good, agreed);
  EXPECT_EQ(agreed, kHistories);
  EXPECT_GE(bad * 3, kHistories);
  EXPECT_GE(good * 10, kHistories);
}

/// Of G7, had nobody stood in a queue.
std::int64_t violations_without_queue(model::History h) {
  std::erase_if(h, [](const model::Event& e) { return e.kind == model::Kind::place; });
  for (const auto& f : model::judge(h, {})) {
    if (f.check == model::Check::G7) return f.violations;
  }
  return 0;
}

/// Of locks with a queue: what G7 promises who stands there.
TEST(SlowCheckersOfQueues, AgreeOnAThousandGeneratedHistories) {
  constexpr int kHistories = 1'000;
  HistoryGenerator generator(model::Check::G7);
  int agreed = 0, bad = 0, good = 0;
  std::map<std::string, int> tested, broken;  // in so many
  const auto rules = {"which served",     "an entry that was over",  "had no turn",
                      "took it out",      "left it out",             "took it along",
                      "joined the queue", "did not act on it",       "did not read on",
                      "was not served"};
  for (int i = 0; i < kHistories; ++i) {
    const auto h = generator.queue_history();
    agreed += agree(h, i, agreed) ? 1 : 0;
    for (const auto& f : model::judge(h, {})) {
      if (f.check != model::Check::G7) continue;
      bad += f.violations > violations_without_queue(h) ? 1 : 0;
      good += f.violations == 0 && f.checked > 0 ? 1 : 0;
      for (const auto& [what, count] : f.counts) ++tested[what];
      for (const char* rule : rules) broken[rule] += f.why.find(rule) == std::string::npos ? 0 : 1;
    }
  }
  std::printf(
      "queues: violated in %d of %d generated histories, holds in %d; all checkers agree in %d\n",
      bad, kHistories, good, agreed);
  EXPECT_EQ(agreed, kHistories);
  EXPECT_GE(bad * 3, kHistories);
  EXPECT_GE(good * 10, kHistories);
  for (const char* rule : rules) EXPECT_GE(broken[rule], 1) << rule;
  for (const char* often : {"queue_turns", "queue_waits", "places_kept_by_grants"}) {
    EXPECT_GE(tested[often] * 3, kHistories) << often;
  }
  for (const char* seldom : {"queue_news", "queue_offers", "queue_left", "given_back",
                             "places_kept_by_extensions"}) {
    EXPECT_GE(tested[seldom] * 50, kHistories) << seldom;
  }
}

/// Of users' calls for a permit, or for several locks.
TEST(SlowCheckersOfCalls, AgreeOnAThousandGeneratedHistories) {
  constexpr int kHistories = 1'000;
  HistoryGenerator generator(model::Check::G7);
  int agreed = 0, good = 0;
  std::map<std::string, int> tested, broken;  // in so many
  const auto rules = {"a call of b ended", "got no permit", "left a slot free", "did not get them",
                      "was never granted it", "after it was lost"};
  for (int i = 0; i < kHistories; ++i) {
    const auto h = generator.call_history();
    agreed += agree(h, i, agreed) ? 1 : 0;
    for (const auto& f : model::judge(h, {})) {
      if (f.check != model::Check::G7) continue;
      good += f.violations == 0 && f.checked > 0 ? 1 : 0;
      for (const auto& [what, count] : f.counts) ++tested[what];
      for (const char* rule : rules) broken[rule] += f.why.find(rule) == std::string::npos ? 0 : 1;
    }
  }
  std::printf("calls: hold in %d of %d generated histories; all checkers agree in %d\n", good,
              kHistories, agreed);
  EXPECT_EQ(agreed, kHistories);
  EXPECT_GE(good * 10, kHistories);
  for (const char* rule : rules) EXPECT_GE(broken[rule], 5) << rule;
  for (const char* often : {"permit_calls", "permit_waits", "all_calls"}) {
    EXPECT_GE(tested[often] * 10, kHistories) << often;
  }
}

/// How often the guarantees with a bound in time are violated.
std::map<model::Check, std::int64_t> violations(const model::History& h) {
  std::map<model::Check, std::int64_t> all;
  for (const auto& f : model::judge(h, {})) all[f.check] = f.violations;
  return all;
}

model::History with_stall(model::History h, model::Span stall, const char* who) {
  Event e;
  e.kind = Kind::stall;
  e.victim = who;
  e.from_ns = stall.from;
  e.at_ns = stall.to;
  const auto later = std::find_if(h.begin() + 1, h.end(),
                                  [&](const Event& other) { return other.at_ns > e.at_ns; });
  h.insert(later, e);
  return h;
}

/// A world in which everybody, and the truth, may be later by so much.
model::History with_lateness(model::History h, std::int64_t more_ns) {
  Event& run = h.front();
  if (run.ttl_period_ms == 0) {
    const model::Allowances usual;
    run.lateness_ns = usual.lateness_ns;
    run.truth_lag_ns = usual.truth_lag_ns;
    run.ttl_period_ms = usual.ttl_period_ns / model::kMs;
    run.fault_echo_ms = usual.fault_echo_ns / model::kMs;
    run.live = true;  // a history that does not say its bounds is of a live run
  }
  run.lateness_ns += more_ns;
  run.truth_lag_ns += more_ns;
  return h;
}

/// A stall makes nothing worse, and nothing better than if all could be late by its length. Who saw
/// it, and how many, makes no difference; nor does one that is over before anything was due.
RC_GTEST_PROP(Stalls, ExcuseWhatTheyExplainAndNoMore, ()) {
  using enum model::Check;
  HistoryGenerator generator(*rc::gen::element(G5, G7, G8, release, needless),
                             *rc::gen::arbitrary<std::uint32_t>());
  const auto h = *rc::gen::arbitrary<bool>() ? generator.history() : generator.queue_history();
  const auto from = *rc::gen::inRange(5, 6'000) * model::kMs;
  const model::Span stall{from, from + *rc::gen::inRange(50, 3'000) * model::kMs};
  const auto before = violations(h);
  const auto of_machine = with_stall(h, stall, model::kMachine);
  const auto after = violations(of_machine);
  for (const auto& [check, count] : after) {
    RC_ASSERT(count <= before.at(check));
  }
  // An error has no bound in time: a stall in a call's last attempts excuses it whole.
  auto timed = h;
  for (Event& e : timed) {
    const bool ends =
        e.kind == Kind::ended || e.kind == Kind::permit_end || e.kind == Kind::all_end;
    if (ends && e.outcome != "granted") e.outcome = "timed_out";
  }
  const auto stalled = violations(with_stall(timed, stall, model::kMachine));
  const auto late = violations(with_lateness(timed, stall.to - stall.from));
  RC_LOG() << lines_of(timed);
  for (const auto check : {G5, G7, G8, needless}) {
    RC_LOG() << to_string(check) << '\n';
    RC_ASSERT(late.at(check) <= stalled.at(check));
  }
  auto of_all = of_machine;
  for (const char* who : {"member 0", "member 1", "member 2"}) {
    of_all = with_stall(of_all, stall, who);
  }
  RC_ASSERT(violations(of_all) == after);
  // What follows a stall, such as a pause between attempts, is over as well before the first call.
  auto early = h;
  early.front().at_ns = -20'000 * model::kMs;
  const model::Span over{-10'000 * model::kMs, -9'996 * model::kMs};
  RC_ASSERT(violations(with_stall(early, over, model::kMachine)) == before);
}

/// Those that have a twin; `difference` says if one has none.
std::vector<model::Check> guarantees() {
  model::HistoryBuilder nothing;
  std::vector<model::Check> all;
  for (const auto& [check, count] : slow_counts(nothing.end(1))) all.push_back(check);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, SlowCheckers, testing::ValuesIn(guarantees()),
                         [](const auto& of) {
                           std::string name = to_string(of.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace leasehold::properties
