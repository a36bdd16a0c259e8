#include "cli/run/taken_locks.hpp"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <thread>

#include "cli/output.hpp"
#include "core/waiting/named.hpp"
#include "mongo/client/json_client.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;

/// The code of a wait that timed out depends on whether another held the lock.
int code_of(ErrorKind kind, bool had_holder, const LockOrder& order) {
  switch (kind) {
    case ErrorKind::invalid_option: return kUsage;
    case ErrorKind::refused: return order.conflict_code;
    case ErrorKind::timed_out: return had_holder ? order.conflict_code : int{kUnavailable};
    default: return kUnavailable;
  }
}

LockProvider connected(const LockOrder& order, const std::shared_ptr<Obstacles>& obstacles) {
  ProviderOptions options;
  options.database = order.server.database;
  options.collection = order.server.collection;
  options.on_warning = [&order](const std::string& warning) { order.report(warning); };
  options.on_event = [obstacles](const LockEvent& event) { obstacles->hear(event); };
  if (!order.note.empty()) options.holder += ' ' + order.note;
  // So that a wait which ends in vain can say that no server was found.
  auto& longest = options.server_selection_timeout;
  if (order.wait > milliseconds(0)) {
    longest = std::min(longest, order.wait / 2 + milliseconds(1));
  }
  mongo::keep_driver_log();
  auto provider = LockProvider::connect(order.server.uri, options);
  if (provider) return std::move(*provider);
  const auto& error = provider.error();
  const bool no_thread = error.code == EAGAIN;
  throw order.failure(no_thread ? int{kFailed} : code_of(error.kind, false, order), error.message);
}

/// All are checked before any is taken.
std::vector<Lock> created(const LockProvider& provider, const LockOrder& order) {
  std::vector<Lock> locks;
  for (const auto& name : order.names) {
    auto lock = order.permits == 0 ? provider.create_lock(name, order.options)
                                   : provider.create_semaphore(name, order.permits, order.options);
    if (!lock) throw UsageError(lock.error().message);
    locks.push_back(order.shared ? lock->shared() : *lock);
  }
  return locks;
}

[[noreturn]] void end_wait(int signal, const LockOrder& order) {
  const std::string what = order.names.size() == 1 ? "it" : "them";
  order.report(order.described() + ": " + strsignal(signal) + " while waiting for " + what);
  if (is_of_keyboard(signal)) throw EndedBySignal{signal};
  throw Failure(kSignalled + signal, "");
}

/// The driver lists what befell it at each host in brackets, where it had the time to. Where it
/// lists nothing, the hosts may have answered, as something else than members of this set.
std::string cause_beside(const std::string& message, const LockOrder& order) {
  std::string words;
  if (message.find('[') == std::string::npos) {
    for (const auto& one : mongo::words_of_hosts(order.server.uri, true)) words += "; " + one;
    if (words.empty() && message.ends_with(": timed out")) words = "; no server answered";
  }
  const auto logged = mongo::last_error_logged();
  return logged.empty() ? words : words + "; " + logged;
}

Failure failure_of(const Error& error, bool had_holder, const LockOrder& order) {
  const bool named = error.message.starts_with("lock '");
  const int code = code_of(error.kind, had_holder, order);
  const bool unreached = code == kUnavailable && error.kind != ErrorKind::configuration;
  return order.failure(code, (named ? "" : order.described() + ": ") + error.message +
                                 (unreached ? cause_beside(error.message, order) : ""));
}

/// Acquires on a thread of its own, so that a signal can end the wait.
std::vector<LockHandle> acquire(const std::vector<Lock>& locks, const LockOrder& order,
                                const Obstacles& obstacles, const Signals& signals) {
  std::optional<Result<std::vector<LockHandle>>> result;
  std::atomic<bool> done = false;
  const Bell bell;
  std::jthread acquiring([&](const std::stop_token& stop) {
    result.emplace(acquire_all(locks, order.wait, stop));
    done = true;
    bell.ring();
  });
  while (!done) {
    wait_for(signals, bell, order.is_service ? watchdog_period_ms() : -1);
    if (order.is_service) tell_watchdog();
    if (const int signal = signals.next()) end_wait(signal, order);
  }
  acquiring.join();
  if (*result) return std::move(**result);
  throw failure_of(result->error(), obstacles.had_holder(), order);
}

int conflict_code_of(int code) {
  if (code >= 0 && code <= 255) return code;
  throw UsageError("--conflict-exit-code is " + std::to_string(code) + ": it must be 0 to 255");
}

int permits_of(int permits, const LockOrder& order) {
  if (permits < 1 || permits > LockProvider::kMostPermits) {
    throw UsageError("--permits is " + std::to_string(permits) + ": it must be 1 to " +
                     std::to_string(LockProvider::kMostPermits));
  }
  if (order.names.size() > 1) throw UsageError("--permits needs one --lock: they are several");
  return permits;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const auto& line : lines) all += (all.empty() ? "" : "\n") + line;
  return all;
}

}  // namespace

std::string LockOrder::described() const {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return (names.size() == 1 ? "lock " : "locks ") + list;
}

void LockOrder::report(const std::string& line) const {
  if (!quiet) say(line);
}

/// A quiet command reports another holder by its exit code alone.
Failure LockOrder::failure(int code, const std::string& what) const {
  const bool expected = quiet && code == conflict_code;
  return {code, expected ? "" : what};
}

void Obstacles::hear(const LockEvent& event) {
  if (event.kind == LockEvent::Kind::refused && !held_.exchange(true)) {
    tell("lock '" + event.lock + "': " + event.detail + "; waiting");
  } else if (event.kind == LockEvent::Kind::attempt_failed && !failed_.exchange(true)) {
    tell("lock '" + event.lock + "': no server answers yet: " + event.detail + "; still trying");
  }
}

/// One attempt is no wait: its failure says how it ended.
void Obstacles::tell(const std::string& what) const {
  if (order_.wait <= milliseconds(0)) return;
  order_.report(what);
  if (order_.is_service) tell_service_manager("STATUS=" + printable(what));
}

std::shared_ptr<const WaitingStrategy> waiting_of(const std::string& name) {
  if (auto waiting = core::waiting_named(name)) return waiting;
  throw UsageError("--waiting is '" + name + "': it must be " + core::kNamedWaitings);
}

po::options_description lock_options() {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  po::options_description o("Options");
  o.add_options()  //
      ("lock", po::value<std::vector<std::string>>()->required()->value_name("NAME"),
       "the lock's name; given several times: all of these locks")  //
      ("shared,s",
       "share the lock with all others that share it, to read; a run without it excludes them")  //
      ("permits", po::value<int>()->value_name("N"),
       "a semaphore: up to N hold it at once; all that use it give the same N")  //
      ("wait,w", text("DURATION"),
       "how long to wait for the lock; 0: one attempt; default: no limit")  //
      ("nonblock,n", "one attempt, as --wait 0")                            //
      ("conflict-exit-code,E", po::value<int>()->default_value(kNotAcquired)->value_name("CODE"),
       "exit code if the lock is not free in time")                                      //
      ("quiet,q", "print errors only")                                                   //
      ("note", text("TEXT"), "shown to people beside host and process, by ls and show")  //
      ("expiry", text("DURATION")->default_value("30s"),
       "the lease: how long others have to wait after a crash of this machine")  //
      ("waiting", text("STRATEGY")->default_value("queue"),
       "how to wait (backoff): queue, adaptive or uniform");
  return o;
}

po::positional_options_description lock_names() {
  po::positional_options_description names;
  names.add("lock", -1);
  return names;
}

LockOrder lock_order_of(const po::variables_map& values) {
  LockOrder order;
  order.names = values["lock"].as<std::vector<std::string>>();
  for (auto one = order.names.begin(); one != order.names.end(); ++one) {
    if (std::find(order.names.begin(), one, *one) == one) continue;
    throw UsageError("--lock is given twice as '" + *one + "': each lock is taken once");
  }
  order.shared = values.contains("shared");
  if (order.shared && values.contains("permits")) {
    throw UsageError("--shared and --permits are both given: it must be one of them");
  }
  if (values.contains("permits")) order.permits = permits_of(values["permits"].as<int>(), order);
  order.server = server_of(values);
  order.options.expiry = duration_of("expiry", values["expiry"].as<std::string>());
  order.options.waiting = waiting_of(values["waiting"].as<std::string>());
  if (values.contains("nonblock") && values.contains("wait")) {
    throw UsageError("--nonblock and --wait are both given: it must be one of them");
  }
  if (values.contains("nonblock")) order.wait = milliseconds(0);
  if (values.contains("wait")) order.wait = duration_of("wait", values["wait"].as<std::string>());
  order.conflict_code = conflict_code_of(values["conflict-exit-code"].as<int>());
  order.quiet = values.contains("quiet");
  if (values.contains("note")) order.note = values["note"].as<std::string>();
  return order;
}

TakenLocks::TakenLocks(const LockOrder& order, const Signals& signals)
    : order_(order),
      obstacles_(std::make_shared<Obstacles>(order)),
      provider_(connected(order, obstacles_)),
      handles_(acquire(created(provider_, order), order, *obstacles_, signals)) {}

TakenLocks::LossCallbacks TakenLocks::ring_when_lost(const Bell& bell) const {
  LossCallbacks callbacks;
  for (const auto& handle : handles()) {
    callbacks.emplace_back(handle.lost(), [&bell] { bell.ring(); });
  }
  return callbacks;
}

std::chrono::nanoseconds TakenLocks::remaining() const {
  auto least = std::chrono::nanoseconds::max();
  for (const auto& handle : handles()) least = std::min(least, handle.remaining());
  return least;
}

std::vector<std::string> TakenLocks::environment() const {
  std::vector<std::string> names, tokens;
  for (const auto& handle : handles()) {
    names.push_back(handle.name());
    tokens.push_back(handle.fencing_token().to_string());
  }
  std::vector<std::string> settings{"LEASEHOLD_LOCK=" + names.front(),
                                    "LEASEHOLD_FENCING_TOKEN=" + tokens.front()};
  const int slot = handles().front().slot();
  if (slot >= 0) settings.push_back("LEASEHOLD_PERMIT=" + std::to_string(slot));
  if (tokens.size() == 1) return settings;
  settings.push_back("LEASEHOLD_LOCKS=" + joined(names));
  settings.push_back("LEASEHOLD_FENCING_TOKENS=" + joined(tokens));
  return settings;
}

/// All are on their way before the first answer is waited for.
void TakenLocks::release() {
  for (auto& handle : handles_) handle.begin_release();
  for (auto& handle : handles_) {
    if (handle.release() != ReleaseResult::unknown) continue;
    order_.report("lock '" + handle.name() +
                  "': its release was not confirmed; it ends with its lease");
  }
}

}  // namespace leasehold::cli
