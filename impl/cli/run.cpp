#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "cli/child.hpp"
#include "cli/cli.hpp"
#include "cli/guard.hpp"
#include "runtime/clock.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

enum class OnLost { kill, signal, ignore };

struct Order {
  Server server;
  std::string lock;
  LockOptions options;
  milliseconds wait = kLongestDuration;  ///< for ever
  milliseconds grace{0};
  std::optional<milliseconds> max_holding;
  OnLost on_lost = OnLost::kill;
  std::vector<std::string> command;
};

const char* kUsageLine =
    "leasehold run --lock NAME [OPTIONS] -- COMMAND [ARGUMENTS]\n\n"
    "Runs the command while this machine holds the lock, and returns its exit code. The command\n"
    "finds the fencing token in LEASEHOLD_FENCING_TOKEN. Other exit codes: 64 bad usage, 69 no\n"
    "server answers or access is denied, 75 the lock was not free in time, 76 the lock was lost or "
    "held\n"
    "for --max-holding while the command ran, 126 and 127 the command cannot be executed or was\n"
    "not found, 128 + N ended by signal N.";

OnLost on_lost_of(const std::string& word) {
  if (word == "kill") return OnLost::kill;
  if (word == "signal") return OnLost::signal;
  if (word == "ignore") return OnLost::ignore;
  throw UsageError("--on-lost is '" + word + "': it must be kill, signal or ignore");
}

po::options_description options() {
  po::options_description o("Options");
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  o.add_options()                                            //
      ("lock", text("NAME")->required(), "the lock's name")  //
      ("wait", text("DURATION"),
       "how long to wait for the lock; 0: one attempt; default: no limit")  //
      ("expiry", text("DURATION")->default_value("30s"),
       "the lease: how long others have to wait after a crash of this machine")  //
      ("grace", text("DURATION"),
       "how long before the end of a lease that cannot be extended the command gets SIGTERM; "
       "default: a sixth of the expiry")  //
      ("max-holding", text("DURATION"),
       "how long the command may run: SIGTERM one --grace before, then SIGKILL to its process "
       "group, and only then is the lock released; default: no limit")  //
      ("on-lost", text("WORD")->default_value("kill"),
       "at the end of the lease: kill: SIGKILL to the command's process group; signal: "
       "SIGTERM only; ignore: let it run on without the lock");
  return o.add(server_options());
}

Order order_of(const std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const auto values = parse(kUsageLine, options(), {words.begin(), dashes});
  Order order;
  if (dashes != words.end()) order.command.assign(dashes + 1, words.end());
  if (order.command.empty()) {
    throw UsageError("no command: put it after --, as in: leasehold run --lock n -- make");
  }
  order.lock = values["lock"].as<std::string>();
  order.server = server_of(values);
  const auto duration = [&values](const char* name) {
    return duration_of(name, values[name].as<std::string>());
  };
  order.options.expiry = duration("expiry");
  order.options.waiting = adaptive_waiting();
  if (values.contains("wait")) order.wait = duration("wait");
  order.grace = values.contains("grace") ? duration("grace") : order.options.expiry / 6;
  order.on_lost = on_lost_of(values["on-lost"].as<std::string>());
  if (order.grace >= order.options.expiry - order.options.effective_cadence()) {
    throw UsageError("--grace is " + std::to_string(order.grace.count()) +
                     " ms: it must be below two thirds of the expiry, which is " +
                     std::to_string(order.options.expiry.count()) + " ms");
  }
  if (values.contains("max-holding")) order.max_holding = duration("max-holding");
  if (order.max_holding && *order.max_holding <= order.grace) {
    throw UsageError("--max-holding is " + std::to_string(order.max_holding->count()) +
                     " ms: it must be above the grace, which is " +
                     std::to_string(order.grace.count()) + " ms");
  }
  if (order.max_holding && order.on_lost != OnLost::kill) {
    throw UsageError(
        "--max-holding needs --on-lost kill: nothing else is certain to end the command");
  }
  return order;
}

/// Signals that are meant for the command, and its end, to be read one by one. Blocked in every
/// thread: made before there are any.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD, SIGTTOU}) sigaddset(&set, one);
    sigprocmask(SIG_BLOCK, &set, nullptr);
    sigdelset(&set, SIGTTOU);
    fd_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~Signals() { close(fd_); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  /// The next one for the command; 0: none. Ends of processes are left out.
  [[nodiscard]] int next() const {
    signalfd_siginfo info{};
    while (read(fd_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
    }
    return 0;
  }

 private:
  int fd_ = -1;
};

/// Wakes a poll from another thread.
class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Bell() { close(fd_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  void ring() const {
    const std::uint64_t one = 1;
    (void)!write(fd_, &one, sizeof one);
  }
  void clear() const {
    std::uint64_t count = 0;
    (void)!read(fd_, &count, sizeof count);
  }

 private:
  int fd_;
};

void wait_for(const Signals& signals, const Bell& bell, int limit_ms) {
  pollfd ready[]{{signals.fd(), POLLIN, 0}, {bell.fd(), POLLIN, 0}};
  poll(ready, 2, limit_ms);
  bell.clear();
}

int code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_option: return kUsage;
    case ErrorKind::refused:
    case ErrorKind::timed_out: return kNotAcquired;
    default: return kUnavailable;
  }
}

/// What the acquire came to; shared with the provider's thread, which may be the last to leave.
struct Acquired {
  std::mutex mutex;
  std::optional<Result<LockHandle>> result;
  Bell bell;
};

/// Throws Failure if the lock was not free in time, or a signal ended the wait.
LockHandle acquire(const Lock& lock, milliseconds wait, const Signals& signals) {
  const auto acquired = std::make_shared<Acquired>();
  lock.acquire_async(wait, [acquired](Result<LockHandle> result) {
    const std::lock_guard guard(acquired->mutex);
    acquired->result.emplace(std::move(result));
    acquired->bell.ring();
  });
  for (;;) {
    wait_for(signals, acquired->bell, -1);
    if (const int signal = signals.next()) {
      throw Failure(kSignalled + signal, std::string(strsignal(signal)) + " while waiting for it");
    }
    const std::lock_guard guard(acquired->mutex);
    if (!acquired->result) continue;
    if (!*acquired->result) {
      const Error& error = acquired->result->error();
      const bool named = error.message.starts_with("lock '");
      throw Failure(code_of(error.kind),
                    (named ? "" : "lock '" + lock.name() + "': ") + error.message);
    }
    return std::move(**acquired->result);
  }
}

/// The command under the lock, to its end.
class Run {
 public:
  Run(const Order& order, LockHandle& handle, const Signals& signals)
      : order_(order),
        handle_(handle),
        signals_(signals),
        child_(order.command, {"LEASEHOLD_FENCING_TOKEN=" + handle.fencing_token().to_string(),
                               "LEASEHOLD_LOCK=" + order.lock}),
        guard_(child_.group()) {}

  int to_the_end() {
    const std::stop_callback lost(handle_.lost(), [this] { bell_.ring(); });
    look_at_lease();
    child_.go();
    // Often enough that the guard always knows of the last extension but one at least.
    const auto tick = std::clamp<std::int64_t>(order_.options.expiry.count() / 20, 5, 1'000);
    while (!child_.ended()) {
      wait_for(signals_, bell_, static_cast<int>(tick));
      while (const int signal = signals_.next()) child_.signal(signal);
      look_at_lease();
    }
    guard_.dismiss();
    const int code = child_.reap();
    return told_to_end_ || lost_ ? static_cast<int>(kLost) : code;
  }

 private:
  /// Its end is the lease's, or what --max-holding allows.
  void look_at_lease() {
    const auto now = clock_->now();
    const auto of_lease = handle_.remaining();
    const auto left = std::min<nanoseconds>(of_lease, ends_at_ - now);
    const bool limited = left < of_lease;
    const bool kills = order_.on_lost == OnLost::kill;
    if (left > nanoseconds(0)) {
      if (kills) guard_.set_deadline(now + left);
      if (left > order_.grace || told_to_end_ || order_.on_lost == OnLost::ignore) return;
      told_to_end_ = true;
      say("lock '" + order_.lock +
          (limited ? "' was held for almost --max-holding"
                   : "' could not be extended for a while") +
          ": SIGTERM to the command");
      child_.signal(SIGTERM);
    } else if (!lost_) {
      lost_ = true;
      say("lock '" + order_.lock + (limited ? "' was held for --max-holding" : "' is lost") +
          (kills ? ": SIGKILL to the command" : ""));
      if (kills) return child_.signal(SIGKILL);
      if (order_.on_lost == OnLost::signal && !told_to_end_) child_.signal(SIGTERM);
    }
  }

  const Order& order_;
  LockHandle& handle_;
  const Signals& signals_;
  const std::shared_ptr<const runtime::Clock> clock_ = runtime::boottime_clock();
  const core::LocalInstant ends_at_ =
      order_.max_holding ? clock_->now() + *order_.max_holding : core::LocalInstant::max();
  Bell bell_;
  Child child_;
  Guard guard_;
  bool told_to_end_ = false, lost_ = false;
};

int run_order(const Order& order) {
  const Signals signals;
  ProviderOptions options;
  options.database = order.server.database;
  options.collection = order.server.collection;
  options.on_warning = say;
  // So that a wait which ends in vain can say that no server was found.
  const auto& longest = options.server_selection_timeout;
  if (order.wait > milliseconds(0))
    options.server_selection_timeout = std::min(longest, order.wait / 2 + milliseconds(1));
  auto provider = LockProvider::connect(order.server.uri, options);
  if (!provider) throw Failure(code_of(provider.error().kind), provider.error().message);
  auto lock = provider->create_lock(order.lock, order.options);
  if (!lock) throw UsageError(lock.error().message);
  LockHandle handle = acquire(*lock, order.wait, signals);
  const int code = Run(order, handle, signals).to_the_end();
  if (handle.release() == ReleaseResult::unknown) {
    say("lock '" + order.lock + "': its release was not confirmed; it ends with its lease");
  }
  return code;
}

}  // namespace

int run(const std::vector<std::string>& words) { return run_order(order_of(words)); }

}  // namespace leasehold::cli
