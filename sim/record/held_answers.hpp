#pragma once

#include <functional>

#include "model/history/history.hpp"

namespace leasehold::sim {

/// What `held()` answered the user of one handle. Equal answers in a row make one event (see
/// model::Kind::held), because `held()` is called often.
class HeldAnswers {
 public:
  using Emit = std::function<void(model::Event&&)>;

  HeldAnswers(std::string process, std::int64_t session, std::string name);

  /// An answer that was given between these two readings of the harness's clock, and until when
  /// `remaining()` said in between that it is held; 0: nothing remained, or was asked for. What is
  /// later than it said before begins another event.
  void add(bool held, std::int64_t before_ns, std::int64_t after_ns, const Emit& emit,
           std::int64_t until_ns = 0);
  /// Emits what it has not emitted yet. A process that may be killed calls it now and then.
  void flush(std::int64_t now_ns, const Emit& emit);

  [[nodiscard]] bool said_no() const { return said_no_; }
  [[nodiscard]] std::int64_t count() const { return run_.count; }

 private:
  model::Event run_;
  bool said_no_ = false;
  std::int64_t until_ns_ = 0;  ///< the latest that `remaining()` said
};

}  // namespace leasehold::sim
