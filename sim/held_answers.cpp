#include "sim/held_answers.hpp"

namespace leasehold::sim {

HeldAnswers::HeldAnswers(std::string process, std::int64_t session, std::string name) {
  run_.kind = model::Kind::held;
  run_.process = std::move(process);
  run_.session = session;
  run_.name = std::move(name);
}

void HeldAnswers::add(bool held, std::int64_t before_ns, std::int64_t after_ns, const Emit& emit) {
  const char* answer = held ? "yes" : "no";
  if (run_.matched > 0 && run_.outcome != answer) flush(after_ns, emit);
  if (run_.matched++ == 0) {
    run_.outcome = answer;
    // Of "yes" the time by which it was certainly true; of "no" when it was first asked.
    run_.sent_ns = held ? after_ns : before_ns;
    run_.until_ns = held ? before_ns : after_ns;
  } else if (held) {
    run_.until_ns = before_ns;
  }
  said_no_ |= !held;
}

void HeldAnswers::flush(std::int64_t now_ns, const Emit& emit) {
  if (run_.matched == 0) return;
  run_.at_ns = now_ns;
  emit(run_);
  run_.matched = 0;
}

}  // namespace leasehold::sim
