#include "scenarios/lab/campaigns/all_cores.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace leasehold::lab {

void on_all_cores(const std::function<void()>& work, const std::function<void()>& watch) {
  constexpr std::chrono::milliseconds kLook{200};
  std::vector<std::future<void>> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.push_back(std::async(std::launch::async, work));
  }
  for (const auto& thread : threads) {
    while (thread.wait_for(kLook) != std::future_status::ready) {
      if (watch) watch();
    }
  }
  for (auto& thread : threads) thread.get();
}

}  // namespace leasehold::lab
