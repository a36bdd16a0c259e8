#pragma once

#include <string>
#include <vector>

#include "properties/reference_checkers/questions.hpp"

/// What the reference checkers ask of the entries of a queue.
namespace leasehold::properties {

/// From joining to leaving.
struct Stand {
  const Event *joined, *left;
  std::string owner;
};

inline bool joins(const Event& e) { return e.kind == Kind::place && e.count > 0; }
inline bool leaves(const Event& e) { return e.kind == Kind::place && e.count == 0; }

[[nodiscard]] std::vector<Stand> stands(const Questions& q);

/// The put, or the other change, by the write that this place is of.
[[nodiscard]] const Event* change_with(const Questions& q, const Event& place, Kind kind);

/// The queue gave it the lock: by the attempt that its entry names, not by one of its own.
[[nodiscard]] bool was_served(const Questions& q, const Event& place);

/// When the call that joined there learned so; never, if it did not.
[[nodiscard]] double told_at(const Questions& q, const Event& joined);

/// How often a write did to the queue what none may.
[[nodiscard]] int slow_queue_line(const Questions& q);
/// How often a call did not act on its grant, did not give it back, or did not leave.
[[nodiscard]] int slow_queue_news(const Questions& q);

}  // namespace leasehold::properties
