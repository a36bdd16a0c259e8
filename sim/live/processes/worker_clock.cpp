#include "sim/live/processes/worker_clock.hpp"

#include <stdexcept>

namespace leasehold::sim::live {

void SuspendedTimes::add(const Suspension& one) {
  const std::size_t count = block_->count;
  if (count == block_->spans.size()) {
    throw std::runtime_error("suspend: a process can be suspended " + std::to_string(count) +
                             " times and no more");
  }
  block_->spans[count] = one;
  block_->count = count + 1;
}

std::span<const Suspension> SuspendedTimes::all() const {
  return {block_->spans.data(), block_->count.load()};
}

}  // namespace leasehold::sim::live
