#include <algorithm>
#include <array>
#include <numeric>

#include "sim/live/live_test.hpp"
#include "sim/live/permits/permit_claims.hpp"

namespace leasehold::sim::live {
namespace {

constexpr int kPermits = 3;

/// Providers, each as a process of its own has one, that take permits again and again.
class Contenders {
 public:
  Contenders(const std::string& database, int count)
      : grants(static_cast<std::size_t>(count)), last_(kPermits) {
    for (int i = 0; i < count; ++i) {
      providers_.push_back(std::make_unique<CountedProvider>(database));
    }
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this, i](const std::stop_token& stop) {
        contend(static_cast<std::size_t>(i), stop);
      });
    }
  }
  void end() { threads_.clear(); }

  std::vector<std::atomic<int>> grants;
  std::atomic<int> most = 0, over = 0, two_in_a_slot = 0, falling_tokens = 0;

 private:
  /// As long as `held()` says yes it is inside.
  void contend(std::size_t i, const std::stop_token& stop) {
    LockOptions options;
    options.expiry = milliseconds(3'000);
    options.clock_margin = milliseconds(500);
    options.waiting = queue_waiting();
    const auto slots =
        std::move(Semaphore::create(providers_[i]->provider, "s", kPermits, options)).value();
    while (!stop.stop_requested()) {
      const auto permit = slots.try_acquire(seconds(5), stop);
      if (!permit) continue;
      ++grants[i];
      use(*permit);
    }
  }
  void use(const Permit& permit) {
    auto& slot = slots_[static_cast<std::size_t>(permit.slot)];
    auto& last = last_[static_cast<std::size_t>(permit.slot)];
    if (permit.handle.fencing_token().value() <= last.exchange(
            permit.handle.fencing_token().value())) {
      ++falling_tokens;
    }
    const int inside = ++inside_, of_slot = ++slot;
    if (permit.handle.held()) {
      if (inside > kPermits) ++over;
      if (of_slot > 1) ++two_in_a_slot;
      most = std::max(most.load(), inside);
      std::this_thread::sleep_for(milliseconds(5));
    }
    --slot;
    --inside_;
  }

  std::vector<std::unique_ptr<CountedProvider>> providers_;
  std::atomic<int> inside_ = 0;
  std::array<std::atomic<int>, kPermits> slots_{};
  std::vector<std::atomic<std::int64_t>> last_;
  std::vector<std::jthread> threads_;
};

/// With --long 16 contenders for two minutes, and a failover every ten seconds.
TEST(LiveSemaphore, NeverMoreThanItsPermitsThroughAFailoverAndEveryoneGetsOne) {
  const bool is_long = std::getenv("LEASEHOLD_LONG") != nullptr;
  const int count = is_long ? 16 : 8;
  Contenders contenders(fresh_database(), count);
  const int failovers = is_long ? 11 : 1;
  // Until each has got so many, and all permits were taken at once.
  const auto reach = [&](int least) {
    if (is_long) std::this_thread::sleep_for(seconds(10));
    const auto& grants = contenders.grants;
    EXPECT_TRUE(eventually(
        [&] {
          return *std::min_element(grants.begin(), grants.end()) >= least &&
                 contenders.most == kPermits;
        },
        seconds(60)));
  };
  for (int i = 0; i < failovers; ++i) {
    reach(i + 1);
    shared_set().step_up((shared_set().primary() + 1) % shared_set().size());
  }
  reach(failovers + 1);
  contenders.end();
  const std::vector<double> grants(contenders.grants.begin(), contenders.grants.end());
  std::cout << std::accumulate(grants.begin(), grants.end(), 0) << " permits for " << count
            << " contenders, Jain's index " << jains_index(grants) << std::endl;
  EXPECT_EQ(contenders.over, 0);
  EXPECT_EQ(contenders.two_in_a_slot, 0);
  EXPECT_EQ(contenders.falling_tokens, 0);
  EXPECT_EQ(contenders.most, kPermits) << "else the bound was not put to the test";
  EXPECT_GT(*std::min_element(grants.begin(), grants.end()), 0);
}

}  // namespace
}  // namespace leasehold::sim::live
