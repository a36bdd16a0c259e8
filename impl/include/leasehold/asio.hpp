#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <leasehold/lock_provider.hpp>
#include <memory>
#include <stop_token>
#include <utility>

namespace leasehold::inline v0_1 {
namespace detail {

/// Keeps the associated executor of a handler busy until the handler was posted to it. Whichever
/// thread ends the operation, the handler is called, and destroyed, on its executor only. A handler
/// that is never called is destroyed there too.
template <typename Handler>
class HandlerUnderway {
 public:
  explicit HandlerUnderway(Handler handler)
      : handler_(std::make_unique<Handler>(std::move(handler))),
        work_(boost::asio::get_associated_executor(*handler_)) {}
  ~HandlerUnderway() {
    if (handler_) boost::asio::post(work_.get_executor(), [handler = std::move(handler_)] {});
  }
  HandlerUnderway(const HandlerUnderway&) = delete;
  HandlerUnderway& operator=(const HandlerUnderway&) = delete;

  /// REQUIRES: called once at most.
  template <typename Outcome>
  void arrive(Outcome result) {
    boost::asio::post(work_.get_executor(),
                      [handler = std::move(handler_), result = std::move(result)]() mutable {
                        std::move (*handler)(std::move(result));
                      });
  }

 private:
  using Executor = boost::asio::associated_executor_t<Handler>;

  std::unique_ptr<Handler> handler_;  ///< moved as a whole: nothing of it is left behind
  boost::asio::executor_work_guard<Executor> work_;
};

}  // namespace detail

/// `try_acquire` for programs on Boost.Asio, with any completion token: a callback, a std::future,
/// or a C++20 coroutine. Header-only; the library needs no Boost.
///
/// The waiting occupies no thread. The handler runs on its associated executor, which is kept busy
/// until then, and is destroyed there. `stop` cancels. Neither of them, nor the end of the handle,
/// blocks the executor's threads. `LockHandle::release` does: use `async_release` there.
///
///     auto handle = co_await leasehold::async_acquire(lock, 5s, boost::asio::use_awaitable);
///     if (!handle) co_return;
///     co_await write_report(handle->fencing_token());
///     co_await leasehold::async_release(std::move(*handle), boost::asio::use_awaitable);
template <typename CompletionToken>
auto async_acquire(Lock lock, std::chrono::milliseconds timeout, std::stop_token stop,
                   CompletionToken&& token) {
  const auto start = [](auto handler, const Lock& asked, std::chrono::milliseconds limit,
                        std::stop_token cancel) {
    using Underway = detail::HandlerUnderway<decltype(handler)>;
    const auto underway = std::make_shared<Underway>(std::move(handler));  // functions are copied
    asked.acquire_async(
        limit, [underway](Result<LockHandle> result) { underway->arrive(std::move(result)); },
        std::move(cancel));
  };
  return boost::asio::async_initiate<CompletionToken, void(Result<LockHandle>)>(
      start, token, std::move(lock), timeout, std::move(stop));
}

template <typename CompletionToken>
auto async_acquire(Lock lock, std::chrono::milliseconds timeout, CompletionToken&& token) {
  return async_acquire(std::move(lock), timeout, std::stop_token(),
                       std::forward<CompletionToken>(token));
}

/// `LockHandle::release` for programs on Boost.Asio, with any completion token. `held()` is false
/// when this returns, or, for a coroutine, when it is awaited.
template <typename CompletionToken>
auto async_release(LockHandle handle, CompletionToken&& token) {
  const auto start = [](auto handler, LockHandle released) {
    using Underway = detail::HandlerUnderway<decltype(handler)>;
    const auto underway = std::make_shared<Underway>(std::move(handler));
    released.release_async([underway](ReleaseResult result) { underway->arrive(result); });
  };
  return boost::asio::async_initiate<CompletionToken, void(ReleaseResult)>(start, token,
                                                                           std::move(handle));
}

}  // namespace leasehold
