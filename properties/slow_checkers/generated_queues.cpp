#include "properties/slow_checkers/generated_histories.hpp"

/// Histories of a lock with a queue: served in its order and in time, or not.
namespace leasehold::properties {

using model::HistoryBuilder;

/// Three more processes are refused, and join the queue by that.
std::vector<const char*> HistoryGenerator::line_up(HistoryBuilder& s) {
  std::vector<const char*> line;
  int at = 30;
  for (const char* process : {"b", "c", "d"}) {
    if (draw_.one_in(6)) continue;
    at += draw_.from(5, 60);
    const int timeout = draw_.one_in(3) ? at + draw_.from(200, 9'000) : -1;
    s.ask(at, process, 1, timeout, draw_.one_in(6)).refused(at, at + 8, process, 1);
    const int stays = draw_.any_of({draw_.from(5, 400), draw_.from(2'000, 9'000)});
    s.joins_queue(at + 4, process, 1, order_++, at + stays);
    line.push_back(process);
  }
  return line;
}

/// Who is next in a sound queue is the first; in others anybody, and a release leaves out some.
std::size_t HistoryGenerator::choose_next(HistoryBuilder& s, std::vector<const char*>& line,
                                          int now, bool sound) {
  if (sound) return 0;
  if (line.size() > 1 && draw_.one_in(3)) {
    if (draw_.one_in(4)) s.clean_up(now - 3, now + 3, line.front(), 1, 0);  // it had given up
    s.leaves_queue(now, line.front(), 1, order_);
    line.erase(line.begin());
    return 0;
  }
  return draw_.one_in(3) ? 0 : line.size() - 1;
}

/// Holding after holding, until nobody waits or a holder dies.
void HistoryGenerator::pass_along(HistoryBuilder& s, std::vector<const char*> line) {
  const bool sound = draw_.one_in(6), prompt = !draw_.one_in(3);
  const char* holder = "a";
  int now = 150 + draw_.from(50, 600);
  while (!line.empty()) {
    const auto next = choose_next(s, line, now, sound);
    const char* to = line[next];
    line.erase(line.begin() + static_cast<std::ptrdiff_t>(next));
    if (!draw_.one_in(3)) s.refused(now - 20, now - 12, to, 1);  // its entry is renewed
    const int heard = now + 8 + (prompt ? draw_.from(1, 40) : draw_.from(1, 6'000));
    s.pass_on(now, now + 6, holder, 1, heard, to, 1, order_++);
    holder = to;
    now = heard + draw_.any_of({draw_.from(40, 300), draw_.from(40, 300), draw_.from(300, 3'000)});
    if (draw_.one_in(8)) {
      s.crash(now, holder);
      return;
    }
  }
  s.release(now, now + 10, holder, 1, order_++);
}

model::History HistoryGenerator::queue_history() {
  begin_history();
  HistoryBuilder s;
  if (late_ == 0) s.exact();
  s.start(1, "a").start(2, "b").start(3, "c").start(4, "d").ask(10, "a", 1);
  s.win(14, 20, "a", 1, 100);
  order_ = 101;
  const auto line = line_up(s);
  if (draw_.one_in(6)) {
    s.crash(200, "a");  // whoever waits is served by nobody
  } else {
    pass_along(s, line);
  }
  world(s);
  auto h = s.end(draw_.from(9'000, 22'000));
  befall(h);
  spoiler_.lose_some(h);
  return h;
}

}  // namespace leasehold::properties
