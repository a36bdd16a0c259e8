#include "sim/candidate.hpp"

#include <utility>

namespace leasehold::sim {

/// It waits as its lock says. No pause is left after the term, because `run` ends with it.
Candidate::Candidate(Lock lock, runtime::Executor& executor, Begun begun)
    : executor_(executor),
      begun_(std::move(begun)),
      leadership_(
          std::move(lock),
          [this](const std::stop_token& stop, FencingToken token) { work(stop, token); },
          {.on_ended = [this](const Term&) { stop_.request_stop(); }, .waiting = nullptr}) {}

void Candidate::run() { (void)leadership_.run(stop_.get_token()); }

void Candidate::give_up() {
  const std::lock_guard guard(mutex_);
  if (!asked_) stop_.request_stop();
}

void Candidate::end_term() {
  const std::lock_guard guard(mutex_);
  done_ = true;
  changed_.notify_all();
}

bool Candidate::had_term() const {
  const std::lock_guard guard(mutex_);
  return asked_.has_value();
}

std::stop_token Candidate::lost() const {
  const std::lock_guard guard(mutex_);
  return *asked_;
}

/// It goes on after a loss as other users do, so that the laboratory sees what a late one would do.
void Candidate::work(const std::stop_token& stop, FencingToken token) {
  {
    const std::lock_guard guard(mutex_);
    if (stop_.stop_requested()) return;
    asked_ = stop;
  }
  begun_(token);
  std::unique_lock lock(mutex_);
  executor_.wait(lock, changed_, core::Duration::max(), [this] { return done_; });
}

}  // namespace leasehold::sim
