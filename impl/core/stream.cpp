#include <algorithm>

#include "core/limits.hpp"
#include "core/provider_core.hpp"

/// The change stream, which only brings attempts forward: whatever it says or leaves out, a lock is
/// taken by an attempt, and a call that waits makes one at least each longest pause of its
/// strategy.
namespace leasehold::core {

/// Called when a call begins to wait. The stream is opened by the first call that was refused:
/// whoever finds the lock free needs none.
void ProviderCore::want_stream(const Session& session, Step step) {
  if (!session.options.waiting->wants_stream()) return;
  stream_.wanted_until = step.now + kStreamIdle;
  if (closed_) return;
  if (stream_.phase == Stream::Phase::off) open_stream(step);
  const bool unread = stream_.phase == Stream::Phase::open && stream_.command == 0;
  if (unread) read_on(step);
}

void ProviderCore::open_stream(Step step) {
  stream_.phase = Stream::Phase::opening;
  stream_.cursor = 0;
  stream_.owed.reset();
  send_stream(StreamCommand::Step::open, step);
}

void ProviderCore::send_stream(StreamCommand::Step what, Step step) {
  stream_.command = send({.kind = PendingCommand::Kind::stream}, kStreamTimeout,
                         StreamCommand{what, stream_.cursor}, step);
}

void ProviderCore::answer_stream(CommandId command, const Reply& reply, Step step) {
  if (command != stream_.command) return;  // of a stream that was closed
  stream_.command = 0;
  if (stream_.phase == Stream::Phase::closing) return stream_closed(step);
  if (reply.outcome != Outcome::done || reply.cursor == 0) return stream_failed(reply, step);
  const bool opened = stream_.phase == Stream::Phase::opening;
  stream_.phase = Stream::Phase::open;
  stream_.cursor = reply.cursor;
  stream_.failures = 0;
  for (const Freed& freed : reply.freed) hear(freed, step);
  if (opened) wake_all(step);
  const bool lags = stream_.owed && step.now - stream_.owed->since > kStreamLag;
  if (lags || !stream_is_wanted(step)) return close_stream(step);
  read_on(step);
}

/// Its next step, once somebody would act on what it says.
void ProviderCore::read_on(Step step) {
  const auto turn = nearest_turn(step);
  if (turn > Duration(0)) return pause_stream(Stream::Phase::open, turn, step);
  send_stream(StreamCommand::Step::next, step);
}

/// The first of that line, if it is one that the stream may wake; null: nobody.
ProviderCore::Session* ProviderCore::listener(const WaitQueue& queue) {
  const auto head = sessions_.find(queue.head);
  const bool listens = head != sessions_.end() && head->second.phase < Session::Phase::held &&
                       head->second.options.waiting->wants_stream();
  return listens ? &head->second : nullptr;
}

/// Nobody would act on news sooner than that: the server need not send each one on its own. When
/// nobody waits, the next who does will ask for what has come until then.
Duration ProviderCore::nearest_turn(Step step) {
  std::optional<Duration> nearest;
  for (const auto& [name, queue] : wait_queues_) {
    const Session* head = listener(queue);
    // Whose attempt is under way reads on once it is refused.
    if (head == nullptr || head->phase != Session::Phase::waiting) continue;
    if (head->woken && head->attempt_at <= step.now + kStreamSoon) continue;
    const auto turn = head->options.waiting->turn(seen_by(*head, true, step), 0);
    nearest = std::min(nearest.value_or(turn), turn);
  }
  return nearest.value_or(kStreamLull);
}

void ProviderCore::pause_stream(Stream::Phase phase, Duration pause, Step step) {
  stream_.phase = phase;
  stream_.next_at = step.now + pause;
  step.out.push_back(SetTimer{{Timer::Kind::stream, 0}, stream_.next_at});
}

void ProviderCore::stream_due(Step step) {
  if (stream_.command != 0 || step.now < stream_.next_at) return;
  if (stream_.phase == Stream::Phase::pausing) return open_stream(step);
  if (stream_.phase == Stream::Phase::open) send_stream(StreamCommand::Step::next, step);
}

/// Those who wait go on by polling until it is open again, which wakes them all.
void ProviderCore::stream_failed(const Reply& reply, Step step) {
  if (reply.outcome == Outcome::configuration) {
    stream_.phase = Stream::Phase::refused;
    step.out.push_back(Warned{"no change stream, waiting calls poll: " + reply.message});
    return;
  }
  if (!stream_is_wanted(step)) {
    stream_.phase = Stream::Phase::off;
    return;
  }
  const auto pause = std::min(kStreamLongestRetry, kStreamRetry * (1 << stream_.failures));
  stream_.failures = std::min(stream_.failures + 1, 10);
  pause_stream(Stream::Phase::pausing, pause, step);
}

/// REQUIRES: it is open, and no step of it under way
void ProviderCore::close_stream(Step step) {
  stream_.phase = Stream::Phase::closing;
  send_stream(StreamCommand::Step::close, step);
}

/// Or nobody knows: a cursor that nobody reads dies by itself. Who lagged, or who is wanted again
/// since, is opened anew only now.
void ProviderCore::stream_closed(Step step) {
  if (stream_is_wanted(step)) return open_stream(step);
  stream_ = {};
}

/// The provider ends. A step that waits for news is cut off; a cursor that waits for its next step
/// is closed.
void ProviderCore::end_stream(Step step) {
  if (stream_.phase == Stream::Phase::closing) return;
  clear_timer(Timer::Kind::stream, 0, step);
  if (stream_.command == 0 && stream_.phase == Stream::Phase::open) return close_stream(step);
  if (stream_.command != 0) {
    step.out.push_back(Abandon{stream_.command});
    pending_.erase(stream_.command);
    clear_timer(Timer::Kind::command_timeout, stream_.command, step);
  }
  stream_ = {};
}

bool ProviderCore::stream_is_wanted(Step step) {
  if (closed_) return false;
  const bool somebody =
      std::any_of(wait_queues_.begin(), wait_queues_.end(),
                  [this](const auto& queue) { return listener(queue.second) != nullptr; });
  if (somebody) stream_.wanted_until = step.now + kStreamIdle;
  return step.now < stream_.wanted_until;
}

void ProviderCore::hear(const Freed& freed, Step step) {
  if (stream_.owed && stream_.owed->name == freed.name) stream_.owed.reset();
  const auto queue = wait_queues_.find(freed.name);
  if (queue == wait_queues_.end()) return;
  Session* head = listener(queue->second);
  if (head == nullptr) return;
  // What happened before it came does not bring its turn nearer.
  if (freed.at > head->waits_since) ++head->releases;
  wake(queue->second.head, *head, step);
}

void ProviderCore::wake(SessionId id, Session& session, Step step) {
  if (session.phase == Session::Phase::attempting) session.freed_meanwhile = true;
  if (session.phase != Session::Phase::waiting) return;
  const auto turn =
      session.options.waiting->turn(seen_by(session, true, step), step.entropy.draw());
  // Later than it was to be too, when others were quicker; never later than the safety net.
  if (step.now + turn >= session.poll_at) return;
  session.woken = true;
  plan_attempt(id, session, step.now + turn, step);
}

/// A new stream may have missed the release that somebody waits for.
void ProviderCore::wake_all(Step step) {
  for (const auto& [name, queue] : wait_queues_) {
    if (Session* head = listener(queue)) wake(queue.head, *head, step);
  }
}

/// Its news have to come soon, or the stream lags too far behind to be of use.
void ProviderCore::won_without_news(const Session& session, const PendingCommand& pending,
                                    Step step) {
  const bool expected = stream_.phase == Stream::Phase::open && session.attempts > 1 &&
                        !session.woken && !pending.observed &&
                        session.options.waiting->wants_stream();
  if (expected && !stream_.owed) stream_.owed = Stream::Owed{session.name, step.now};
}

}  // namespace leasehold::core
