#include "scenarios/lab/campaigns/matrix_run.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "properties/campaigns/judgement.hpp"
#include "properties/campaigns/simulate.hpp"
#include "scenarios/lab/progress.hpp"
#include "sim/live/run/live_world.hpp"

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
      auto row = properties::run_row(jobs[i].lock, jobs[i].fault, seeds, [](const sim::Plan& plan) {
        return properties::simulate(plan).judgement;
      });
      const std::scoped_lock lock(mutex);
      matrix[jobs[i].lock][jobs[i].fault] = std::move(row);
      done(++finished, jobs.size());
    }
  };
  on_all_cores(work);
  return matrix;
}

properties::Matrix run_live_matrix(const std::string& runs,
                                   const std::function<void(std::size_t, std::size_t)>& done) {
  const auto locks = properties::matrix_locks();
  const auto faults = properties::matrix_faults();
  sim::live::LiveWorld world;
  properties::Matrix matrix;
  std::size_t finished = 0;
  for (const auto& fault : faults) {
    for (const auto& lock : locks) {
      matrix[lock][fault] = properties::run_row(lock, fault, 1, [&](const sim::Plan& plan) {
        const auto history = world.run(plan).history;
        auto judgement = properties::judge(history);
        if (!runs.empty() && model::overall(judgement.findings) == model::Verdict::violated) {
          properties::keep_run(runs + '/' + lock + '-' + fault, plan, history, judgement.findings,
                               {});
        }
        return judgement;
      });
      done(++finished, locks.size() * faults.size());
    }
  }
  return matrix;
}

namespace {

constexpr std::uint64_t kManySeeds = 4'000;

bool is_listed(const std::string& lock, model::Check guarantee) {
  const auto& listed = properties::live_differences();
  return std::any_of(listed.begin(), listed.end(), [&](const properties::LiveDifference& d) {
    return d.lock == lock && d.guarantee == guarantee;
  });
}

}  // namespace

Comparison compare(const properties::Matrix& live, const properties::Matrix& simulated) {
  using State = properties::Cell::State;
  Comparison c;
  for (const auto& [lock, rows] : live) {
    for (const auto& [fault, row] : rows) {
      for (const auto& [guarantee, cell] : row) {
        const auto& other = simulated.at(lock).at(fault).at(guarantee);
        const bool both = cell.state == State::violated && other.state == State::violated;
        c.seen_in_both += both ? 1 : 0;
        c.only_virtual += !both && other.state == State::violated ? 1 : 0;
        c.agree_to_hold += cell.state == State::holds && other.state == State::holds ? 1 : 0;
        if (cell.state != State::violated || both) continue;
        const auto text = lock + ", " + fault + ", " + to_string(guarantee) + ": " + cell.why;
        if (is_listed(lock, guarantee)) {
          c.listed.push_back(text);
        } else if (const auto seed = properties::first_break(lock, fault, guarantee, kManySeeds)) {
          c.rare.push_back(text + "; virtual: seed " + std::to_string(*seed));
        } else {
          c.only_live.push_back(text);
        }
      }
    }
  }
  return c;
}

}  // namespace leasehold::lab
