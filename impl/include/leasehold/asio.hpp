#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <leasehold/lock_provider.hpp>
#include <memory>

namespace leasehold {

/// `try_acquire` for programs on Boost.Asio: the result comes by any completion token, hence as a
/// callback, a std::future or to a C++20 coroutine. Header-only; the library needs no Boost.
///
/// The waiting occupies no thread. The handler runs on its associated executor, which has work
/// until then. Releasing waits for a reply: on a busy executor, release on another thread.
///
///     auto handle = co_await leasehold::async_acquire(lock, 5s, boost::asio::use_awaitable);
///     if (handle) co_await write_report(handle->fencing_token());
template <typename CompletionToken>
auto async_acquire(Lock lock, std::chrono::milliseconds timeout, CompletionToken&& token) {
  const auto start = [](auto handler, Lock asked, std::chrono::milliseconds limit) {
    auto kept = std::make_shared<decltype(handler)>(std::move(handler));
    const auto executor = boost::asio::get_associated_executor(*kept);
    asked.acquire_async(
        limit, [kept, work = boost::asio::make_work_guard(executor)](Result<LockHandle> result) {
          boost::asio::post(work.get_executor(), [kept, result = std::move(result)]() mutable {
            (*kept)(std::move(result));
          });
        });
  };
  return boost::asio::async_initiate<CompletionToken, void(Result<LockHandle>)>(
      start, token, std::move(lock), timeout);
}

}  // namespace leasehold
