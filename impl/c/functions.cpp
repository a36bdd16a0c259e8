// What is declared there is exported, by libleasehold_c.map.
#pragma GCC visibility push(default)
#include <leasehold/leasehold.h>
#pragma GCC visibility pop

#include <leasehold/lock_provider.hpp>

#include "api/begin_acquire.hpp"
#include "c/errors.hpp"
#include "c/objects.hpp"
#include "c/options.hpp"

using leasehold::Result;
using leasehold::c::Failure;
using leasehold::c::given;
using leasehold::c::guarded;
using leasehold::c::kind_of;
using leasehold::c::read;
using leasehold::c::value_of;
using leasehold::runtime::WarningHook;
using leasehold::c::write;

namespace {

constexpr const char* kAddress = "the address of a pointer";
constexpr const char* kFromConnect = "one of leasehold_connect";
constexpr const char* kFromAcquire = "one of leasehold_acquire";

/// The caller's pointer, which is null until the call has succeeded.
template <typename Object>
Object*& result_pointer(Object** address, const char* name) {
  Object*& pointer = *given(address, name, kAddress);
  pointer = nullptr;
  return pointer;
}

leasehold::Lock lock_of(const leasehold_provider* provider, const char* name,
                        const leasehold_lock_options* options) {
  const auto& made = given(provider, "provider", kFromConnect)->provider;
  given(name, "name", "the name of a lock");
  const int permits = leasehold::c::permits(options);
  const bool shared = leasehold::c::shared(options);
  auto lock = value_of(permits == 0 ? made.create_lock(name, read(options))
                                    : made.create_semaphore(name, permits, read(options)));
  return shared ? lock.shared() : lock;
}

/// Negative means for ever, which is as good as the longest there is.
std::chrono::milliseconds limit(std::int64_t timeout_ms) {
  return timeout_ms < 0 ? leasehold::kLongestDuration : std::chrono::milliseconds(timeout_ms);
}

template <typename Object>
void free_and_clear(Object** address) noexcept {
  if (address == nullptr) return;
  Object* object = std::exchange(*address, nullptr);
  if (object != nullptr && !object->made.forked()) delete object;
}

}  // namespace

int leasehold_connect(const char* uri, const leasehold_provider_options* options,
                      leasehold_provider** provider, leasehold_error* error) {
  return kind_of(error, [&] {
    auto*& made = result_pointer(provider, "provider");
    given(uri, "uri", "a connection string, mongodb://...");
    auto wanted = read(options);
    std::shared_ptr<WarningHook> hook;
    if (wanted.on_warning) {
      hook = std::make_shared<WarningHook>(std::move(wanted.on_warning));
      wanted.on_warning = [hook](const std::string& message) { hook->warn(message); };
    }
    auto connected = value_of(leasehold::LockProvider::connect(uri, std::move(wanted)));
    made = new leasehold_provider{std::move(connected), std::move(hook)};
  });
}

void leasehold_close(leasehold_provider** provider) {
  const bool here = provider != nullptr && *provider != nullptr && !(*provider)->made.forked();
  const auto warnings = here ? (*provider)->warnings : nullptr;
  free_and_clear(provider);
  if (warnings) warnings->end();
}

int leasehold_acquire(leasehold_provider* provider, const char* name,
                      const leasehold_lock_options* options, int64_t timeout_ms,
                      leasehold_handle** handle, leasehold_error* error) {
  return kind_of(error, [&] {
    auto*& granted = result_pointer(handle, "handle");
    const auto lock = lock_of(provider, name, options);
    granted = new leasehold_handle(value_of(lock.try_acquire(limit(timeout_ms))));
  });
}

int leasehold_acquire_begin(leasehold_provider* provider, const char* name,
                            const leasehold_lock_options* options, int64_t timeout_ms,
                            leasehold_call** call, leasehold_error* error) {
  return kind_of(error, [&] {
    auto*& begun = result_pointer(call, "call");
    const auto lock = lock_of(provider, name, options);
    auto made = std::make_unique<leasehold_call>();
    const auto arrive = [answer = made->answer](auto result) {
      answer->promise.set_value(std::move(result));
      answer->arrived.signal();
    };
    made->cancel = leasehold::detail::begin_acquire(lock, limit(timeout_ms), arrive);
    begun = made.release();
  });
}

int leasehold_call_fd(const leasehold_call* call) {
  return call == nullptr ? -1 : call->answer->arrived.fd();
}

int leasehold_call_end(leasehold_call** call, leasehold_handle** handle, leasehold_error* error) {
  return kind_of(error, [&] {
    auto*& granted = result_pointer(handle, "handle");
    auto*& waiting = *given(call, "call", kAddress);
    given(waiting, "call", "one of leasehold_acquire_begin");
    if (waiting->made.forked()) {
      waiting = nullptr;
      throw Failure{
          {leasehold::ErrorKind::shut_down, 0,
           "this process is a child of fork; it needs a provider of its own"}};
    }
    const std::unique_ptr<leasehold_call> ended(std::exchange(waiting, nullptr));
    ended->cancel();  // no effect once there is an answer
    granted = new leasehold_handle(value_of(ended->result.get()));
  });
}

int leasehold_inspect(leasehold_provider* provider, const char* name, int64_t timeout_ms,
                      leasehold_seen_holder* seen, leasehold_error* error) {
  return kind_of(error, [&] {
    const auto& asked = given(provider, "provider", kFromConnect)->provider;
    given(name, "name", "the name of a lock");
    auto& to = *given(seen, "seen", "the address of a leasehold_seen_holder");
    leasehold::c::check_size(to);
    write(std::nullopt, to);
    write(value_of(asked.inspect(name, std::chrono::milliseconds(timeout_ms))), to);
  });
}

int leasehold_held(const leasehold_handle* handle) {
  return static_cast<int>(handle != nullptr && handle->handle.held());
}

int64_t leasehold_remaining_ns(const leasehold_handle* handle) {
  return handle == nullptr ? 0 : handle->handle.remaining().count();
}

int64_t leasehold_fencing_token(const leasehold_handle* handle, uint64_t* timestamp) {
  const std::int64_t token = handle == nullptr ? 0 : handle->handle.fencing_token().value();
  if (timestamp != nullptr) {
    constexpr std::uint64_t kEpoch = leasehold::FencingToken::kEpochSeconds;
    *timestamp = token == 0 ? 0 : static_cast<std::uint64_t>(token) + (kEpoch << 32);
  }
  return token;
}

int leasehold_shared(const leasehold_handle* handle) {
  return static_cast<int>(handle != nullptr && handle->handle.shared());
}

int leasehold_slot(const leasehold_handle* handle) {
  return handle == nullptr ? -1 : handle->handle.slot();
}

int leasehold_lost_fd(leasehold_handle* handle, leasehold_error* error) {
  const auto watch = [&] {
    auto& watched = *given(handle, "handle", kFromAcquire);
    std::call_once(watched.watched, [&watched] { watched.watch.emplace(watched.handle); });
    return watched.watch->lost.fd();
  };
  return guarded(error, watch, [](int) { return -1; });
}

int leasehold_check(const char* name, const leasehold_lock_options* options,
                    leasehold_error* error) {
  return kind_of(error, [&] {
    const std::string checked = given(name, "name", "the name of a lock");
    (void)leasehold::c::permits(options);
    (void)leasehold::c::shared(options);
    if (auto broken = leasehold::check_name(checked)) throw Failure{*broken};
    if (const auto rule = leasehold::check(read(options))) throw Failure{*rule};
  });
}

int leasehold_downgrade(leasehold_handle* handle, leasehold_handle** reader,
                        leasehold_error* error) {
  return kind_of(error, [&] {
    auto*& granted = result_pointer(reader, "reader");
    auto& writing = given(handle, "handle", kFromAcquire)->handle;
    granted = new leasehold_handle(value_of(writing.downgrade()));
  });
}

int leasehold_release_begin(leasehold_handle* handle, leasehold_error* error) {
  return kind_of(error, [&] { given(handle, "handle", kFromAcquire)->handle.begin_release(); });
}

int leasehold_release(leasehold_handle* handle, leasehold_error* error) {
  using leasehold::ReleaseResult;
  static_assert(static_cast<int>(ReleaseResult::released) == LEASEHOLD_RELEASED);
  static_assert(static_cast<int>(ReleaseResult::not_owner) == LEASEHOLD_NOT_OWNER);
  static_assert(static_cast<int>(ReleaseResult::unknown) == LEASEHOLD_RELEASE_UNKNOWN);
  const auto release = [&] {
    return static_cast<int>(given(handle, "handle", kFromAcquire)->handle.release());
  };
  return guarded(error, release, [](int) { return -1; });
}

void leasehold_free(leasehold_handle** handle) {
  const bool here = handle != nullptr && *handle != nullptr && !(*handle)->made.forked();
  if (here) (*handle)->handle.release_async();
  free_and_clear(handle);
}

const char* leasehold_kind_name(int kind) {
  if (kind == LEASEHOLD_OK) return "ok";
  return leasehold::to_string(static_cast<leasehold::ErrorKind>(kind - 1));
}

const char* leasehold_version(void) { return LEASEHOLD_VERSION; }
