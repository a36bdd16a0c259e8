#include "core/queue/change_stream.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

/// Pauses double up to there, before kStreamLongestRetry bounds them.
constexpr int kMostRetryDoublings = 10;

}  // namespace

/// The stream outlives the last waiter for a while: opening one costs a round trip and a cursor at
/// the server, and a process that waited once often waits again.
void ChangeStream::listen(std::uint64_t provider, FencingToken since, StreamCommand::Step by,
                          SendingStep step) {
  provider_ = provider;
  wanted_until_ = step.now + kStreamIdle;
  if (phase_ == Phase::off) return open(since, step);
  if (phase_ == Phase::open && command_ == 0) send(by, step);
}

/// From the attempt on that found the call in the queue: so that call need not ask once more. Only
/// the first try begins there, because a server may have no such place any more.
void ChangeStream::open(FencingToken since, SendingStep step) {
  phase_ = Phase::opening;
  cursor_ = 0;
  gap_ = !since;
  since_ = since;
  send(StreamCommand::Step::open, step, since);
}

/// All steps have one timeout, above the half of it that a server waits for events: what is silent
/// for longer is dead.
void ChangeStream::send(StreamCommand::Step what, SendingStep step, FencingToken since) {
  LEASEHOLD_CHECK(command_ == 0);
  command_ = step.pending.send({.kind = PendingCommand::Kind::stream}, kStreamTimeout,
                               StreamCommand{what, cursor_, provider_, since}, step);
}

ChangeStream::Heard ChangeStream::answered(CommandId command, const Reply& reply, bool listened,
                                           SendingStep step) {
  if (command != command_) return Heard::nothing;  // of a stream that was closed
  command_ = 0;
  if (phase_ == Phase::closing) {
    closed(listened, step);
    return Heard::nothing;
  }
  const bool opening = phase_ == Phase::opening;
  // A cursor of 0: the server has closed it, after an election or because the collection is gone.
  if (reply.outcome != Outcome::done || reply.cursor == 0) {
    const bool relied_on = opening && !gap_;
    failed(reply, listened, step);
    return relied_on ? Heard::gap : Heard::nothing;
  }
  phase_ = Phase::open;
  cursor_ = reply.cursor;
  failures_ = 0;
  if (opening && gap_) since_ = reply.operation_time;
  return opening && gap_ ? Heard::gap : Heard::news;
}

void ChangeStream::read_on(bool listened, std::optional<Duration> unread, SendingStep step) {
  if (phase_ != Phase::open) return;
  if (!is_wanted(listened, step.now)) return close(step);
  if (!unread) return idle(listened, step);
  if (*unread > Duration(0)) return pause(Phase::open, *unread, step);
  send(StreamCommand::Step::next, step);
}

/// While no call is queued, the next one that is will ask for what has come until then. If one
/// waits that may soon be queued, what comes is read now and then, because a server has to pass
/// over all that was written since.
void ChangeStream::idle(bool listened, Step step) {
  pause(Phase::open, listened ? kStreamLull : wanted_until_ - step.now, step);
}

/// One timer for both kinds of pause: the phase says which step is due.
void ChangeStream::pause(Phase phase, Duration pause, Step step) {
  phase_ = phase;
  next_at_ = step.now + pause;
  set_timer(Timer::Kind::stream, 0, next_at_, step);
}

/// A timer of a phase that has ended meanwhile does nothing.
void ChangeStream::due(bool listened, SendingStep step) {
  if (command_ != 0 || step.now < next_at_) return;
  if (phase_ == Phase::pausing) return open({}, step);
  if (phase_ != Phase::open) return;
  if (!is_wanted(listened, step.now)) return close(step);
  listened ? send(StreamCommand::Step::look, step) : idle(listened, step);
}

/// Waiting calls go on by polling until it is open again, which has them all ask.
void ChangeStream::failed(const Reply& reply, bool listened, Step step) {
  if (reply.outcome == Outcome::configuration) {
    phase_ = Phase::refused;
    step.out.push_back(Warned{
        "waiting calls poll, which makes long waits longer, because there is no change stream (the "
        "role needs find and changeStream for it): " +
        reply.message});
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

/// The cursor is closed, because a server keeps an unread one for minutes.
void ChangeStream::close(SendingStep step) {
  LEASEHOLD_CHECK(phase_ == Phase::open);
  phase_ = Phase::closing;
  send(StreamCommand::Step::close, step);
}

/// Closed, or the answer is missing: an unread cursor dies by itself. A stream that became wanted
/// meanwhile is opened anew only now.
void ChangeStream::closed(bool listened, SendingStep step) {
  if (is_wanted(listened, step.now)) return open({}, step);
  *this = {};
}

/// A step under way is not cut off, because the driver would then take the server for unreachable
/// for half a second, in which the last deletes cannot be sent. Its answer closes the cursor.
void ChangeStream::end(SendingStep step) {
  wanted_until_ = {};
  if (command_ != 0) return;
  clear_timer(Timer::Kind::stream, 0, step);
  if (phase_ == Phase::open) return close(step);
  *this = {};
}

/// The idle time begins anew whenever a call is found listening.
bool ChangeStream::is_wanted(bool listened, LocalInstant now) {
  if (listened) wanted_until_ = now + kStreamIdle;
  return now < wanted_until_;
}

}  // namespace leasehold::core
