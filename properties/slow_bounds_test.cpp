#include "properties/slow_bounds.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <random>

#include "model/checkers.hpp"
#include "model/history_builder.hpp"

/// Generated histories, good and bad, on which the checkers of G7, G8 and G9 and their slow twins
/// have to agree.
namespace leasehold::properties {
namespace {

using model::Event;
using model::History;
using model::Kind;

class Drawing {
 public:
  explicit Drawing(std::uint32_t seed) : random_(seed) {}

  int from(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return from(1, n) == 1; }
  template <typename T>
  T any_of(std::initializer_list<T> all) {
    return *(all.begin() + from(0, static_cast<int>(all.size()) - 1));
  }

  History history();

 private:
  struct Waiter {
    const char* process;
    int session, asked, patience;
    bool ends = false;
  };
  void holder(model::HistoryBuilder& s);
  void waiters(model::HistoryBuilder& s);
  void next_holder(model::HistoryBuilder& s);
  void world(model::HistoryBuilder& s);
  void spoil(History& h);

  std::mt19937 random_;
  int late_ = 0;             ///< by how much everybody may be, in ms
  int over_ = 0, gone_ = 0;  ///< when the first holder ended, and its document went; 0: never
  std::vector<Waiter> waiters_;
  std::int64_t order_ = 0;
};

/// It extends, and dies, releases, hands over, or leaves its document behind.
void Drawing::holder(model::HistoryBuilder& s) {
  s.start(1, "a").start(2, "b").start(3, "c").ask(10, "a", 1);
  if (one_in(8)) s.look(10, 12, "a");
  if (one_in(8)) s.refused(10, 13, "a", 1);
  s.win(14, 20, "a", 1, 100);
  over_ = from(100, 600);
  order_ = 110;
  if (one_in(3)) s.extend(60, 80, "a", 1, 105);
  switch (from(0, 5)) {
    case 0:
      s.release(over_, over_ + 10, "a", 1, order_++);
      gone_ = over_;
      if (one_in(4)) s.release(over_ + 20, over_ + 30, "a", 1, 0);
      return;
    case 1:
      s.ask(30, "a", 2).hand_over(over_, over_ + 10, "a", 1, 2, order_++);
      if (one_in(2)) return;
      s.release(over_ + 50, over_ + 60, "a", 2, order_++);
      gone_ = over_ + 50;
      return;
    case 2: s.lose(1'100, "a", 1).release(1'110, 1'120, "a", 1, 0); break;
    default: s.crash(over_, "a");
  }
  if (one_in(2)) return;
  gone_ = over_ + any_of({from(600, 2'000), from(2'000, 6'000)});
  s.gone(gone_, order_++);
}

void Drawing::waiters(model::HistoryBuilder& s) {
  for (const char* process : {"b", "c"}) {
    const int asked = any_of({from(40, 90), from(90, 2'500)});
    const int patience = any_of({-1, 0, asked + from(200, 2'000), asked + from(200, 7'000)});
    s.ask(asked, process, 1, patience, one_in(3) ? "healed" : "");
    if (one_in(2)) s.refused(asked, asked + 10, process, 1);
    waiters_.push_back({process, 1, asked, patience});
  }
}

/// Somebody gets it, sooner or later; somebody leaves, more or less in time.
void Drawing::next_holder(model::HistoryBuilder& s) {
  for (Waiter& w : waiters_) {
    const int earliest = std::max({w.asked, over_, gone_});
    if (!one_in(3) && order_ < 200) {
      const int won = earliest + any_of({from(20, 700), from(700, 2'500), from(2'500, 7'000)});
      order_ = 200;
      if (one_in(5)) {  // and is never answered
        s.win_too_late(won, won + 10, w.process, w.session, order_++);
        s.ended(won + from(10, 200), w.process, w.session, "timed_out");
        if (one_in(2)) s.ask(won + from(300, 4'000), w.process, 2, -1);
        continue;
      }
      s.win(won, won + 10, w.process, w.session, order_++);
      if (one_in(2)) s.release(won + 20, won + 30, w.process, w.session, order_++);
      if (one_in(4)) s.crash(won + 40, w.process);
      continue;
    }
    const int said = w.patience > 0 ? w.patience : w.asked + 300;
    if (one_in(10)) continue;
    const int late = one_in(3) ? from(0, 900) : from(0, late_);
    s.ended(said + late, w.process, w.session, one_in(10) ? "unauthorized" : "timed_out");
  }
}

void Drawing::world(model::HistoryBuilder& s) {
  if (one_in(5)) s.fault(from(5, 6'000), "step-up");
  if (one_in(3)) {
    const int from_ms = from(5, 6'000);
    s.stall(from_ms, from_ms + from(50, 3'000), one_in(2) ? "machine" : "member 0");
  }
  if (one_in(8)) {
    const int paused = from(100, 3'000);
    s.pause(paused, "b").resume(paused + from(10, 2'000), "b");
  }
}

/// What no lock of ours would do.
void Drawing::spoil(History& h) {
  const auto pick = [&](auto wanted) -> Event* {
    std::vector<Event*> found;
    for (Event& e : h) {
      if (wanted(e)) found.push_back(&e);
    }
    return found.empty()
               ? nullptr
               : found[static_cast<std::size_t>(from(0, static_cast<int>(found.size()) - 1))];
  };
  if (one_in(6)) {  // it asked again, found itself there, and did not see it
    Event* won = pick([](const Event& e) { return e.kind == Kind::reply && e.detail.empty(); });
    won->detail = "acquire";
    won->owner = won->process == "a" ? model::HistoryBuilder::owner("a", 1) : "somebody";
    won->lock_id = won->owner + ".1000.77";
    won->matched = from(0, 1);
  }
  if (one_in(6)) {  // it cleans up after nothing but refusals
    Event* refused = pick([](const Event& e) {
      return e.kind == Kind::reply && e.process != "a" && e.matched == 0 && e.detail.empty();
    });
    if (refused != nullptr) {
      refused->lock_id = model::HistoryBuilder::owner("a", 1) + ".1000.1";
      Event clean_up = *refused;
      clean_up.kind = Kind::send;
      clean_up.detail = "delete";
      clean_up.command = 900;
      clean_up.owner = model::HistoryBuilder::owner(refused->process, one_in(4) ? 9 : 1);
      clean_up.lock_id.clear();
      h.push_back(clean_up);
    }
  }
  if (one_in(6)) {
    Event wire;
    wire.kind = Kind::wire;
    wire.at_ns = 8'000 * model::kMs;
    wire.process = any_of({"a", "b"});
    wire.detail = any_of({"findAndModify", "delete", "update", "find"});
    wire.matched = from(1, 3);
    h.push_back(wire);
  }
  if (one_in(4)) {  // one answer was lost
    Event* reply = pick([](const Event& e) { return e.kind == Kind::reply; });
    reply->outcome = "unknown";
    reply->matched = reply->order = 0;
  }
  if (one_in(4)) {  // one event is missing
    const Event* lost = pick([](const Event& e) {
      return e.kind != Kind::run && e.kind != Kind::heal && e.kind != Kind::finish &&
             e.kind != Kind::start && e.kind != Kind::ask;
    });
    h.erase(h.begin() + (lost - h.data()));
  }
}

History Drawing::history() {
  over_ = gone_ = 0;
  waiters_.clear();
  model::HistoryBuilder s;
  late_ = one_in(2) ? 0 : 400;
  if (late_ == 0) s.exact();
  holder(s);
  waiters(s);
  next_holder(s);
  world(s);
  auto h = s.end(from(9'000, 13'000));
  if (one_in(4)) {
    for (Event& e : h) {
      if (e.kind == Kind::ask) e.drift_ppm = 5'000;
      if (e.kind == Kind::start) e.drift_ppm = any_of({0, -5'000, 4'000});
    }
  }
  for (int lasting = one_in(4) && !h.empty() ? from(1, 2) : 0; lasting > 0; --lasting) {
    for (const char* end : {"begins", "ends"}) {
      Event fault;
      fault.kind = Kind::fault;
      fault.at_ns =
          (end == std::string("begins") ? from(5, 3'000) : from(3'000, 6'000)) * model::kMs;
      fault.detail = "partition";
      fault.outcome = end;
      h.push_back(fault);
    }
  }
  spoil(h);
  sort_by_time(h);
  return h;
}

std::string transcript_of(const History& h) {
  std::string lines;
  for (const Event& e : h) lines += to_json(e) + '\n';
  return lines;
}

TEST(SlowBounds, AgreeOnAThousandDrawnHistories) {
  constexpr int kHistories = 1'000;
  Drawing drawing(21);
  std::map<std::string, int> good, bad;
  for (int i = 0; i < kHistories; ++i) {
    const auto h = drawing.history();
    const auto counted = slow_bounds(h);
    for (const auto& f : model::judge(h, {})) {
      const auto found = counted.find(f.guarantee);
      if (found == counted.end()) continue;
      ASSERT_EQ(f.violations, found->second)
          << "history " << i << ", " << f.guarantee << ": " << f.why << '\n'
          << transcript_of(h);
      bad[f.guarantee] += f.violations > 0 ? 1 : 0;
      good[f.guarantee] += f.violations == 0 && f.checked > 0 ? 1 : 0;
    }
  }
  for (const char* guarantee : {"G7", "G8", "G9"}) {
    std::printf("%s was violated in %d of %d generated histories, and held in %d\n", guarantee,
                bad[guarantee], kHistories, good[guarantee]);
    EXPECT_GE(bad[guarantee] * 3, kHistories) << guarantee;
    EXPECT_GT(good[guarantee] * 10, kHistories) << guarantee;
  }
}

}  // namespace
}  // namespace leasehold::properties
