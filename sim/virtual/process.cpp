#include "sim/virtual/process.hpp"

#include <time.h>

#include <algorithm>

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "protocols/documented.hpp"
#include "sim/lock_options.hpp"

namespace leasehold::sim::virt {
namespace {

using std::chrono::milliseconds;

constexpr const char* kCollection = "distributed.locks";
constexpr std::int64_t kSelection = 2'000 * kMs;  ///< server selection gives up after this
constexpr std::int64_t kLookAgain = 50 * kMs;     ///< and asks the members that often
constexpr std::int64_t kHealedPatience_ms = 60'000;
constexpr int kHealedAcquires = 2;
constexpr std::int64_t kWriteTimeout = 3'000 * kMs;

/// A planted error, made where the adapter's bytes pass: the owner check is taken out.
Object spoilt(Object command, Spoil spoil) {
  const auto without_owner = [&](const char* list) {
    Array statements = *command.find(list)->as<Array>();
    for (Value& item : statements.items) {
      Object statement = *item.as<Object>();
      Object query;
      query.set("_id", *statement.find("q")->as<Object>()->find("_id"));
      statement.set("q", query);
      item = statement;
    }
    command.set(list, statements);
  };
  const std::string& name = command.fields[0].first;
  const Value* concern = command.find("writeConcern");
  if (spoil == Spoil::writes_for_one && concern != nullptr) {
    Object one = *concern->as<Object>();
    one.set("w", std::int32_t{1});
    command.set("writeConcern", one);
  }
  if (spoil == Spoil::deletes_without_owner && name == "delete") without_owner("deletes");
  if (spoil == Spoil::extends_without_owner && name == "update") without_owner("updates");
  return command;
}

/// The canaries and variants are the production lock, spoilt on the way.
std::string lock_of(const std::string& name) {
  return protocols::recipe_named(name) == nullptr ? "leasehold" : name;
}

/// What the oplog's entry of this command is told by, where the document itself does not say.
std::string tag_of(const core::Command& command) {
  const auto* plain = std::get_if<core::PlainCommand>(&command.body);
  return plain == nullptr ? "" : plain->lock_id;
}

/// What must never enter a virtual run: planted, so that a test sees it found out.
std::int64_t leaked_time() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_nsec / 100 % 300 + 50) * kGrain;
}

}  // namespace

Process::Process(World world, std::string name, const ProcessPlan& plan, bool grave)
    : world_(std::move(world)),
      name_(std::move(name)),
      plan_(plan),
      grave_(grave),
      random_(world_.random.draw()),
      recorder_(name_,
                [this](const model::Event& event) {
                  model::Event e = event;  // the harness's clock, not the process's own
                  e.at_ns = world_.queue.now();
                  if (e.sent_ns > 0) e.sent_ns = true_time(e.sent_ns);
                  if (e.until_ns > 0) e.until_ns = true_time(e.until_ns);
                  world_.emit(e);
                }),
      core_(protocols::provider_named(lock_of(world_.plan.lock), name_)),
      callers_(grave ? 1 : static_cast<std::size_t>(plan_.callers)),
      options_(options_of(plan_, world_.plan.lock, world_.plan.clock_margin_ms)) {}

std::int64_t Process::local_time(std::int64_t true_ns) const {
  return true_ns + true_ns / kGrain * plan_.drift_ppm / (1'000'000 / kGrain);
}

core::LocalInstant Process::local_now() const {
  return core::LocalInstant(core::Duration(local_time(world_.queue.now())));
}

core::Clocks Process::clocks() const {
  const auto wall = ReplicaSet::Settings{}.epoch_ms + world_.queue.now() / kMs + wall_offset_ms;
  return {local_now(), {wall}};
}

/// The latest time that this clock does not show later. All that happens, happens on the grain, so
/// it finds the very time back that a reading was made at.
std::int64_t Process::true_time(std::int64_t local_ns) const {
  const auto estimate = static_cast<std::int64_t>(static_cast<__int128>(local_ns) * 1'000'000 /
                                                  (1'000'000 + plan_.drift_ppm));
  std::int64_t time = (estimate / kGrain + 2) * kGrain;
  while (local_time(time) > local_ns) time -= kGrain;
  return time;
}

void Process::later(std::int64_t span_ns, std::function<void()> run) {
  world_.queue.after(span_ns, [this, run = std::move(run)] { when_running(run); });
}

void Process::when_running(std::function<void()> run) {
  if (crashed_) return;
  if (paused_) {
    held_back_.push_back(std::move(run));
  } else {
    run();
  }
}

void Process::start() {
  model::Event e;
  e.at_ns = world_.queue.now();
  e.kind = model::Kind::start;
  e.process = name_;
  world_.emit(e);
  for (Caller& caller : callers_) rest(caller, 20);
}

bool Process::holds() const {
  return std::any_of(callers_.begin(), callers_.end(),
                     [](const Caller& caller) { return caller.holding.has_value(); });
}

void Process::crash() { crashed_ = true; }
void Process::pause() { paused_ = true; }

void Process::resume() {
  paused_ = false;
  auto held_back = std::move(held_back_);
  held_back_.clear();
  for (const auto& run : held_back) when_running(run);
}

void Process::heal() {
  healed_ = true;
  link = {};
  recorder_.set_phase("healed");
  for (Caller& caller : callers_) {
    if ((grave_ || plan_.scripted) && caller.holding) {
      release(caller);
    } else if (plan_.scripted && !caller.asking) {
      finish(caller);
    }
  }
}

void Process::perform(const StepPlan& step) {
  using Action = StepPlan::Action;
  Caller& caller = callers_.at(static_cast<std::size_t>(step.caller));
  when_running([this, step, &caller] {
    switch (step.action) {
      case Action::acquire:
        if (caller.asking || caller.holding) return;
        return ask(caller, "lock-" + std::to_string(step.lock),
                   step.patience_ms == 0 ? std::nullopt : std::optional(step.patience_ms), false);
      case Action::write: return caller.holding ? write_fenced(*caller.holding, [] {}) : void();
      case Action::release: return caller.holding ? release(caller) : void();
      case Action::cancel: return caller.asking ? give(core::CancelAsked{caller.session}) : void();
    }
  });
}

Process::Caller& Process::caller_of(core::SessionId session) {
  return *std::find_if(callers_.begin(), callers_.end(),
                       [session](const Caller& caller) { return caller.session == session; });
}

void Process::give(const core::Event& event) {
  core::Effects effects;
  core_->next(event, clocks(), random_, effects);
  recorder_.step(event, effects, local_now());
  for (const auto& effect : effects) carry_out(effect);
}

void Process::carry_out(const core::Effect& effect) {
  if (const auto* sending = std::get_if<core::Send>(&effect)) {
    under_way_.insert(sending->command.id);
    send(std::make_shared<const core::Command>(sending->command), 0);
  } else if (const auto* abandon = std::get_if<core::Abandon>(&effect)) {
    under_way_.erase(abandon->command);
    known_primary_ = -1;  // the connection is cut; whoever is there now is asked for
  } else if (const auto* timer = std::get_if<core::SetTimer>(&effect)) {
    const auto at = true_time(timer->at.time_since_epoch().count()) + kGrain;
    world_.queue.at(at, [this, fired = timer->timer] {
      when_running([this, fired] { give(core::TimerFired{fired}); });
    });
  } else if (const auto* granted = std::get_if<core::Granted>(&effect)) {
    Caller& caller = caller_of(granted->session);
    caller.asking = false;
    caller.holding =
        Holding{granted->session, caller.asked_name, core::to_hex(granted->owner), granted->token};
    later(kGrain, [this, &caller, session = granted->session] { work(caller, session); });
  } else if (const auto* ended = std::get_if<core::Ended>(&effect)) {
    go_on(caller_of(ended->session));
  } else if (const auto* released = std::get_if<core::Released>(&effect)) {
    go_on(caller_of(released->session));
  }
}

std::array<bool, ReplicaSet::kMembers> Process::reachable() const {
  std::array<bool, ReplicaSet::kMembers> members{};
  for (std::size_t i = 0; i < members.size(); ++i) members[i] = !link.cut[i] && !link.refused[i];
  return members;
}

/// Whether the link swallows what this member answers.
bool Process::reply_stopped(int member) {
  const bool cut = link.cut[static_cast<std::size_t>(member)];
  if (!link.replies_lost && !cut) return false;
  ++world_.bitten[link.replies_lost ? "lost-replies" : "cut-link"];
  return true;
}

std::int64_t Process::latency() {
  if (link.slower_ms > 0) ++world_.bitten["slow-link"];
  if (world_.spoil == Spoil::reads_the_real_clock) return leaked_time();
  return random_.between(50, 400) * kGrain + link.slower_ms * kMs;
}

/// As the driver does it: to the primary that it knows of, else it looks for one for a while.
void Process::send(const Sent& command, int tries) {
  if (!under_way_.contains(command->id)) return;
  if (known_primary_ < 0) {
    known_primary_ = world_.servers.primary_for(reachable());
    if (known_primary_ < 0) {
      if (tries * kLookAgain >= kSelection)
        return answered(*command, ReplicaSet::Answer::refused, {});
      return later(kLookAgain, [this, command, tries] { send(command, tries + 1); });
    }
  }
  deliver(command, known_primary_);
}

void Process::deliver(const Sent& command, int member) {
  const auto bytes = mongo::build(*command, kCollection);
  auto object = std::make_shared<const Object>(spoilt(to_object(*bytes.get()), world_.spoil));
  recorder_.wire(object->fields[0].first);
  if (link.cut[static_cast<std::size_t>(member)]) {
    ++world_.bitten["cut-link"];
    return;  // nobody hears it; the core's own timer ends the wait
  }
  if (link.refused[static_cast<std::size_t>(member)]) {
    ++world_.bitten["refuse-link"];
    return later(latency(),
                 [this, command] { answered(*command, ReplicaSet::Answer::refused, {}); });
  }
  std::int64_t way = latency();
  if (link.late_ms > 0) {
    ++world_.bitten["late-requests"];
    way += link.late_ms * kMs;
  }
  std::int64_t inside = 0;
  if (link.inside_ms > 0) {
    ++world_.bitten["waiting-inside"];
    inside = link.inside_ms * kMs;
  }
  world_.queue.after(way + inside, [this, command, object, member, inside] {
    world_.servers.command(member, {object, tag_of(*command), inside},
                           [this, command, member](ReplicaSet::Answer answer, const Object& reply) {
                             if (reply_stopped(member)) return;
                             const bool reset = link.refused[static_cast<std::size_t>(member)];
                             later(latency(), [this, command, answer, reply, reset] {
                               answered(*command, reset ? ReplicaSet::Answer::broken : answer,
                                        reply);
                             });
                           });
  });
}

/// Reads the reply with the adapter's own code.
void Process::answered(const core::Command& command, ReplicaSet::Answer answer,
                       const Object& reply) {
  if (under_way_.erase(command.id) == 0) return;  // abandoned
  core::Reply read;
  if (answer == ReplicaSet::Answer::reply) {
    constexpr int kNotWritablePrimary = 10107;
    const Value* code = reply.find("code");
    if (code != nullptr && code->integer() == kNotWritablePrimary) known_primary_ = -1;
    if (reply.find("writeConcernError") != nullptr) known_primary_ = -1;
    read = mongo::read_reply(command, *Bytes(reply).get());
  } else {
    known_primary_ = -1;
    read.outcome = answer == ReplicaSet::Answer::refused ? core::Outcome::failed_before
                                                         : core::Outcome::unknown;
    read.message = "no connection";
  }
  give(core::ReplyArrived{command.id, std::move(read)});
}

/// A pause of the workload, which ends early when all is healed.
void Process::rest(Caller& caller, std::int64_t up_to_ms) {
  const auto number = ++caller.rests;
  later(random_.between(0, up_to_ms * 1'000) * 1'000, [this, &caller, number] {
    if (number == caller.rests) cycle(caller);
  });
}

void Process::cycle(Caller& caller) {
  if (caller.holding || caller.finished || plan_.scripted) return;
  if (grave_) {
    if (!healed_) ask(caller, "grave-" + name_, 10'000, false);
    if (healed_) finish(caller);
    return;
  }
  const auto name = "lock-" + std::to_string(random_.between(0, world_.plan.locks - 1));
  if (healed_) {
    if (caller.healed_acquires++ == kHealedAcquires) return finish(caller);
    ask(caller, name, kHealedPatience_ms, false);
  } else if (random_.chance(plan_.single_attempt_percent)) {
    ask(caller, name, std::nullopt, false);
  } else {
    ask(caller, name, random_.between(50, plan_.patience_ms), random_.chance(plan_.cancel_percent));
  }
}

void Process::ask(Caller& caller, const std::string& lock, std::optional<std::int64_t> patience_ms,
                  bool cancel) {
  core::AcquireAsked asked{++last_session_, lock, options_, std::nullopt, !patience_ms.has_value()};
  if (patience_ms) asked.give_up_at = local_now() + milliseconds(*patience_ms);
  caller.session = asked.session;
  caller.asked_name = lock;
  caller.asking = true;
  give(asked);
  if (!cancel) return;
  later(random_.between(1, plan_.wait_max_ms) * kMs, [this, &caller, session = asked.session] {
    if (!caller.holding && session == caller.session) give(core::CancelAsked{session});
  });
}

/// Writes at the start and at the end of a holding, without asking whether it still holds.
void Process::work(Caller& caller, core::SessionId session) {
  const auto holds_it = [&caller, session] {
    return caller.holding && caller.holding->session == session;
  };
  if (!holds_it()) return;
  if (plan_.scripted) return healed_ ? release(caller) : void();
  if (grave_ && !healed_) return write_fenced(*caller.holding, [] {});  // holds until it is killed
  std::int64_t hold_us = random_.between(0, plan_.hold_ms * 1'000);
  if (random_.chance(plan_.long_hold_percent) && !healed_) {
    const auto [least_ms, most_ms] = long_holding(plan_, options_);
    hold_us = random_.between(least_ms, most_ms) * 1'000;
  }
  const auto let_go = [this, &caller, holds_it] {
    if (holds_it()) release(caller);
  };
  write_fenced(*caller.holding, [this, &caller, holds_it, let_go, hold_us] {
    later(hold_us * 1'000, [this, &caller, holds_it, let_go] {
      if (holds_it()) write_fenced(*caller.holding, let_go);
    });
  });
}

void Process::release(Caller& caller) {
  const auto session = caller.holding->session;
  caller.holding.reset();
  give(core::ReleaseAsked{session});
}

void Process::go_on(Caller& caller) {
  caller.asking = false;
  if (plan_.scripted) return healed_ ? finish(caller) : void();
  if (healed_) return rest(caller, 5);
  rest(caller, std::max<std::int64_t>(plan_.hold_ms, 1));
}

void Process::write_fenced(const Holding& holding, std::function<void()> then) {
  const FencedWrite write{holding.name, name_, holding.owner, ++writes_, holding.token.value()};
  model::Event e;
  e.kind = model::Kind::write;
  e.process = name_;
  e.session = static_cast<std::int64_t>(holding.session);
  e.command = write.number;
  e.name = write.name;
  e.token = write.token;
  e.sent_ns = world_.queue.now();
  const auto told = std::make_shared<bool>(false);
  const auto tell = [this, e, told, then = std::move(then)](const char* outcome) {
    if (*told) return;
    *told = true;
    model::Event done = e;
    done.at_ns = world_.queue.now();
    done.outcome = outcome;
    world_.emit(done);
    then();
  };
  later(kWriteTimeout, [tell] { tell("unknown"); });
  const int member = known_primary_ < 0 ? world_.servers.primary_for(reachable()) : known_primary_;
  if (member < 0 || !reachable()[static_cast<std::size_t>(member)]) return;
  world_.queue.after(latency(), [this, write, member, tell] {
    world_.servers.fenced_write(
        member, write, [this, tell, member](ReplicaSet::Answer answer, const Object& reply) {
          if (link.replies_lost || !reachable()[static_cast<std::size_t>(member)]) return;
          const bool clear = answer == ReplicaSet::Answer::reply && reply.find("ok")->truth() &&
                             reply.find("writeConcernError") == nullptr;
          const char* outcome = !clear                            ? "unknown"
                                : reply.find("n")->integer() == 1 ? "accepted"
                                                                  : "refused";
          later(latency(), [tell, outcome] { tell(outcome); });
        });
  });
}

void Process::finish(Caller& caller) {
  caller.finished = true;
  const bool all =
      std::all_of(callers_.begin(), callers_.end(), [](const Caller& one) { return one.finished; });
  if (all) finish();
}

void Process::finish() {
  // What it still has to clean up, it cleans up first, as a provider's destructor would.
  give(core::CloseAsked{});
  done_ = core_->removals_left() == 0;
  if (!done_) return later(10 * kMs, [this] { finish(); });
  recorder_.emit_wire_counts(local_now());
}

}  // namespace leasehold::sim::virt
