// The three ways to wait on Boost.Asio: a callback, a future, a coroutine.
// clang-format off
#include <utility>  // before the next, which forgets it in Boost 1.74
#include <boost/asio/awaitable.hpp>
// clang-format on
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <leasehold/asio.hpp>
#include <leasehold/leasehold.hpp>
#include <thread>
using namespace std::chrono_literals;
using leasehold::async_acquire;
using leasehold::Lock;
using leasehold::LockHandle;
using leasehold::Result;

namespace {

void work(const char* how, const Result<LockHandle>& handle) {
  std::printf("%s: %s\n", how, handle ? "held" : handle.error().message.c_str());
}

boost::asio::awaitable<void> as_a_coroutine(Lock lock) {
  work("coroutine", co_await async_acquire(lock, 30s, boost::asio::use_awaitable));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  auto provider = leasehold::LockProvider::connect(argv[1]);
  if (!provider) return 1;
  const Lock lock = *provider->create_lock("asio-example");

  boost::asio::io_context io;
  async_acquire(lock, 30s, boost::asio::bind_executor(io, [](Result<LockHandle> handle) {
                  work("callback", handle);
                }));
  boost::asio::co_spawn(io, as_a_coroutine(lock), boost::asio::detached);
  auto future = async_acquire(lock, 30s, boost::asio::use_future);
  std::jthread runner([&io] { io.run(); });
  work("future", future.get());
}
