#include "scenarios/lab/matrix_run.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace leasehold::lab {

properties::Matrix run_matrix(std::uint64_t seeds,
                              const std::function<void(std::size_t, std::size_t)>& done) {
  struct Job {
    std::string lock, fault;
  };
  std::vector<Job> jobs;
  for (const auto& lock : properties::matrix_locks()) {
    for (const auto& fault : properties::matrix_faults()) jobs.push_back({lock, fault});
  }
  properties::Matrix matrix;
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  std::size_t finished = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      auto row = properties::run_row(jobs[i].lock, jobs[i].fault, seeds);
      const std::scoped_lock lock(mutex);
      matrix[jobs[i].lock][jobs[i].fault] = std::move(row);
      done(++finished, jobs.size());
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
      workers.emplace_back(work);
    }
  }
  return matrix;
}

}  // namespace leasehold::lab
