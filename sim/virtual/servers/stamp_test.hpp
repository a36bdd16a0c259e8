#pragma once

#include <string>

#include "sim/virtual/documents/value.hpp"
#include "sim/virtual/event_queue.hpp"

namespace leasehold::sim::simulated {

inline void run_ms(EventQueue& queue, std::int64_t ms) {
  bool over = false;
  queue.after(ms * kMs, [&over] { over = true; });
  while (!over && queue.step()) {
  }
}

/// A majority write that stores $$NOW, so the reply shows which clock it was executed with.
inline Object stamp(const std::string& id = "l") {
  const Object now = make({{"$set", make({{"at", std::string("$$NOW")}})}});
  const Object concern = make({{"w", std::string("majority")}, {"wtimeout", 2'000}});
  return make({{"findAndModify", std::string("locks")},
               {"query", make({{"_id", id}})},
               {"update", Array{{now}}},
               {"upsert", true},
               {"new", true},
               {"writeConcern", concern},
               {"maxTimeMS", 10'000}});
}

/// What the document of a stamp's reply says.
inline std::int64_t stamped_ms(const Object& reply) {
  return reply.find("value")->as<Object>()->find("at")->as<Date>()->ms;
}

inline Timestamp time_of(const Object& reply) {
  return *reply.find("operationTime")->as<Timestamp>();
}

}  // namespace leasehold::sim::simulated
