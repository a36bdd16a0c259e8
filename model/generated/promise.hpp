#pragma once

#include <gtest/gtest.h>

#include <string>

#include "model/containers/enum_set.hpp"
#include "model/generated/sound_histories.hpp"
#include "model/guarantees/checker_stories.hpp"

/// What the tests of single promises share. Each promise is kept to the last millisecond in one
/// generated history, and broken by little in the next, beside locks with which all is well.
namespace leasehold::model {

/// Where a promise is kept or broken: at the lock "other", by the processes d, e and f.
struct Scene {
  static constexpr int kLease = SoundHistories::kLease, kTimeout = 300,
                       kAttempts = SoundHistories::kAttempts;
  /// Two clocks may count the lease of a dead holder apart by 1 ms.
  static constexpr int kPassesOn = kLease + 1 + kAttempts;

  Draws& draw;
  HistoryBuilder& h;
  int late, lag, at;  ///< in ms: by how much a process and the truth may be late; a begin
  int due = 0;        ///< from when on delays may put the promise off; 0: it is not about time

  static std::int64_t order(int at_ms) { return SoundHistories::order(at_ms); }
  [[nodiscard]] int sent() const { return at + 2; }
  /// When the lease of `holds` is over.
  [[nodiscard]] int lease_end() const { return sent() + 1'000; }
  /// d has the lock from then on.
  HistoryBuilder& holds() {
    h.ask(at, "d", 1);
    return h.win(sent(), at + 9, "d", 1, order(sent()));
  }
  /// A call of e waits, and was refused at first.
  HistoryBuilder& waits(int asked, int session = 1, int until = -1) {
    h.ask(asked, "e", session, until);
    return h.refused(asked, asked + 8, "e", session);
  }
  /// d has the lock, and a call of e waits for it.
  HistoryBuilder& contended() {
    holds();
    return waits(at + 20);
  }
  HistoryBuilder& gets(int won, int session = 1) {
    return h.win(won, won + 8, "e", session, order(won));
  }
};

/// What explains that something is late: the machine stood still, or its process; its servers had
/// no majority or answered slowly; its only worker was taken. A hung command explains nothing.
enum class Delay : std::uint8_t { machine, process, majority, servers, worker, hung, count };
using Delays = EnumSet<Delay>;

struct Promise {
  const char* name;
  Check check;
  const char* words;  ///< that the finding has
  /// Plays it. It is broken if `by`, which is in ms where it is a bound, is above 0.
  void (*story)(Scene& scene, int by);
  Delays excused_by = {};
  const char* who = "e";  ///< the process that has to act
};

inline const Delays kNothing{};
inline const Delays kProcess{Delay::machine, Delay::process};
inline const Delays kWorker{Delay::machine, Delay::process, Delay::worker};
inline const Delays kServers{Delay::machine, Delay::process, Delay::majority, Delay::servers};
inline const Delays kWaiters{Delay::machine, Delay::process, Delay::majority, Delay::servers,
                             Delay::worker};

inline void delay(HistoryBuilder& h, Delay why, int from, int to, const std::string& who) {
  switch (why) {
    case Delay::machine: h.stall(from, to).stall(from, to, "member 0"); break;
    case Delay::process: h.dawdles(from, to, who); break;
    case Delay::majority: h.no_majority(from, to); break;
    case Delay::servers: h.slow(from, to, who); break;
    case Delay::worker: h.busy(from, to, who); break;
    case Delay::hung: h.busy(from, to, who).unanswered(); break;
    case Delay::count: break;
  }
}

struct Trial {
  History history;
  bool is_timed;
};

/// A history in which a promise is tried, and a delay of that length comes where it may matter;
/// none if `lasts` is 0. Also delays of others, and what was over before, which explain nothing.
inline Trial tried(const Promise& promise, std::uint32_t seed, int by, Delay why = Delay::machine,
                   int lasts = 0) {
  Draws draw(seed);
  HistoryBuilder h;
  h.with([](Event& run) { run.at_ns = -20'000 * kMs; });
  SoundHistories others(draw);
  if (others.is_exact()) h.exact();
  // In these an own delete finds nothing where a document is: no abstract lock does so.
  if (promise.check != Check::refinement) others.play(h);
  const int at = draw.from(50, 700);
  h.named("other").start(1, "d").start(1, "e").start(1, "f");
  h.dawdles(20, 7'000, "b").slow(20, 7'000, "c").fault(30, "cut-link", "", "c");
  h.stall(-9'900, -9'000).no_majority(-9'900, -9'000);
  Scene scene{draw, h, others.late(), others.is_exact() ? 0 : 1'000, at};
  promise.story(scene, by);
  if (lasts > 0 && scene.due > 0) delay(h, why, scene.due, scene.due + lasts, promise.who);
  return {h.end(30'000), scene.due > 0};
}

inline std::string lines_of(const History& h) {
  std::string lines;
  for (const auto& e : h) lines += to_json(e) + '\n';
  return lines;
}

/// Whether the promise is kept there, or broken as it says.
inline void expect_judged(const Promise& promise, const Trial& trial, bool is_broken) {
  const History& h = trial.history;
  const auto d = digest(h);
  Acceptance beside;
  auto all = judge(d, beside);
  all.insert(all.end(), beside.steps.begin(), beside.steps.end());
  const auto f = find(all, promise.check);
  const bool said = f.violations > 0 && f.why.find(promise.words) != std::string::npos;
  EXPECT_EQ(f.violations > 0, is_broken) << f.why << '\n' << lines_of(h);
  EXPECT_TRUE(said || f.violations == 0) << f.why << '\n' << lines_of(h);
}

class KeptPromises : public testing::TestWithParam<Promise> {};

[[nodiscard]] inline std::string promise_name(const testing::TestParamInfo<Promise>& of) {
  return of.param.name;
}

}  // namespace leasehold::model
