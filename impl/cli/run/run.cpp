#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "cli/output.hpp"
#include "cli/run/child.hpp"
#include "cli/run/taken_locks.hpp"
#include "runtime/threads/clock.hpp"

namespace leasehold::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

enum class OnLost { kill, signal, ignore };

struct Order {
  LockOrder lock;
  milliseconds grace{0};
  milliseconds at_least{0};
  std::optional<milliseconds> max_holding;
  OnLost on_lost = OnLost::kill;
  std::string on_lost_run;  ///< a shell command; empty: none
  std::vector<std::string> command;
};

const char* kRunUsage =
    "leasehold run [OPTIONS] NAME -- COMMAND [ARGUMENTS]\n\n"
    "Runs the command while this machine holds the lock, and returns its exit code. The command\n"
    "finds the fencing token in LEASEHOLD_FENCING_TOKEN. Other exit codes: 64 bad usage, 69 no\n"
    "server answers or access is denied, 75 another held the lock for the whole wait, 76 the lock\n"
    "was lost or held for --max-holding while the command ran, 126 and 127 the command cannot be\n"
    "executed or was not found, 128 + N ended by signal N.";

OnLost on_lost_of(const std::string& word) {
  if (word == "kill") return OnLost::kill;
  if (word == "signal") return OnLost::signal;
  if (word == "ignore") return OnLost::ignore;
  throw UsageError("--on-lost is '" + word + "': it must be kill, signal or ignore");
}

po::options_description run_options() {
  auto o = lock_options();
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  o.add_options()  //
      ("grace", text("DURATION"),
       "how long before the end of a lease that cannot be extended the command gets SIGTERM; "
       "default: a sixth of the expiry")  //
      ("at-least", text("DURATION"),
       "how long the lock is held at least, also if the command ends sooner; for short jobs that "
       "machines whose clocks differ start at the same time")  //
      ("max-holding", text("DURATION"),
       "how long the command may run: SIGTERM one --grace before, then SIGKILL to its process "
       "group, and only then is the lock released; default: no limit")  //
      ("on-lost", text("WORD")->default_value("kill"),
       "at the end of the lease: kill: SIGKILL to the command's process group; signal: "
       "SIGTERM only; ignore: let it run on without the lock")  //
      ("on-lost-run", text("COMMAND"), "a shell command that is also run when a lock is lost");
  return o.add(server_options());
}

void check(const Order& order) {
  const auto& lock = order.lock.options;
  if (order.grace >= lock.expiry - lock.effective_cadence()) {
    throw UsageError("--grace is " + std::to_string(order.grace.count()) +
                     " ms: it must be below two thirds of the expiry, which is " +
                     std::to_string(lock.expiry.count()) + " ms");
  }
  if (!order.max_holding) return;
  if (*order.max_holding <= std::max(order.grace, order.at_least)) {
    throw UsageError("--max-holding is " + std::to_string(order.max_holding->count()) +
                     " ms: it must be above --grace, which is " +
                     std::to_string(order.grace.count()) + " ms, and above --at-least");
  }
  if (order.on_lost != OnLost::kill) {
    throw UsageError(
        "--max-holding needs --on-lost kill: nothing else is certain to end the command");
  }
}

Order order_of(const std::vector<std::string>& words) {
  const auto dashes = std::ranges::find(words, "--");
  const auto values = parse(kRunUsage, run_options(), {words.begin(), dashes}, lock_names());
  Order order;
  if (dashes != words.end()) order.command.assign(dashes + 1, words.end());
  if (order.command.empty()) {
    throw UsageError("no command: put it after --, as in: leasehold run NAME -- make");
  }
  order.lock = lock_order_of(values);
  const auto duration = [&values](const char* name, milliseconds otherwise) {
    return values.contains(name) ? duration_of(name, values[name].as<std::string>()) : otherwise;
  };
  order.grace = duration("grace", order.lock.options.expiry / 6);
  order.at_least = duration("at-least", milliseconds(0));
  if (values.contains("max-holding")) order.max_holding = duration("max-holding", {});
  order.on_lost = on_lost_of(values["on-lost"].as<std::string>());
  if (values.contains("on-lost-run")) order.on_lost_run = values["on-lost-run"].as<std::string>();
  check(order);
  return order;
}

/// The command under the locks, to its end.
class Run {
 public:
  Run(const Order& order, const TakenLocks& locks, const Signals& signals)
      : order_(order),
        locks_(locks),
        signals_(signals),
        child_(order.command, locks.environment()),
        guard_(child_.group()) {}

  Child::End to_the_end() {
    const auto lost = locks_.ring_when_lost(bell_);
    look_at_lease();
    child_.go();
    // Often enough that the guard always knows of the last extension but one at least.
    const auto tick = std::clamp<std::int64_t>(expiry().count() / 20, 5, 1'000);
    while (!child_.ended()) {
      wait_for(signals_, bell_, static_cast<int>(tick));
      while (const int signal = signals_.next_for_command()) child_.signal(signal);
      if (const auto signal = child_.stopped()) stop_with_command(*signal);
      look_at_lease();
    }
    guard_.dismiss();
    const auto end = child_.reap();
    if (!told_to_end_ && !lost_) return end;
    if (lost_ && order_.on_lost == OnLost::kill && child_.left_others()) tell_of_others();
    return {.code = kLost};
  }

  /// Holds on, after the command, until --at-least is over. The signal that ended that, or 0.
  [[nodiscard]] int hold_on() {
    while (!lost_ && locks_.remaining() > nanoseconds(0)) {
      const auto left = began_ + order_.at_least - clock_->now();
      if (left <= nanoseconds(0)) return 0;
      const auto ms = std::chrono::ceil<milliseconds>(std::min<nanoseconds>(left, expiry()));
      wait_for(signals_, bell_, static_cast<int>(ms.count()));
      if (const int signal = signals_.next()) return signal;
    }
    return 0;
  }

 private:
  [[nodiscard]] milliseconds expiry() const { return order_.lock.options.expiry; }

  void stop_with_command(int signal) {
    const auto left = std::chrono::duration_cast<milliseconds>(locks_.remaining());
    say(order_.lock.described() + ": stopped with the command; unless it goes on (" +
        "fg) within " + span(left.count()) + ", it is lost and the command killed");
    child_.stop_with_it(signal);
  }

  void tell_of_others() const {
    say(order_.lock.described() +
        ": lost, but processes of another user, which this one may not end, run "
        "on without it");
  }

  /// Its end is the lease's, or what --max-holding allows.
  void look_at_lease() {
    const auto now = clock_->now();
    const auto of_lease = locks_.remaining();
    const auto left = std::min<nanoseconds>(of_lease, ends_at_ - now);
    const bool limited = left < of_lease;
    const bool kills = order_.on_lost == OnLost::kill;
    if (left > nanoseconds(0)) {
      if (kills) guard_.set_deadline(now + left);
      if (left > order_.grace || told_to_end_ || order_.on_lost == OnLost::ignore) return;
      told_to_end_ = true;
      say(order_.lock.described() +
          (limited ? ": held for almost --max-holding" : ": not extended for a while") +
          ": SIGTERM to the command");
      child_.signal(SIGTERM);
    } else if (!lost_) {
      lost_ = true;
      say(order_.lock.described() + (limited ? ": held for --max-holding" : ": lost") +
          (kills ? ": SIGKILL to the command" : ""));
      if (kills && !child_.signal(SIGKILL)) tell_of_others();
      if (order_.on_lost == OnLost::signal && !told_to_end_) child_.signal(SIGTERM);
      if (!order_.on_lost_run.empty()) run_detached(order_.on_lost_run, locks_.environment());
    }
  }

  const Order& order_;
  const TakenLocks& locks_;
  const Signals& signals_;
  const std::shared_ptr<const runtime::Clock> clock_ = runtime::boottime_clock();
  const core::LocalInstant began_ = clock_->now();
  const core::LocalInstant ends_at_ =
      order_.max_holding ? began_ + *order_.max_holding : core::LocalInstant::max();
  Bell bell_;
  Child child_;
  Guard guard_;
  bool told_to_end_ = false, lost_ = false;
};

int run_order(const Order& order) {
  const Signals signals;
  TakenLocks locks(order.lock, signals);
  Run run(order, locks, signals);
  const auto end = run.to_the_end();
  if (const int signal = run.hold_on()) {
    // A release now would let another machine run what --at-least keeps it from.
    order.lock.report(order.lock.described() +
                      ": not released before --at-least; ends with its lease");
    if (is_of_keyboard(signal)) end_by({signal});
    _exit(end.code);
  }
  locks.release();
  if (is_of_keyboard(end.signal)) throw EndedBySignal{end.signal, end.had_terminal};
  return end.code;
}

}  // namespace

int run(const std::vector<std::string>& words) { return run_order(order_of(words)); }

}  // namespace leasehold::cli
