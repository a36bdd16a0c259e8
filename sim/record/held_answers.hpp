#pragma once

#include <functional>
#include <string>
#include <utility>

#include "model/history/history.hpp"

namespace leasehold::sim {

/// What `held()` answered the user of one handle. Equal answers in a row make one event (see
/// model::Kind::held), because `held()` is called often.
class HeldAnswers {
 public:
  using Emit = std::function<void(model::Event&&)>;

  HeldAnswers(Emit emit, std::string process, std::int64_t session, std::string name)
      : emit_(std::move(emit)),
        run_{.kind = model::Kind::held,
             .process = std::move(process),
             .session = session,
             .name = std::move(name)} {}

  /// An answer that was given between these two readings of the harness's clock, and until when
  /// `remaining()` said in between that it is held; 0: nothing remained, or was asked for. What is
  /// later than it said before begins another event.
  void add(bool held, std::int64_t before_ns, std::int64_t after_ns, std::int64_t until_ns = 0) {
    constexpr std::int64_t kLater = 1'000'000;  // an extension moves the end by more than this
    const char* answer = held ? "yes" : "no";
    const bool later = held ? until_ns > until_ns_ + kLater : until_ns > 0;
    const bool of_this_moment = run_.first_answered_ns == after_ns;
    if (run_.count > 0 && (run_.outcome != answer || (later && !of_this_moment))) {
      flush(after_ns);
    }
    if (later) run_.deadline_ns = until_ns_ = until_ns;
    if (run_.count++ == 0) {
      run_.outcome = answer;
      run_.first_answered_ns = after_ns;
      run_.first_asked_ns = held ? 0 : before_ns;
      run_.last_asked_ns = 0;
    }
    if (held) run_.last_asked_ns = before_ns;
    said_no_ |= !held;
  }

  /// Emits what it has not emitted yet. A process that may be killed calls it now and then.
  void flush(std::int64_t now_ns) {
    if (run_.count == 0) return;
    run_.at_ns = now_ns;
    emit_(model::Event(run_));
    run_.count = run_.deadline_ns = 0;
  }

  [[nodiscard]] bool said_no() const { return said_no_; }
  [[nodiscard]] std::int64_t count() const { return run_.count; }

 private:
  const Emit emit_;
  model::Event run_;
  bool said_no_ = false;
  std::int64_t until_ns_ = 0;  ///< the latest that `remaining()` said
};

}  // namespace leasehold::sim
