#include "runtime/threads/fork.hpp"

#include <pthread.h>

#include <atomic>

namespace leasehold::runtime {
namespace {

std::atomic<int> forks_so_far = 0;

}  // namespace

int fork_generation() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks_so_far; });
  (void)registered;
  return forks_so_far;
}

}  // namespace leasehold::runtime
