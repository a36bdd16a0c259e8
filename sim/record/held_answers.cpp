#include "sim/record/held_answers.hpp"

namespace leasehold::sim {
namespace {

/// An extension moves the end by more than this.
constexpr std::int64_t kLater = 1'000'000;

}  // namespace

HeldAnswers::HeldAnswers(std::string process, std::int64_t session, std::string name) {
  run_.kind = model::Kind::held;
  run_.process = std::move(process);
  run_.session = session;
  run_.name = std::move(name);
}

void HeldAnswers::add(bool held, std::int64_t before_ns, std::int64_t after_ns, const Emit& emit,
                      std::int64_t until_ns) {
  const char* answer = held ? "yes" : "no";
  const bool later = held ? until_ns > until_ns_ + kLater : until_ns > 0;
  const bool of_this_moment = run_.first_answered_ns == after_ns;
  if (run_.count > 0 && (run_.outcome != answer || (later && !of_this_moment))) {
    flush(after_ns, emit);
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

void HeldAnswers::flush(std::int64_t now_ns, const Emit& emit) {
  if (run_.count == 0) return;
  run_.at_ns = now_ns;
  emit(model::Event(run_));
  run_.count = run_.deadline_ns = 0;
}

}  // namespace leasehold::sim
