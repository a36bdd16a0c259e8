#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>

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

  [[nodiscard]] bool is_exact() const { return is_exact_; }
  [[nodiscard]] int late() const { return late_; }  ///< by how much a process may be, in ms
  /// The operation time of a write that is sent then; those of one ms differ by a digit.
  static std::int64_t order(int at_ms, int digit = 0) { return 100 + 10LL * at_ms + digit; }

 private:
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
