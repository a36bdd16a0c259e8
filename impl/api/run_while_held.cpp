#include <leasehold/run_while_held.hpp>

namespace leasehold::inline v0_1 {

Result<HeldRun> run_while_held(const Lock& lock,
                               const std::function<void(std::stop_token, FencingToken)>& work,
                               const RunOptions& options) {
  auto handle = options.timeout ? lock.try_acquire(*options.timeout, options.stop)
                                : lock.acquire(options.stop);
  if (!handle) return handle.error();
  HeldRun run{.token = handle->fencing_token()};
  {
    std::stop_source stop;
    const auto ask = [&stop] { stop.request_stop(); };
    const std::stop_callback on_lost(handle->lost(), ask), on_stop(options.stop, ask);
    work(stop.get_token(), run.token);
  }
  run.held_to_the_end = handle->held();
  run.release = handle->release();
  return run;
}

}  // namespace leasehold
