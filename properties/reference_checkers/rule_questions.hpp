#pragma once

#include "properties/reference_checkers/questions.hpp"

/// What the twins of the monitors ask: of what stands before an event in the history.
namespace leasehold::properties {

template <typename Wanted>
const Event* first_before(const model::History& h, const Event& e, const Wanted& wanted) {
  for (const Event* one = h.data(); one != &e; ++one) {
    if (wanted(*one)) return one;
  }
  return nullptr;
}
template <typename Wanted>
const Event* last_before(const model::History& h, const Event& e, const Wanted& wanted) {
  for (const Event* one = &e; one-- != h.data();) {
    if (wanted(*one)) return one;
  }
  return nullptr;
}

/// How many events of the history break this rule.
template <typename Breaks>
int count_of(const model::History& h, const Breaks& breaks) {
  int found = 0;
  for (const Event& e : h) found += breaks(e) ? 1 : 0;
  return found;
}

/// The command that was sent to write this.
inline const Event* sender_of(const model::History& h, const Event& e, const std::string& lock_id) {
  return first_before(
      h, e, [&](const Event& s) { return s.kind == Kind::send && s.lock_id == lock_id; });
}
inline const Event* ask_of(const model::History& h, const Event& e, const Event& of_session) {
  return first_before(
      h, e, [&](const Event& a) { return a.kind == Kind::ask && same_session(a, of_session); });
}

}  // namespace leasehold::properties
