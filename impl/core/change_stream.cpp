#include "core/change_stream.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

/// Pauses double up to there, before kStreamLongestRetry bounds them.
constexpr int kMostRetryDoublings = 10;

}  // namespace

/// The stream outlives the last waiter for a while: to open one costs a round trip and a cursor at
/// the server, and who waits once often waits again.
void ChangeStream::want(const Reports& reports, LocalInstant now) {
  wanted_.releases |= reports.releases;
  if (reports.grants) wanted_.grants = reports.grants;
  wanted_until_ = now + kStreamIdle;
}

/// One that reports less than is wanted now is replaced; while it is read, once that is answered.
void ChangeStream::listen(Duration nearest_turn, PendingCommands& pending, Step step) {
  if (phase_ == Phase::off) return open(pending, step);
  if (!is_idle()) return;
  if (!reports_.include(wanted_)) return close(pending, step);
  read(nearest_turn, pending, step);
}

/// What is owed was owed by the stream before: the new one begins after it.
void ChangeStream::open(PendingCommands& pending, Step step) {
  phase_ = Phase::opening;
  reports_ = wanted_;
  cursor_ = 0;
  owed_.reset();
  send(StreamCommand::Step::open, pending, step);
}

/// All steps have one timeout, above the third of it that a server waits for news: what is silent
/// for longer is dead.
void ChangeStream::send(StreamCommand::Step what, PendingCommands& pending, Step step) {
  LEASEHOLD_CHECK(command_ == 0);
  command_ = pending.send({.kind = PendingCommand::Kind::stream}, kStreamTimeout,
                          StreamCommand{what, cursor_, reports_.releases, reports_.grants}, step);
}

/// The caller acts on news before read_on is called, so that the nearest turn counts what they have
/// changed.
ChangeStream::Heard ChangeStream::answered(CommandId command, const Reply& reply, bool listened,
                                           PendingCommands& pending, Step step) {
  if (command != command_) return Heard::nothing;  // of a stream that was closed
  command_ = 0;
  if (phase_ == Phase::closing) {
    closed(listened, pending, step);
    return Heard::nothing;
  }
  // A cursor of 0: the server has closed it, after an election or because the collection is gone.
  if (reply.outcome != Outcome::done || reply.cursor == 0) {
    failed(reply, listened, step);
    return Heard::nothing;
  }
  const bool opened = phase_ == Phase::opening;
  phase_ = Phase::open;
  cursor_ = reply.cursor;
  failures_ = 0;
  return opened ? Heard::opened : Heard::news;
}

/// One of three reasons is enough to close it: it lags, it reports less than is wanted by now, or
/// nobody has listened for a while.
void ChangeStream::read_on(bool listened, Duration nearest_turn, PendingCommands& pending,
                           Step step) {
  const bool lags = owed_ && step.now - owed_->since > kStreamLag;
  const bool falls_short = !reports_.include(wanted_);
  if (lags || falls_short || !is_wanted(listened, step.now)) return close(pending, step);
  read(nearest_turn, pending, step);
}

/// Its next step, once somebody would act on what it says.
void ChangeStream::read(Duration nearest_turn, PendingCommands& pending, Step step) {
  if (nearest_turn > Duration(0)) return pause(Phase::open, nearest_turn, step);
  send(StreamCommand::Step::next, pending, step);
}

/// One timer for both kinds of pause: the phase says which step is due.
void ChangeStream::pause(Phase phase, Duration pause, Step step) {
  phase_ = phase;
  next_at_ = step.now + pause;
  set_timer(Timer::Kind::stream, 0, next_at_, step);
}

/// A timer of a phase that has ended meanwhile does nothing.
void ChangeStream::due(PendingCommands& pending, Step step) {
  if (command_ != 0 || step.now < next_at_) return;
  if (phase_ == Phase::pausing) return open(pending, step);
  if (phase_ == Phase::open) send(StreamCommand::Step::next, pending, step);
}

/// Those who wait go on by polling until it is open again, which wakes them all.
void ChangeStream::failed(const Reply& reply, bool listened, Step step) {
  if (reply.outcome == Outcome::configuration) {
    phase_ = Phase::refused;
    step.out.push_back(Warned{"no change stream, waiting calls poll: " + reply.message});
    return;
  }
  if (!is_wanted(listened, step.now)) {
    phase_ = Phase::off;
    return;
  }
  const auto retry = std::min(kStreamLongestRetry, kStreamRetry * (1 << failures_));
  failures_ = std::min(failures_ + 1, kMostRetryDoublings);
  pause(Phase::pausing, retry, step);
}

/// The cursor is given back: a server keeps one that nobody reads for minutes.
void ChangeStream::close(PendingCommands& pending, Step step) {
  LEASEHOLD_CHECK(phase_ == Phase::open);
  phase_ = Phase::closing;
  send(StreamCommand::Step::close, pending, step);
}

/// Or nobody knows: a cursor that nobody reads dies by itself. One that lagged, or is wanted again
/// since, is opened anew only now.
void ChangeStream::closed(bool listened, PendingCommands& pending, Step step) {
  if (is_wanted(listened, step.now)) return open(pending, step);
  *this = {};
}

/// A close that is under way is waited for. A step that is, is given up: its cursor is one that
/// nobody reads. Only a cursor at rest needs a command.
void ChangeStream::end(PendingCommands& pending, Step step) {
  if (phase_ == Phase::closing) {
    wanted_until_ = {};
    return;
  }
  clear_timer(Timer::Kind::stream, 0, step);
  wanted_until_ = {};
  if (command_ == 0 && phase_ == Phase::open) return close(pending, step);
  if (command_ != 0) pending.abandon(command_, step);
  *this = {};
}

/// Only the first debt is kept: while it is owed, later ones say nothing more.
void ChangeStream::expect(const std::string& name, LocalInstant now) {
  if (is_open() && !owed_) owed_ = Owed{name, now};
}

/// Any report of that name pays the debt: the stream has come past the release by then.
void ChangeStream::reported(const std::string& name) {
  if (owed_ && owed_->name == name) owed_.reset();
}

/// The idle time begins anew whenever somebody is found listening.
bool ChangeStream::is_wanted(bool listened, LocalInstant now) {
  if (listened) want({}, now);
  return now < wanted_until_;
}

}  // namespace leasehold::core
