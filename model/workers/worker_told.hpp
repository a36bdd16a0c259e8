#pragma once

#include <initializer_list>

#include "model/history/history_builder.hpp"
#include "model/workers/worker_judge.hpp"

/// For tests of the checkers of third-party locks.
namespace leasehold::model {

/// The promises of a lock that makes all of them.
inline Promises everything() {
  Promises p;
  p.tokens = Promises::Tokens::rising;
  p.tells_loss = true;
  p.polls_within_ms = 100;
  return p;
}

/// The same of a lock of whose documents all is known.
inline Promises mapped() {
  auto p = everything();
  p.document = DocumentMapping{"locks", "_id", "owner", "expires"};
  return p;
}

/// Workers of such a lock, which is "x". Leases last 1,000 ms, no process is late.
inline HistoryBuilder workers(std::initializer_list<const char*> processes = {"a", "b", "c"}) {
  HistoryBuilder s;
  s.exact().named("x").with([](Event& run) { run.truth_lag_ns = 1; });
  for (const char* process : processes) s.start(0, process);
  return s;
}

}  // namespace leasehold::model
