#include "properties/reference_checkers/histories/generated_histories.hpp"

/// Histories of a lock with a queue: served in its order and in time, or not.
namespace leasehold::properties {

using model::HistoryBuilder;

/// Three more processes are refused, and join the queue by that.
std::vector<const char*> HistoryGenerator::line_up(HistoryBuilder& s, bool sound) {
  std::vector<const char*> line;
  int at = 30;
  for (const char* process : {"b", "c", "d"}) {
    if (draw_.one_in(6)) continue;
    at += draw_.from(5, 60);
    const int timeout = draw_.one_in(3) ? at + draw_.from(200, 9'000) : -1;
    s.ask(at, process, 1, timeout, draw_.one_in(6)).refused(at, at + 8, process, 1);
    const int stays = draw_.any_of({sound ? 9'000 : draw_.from(5, 400), draw_.from(2'000, 9'000)});
    s.joins_queue(at + 4, process, 1, order_++, at + stays);
    if (!draw_.one_in(4)) s.reads(at + 9, process).hears(at + 15, process);
    if (draw_.one_in(6)) s.hears(at + draw_.from(16, 40), process);
    line.push_back(process);
  }
  return line;
}

/// The next in a sound queue is the first; in others any entry, and a release leaves out some.
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

/// An extension, which may take an entry out of the queue.
void HistoryGenerator::extend(HistoryBuilder& s, std::vector<const char*>& line, const char* holder,
                              int now, bool sound) {
  s.extend(now - 30, now - 24, holder, 1, order_);
  if (!sound && !line.empty() && draw_.one_in(2)) {
    s.leaves_queue(now - 30, line.back(), 1, order_);
    line.pop_back();
  }
  ++order_;
}

/// The next call has ended: it leaves in time or not, and gives back what it is granted.
void HistoryGenerator::pass_to_nobody(HistoryBuilder& s, const char* holder, const char* to,
                                      int now, bool sound) {
  s.ended(now - 40, to, 1, "timed_out");
  enum { nothing, leaves_late, gives_back_late } wrong = nothing;
  if (!sound) wrong = draw_.any_of({nothing, leaves_late, gives_back_late, gives_back_late});
  const int asks = now - 40 + (wrong == leaves_late ? draw_.from(1, 39) : 0);
  s.clean_up(asks, asks + draw_.any_of({5, 5, 60}), to, 1, 0);
  s.pass_on(now, now + 6, holder, 1, -1, to, 1, order_);
  const int heard = now + draw_.from(1, 30);
  s.hears(heard, to, order_ - (draw_.one_in(4) ? 1 : 0));
  ++order_;
  const int back = heard + (wrong == gives_back_late ? draw_.from(1, 900) : 0);
  s.clean_up(back, back + 6, to, 1, order_++);
}

/// Within a second of the server's clock from hand to hand, else past the calls that poll.
int HistoryGenerator::pass(HistoryBuilder& s, const char* holder, const char* to, int now,
                           bool other_second, bool sound) {
  if (other_second && (sound || draw_.one_in(2))) {
    s.offer(now, now + 6, holder, 1, order_++);
    s.win(now + 26, now + 34, to, 1, order_++);
    return now + 34;
  }
  const bool prompt = sound || !draw_.one_in(3);
  const int heard = now + 8 + draw_.from(1, prompt ? 14 : 6'000);
  s.hears(heard, to, order_).pass_on(now, now + 6, holder, 1, heard, to, 1, order_);
  ++order_;
  return heard;
}

/// Holding after holding, until no call waits or a holder dies.
void HistoryGenerator::pass_along(HistoryBuilder& s, std::vector<const char*> line, bool sound) {
  constexpr int kSecond = 1'000;
  const char* holder = "a";
  int given = 14, now = 150 + draw_.from(50, 600);
  while (!line.empty()) {
    if (draw_.one_in(4)) extend(s, line, holder, now, sound);
    if (line.empty()) break;
    if (!sound && draw_.one_in(8)) {  // a release that saw the queue or did not
      s.release(now, now + 10, holder, 1, order_);
      for (const char* one : line) s.leaves_queue(now, one, 1, order_);
      return;
    }
    const auto next = choose_next(s, line, now, sound);
    const char* to = line[next];
    line.erase(line.begin() + static_cast<std::ptrdiff_t>(next));
    if (!draw_.one_in(3)) s.refused(now - 60, now - 52, to, 1);  // its entry is renewed
    if (draw_.one_in(6)) return pass_to_nobody(s, holder, to, now, sound);
    const int heard = pass(s, holder, to, now, now / kSecond != given / kSecond, sound);
    holder = to;
    given = heard > now + 26 && now / kSecond != given / kSecond ? now + 26 : now;
    now = heard + draw_.any_of({draw_.from(70, 300), draw_.from(70, 300), draw_.from(300, 3'000)});
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
  const bool sound = draw_.one_in(4);
  const auto line = line_up(s, sound);
  if (draw_.one_in(6)) {
    s.crash(200, "a");  // no process serves a waiting call
  } else {
    pass_along(s, line, sound);
  }
  world(s);
  auto h = s.end(draw_.from(9'000, 22'000));
  if (!sound && draw_.one_in(20)) {  // past another
    auto* second = draw_.pick(h, [](const model::Event& e) {
      return e.kind == model::Kind::place && e.count == 2;
    });
    if (second != nullptr) second->count = 1;
  }
  befall(h);
  spoiler_.lose_some(h);
  return h;
}

}  // namespace leasehold::properties
