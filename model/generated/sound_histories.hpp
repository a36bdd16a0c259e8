#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
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

/// Generates small histories in which all is as it should be, with times up to the last allowed.
class SoundHistories {
 public:
  /// HistoryBuilder's, in ms: a lease, when its document expires, and how long a call that waits
  /// may leave a free lock.
  static constexpr int kLease = 1'000, kExpires = 1'500, kAttempts = 650;

  explicit SoundHistories(Draws& draws)
      : draw_(draws), is_exact_(draws.one_in(2)), late_(is_exact_ ? 0 : 400) {}

  /// What the lock "lock" goes through with the processes a, b and c: a holder, and waiting calls.
  void play(HistoryBuilder& s);
  /// The same with a queue of more processes.
  void play_queue(HistoryBuilder& s);
  /// Calls of users for a permit, and for two locks at once.
  void play_calls(HistoryBuilder& s);
  /// What disturbs servers, and makes processes late. It may excuse what is late, and breaks
  /// nothing.
  void disturb(HistoryBuilder& s);

  [[nodiscard]] bool is_exact() const { return is_exact_; }
  [[nodiscard]] int late() const { return late_; }  ///< by how much a process may be, in ms
  /// The operation time of a write that is sent then; those of one ms differ by a digit.
  static std::int64_t order(int at_ms, int digit = 0) { return 100 + 10LL * at_ms + digit; }

 private:
  void loses(HistoryBuilder& s, int at, const char* process, int session);
  void serve(HistoryBuilder& s, const char* process, int asked, int& free, bool& died);
  int holds_for_others(HistoryBuilder& s, const char* name, const char* process, int session);
  int pass(HistoryBuilder& s, const char* holder, const char* to, int now, bool other_second);
  void permit_call(HistoryBuilder& s);
  void joint_call(HistoryBuilder& s);

  Draws& draw_;
  bool is_exact_;
  int late_;
};

}  // namespace leasehold::model
