#include "sim/live/processes/handle_watch.hpp"

namespace leasehold::sim::live {
namespace {

constexpr std::chrono::milliseconds kPeriod{3};
/// A killed process loses the answers that it has not written down: this many at most.
constexpr std::int64_t kFlushEvery = 16;

}  // namespace

HandleWatch::HandleWatch(std::shared_ptr<const WorkerClock> clock, std::string process, Emit emit)
    : clock_(std::move(clock)),
      process_(std::move(process)),
      emit_(std::move(emit)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

HandleWatch::~HandleWatch() = default;

/// Sleeps without a limit while no handle is held.
void HandleWatch::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!changed_.wait(lock, stop, [this] { return !watched_.empty(); })) return;
    for (Watched* one : watched_) one->ask_once();
    changed_.wait_for(lock, stop, kPeriod, [] { return false; });
  }
}

void HandleWatch::notified(std::int64_t session, const std::string& name) const {
  emit_({.at_ns = clock_->true_ns(),
         .kind = model::Kind::notified,
         .process = process_,
         .session = session,
         .name = name});
}

HandleWatch::Watched::Watched(HandleWatch& watch, Handle handle, bool silent)
    : watch_(watch),
      handle_(std::move(handle)),
      answers_(watch.process_, handle_.session, handle_.name),
      on_lost_(handle_.lost, [this] { watch_.notified(handle_.session, handle_.name); }) {
  const std::lock_guard lock(watch_.mutex_);
  ask_once();
  // At once, because a kill must not hide that the handle got to its user.
  answers_.flush(watch_.clock_->true_ns(), watch_.emit_);
  if (silent) return;
  watch_.watched_.push_back(this);
  watch_.changed_.notify_all();
}

HandleWatch::Watched::~Watched() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.watched_.remove(this);
  answers_.flush(watch_.clock_->true_ns(), watch_.emit_);
}

void HandleWatch::Watched::ask() {
  const std::lock_guard lock(watch_.mutex_);
  ask_once();
}

void HandleWatch::Watched::ask_once() {
  const auto before = watch_.clock_->true_ns();
  const bool held = handle_.held();
  const auto asked = watch_.clock_->now().time_since_epoch().count();
  const auto left = handle_.remaining().count();
  const auto after = watch_.clock_->true_ns();
  const auto until = left > 0 ? watch_.clock_->true_ns_of(asked + left) : 0;
  answers_.add(held, before, after, watch_.emit_, until);
  if (answers_.count() >= kFlushEvery) answers_.flush(after, watch_.emit_);
}

}  // namespace leasehold::sim::live
