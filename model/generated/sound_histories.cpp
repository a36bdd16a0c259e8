#include "model/generated/sound_histories.hpp"

#include <algorithm>

namespace leasehold::model {

/// Its lease is over, and its user is notified in time.
void SoundHistories::loses(HistoryBuilder& s, int at, const char* process, int session) {
  s.lose(at, process, session).notified(at + draw_.from(0, late_), process, session);
  if (draw_.one_in(2)) s.no(at + 1, at + draw_.from(2, 60), process, session);
}

/// A call that waits gets the lock when it is free, or returns by its timeout. `free`: from when on
/// the lock may be taken; `died`: because its holder did, so that this is late.
void SoundHistories::serve(HistoryBuilder& s, const char* process, int asked, int& free,
                           bool& died) {
  const int until = draw_.any_of({-1, 0, asked + draw_.from(200, 7'000)});
  const bool has_waited = asked <= free;
  s.ask(asked, process, 1, until, until != 0 && draw_.one_in(3));
  if (has_waited) s.refused(asked, asked + 8, process, 1);
  const int earliest = std::max(asked, free + 1);
  const int longest = died ? kAttempts - kExpires + kLease : kAttempts;
  const int won = earliest + (has_waited ? draw_.from(20, longest) : 0);
  if (until == 0 && has_waited) {
    s.ended(asked + draw_.from(9, 300 + late_), process, 1, "refused");
    return;
  }
  if (until > 0 && until < won + 20) {
    s.ended(until + draw_.from(0, late_), process, 1, "timed_out");
    return;
  }
  s.win(won, won + 10, process, 1, order(won)).yes(won + 11, won + 29, process, 1);
  if (!draw_.one_in(3)) s.write(won + 14, won + 18, process, 1, "accepted", order(won, 1));
  died = draw_.one_in(3);
  if (died) {
    s.crash(won + 40, process);
    free = won + kExpires;
  } else {
    s.release(won + 30, won + 40, process, 1, order(won + 30));
    free = won + 30;
  }
}

void SoundHistories::play(HistoryBuilder& s) {
  s.start(1, "a").start(2, "b").start(3, "c").ask(10, "a", 1).win(14, 20, "a", 1, order(14));
  const int over = draw_.from(100, 600);
  const bool extends = draw_.one_in(3);
  const int sent = extends ? 60 : 14;
  if (extends) s.extend(60, 80, "a", 1, order(60));
  if (!draw_.one_in(3)) s.write(24, 28, "a", 1, "accepted", order(24));
  int free = over;
  bool died = false;
  switch (draw_.from(0, 4)) {
    case 0: s.yes(21, over - 1, "a", 1).release(over, over + 10, "a", 1, order(over)); break;
    case 1:
      s.yes(21, over - 1, "a", 1).ask(30, "a", 2);
      s.hand_over(over, over + 10, "a", 1, 2, order(over)).yes(over + 11, over + 49, "a", 2);
      s.release(over + 50, over + 60, "a", 2, order(over + 50));
      free = over + 50;
      break;
    case 2:
      s.yes(21, sent + kLease, "a", 1);
      loses(s, sent + kLease, "a", 1);
      s.release(1'110, 1'120, "a", 1, 0);
      died = true;
      break;
    default: s.yes(21, over - 1, "a", 1).crash(over, "a"); died = true;
  }
  if (died) free = sent + kExpires;
  // Who asks first is served first.
  const int first = draw_.any_of({draw_.from(40, 90), draw_.from(90, 2'500)});
  serve(s, "b", first, free, died);
  serve(s, "c", first + draw_.any_of({draw_.from(0, 50), draw_.from(50, 2'000)}), free, died);
  if (died) s.gone(free + draw_.from(0, kLease), order(free, 5));
}

void SoundHistories::disturb(HistoryBuilder& s) {
  const int from = draw_.from(5, 6'000), to = from + draw_.from(20, 3'000);
  const int early = draw_.from(5, 60), before_death = draw_.from(61, 99);
  const char* process = draw_.any_of({"a", "b"});
  switch (draw_.from(0, 6)) {
    case 0:
      s.fault(from, draw_.any_of({"step-up", "clock-jump", "ttl-off", "cut-link"}), "",
              draw_.any_of({"", "b"}));
      break;
    case 1: s.slow(early, before_death, process); break;
    case 2: s.dawdles(early, before_death, process); break;
    case 3: s.stall(from, to, draw_.any_of({kMachine, "member 0"})); break;
    case 4: s.no_majority(from, to); break;
    case 5: s.pause(early, process).resume(before_death, process); break;
    default: s.fault(from, "partition", "begins").fault(to, "partition", "ends");
  }
}

/// Within a second of the server's clock from hand to hand, else past the calls that poll. Returns
/// when the next holder has it.
int SoundHistories::pass(HistoryBuilder& s, const char* holder, const char* to, int now,
                         bool other_second) {
  if (other_second) {
    s.offer(now, now + 6, holder, 1, order(now)).win(now + 26, now + 34, to, 1, order(now + 26));
    return now + 34;
  }
  const int heard = now + 8 + draw_.from(1, 14);
  s.hears(heard, to, order(now)).pass_on(now, now + 6, holder, 1, heard, to, 1, order(now));
  return heard;
}

/// Three more processes are refused, and join the queue by that. Each has the lock in its turn.
void SoundHistories::play_queue(HistoryBuilder& s) {
  constexpr int kSecond = 1'000;
  s.start(1, "a").start(2, "b").start(3, "c").start(4, "d").ask(10, "a", 1);
  s.win(14, 20, "a", 1, order(14));
  std::vector<const char*> line;
  int at = 30;
  for (const char* process : {"b", "c", "d"}) {
    if (draw_.one_in(6)) continue;
    at += draw_.from(10, 40);
    s.ask(at, process, 1).refused(at, at + 8, process, 1);
    s.joins_queue(at + 4, process, 1, order(at + 4), at + draw_.from(6'000, 9'000));
    if (!draw_.one_in(4)) s.reads(at + 9, process).hears(at + 15, process);
    line.push_back(process);
  }
  const char* holder = "a";
  int given = 14, now = 200 + draw_.from(50, 600);
  for (const char* to : line) {
    if (draw_.one_in(4)) s.extend(now - 30, now - 24, holder, 1, order(now - 30));
    // Its entry is renewed, because a lease counts from that.
    if (now > 300 || draw_.one_in(2)) s.refused(now - 60, now - 52, to, 1);
    const bool other_second = now / kSecond != given / kSecond;
    if (draw_.one_in(6) && !other_second && to == line.back()) {
      // It has ended, asks to leave, and gives back what it is granted nevertheless.
      s.ended(now - 40, to, 1, "timed_out").clean_up(now - 40, now - 20, to, 1, 0);
      s.pass_on(now, now + 6, holder, 1, -1, to, 1, order(now));
      const int heard = now + draw_.from(1, 30);
      s.hears(heard, to, order(now)).clean_up(heard, heard + 6, to, 1, order(heard));
      return;
    }
    const int heard = pass(s, holder, to, now, other_second);
    holder = to;
    given = other_second ? now + 26 : now;
    now = heard + draw_.from(70, 600);
  }
  s.release(now, now + 10, holder, 1, order(now));
}

/// Another's holding of a lock, extended until it is over. Returns when.
int SoundHistories::holds_for_others(HistoryBuilder& s, const char* name, const char* process,
                                     int session) {
  const int from = draw_.from(5, 300);
  const int until = from + draw_.any_of({draw_.from(30, 900), draw_.from(900, 8'000)});
  s.named(name).ask(from, process, session);
  s.win(from, from + 9, process, session, order(from, session));
  for (int at = from + 300; at + 5 < until; at += 300) {
    s.extend(at, at + 5, process, session, order(at, session));
  }
  s.yes(from + 10, until - 1, process, session);
  s.release(until, until + 8, process, session, order(until, session));
  return until;
}

/// One of two slots, or none in time.
void SoundHistories::permit_call(HistoryBuilder& s) {
  const int of_first = holds_for_others(s, "s#0", "a", 1);
  const int of_second = holds_for_others(s, "s#1", "c", 2);
  const char* slot = of_first < of_second ? "s#0" : "s#1";
  const int asked = draw_.any_of({draw_.from(310, 900), draw_.from(310, 4'000)});
  const int won = std::max(asked + 20, std::min(of_first, of_second) + 10) + draw_.from(0, 2'000);
  const int until = draw_.any_of({0, asked + draw_.from(300, 7'000), won + 500});
  const bool gets_it = until > won + 10;
  s.asks_permit(asked, "b", 1, 2, until, "s", gets_it);
  s.named("s#0").ask(asked, "b", 1, 0).refused(asked + 1, asked + 9, "b", 1);
  s.ended(asked + 9, "b", 1, "refused");
  if (!gets_it) {
    const int ends = until == 0 ? asked + draw_.from(10, 900) : until + draw_.from(0, late_);
    s.gets_no_permit(ends, "b", 1, until == 0 ? "refused" : "timed_out");
    return;
  }
  s.named(slot).ask(won, "b", 2, 0).win(won, won + 9, "b", 2, order(won, 4));
  s.gets_permit(won + 10, "b", 1, slot).yes(won + 11, won + 30, "b", 2);
  s.release(won + 31, won + 40, "b", 2, order(won + 31, 4));
}

/// The first is won at once, and extended; the second is another's.
void SoundHistories::joint_call(HistoryBuilder& s) {
  const std::vector<std::string> names{"x", "y"};
  const int free = holds_for_others(s, "y", "a", 1);
  const int asked = draw_.any_of({draw_.from(310, 900), draw_.from(310, 4'000)});
  const int won = std::max(asked + 20, free + draw_.from(20, kAttempts));
  const int until = draw_.any_of({asked + draw_.from(300, 7'000), won + 500});
  const bool gets_both = until > won + 10;
  s.asks_all(asked, "b", 1, names, until, gets_both);
  s.named("x").ask(asked, "b", 1, until).win(asked, asked + 9, "b", 1, order(asked, 3));
  const int over = gets_both ? won + 10 : until + draw_.from(0, late_);
  for (int at = asked + 300; at + 5 < over; at += 300) s.extend(at, at + 5, "b", 1, order(at, 3));
  s.named("y").ask(asked + 10, "b", 2, until);
  if (gets_both) {
    s.win(won, won + 9, "b", 2, order(won, 4));
    s.gets_all(over, "b", 1, names, {order(asked, 3), order(won, 4)});
    s.yes(over + 1, over + 30, "b", 2).release(over + 40, over + 48, "b", 2, order(over + 40, 4));
  } else {
    s.ended(over, "b", 2, "timed_out").gets_not_all(over, "b", 1, names, "timed_out");
  }
  s.named("x").release(over + 50, over + 58, "b", 1, order(over + 50, 3));
}

void SoundHistories::play_calls(HistoryBuilder& s) {
  s.start(1, "a").start(2, "b").start(3, "c");
  draw_.one_in(2) ? permit_call(s) : joint_call(s);
}

}  // namespace leasehold::model
