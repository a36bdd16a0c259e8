#pragma once

#include <vector>

#include "model/history/digest.hpp"
#include "model/history/history_builder.hpp"
#include "model/verdict/check.hpp"
#include "properties/reference_checkers/histories/draws.hpp"
#include "properties/reference_checkers/histories/spoiler.hpp"

namespace leasehold::properties {

/// Generates small histories, good and bad: one lock, three processes, a holder and waiting calls.
class HistoryGenerator {
 public:
  /// Two of three histories are spoiled in a way that can break this guarantee; all others are
  /// seldom broken on purpose, and often by chance. The rules of the monitors never are.
  explicit HistoryGenerator(model::Check check, std::uint32_t seed = 0);
  HistoryGenerator(const HistoryGenerator&) = delete;  // its spoiler draws from its draws
  HistoryGenerator& operator=(const HistoryGenerator&) = delete;

  [[nodiscard]] model::History history();
  /// Of a lock in whose queue others stand. One of four is as it should be.
  [[nodiscard]] model::History queue_history();
  /// Of a user's call for a permit, or for two locks at once.
  [[nodiscard]] model::History call_history();

 private:
  using History = model::History;

  void begin_history();
  void befall(History& h);

  // What the lock and its callers do.
  void holder(model::HistoryBuilder& s);
  void waiters(model::HistoryBuilder& s);
  void next_holder(model::HistoryBuilder& s);
  void loses(model::HistoryBuilder& s, int at, const char* process, int session);
  std::vector<const char*> line_up(model::HistoryBuilder& s, bool sound);
  std::size_t choose_next(model::HistoryBuilder& s, std::vector<const char*>& line, int now,
                          bool sound);
  void extend(model::HistoryBuilder& s, std::vector<const char*>& line, const char* holder,
              int now, bool sound);
  void pass_to_nobody(model::HistoryBuilder& s, const char* holder, const char* to, int now,
                      bool sound);
  int pass(model::HistoryBuilder& s, const char* holder, const char* to, int now,
           bool other_second, bool sound);
  void pass_along(model::HistoryBuilder& s, std::vector<const char*> line, bool sound);
  int other_holds(model::HistoryBuilder& s, const char* name, const char* process, int session);
  void permit_call(model::HistoryBuilder& s);
  void joint_call(model::HistoryBuilder& s);
  /// The operation time of a write that is sent then; those of one ms differ by a digit.
  static std::int64_t place(int at_ms, int digit) { return 100 + 10LL * at_ms + digit; }
  void world(model::HistoryBuilder& s);
  void clocks(History& h);
  void lasting_fault(History& h);
  void read_late(History& h);

  struct Waiter {
    const char* process;
    int session, asked, timeout;
  };

  model::Check check_;
  Draws draw_;
  Spoiler spoiler_{draw_};
  int late_ = 0;             ///< by how much each process may be, in ms
  int over_ = 0, gone_ = 0;  ///< when the first holder ended, and its document went; 0: never
  std::vector<Waiter> waiters_;
  std::int64_t order_ = 0;
};

}  // namespace leasehold::properties
