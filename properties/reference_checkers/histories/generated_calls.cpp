#include <algorithm>

#include "properties/reference_checkers/histories/generated_histories.hpp"

/// Histories of users' calls that make several acquire calls: for a permit, or for several locks.
namespace leasehold::properties {

using model::HistoryBuilder;

/// Another's holding of a lock, extended until it is over. Returns when.
int HistoryGenerator::other_holds(HistoryBuilder& s, const char* name, const char* process,
                                  int session) {
  const int from = draw_.from(5, 300);
  const int until = from + draw_.any_of({draw_.from(30, 900), draw_.from(900, 8'000)});
  s.named(name).ask(from, process, session);
  s.win(from, from + 9, process, session, place(from, session));
  for (int at = from + 300; at < until; at += 300) {
    s.extend(at, at + 5, process, session, place(at, session));
  }
  s.yes(from + 10, until - 1, process, session);
  s.release(until, until + 8, process, session, place(until, session));
  return until;
}

/// One of some slots, or none in time. The call's attempts end as it likes.
void HistoryGenerator::permit_call(HistoryBuilder& s) {
  const std::initializer_list<const char*> slots{"s#0", "s#1"};
  const int permits = draw_.from(1, 3);
  int free = 0;
  const char* free_slot = "s#0";
  for (int i = 0; i < std::min(permits, 2); ++i) {
    const char* slot = slots.begin()[i];
    const int until = other_holds(s, slot, i == 0 ? "a" : "c", i + 1);
    if (i == 0 || until < free) free = until, free_slot = slot;
  }
  const int asked = draw_.any_of({draw_.from(310, 900), draw_.from(310, 4'000)});
  const int until = draw_.one_in(4) ? 0 : asked + draw_.from(300, 7'000);
  const bool healed = draw_.one_in(4);
  s.asks_permit(asked, "b", 1, permits, until, "s", healed);
  s.named("s#0").ask(asked, "b", 1, 0, healed).refused(asked + 1, asked + 9, "b", 1);
  s.ended(asked + 9, "b", 1, "refused");
  if (draw_.one_in(2)) {
    const int won = std::max(asked + 20, free + 10) +
                    draw_.any_of({draw_.from(0, 600), draw_.from(600, 7'000)});
    s.named(free_slot).ask(won, "b", 2, 0, healed).win(won, won + 9, "b", 2, place(won, 4));
    s.gets_permit(won + 10, "b", 1, free_slot).yes(won + 11, won + 30, "b", 2);
    s.release(won + 31, won + 40, "b", 2, place(won + 31, 4));
  } else if (!draw_.one_in(6)) {
    const int ends = until == 0 ? asked + draw_.from(10, 2'600)
                                : until + draw_.any_of({draw_.from(0, late_), draw_.from(0, 900)});
    s.gets_no_permit(ends, "b", 1, until == 0 ? "refused" : "timed_out");
  }
}

/// The first is won at once, the second is another's; what was won may be lost meanwhile.
void HistoryGenerator::joint_call(HistoryBuilder& s) {
  const std::vector<std::string> names{"x", "y"};
  const int free = other_holds(s, "y", "a", 1);
  const int asked = draw_.any_of({draw_.from(310, 900), draw_.from(310, 4'000)});
  const int until = draw_.one_in(5) ? 0 : asked + draw_.from(300, 7'000);
  const bool healed = draw_.one_in(4);
  s.asks_all(asked, "b", 1, names, until, healed);
  s.named("x").ask(asked, "b", 1, until, healed).win(asked, asked + 9, "b", 1, place(asked, 3));
  const int won = std::max(asked, free) + 20 +
                  draw_.any_of({draw_.from(0, 600), draw_.from(600, 7'000)});
  const int ends = until == 0 ? asked + draw_.from(10, 2'000)
                              : until + draw_.any_of({draw_.from(0, late_), draw_.from(0, 900)});
  const bool gets_both = !draw_.one_in(3), keeps = draw_.one_in(2);
  const int over = gets_both ? won + 10 : ends;
  for (int at = asked + 300; keeps && at < over; at += 300) {
    s.extend(at, at + 5, "b", 1, place(at, 3));
  }
  if (!keeps && over > asked + 1'000) loses(s, asked + 1'000, "b", 1);
  s.named("y").ask(asked + 10, "b", 2, until, healed);
  if (!gets_both) {
    const char* reason = until == 0 ? "refused" : draw_.any_of({"timed_out", "unavailable"});
    s.ended(ends, "b", 2, "timed_out");
    if (!draw_.one_in(6)) s.gets_not_all(ends, "b", 1, names, reason);
  } else {
    s.win(won, won + 9, "b", 2, place(won, 4));
      const auto of_y = place(won, draw_.one_in(6) ? 5 : 4);
    s.gets_all(over, "b", 1, names, {place(asked, 3), of_y}).yes(over + 1, over + 30, "b", 2);
    s.release(over + 40, over + 48, "b", 2, place(over + 40, 4));
  }
  if (keeps) s.named("x").release(over + 50, over + 58, "b", 1, place(over + 50, 3));
}

model::History HistoryGenerator::call_history() {
  begin_history();
  HistoryBuilder s;
  if (late_ == 0) s.exact();
  s.start(1, "a").start(2, "b").start(3, "c");
  draw_.one_in(2) ? permit_call(s) : joint_call(s);
  world(s);
  auto h = s.end(draw_.from(9'000, 22'000));
  befall(h);
  if (draw_.one_in(4)) spoiler_.lose_some(h);
  return h;
}

}  // namespace leasehold::properties
