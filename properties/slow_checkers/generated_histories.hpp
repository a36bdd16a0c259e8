#pragma once

#include <initializer_list>
#include <random>
#include <vector>

#include "model/digest.hpp"
#include "model/guarantee.hpp"
#include "model/history_builder.hpp"

namespace leasehold::properties {

/// Generates small histories, good and bad: one lock, three processes, a holder and those who wait.
class HistoryGenerator {
 public:
  /// Two of three histories are spoiled in a way that can break this guarantee; all others are
  /// seldom broken on purpose, and often by chance. The rules of the monitors never are.
  explicit HistoryGenerator(model::Guarantee guarantee);

  [[nodiscard]] model::History history();
  /// Of a lock in whose queue others stand. One of six keeps its order for sure; one of three is
  /// slow.
  [[nodiscard]] model::History queue_history();

 private:
  using History = model::History;
  using Event = model::Event;

  int from(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return from(1, n) == 1; }
  template <typename T>
  T any_of(std::initializer_list<T> all) {
    return *(all.begin() + from(0, static_cast<int>(all.size()) - 1));
  }
  template <typename Wanted>
  Event* pick(History& h, const Wanted& wanted) {
    std::vector<Event*> found;
    for (Event& e : h) {
      if (wanted(e)) found.push_back(&e);
    }
    if (found.empty()) return nullptr;
    return found[static_cast<std::size_t>(from(0, static_cast<int>(found.size()) - 1))];
  }
  Event* pick(History& h, model::Kind kind) {
    return pick(h, [&](const Event& e) { return e.kind == kind; });
  }

  void begin_history();
  void befall(History& h);
  void lose_some(History& h);

  // What the lock and its callers do.
  void holder(model::HistoryBuilder& s);
  void waiters(model::HistoryBuilder& s);
  void next_holder(model::HistoryBuilder& s);
  void loses(model::HistoryBuilder& s, int at, const char* process, int session);
  std::vector<const char*> line_up(model::HistoryBuilder& s);
  std::size_t choose_next(model::HistoryBuilder& s, std::vector<const char*>& line, int now,
                          bool sound);
  void pass_along(model::HistoryBuilder& s, std::vector<const char*> line);
  void world(model::HistoryBuilder& s);
  void clocks(History& h);
  void lasting_fault(History& h);
  void read_late(History& h);

  // What no lock of ours would do, by the guarantee that it can break.
  struct Spoil {
    model::Guarantee guarantee;
    void (HistoryGenerator::*how)(History&);
  };
  static const std::vector<Spoil>& spoils();
  void steal(History& h);
  void hold_on(History& h);
  void spoil_the_fence(History& h);
  void miscount(History& h);
  void forget_to_notify(History& h);
  void touch_anothers(History& h);
  void overlook_a_win(History& h);
  void leave_a_document(History& h);
  void send_too_much(History& h);
  void say_the_wrong_thing(History& h);
  void lose_needlessly(History& h);
  void reuse_a_lock_id(History& h);
  void count_from_later(History& h);
  void presume_somebody_dead(History& h);
  void use_an_ended_owner(History& h);
  void misdate(History& h);
  void store_another_token(History& h);
  void lose_an_answer(History& h);
  void lose_an_event(History& h);

  Event* any_grant(History& h) { return pick(h, model::Kind::granted); }
  /// A command of this session, sent at that time.
  Event command(const Event& session, int at, const char* what);
  /// The write of this command, at its time.
  static Event put_by(const Event& send, std::int64_t order);
  static Event answer(const Event& send, int after, std::int64_t matched, std::int64_t order);

  struct Waiter {
    const char* process;
    int session, asked, timeout;
  };

  model::Guarantee guarantee_;
  std::mt19937 random_;
  int late_ = 0;             ///< by how much everybody may be, in ms
  int over_ = 0, gone_ = 0;  ///< when the first holder ended, and its document went; 0: never
  std::vector<Waiter> waiters_;
  std::int64_t order_ = 0;
  std::int64_t command_ = 0;  ///< the last that was added to a whole history
};

}  // namespace leasehold::properties
