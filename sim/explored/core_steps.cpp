#include <algorithm>

#include "model/diagrams/transition_table.hpp"
#include "sim/explored/core_system.hpp"
#include "sim/explored/core_terms.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;
using core::Timer;

/// In the order of the command's alternatives.
const char* verb(const core::Command& command) {
  constexpr std::array kVerbs{"acquire",     "extend",    "read holders", "delete",  "index",
                              "raw command", "hand-over", "stream",       "inspect", "pass-on"};
  static_assert(kVerbs.size() == std::variant_size_v<decltype(core::Command::body)>);
  return kVerbs[command.body.index()];
}

// The reply's number, because the same reply to the same actor has the same effect. 1 to 4 are the
// other kinds of events.
std::uint64_t reply_key(std::uint32_t message) { return 5 | std::uint64_t{message} << 8; }

/// The name that a story gives to what the process notices.
const char* name_of(Timer::Kind kind) {
  constexpr std::array kNames{"time of its next attempt",
                              "end of its timeout",
                              "end of its lease",
                              "timeout of a command",
                              "extension round",
                              "time of its next delete",
                              "end of its wait for a release",
                              "time of the stream's next step"};
  static_assert(kNames.size() == static_cast<std::size_t>(Timer::Kind::stream) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

const char* how_it_went(std::optional<CoreFault> fault, bool wrote) {
  if (!fault) return wrote ? "executes" : "executes, nothing changes";
  switch (*fault) {
    case CoreFault::error_before: return "is answered: not primary";
    case CoreFault::error_after: return "executes, and the primary steps down";
    case CoreFault::lost_reply: return "executes, its reply is lost";
    case CoreFault::slow_reply: return "executes, its reply takes its time";
    case CoreFault::rolled_back: return "executes, and is rolled back";
    case CoreFault::old_primary: return "executes at an old primary";
    default: return "";
  }
}

}  // namespace

/// In a fixed order, so that the first counterexample is the same each time.
void CoreSystem::steps(const State& from) const {
  found_.clear();
  const World w = CoreStates::unpack(from);
  for (std::size_t i = 0; i < w.messages.size(); ++i) {
    // Only this step, because anything else can happen before the event that sent it, or after its
    // answer, or the request is late, which is a fault.
    if (states_.message(w.messages[i]).fresh) return message_steps(w, i);
  }
  for (unsigned process = 0; process < 2; ++process) actor_steps(w, process);
  for (std::size_t i = 0; i < w.messages.size(); ++i) message_steps(w, i);
  server_steps(w);
}

const CoreSystem::Effect& CoreSystem::give(World& to, unsigned process, const core::Event& event,
                                           std::uint64_t key) const {
  // The core's answer depends on the tick, as its clock; `process` is in the owners that it draws.
  const std::array<std::uint64_t, 2> known{
      to.actors[process] | std::uint64_t{process} << 32 | std::uint64_t{to.tick} << 40, key};
  // Actors have numbers, so the key is complete: equal actors at one tick do the same.
  auto found = effects_.find(known);
  if (found == effects_.end()) {
    found = effects_.emplace(known, react(actor(to, process), process, to.tick, event)).first;
  }
  const Effect& effect = found->second;
  to.actors[process] = effect.actor;
  for (const auto number : effect.sent) to.messages.push_back(number);
  // The first is kept: the path to it is the counterexample.
  if (effect.broken != none && to.broken == none) to.broken = effect.broken;
  for (std::size_t lock = 0; lock < kLocks; ++lock) {
    if (effect.tokens[lock] == 0) continue;
    // The counter of its time, which is the number of its write; below 256 in any scope.
    const auto number = static_cast<unsigned>(effect.tokens[lock] & 0xFF);
    if (number <= to.granted[lock] && to.broken == none) to.broken = g4;
    to.granted[lock] = std::max(to.granted[lock], number);
  }
  return effect;
}

/// No call waits for them any more. Requests cannot be called back. To keep them would tell states
/// apart that go on alike.
void CoreSystem::drop_replies(World& w, unsigned process,
                              std::optional<core::CommandId> command) const {
  // From the end, because taking one out moves those after it.
  for (std::size_t i = w.messages.size(); i-- > 0;) {
    const Message& m = states_.message(w.messages[i]);
    const bool its = m.process == process && (!command || m.command->id == *command);
    if (its && m.reply) w.messages.take_out(i);
  }
}

void CoreSystem::actor_steps(const World& w, unsigned process) const {
  const Actor& a = actor(w, process);
  // Never again: a successor would be one more process that knows nothing.
  if (a.crashed) return;
  if (a.paused) {
    World to = w;
    Actor woken = a;
    woken.paused = false;
    to.actors[process] = states_.keep(std::move(woken));
    // The pause was a fault until now: the bounds count from its end.
    to.fault_at = w.tick;
    return emit(std::move(to), "goes on", process, "");
  }
  // Faults come last and may hit at any step, whether a timer waits or not.
  if (!timer_step(w, process)) {
    for (std::size_t u = 0; u < scope_.users[process]; ++u) user_steps(w, process, u);
  }
  actor_faults(w, process);
}

/// Timers that are due come before new calls of the process's users, because a process that delays
/// its timers is the fault "pause". False: none is due.
bool CoreSystem::timer_step(const World& w, unsigned process) const {
  const Actor& a = actor(w, process);
  // One timer at a time, the earliest: the runtime fires them in the order of their times. The
  // others follow in steps of their own, with replies in between or not.
  const auto due =
      std::min_element(a.timers.begin(), a.timers.end(),
                       [](const auto& x, const auto& y) { return x.second < y.second; });
  if (due == a.timers.end() || due->second > scope_.clock(process, w.tick)) return false;
  World to = w;
  const Timer timer = due->first;
  const auto& effect = give(to, process, core::TimerFired{timer},
                            4 | static_cast<std::uint64_t>(timer.kind) << 8 | timer.id << 16);
  // The core cut these off; their requests may still be on their way, and execute.
  for (const auto command : effect.abandoned) drop_replies(to, process, command);
  emit(std::move(to), "notices the", process, name_of(timer.kind));
  return true;
}

void CoreSystem::user_steps(const World& w, unsigned process, std::size_t which) const {
  const Actor& a = actor(w, process);
  const User& user = a.users[which];
  const std::uint64_t of_user = which << 8;
  if (user.life == model::kOutside && user.asks_left > 0) {
    World to = w;
    Actor asking = a;
    User& asker = asking.users[which];
    --asker.asks_left;
    asker.waits_since = w.tick;
    asker.session = ++asking.sessions;
    // A copy, because the actor is moved away.
    const auto session = asker.session;
    to.actors[process] = states_.keep(std::move(asking));
    // Without a time-out, because giving up at any time is the fault "cancel".
    give(to, process,
         core::AcquireAsked{session, kNames[scope_.lock_of(which)], options_, std::nullopt, false},
         1 | of_user);
    emit(std::move(to), "asks", process, "");
  }
  // At any time, also after the loss, because its user need not have noticed.
  if (user.holds || user.life == "Lost") {
    World to = w;
    give(to, process, core::ReleaseAsked{user.session}, 2 | of_user);
    emit(std::move(to), "releases", process, "");
  }
}

/// Its caller gives up: what its attempts may have won must be given back.
void CoreSystem::cancel(const World& w, unsigned process, std::size_t which) const {
  const User& user = actor(w, process).users[which];
  if (World to = w; user.asks() && spend(to, CoreFault::cancel)) {
    give(to, process, core::CancelAsked{user.session}, 3 | which << 8);
    emit(std::move(to), "cancels", process, "");
  }
}

void CoreSystem::actor_faults(const World& w, unsigned process) const {
  const Actor& a = actor(w, process);
  for (std::size_t u = 0; u < scope_.users[process]; ++u) cancel(w, process, u);
  if (World to = w; !a.is_outside() && spend(to, CoreFault::pause)) {
    Actor paused = a;
    paused.paused = true;
    to.actors[process] = states_.keep(std::move(paused));
    emit(std::move(to), "is paused", process, "");
  }
  if (World to = w; !a.is_outside() && spend(to, CoreFault::crash)) {
    // A fresh actor, with nothing that could act. What it held is kept: its lease runs on, and to
    // give its lock away before the deadline is wrong (G1), although no user is left to ask.
    Actor crashed;
    crashed.crashed = true;
    for (std::size_t u = 0; u < kUsers; ++u) {
      crashed.users[u].holds = a.users[u].holds;
      crashed.users[u].deadline = a.users[u].deadline;
    }
    to.actors[process] = states_.keep(std::move(crashed));
    drop_replies(to, process, {});
    emit(std::move(to), "crashes", process, "");
  }
}

/// A fresh request executes and is answered at once, or a fault hits it now. What the fault left
/// under way arrives at some time.
void CoreSystem::message_steps(const World& w, std::size_t at) const {
  const Message& m = states_.message(w.messages[at]);
  if (m.reply) {
    const Actor& a = actor(w, m.process);
    // It waits in the socket; of a crashed process there is none (`drop_replies`).
    if (a.paused || a.crashed) return;
    World to = w;
    to.messages.take_out(at);
    give(to, m.process, core::ReplyArrived{m.command->id, *m.reply}, reply_key(w.messages[at]));
    return emit(std::move(to), "hears of its", m.process, verb(*m.command));
  }
  // A late request does this at any step from now on, once.
  execute(w, at, std::nullopt);
  // One fault hits a request when it is sent. A late request has had its fault.
  if (!m.fresh) return;
  // All outcomes of one execution; each is a step of its own, and costs a fault.
  for (const auto fault : {CoreFault::error_before, CoreFault::error_after, CoreFault::lost_reply,
                           CoreFault::slow_reply, CoreFault::rolled_back, CoreFault::old_primary}) {
    execute(w, at, fault);
  }
  // Its sender notices by the command's timer, which stays.
  if (World to = w; spend(to, CoreFault::lost_request)) {
    to.messages.take_out(at);
    emit(std::move(to), verb(*m.command), m.process, "is lost on its way");
  }
  Message underway = m;
  underway.fresh = false;
  if (World to = w; spend(to, CoreFault::late)) {
    to.messages[at] = states_.keep(underway);
    emit(std::move(to), verb(*m.command), m.process, "takes its time");
  }
  if (World to = w; spend(to, CoreFault::inside)) {
    // The server reads it now; whenever it executes, it uses this clock reading. The cluster time
    // is the present one, too.
    underway.started_ms = CoreServer::clock_ms(w);
    underway.started_at = w.writes;
    to.messages[at] = states_.keep(std::move(underway));
    emit(std::move(to), verb(*m.command), m.process, "waits inside the server");
  }
}

void CoreSystem::execute(const World& w, std::size_t at, std::optional<CoreFault> fault) const {
  World to = w;
  if (fault && !spend(to, *fault)) return;
  const Message& m = states_.message(w.messages[at]);
  const CoreServer::Execution& done = server_.execute(w, w.messages[at], fault);
  // Three branches of the data: what an old primary has, what is lost with its primary, what stays.
  if (fault == CoreFault::old_primary) {
    // No reply will tell of its write. That it found nothing to write, it says at once.
    if (done.writes == 0 && w.before != w.documents) seen_ |= 1u << old_primary_denies;
  } else if (fault == CoreFault::rolled_back) {
    // No member has it any more, but its time is over: what is written later has a later time.
    to.writes += done.writes;
    if (done.writes > 0) seen_ |= 1u << rolled_back_write;
  } else if (done.writes > 0) {
    write(to, m, done);
  }
  to.messages.take_out(at);
  answer(to, m, done, fault);
  emit(std::move(to), verb(*m.command), m.process, how_it_went(fault, done.writes > 0));
}

/// `writes`: the entries of the oplog.
void CoreSystem::store(World& to, std::uint32_t documents, unsigned writes) const {
  if (scope_.has(CoreFault::old_primary)) {
    to.before = to.documents;
    to.before_writes = to.writes;
  }
  to.documents = documents;
  to.writes += writes;
  to.written_at = to.tick;
}

/// Atomic for each document, and here for two documents at once, because a client learns nothing
/// from seeing one of two extended.
void CoreSystem::write(World& to, const Message& by, const CoreServer::Execution& done) const {
  const Documents& before = states_.documents(to.documents);
  // A command that its actor has given up executes all the same: owners exist for this case.
  if (!actor(to, by.process).awaited.contains(by.command->id)) seen_ |= 1u << late_ghost;
  store(to, done.documents, done.writes);
  // Only an extension writes two: then one reply answers for both.
  if (done.writes > 1) seen_ |= 1u << both_extended;
  judge_.judge_write(to, by, before);
}

void CoreSystem::answer(World& to, const Message& m, const CoreServer::Execution& done,
                        std::optional<CoreFault> fault) const {
  const Actor& a = actor(to, m.process);
  const bool heard = a.awaited.contains(m.command->id) && fault != CoreFault::lost_reply;
  if (!heard) return;
  const auto reply = states_.keep(Message{m.process, m.command, done.reply});
  // A paused process reads it when it goes on, in any order with its timers.
  if (fault == CoreFault::slow_reply || a.paused) return to.messages.push_back(reply);
  give(to, m.process, core::ReplyArrived{m.command->id, done.reply}, reply_key(reply));
}

/// At any time from then on, or never within the behaviour: the monitor may be late by any time.
void CoreSystem::remove_expired(const World& w, std::size_t lock) const {
  // Each document by itself: a pass of the monitor may be cut short between two of them.
  Documents documents = states_.documents(w.documents);
  if (!documents[lock] || !is_over(documents[lock], CoreServer::clock_ms(w))) return;
  World to = w;
  documents[lock].reset();
  store(to, states_.keep(documents), 1);
  seen_ |= 1u << ttl;
  emit(std::move(to), "the TTL monitor deletes the document", 2, "");
}

void CoreSystem::server_steps(const World& w) const {
  for (std::size_t lock = 0; lock < kLocks; ++lock) remove_expired(w, lock);
  // An election, as a lock sees it: the data are the same, because a majority had them.
  if (World to = w; w.ahead == 0 && spend(to, CoreFault::clock)) {
    // Never back, because a clock that is behind only makes leases longer.
    to.ahead = 1;
    emit(std::move(to), "another member is primary, its clock a margin ahead", 2, "");
  }
  if (w.tick == scope_.ticks) return;
  // Behaviours in which no user has asked yet differ by a shift in time only.
  if (w.tick == 0 && actor(w, 0).users[0].asks_left == scope_.acquires[0]) return;
  for (unsigned process = 0; process < 2; ++process) {
    const Actor& a = actor(w, process);
    // Crashed and paused processes may be late by any time; the others are as prompt as a tick.
    if (a.crashed || a.paused) continue;
    for (const auto& [timer, when] : a.timers) {
      if (when <= scope_.clock(process, w.tick)) return;  // it runs, so it fires them first
    }
  }
  World to = w;
  // REQUIRES: nothing is due. Time may go on, though much else could happen first. Checked with the
  // tick that ends.
  judge_.judge_tick(to);
  ++to.tick;
  emit(std::move(to), "time goes on", 2, "");
}

}  // namespace leasehold::sim::explored
