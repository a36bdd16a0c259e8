#include "sim/all_call.hpp"

namespace leasehold::sim {

Result<std::vector<LockHandle>> call_for_all(const std::vector<Lock>& locks,
                                             std::chrono::milliseconds timeout,
                                             const std::stop_token& stop, Recorder& recorder,
                                             const std::function<core::LocalInstant()>& now) {
  Recorder::AllAsked asked{{}, timeout};
  for (const Lock& lock : locks) asked.names.push_back(lock.name());
  const auto call = recorder.all_asked(asked, locks.front().options(), now());
  auto got = acquire_all(locks, timeout, stop);
  std::vector<FencingToken> tokens;
  if (got) {
    for (const auto& handle : *got) tokens.push_back(handle.fencing_token());
  }
  recorder.all_answered(call, asked, tokens, got ? "" : to_string(got.error().kind), now());
  return got;
}

}  // namespace leasehold::sim
