#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/history/history_builder.hpp"

namespace leasehold::model {

/// What is drawn for a generated history: the same of the same seed.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}

  int from(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return from(1, n) == 1; }
  template <typename T>
  T any_of(std::initializer_list<T> all) {
    return *(all.begin() + from(0, static_cast<int>(all.size()) - 1));
  }

 private:
  std::mt19937 random_;
};

/// Generates a small history in which all is as it should be, with times up to the last allowed.
class SoundHistories {
 public:
  /// HistoryBuilder's, in ms: a lease, when its document expires, and how long a call that waits
  /// may leave a free lock.
  static constexpr int kLease = 1'000, kExpires = 1'500, kAttempts = 650;

  explicit SoundHistories(Draws& draws)
      : draw_(draws), is_exact_(draws.one_in(2)), late_(is_exact_ ? 0 : 400) {}

  /// What the lock "lock" goes through with the processes a, b and c: a holder, and waiting calls.
  void play(HistoryBuilder& s) {
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

  /// What the lock "shared" goes through: r and s read, r perhaps by two calls with one entry; t
  /// waits to write; u comes later, waits to read, and stands behind t. s may die.
  void play_readers(HistoryBuilder& h) {
    constexpr int kGood = 9'000;
    for (const char* process : {"r", "s", "t", "u"}) h.start(1, process);
    const bool share = draw_.one_in(2), dies = draw_.one_in(3), extends = draw_.one_in(2);
    const int more = draw_.from(0, 2);  // who comes later and waits to read
    h.named("shared").ask_shared(10, "r", 1).win(11, 16, "r", 1, order(11));
    if (share) h.ask_shared(12, "r", 2).shares(16, "r", 2, 1);
    const int came = draw_.from(20, 90);
    h.ask_shared(came, "s", 1).win(came + 1, came + 6, "s", 1, order(came + 1));
    if (draw_.one_in(2)) read(h, came + 10, "s");
    if (extends) h.extend(100, 108, "r", 1, order(100));
    const int waits = 120;
    h.ask(waits, "t", 1).refused(waits, waits + 8, "t", 1);
    h.joins_queue(waits + 4, "t", 1, order(waits + 4), kGood);
    std::vector<std::pair<std::string, int>> calls;
    for (int i = 1; i <= more; ++i) {
      const int at = waits + 20 * i;
      h.ask_shared(at, "u", i).refused(at, at + 8, "u", i);
      h.joins_queue(at + 4, "u", i, order(at + 4), kGood);
      calls.emplace_back("u", i);
    }
    const int over = draw_.from(200, 600);
    h.yes(17, over - 1, "r", 1).yes(came + 7, over - 1, "s", 1);
    if (share) h.yes(17, over + 29, "r", 2).releases_to_others(over, "r", 1);
    const int last = share ? over + 30 : over, entry = share ? 2 : 1;
    const bool first_goes_last = !dies && draw_.one_in(2);
    if (dies) h.crash(over, "s");
    if (!dies && !first_goes_last) h.leave(over + 5, over + 9, "s", 1, order(over + 5));
    int free = last + 40;
    if (dies || first_goes_last) h.leave(last, last + 8, "r", entry, order(last), 1);
    if (dies) {
      free = came + 1 + kExpires + draw_.from(0, 100);
      for (const auto& [process, session] : calls) {
        h.refused(free - 50 * session, free - 50 * session + 8, process, session);
      }
      h.win(free, free + 8, "t", 1, order(free));
    } else if (first_goes_last) {
      h.pass_on(free, free + 8, "s", 1, free + 8, "t", 1, order(free));
    } else {
      h.pass_on(last + 40, last + 48, "r", entry, last + 48, "t", 1, order(last + 40), 1);
    }
    h.yes(free + 9, free + 49, "t", 1);
    if (draw_.one_in(2)) h.write(free + 12, free + 18, "t", 1, "accepted", order(free, 2));
    free += 50;
    if (calls.empty()) h.release(free, free + 8, "t", 1, order(free));
    if (!calls.empty()) h.admits(free, free + 8, "t", 1, order(free), calls);
    for (const auto& [process, session] : calls) {
      free += 20;
      h.yes(free - 11, free - 1, process, session);
      h.leave(free, free + 8, process, session, order(free));
    }
  }

  [[nodiscard]] bool is_exact() const { return is_exact_; }
  [[nodiscard]] int late() const { return late_; }  ///< by how much a process may be, in ms
  /// The operation time of a write that is sent then; those of one ms differ by a digit.
  static std::int64_t order(int at_ms, int digit = 0) { return 100 + 10LL * at_ms + digit; }

 private:
  static void read(HistoryBuilder& h, int at, const char* process) {
    h.write(at, at + 4, process, 1, "accepted", order(at, 3));
    h.before(1).shared = h.before(2).shared = true;
  }

  /// Its lease is over, and its user is notified in time.
  void loses(HistoryBuilder& s, int at, const char* process, int session) {
    s.lose(at, process, session).notified(at + draw_.from(0, late_), process, session);
    if (draw_.one_in(2)) s.no(at + 1, at + draw_.from(2, 60), process, session);
  }

  /// A call that waits gets the lock when it is free, or returns by its timeout. `free`: from when
  /// on the lock may be taken; `died`: because its holder did, so that this is late.
  void serve(HistoryBuilder& s, const char* process, int asked, int& free, bool& died) {
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

  Draws& draw_;
  bool is_exact_;
  int late_;
};

}  // namespace leasehold::model
