#include <algorithm>

#include "model/transition_table.hpp"
#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "sim/explored/core_system.hpp"
#include "sim/explored/core_terms.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;
using core::Timer;
using simulated::Bytes;
using simulated::Change;
using simulated::Collection;
using simulated::Date;
using simulated::Object;
using simulated::Timestamp;
using simulated::to_object;

// Any time at which tokens are positive. All operation times are of this one second, so a token is
// named by its counter, which is the number of the write.
constexpr std::int64_t kEpoch_ms = 1'700'000'000'000;
constexpr std::uint32_t kEpoch_s = 1'700'000'000;
constexpr int kNotWritablePrimary = 10107, kPrimarySteppedDown = 189;

/// The lease with both clocks' drift, a pause between attempts, two attempts, and one tick because
/// timers are noticed at ticks only.
constexpr unsigned kTakeoverTicks = kLeaseTicks + 1 + 2 + 2;

/// Nobody's if there is none, or if its lockId is not of our form.
std::optional<core::Owner> owner_of(const Document& document) {
  if (!document) return std::nullopt;
  const auto parts = core::parse_lock_id(*document->find("lockId")->as<std::string>());
  return parts ? std::optional(parts->owner) : std::nullopt;
}

/// Also if it is of a call of this process that is over: any of its owners is meant.
bool belongs_to(const Document& document, unsigned who) {
  const auto owner = owner_of(document);
  return owner && owner->high >> kOwnerShift == who + 1;
}

/// As an acquire compares: at that very time it is over.
bool is_over(const Document& document, std::int64_t now_ms) {
  return document->find("expiresAt")->as<Date>()->ms <= now_ms;
}

/// In the order of the command's alternatives.
const char* verb(const core::Command& command) {
  constexpr std::array kVerbs{"acquire",     "extend",    "read holders", "delete",  "index",
                              "raw command", "hand-over", "stream",       "inspect", "pass-on"};
  static_assert(kVerbs.size() == std::variant_size_v<decltype(core::Command::body)>);
  return kVerbs[command.body.index()];
}

// A reply's number, for the same reply to the same actor has the same effect. 1 to 4 are the other
// kinds of events.
std::uint64_t reply_key(std::uint32_t message) { return 5 | std::uint64_t{message} << 8; }

/// As a story says it of whoever notices it.
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

/// {w: "majority"} was not reached: the member stepped down.
void add_write_concern_error(Object& reply) {
  Object error;
  error.set("code", std::int32_t{kPrimarySteppedDown});
  error.set("errmsg", std::string("stepped down"));
  reply.set("writeConcernError", error);
}

}  // namespace

/// In a fixed order, so that the first counterexample that is found is the same one each time.
void CoreSystem::steps(const State& from) const {
  found_.clear();
  const World w = CoreStates::unpack(from);
  for (std::size_t i = 0; i < w.messages.size(); ++i) {
    // Nothing but this: what else could happen now can happen before the event that sent it, or
    // after it was answered, or the request is late, which is a fault.
    if (states_.message(w.messages[i]).fresh) return message_steps(w, i);
  }
  for (unsigned who = 0; who < 2; ++who) actor_steps(w, who);
  for (std::size_t i = 0; i < w.messages.size(); ++i) message_steps(w, i);
  server_steps(w);
}

const CoreSystem::Effect& CoreSystem::give(World& to, unsigned who, const core::Event& event,
                                           std::uint64_t key) const {
  // The core's answer depends on the tick, as its clock; `who` is in the owners that it draws.
  const std::array<std::uint64_t, 2> known{
      to.actors[who] | std::uint64_t{who} << 32 | std::uint64_t{to.tick} << 40, key};
  // Actors have numbers, so that the key is whole: equal actors at one tick do the same.
  auto found = effects_.find(known);
  if (found == effects_.end()) {
    found = effects_.emplace(known, react(actor(to, who), who, to.tick, event)).first;
  }
  const Effect& effect = found->second;
  to.actors[who] = effect.actor;
  for (const auto number : effect.sent) to.messages.push_back(number);
  // The first is kept: the path to it is the counterexample.
  if (effect.broken != none && to.broken == none) to.broken = effect.broken;
  if (effect.token != 0) {
    // The counter of its time, which is the number of its write; less than 256 in any scope.
    const auto number = static_cast<unsigned>(effect.token & 0xFF);
    if (number <= to.granted && to.broken == none) to.broken = g4;
    to.granted = std::max(to.granted, number);
  }
  return effect;
}

/// Nobody waits for them any more. Requests cannot be called back.
/// To keep them would tell states apart that go on alike.
void CoreSystem::drop_replies(World& w, unsigned who,
                              std::optional<core::CommandId> command) const {
  // From the end, for taking one out moves those after it.
  for (std::size_t i = w.messages.size(); i-- > 0;) {
    const Message& m = states_.message(w.messages[i]);
    const bool its = m.who == who && (!command || m.command->id == *command);
    if (its && m.reply) w.messages.take_out(i);
  }
}

/// True time, and a tick more once another member is primary: no client's clock plays a part.
std::int64_t CoreSystem::server_ms(const World& w) {
  return kEpoch_ms + static_cast<std::int64_t>(w.tick + w.ahead) * kTick.count();
}

void CoreSystem::actor_steps(const World& w, unsigned who) const {
  const Actor& a = actor(w, who);
  // It never comes back: one that starts anew would be one more process that knows nothing.
  if (a.crashed) return;
  if (a.paused) {
    World to = w;
    Actor woken = a;
    woken.paused = false;
    to.actors[who] = states_.keep(std::move(woken));
    // The pause was a fault until now: the bounds count from its end.
    to.fault_at = w.tick;
    return emit(std::move(to), "goes on", who, "");
  }
  // Faults come last and may hit at any step, whether a timer waits or not.
  if (!timer_step(w, who)) user_steps(w, who);
  actor_faults(w, who);
}

/// Timers that are due come before new calls of its user: a process whose timers wait is the fault
/// "pause". False: none is due.
bool CoreSystem::timer_step(const World& w, unsigned who) const {
  const Actor& a = actor(w, who);
  // One timer at a time, the earliest: the runtime fires them in the order of their times. The
  // others follow in steps of their own, with replies in between or not.
  const auto due =
      std::min_element(a.timers.begin(), a.timers.end(),
                       [](const auto& x, const auto& y) { return x.second < y.second; });
  if (due == a.timers.end() || due->second > local(w.tick)) return false;
  World to = w;
  const Timer timer = due->first;
  const auto& effect = give(to, who, core::TimerFired{timer},
                            4 | static_cast<std::uint64_t>(timer.kind) << 8 | timer.id << 16);
  // The core cut these off; their requests may still be on their way, and execute.
  for (const auto command : effect.abandoned) drop_replies(to, who, command);
  emit(std::move(to), "notices the", who, name_of(timer.kind));
  return true;
}

void CoreSystem::user_steps(const World& w, unsigned who) const {
  const Actor& a = actor(w, who);
  if (a.life == model::kOutside && a.asks_left > 0) {
    World to = w;
    Actor asking = a;
    --asking.asks_left;
    asking.waits_since = w.tick;
    const auto session = ++asking.session;
    to.actors[who] = states_.keep(std::move(asking));
    // Without a time-out: to give up at any time is the fault "cancel".
    give(to, who, core::AcquireAsked{session, kName, options_, std::nullopt, false}, 1);
    emit(std::move(to), "asks", who, "");
  }
  // At any time, also after the loss: its user need not have noticed.
  if (a.holds || a.life == "Lost") {
    World to = w;
    give(to, who, core::ReleaseAsked{a.session}, 2);
    emit(std::move(to), "releases", who, "");
  }
}

void CoreSystem::actor_faults(const World& w, unsigned who) const {
  const Actor& a = actor(w, who);
  const bool asking = a.life == "Waiting" || a.life == "Acquiring";
  // Its caller gives up: what its attempts may have won has to be given back.
  if (World to = w; asking && spend(to, CoreFault::cancel)) {
    give(to, who, core::CancelAsked{a.session}, 3);
    emit(std::move(to), "cancels", who, "");
  }
  if (World to = w; a.life != model::kOutside && spend(to, CoreFault::pause)) {
    Actor paused = a;
    paused.paused = true;
    to.actors[who] = states_.keep(std::move(paused));
    emit(std::move(to), "is paused", who, "");
  }
  if (World to = w; a.life != model::kOutside && spend(to, CoreFault::crash)) {
    // A fresh actor, with nothing that could act. What it held is kept: its lease runs on, and to
    // give its lock away before the deadline is wrong (G1), although nobody is left who asks.
    Actor crashed;
    crashed.crashed = true;
    crashed.life = model::kOutside;
    crashed.holds = a.holds;
    crashed.deadline = a.deadline;
    to.actors[who] = states_.keep(std::move(crashed));
    drop_replies(to, who, {});
    emit(std::move(to), "crashes", who, "");
  }
}

/// A fresh request executes and is answered at once, or a fault befalls it now; what it left on its
/// way arrives some time.
void CoreSystem::message_steps(const World& w, std::size_t at) const {
  const Message& m = states_.message(w.messages[at]);
  if (m.reply) {
    const Actor& a = actor(w, m.who);
    // It waits in the socket; of a crashed process there is none (`drop_replies`).
    if (a.paused || a.crashed) return;
    World to = w;
    to.messages.take_out(at);
    give(to, m.who, core::ReplyArrived{m.command->id, *m.reply}, reply_key(w.messages[at]));
    return emit(std::move(to), "hears of its", m.who, verb(*m.command));
  }
  // A late request does this at any step from now on, once.
  execute(w, at, std::nullopt);
  // One fault hits a request when it is sent. A late one has had its.
  if (!m.fresh) return;
  // All that may become of one execution; each is a step of its own, and a fault spent.
  for (const auto fault : {CoreFault::error_before, CoreFault::error_after, CoreFault::lost_reply,
                           CoreFault::slow_reply}) {
    execute(w, at, fault);
  }
  // Its sender notices by the command's timer, which is not removed by this.
  if (World to = w; spend(to, CoreFault::lost_request)) {
    to.messages.take_out(at);
    emit(std::move(to), verb(*m.command), m.who, "is lost on its way");
  }
  Message underway = m;
  underway.fresh = false;
  if (World to = w; spend(to, CoreFault::late)) {
    to.messages[at] = states_.keep(underway);
    emit(std::move(to), verb(*m.command), m.who, "takes its time");
  }
  if (World to = w; spend(to, CoreFault::inside)) {
    // Now is when the server reads it; it writes by this clock reading whenever it executes. The
    // cluster time is of now, too.
    underway.started_ms = server_ms(w);
    underway.started_at = w.writes;
    to.messages[at] = states_.keep(std::move(underway));
    emit(std::move(to), verb(*m.command), m.who, "waits inside the server");
  }
}

/// Of the request with this number, at this document and time: the same each time.
const CoreSystem::Execution& CoreSystem::execution_of(const World& w, std::uint32_t number,
                                                      std::optional<CoreFault> fault) const {
  // Part of the key, as an error replaces the reply or comes beside it.
  const std::uint64_t how_it_goes = fault ? static_cast<std::uint64_t>(*fault) + 1 : 0;
  const std::array<std::uint64_t, 2> key{
      number | std::uint64_t{w.document} << 32,
      w.tick | w.ahead << 8 | std::uint64_t{w.writes} << 16 | how_it_goes << 32};
  // Neither who waits for the reply nor what time it is for its sender plays a part.
  const auto known = executions_.find(key);
  if (known != executions_.end()) return known->second;
  const Message& m = states_.message(number);
  Execution done;
  done.document = w.document;
  Object reply;
  if (fault == CoreFault::error_before) {
    reply = simulated::error_reply(kNotWritablePrimary, "not primary");
  } else {
    Collection collection;
    if (states_.document(w.document)) collection.apply({kName, states_.document(w.document)});
    // By the manual $$NOW is one reading for the whole command.
    const auto now = m.started_ms.value_or(server_ms(w));
    // What $$CLUSTER_TIME shows: the time of the last write before the command started.
    const auto cluster = static_cast<std::uint32_t>(m.started_ms ? m.started_at : w.writes);
    // The adapter's own bytes, and below its own reading of the reply: what is explored is what
    // runs.
    const auto bytes = mongo::build(*m.command, "distributed.locks");
    auto executed = simulated::execute(to_object(*bytes.get()), collection,
                                       {Date{now}, Timestamp{kEpoch_s, cluster}});
    for (const Change& change : executed.changes) collection.apply(change);
    done.wrote = !executed.changes.empty();
    done.document = states_.keep(collection.find(kName));
    reply = std::move(executed.reply);
    if (fault == CoreFault::error_after) add_write_concern_error(reply);
  }
  // Of its own write, or of the last one before if it changed nothing, as mongod says it.
  // Set last: an error carries it too.
  reply.set("operationTime", Timestamp{kEpoch_s, w.writes + (done.wrote ? 1u : 0u)});
  done.reply = mongo::read_reply(*m.command, *Bytes(reply).get());
  return executions_.emplace(key, std::move(done)).first->second;
}

void CoreSystem::execute(const World& w, std::size_t at, std::optional<CoreFault> fault) const {
  World to = w;
  if (fault && !spend(to, *fault)) return;
  const Message& m = states_.message(w.messages[at]);
  const Execution& done = execution_of(w, w.messages[at], fault);
  // Atomic, as one findAndModify, update or delete of one document is on a mongod.
  to.document = done.document;
  if (done.wrote) {
    ++to.writes;
    to.written_at = w.tick;
    judge_write(to, m, done, w.document);
  }
  // A command that its actor has given up executes all the same: that is what owners are for.
  const bool awaited = actor(w, m.who).awaited.contains(m.command->id);
  if (!awaited && done.wrote) seen_ |= 1u << late_ghost;
  const bool heard = awaited && fault != CoreFault::lost_reply;
  to.messages.take_out(at);
  if (heard) {
    const auto reply = states_.keep(Message{m.who, m.command, done.reply});
    // A paused process reads it when it goes on, in any order with its timers.
    if (fault == CoreFault::slow_reply || actor(w, m.who).paused) {
      to.messages.push_back(reply);
    } else {
      give(to, m.who, core::ReplyArrived{m.command->id, done.reply}, reply_key(reply));
    }
  }
  const char* how = fault == CoreFault::error_before  ? "is answered: not primary"
                    : fault == CoreFault::error_after ? "executes, and the primary steps down"
                    : fault == CoreFault::lost_reply  ? "executes, its reply is lost"
                    : fault == CoreFault::slow_reply  ? "executes, its reply takes its time"
                    : done.wrote                      ? "executes"
                                                      : "executes, nothing changes";
  emit(std::move(to), verb(*m.command), m.who, how);
}

/// By whose document it was and whose it is now: what the write did, whatever was meant by it.
void CoreSystem::judge_write(World& to, const Message& by, const Execution& done,
                             std::uint32_t before) const {
  const auto old_owner = owner_of(states_.document(before));
  const auto new_owner = owner_of(states_.document(done.document));
  if (const auto* acquire = std::get_if<core::AcquireCommand>(&by.command->body)) {
    const Actor& other = actor(to, 1 - by.who);
    // Before the deadline on the holder's own clock, until which it may act.
    const bool granted_away = new_owner == acquire->owner && other.holds;
    if (granted_away && local(to.tick) < other.deadline && to.broken == none) to.broken = g1;
    // A write over one's own document: an earlier attempt had won, and its answer was lost.
    if (old_owner == acquire->owner) {
      seen_ |= 1u << own_win;
    } else if (old_owner) {
      seen_ |= 1u << (acquire->observed ? takeover_observed : takeover_by_clock);
    }
  } else if (const auto* gone = std::get_if<core::DeleteCommand>(&by.command->body)) {
    // The adapter's query names the owner; here what it deleted is compared.
    if (old_owner != gone->owner && to.broken == none) to.broken = g6;
  } else if (const auto* extend = std::get_if<core::ExtendCommand>(&by.command->body)) {
    if (old_owner != extend->statements.at(0).owner && to.broken == none) to.broken = g6;
  }
}

/// What has to be true before time goes on.
void CoreSystem::judge_tick(World& to) const {
  if (to.broken != none) return;
  for (unsigned who = 0; who < 2; ++who) {
    const Actor& a = actor(to, who);
    // Who takes no step cannot be notified, nor wait for anything.
    if (a.crashed || a.paused) continue;
    // All that was due in this tick has been done, or time would not go on.
    if (a.holds && local(to.tick) >= a.deadline) to.broken = g5;
    const bool asking = a.life == "Waiting" || a.life == "Acquiring";
    const auto since = std::max({a.waits_since, to.fault_at, to.written_at});
    if (asking && to.tick - since >= kTakeoverTicks) to.broken = g7;
    const unsigned late =  // a request that nobody can call back may win when all is over
        1u << static_cast<unsigned>(CoreFault::late) |
        1u << static_cast<unsigned>(CoreFault::inside);
    // Calls, commands and clean-ups: nobody is left who would delete it.
    const bool over = a.life == model::kOutside && a.awaited.empty() && a.core.cleanups_left() == 0;
    // One that could not be deleted for two leases frees itself, as a crashed holder's does.
    const Document& left = states_.document(to.document);
    if (over && (to.faults & late) == 0 && belongs_to(left, who) && !is_over(left, server_ms(to))) {
      to.broken = orphan;
    }
  }
}

void CoreSystem::server_steps(const World& w) const {
  const Document& document = states_.document(w.document);
  // At any time from then on, or never within the behaviour: how late the monitor is, is free.
  if (document && is_over(document, server_ms(w))) {
    World to = w;
    to.document = states_.keep(Document());
    ++to.writes;
    to.written_at = w.tick;
    seen_ |= 1u << ttl;
    emit(std::move(to), "the TTL monitor deletes the document", 2, "");
  }
  // An election, as far as a lock can tell: its data are the same, as a majority had them.
  if (World to = w; w.ahead == 0 && spend(to, CoreFault::clock)) {
    // Never back: a clock that is behind makes leases longer only.
    to.ahead = 1;
    emit(std::move(to), "another member is primary, its clock a margin ahead", 2, "");
  }
  if (w.tick == scope_.ticks) return;
  // Behaviours in which nobody has asked yet differ by a shift in time only.
  if (w.tick == 0 && actor(w, 0).asks_left == scope_.acquires[0]) return;
  for (unsigned who = 0; who < 2; ++who) {
    const Actor& a = actor(w, who);
    // These may be late for as long as one likes; the others are as prompt as a tick.
    if (a.crashed || a.paused) continue;
    for (const auto& [timer, when] : a.timers) {
      if (when <= local(w.tick)) return;  // it runs, so it fires them first
    }
  }
  World to = w;
  // REQUIRES: nothing is due. Then time may go on, though much else could happen first.
  // With the tick that ends, before it is counted up.
  judge_tick(to);
  ++to.tick;
  emit(std::move(to), "time goes on", 2, "");
}

}  // namespace leasehold::sim::explored
