#include <algorithm>

#include "model/lifecycle_steps.hpp"
#include "model/transition_table.hpp"
#include "sim/explored/core_system.hpp"
#include "sim/explored/core_terms.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;
using core::Timer;
using Life = model::LifecycleStep;

/// Numbers that differ by process and by draw. Really random ones would make each order of events
/// a state of its own.
class CountedEntropy final : public core::Entropy {
 public:
  CountedEntropy(unsigned who, std::uint64_t& drawn) : who_(who), drawn_(drawn) {}
  // Never 0, and never another process's: as improbable as for real numbers of 128 bits.
  std::uint64_t draw() override { return std::uint64_t{who_ + 1} << kOwnerShift | ++drawn_; }

 private:
  unsigned who_;
  std::uint64_t& drawn_;
};

/// Only attempts are asked whose they are: their outcome moves the caller along the diagram.
core::SessionId session_of(const core::Command& command) {
  const auto* acquire = std::get_if<core::AcquireCommand>(&command.body);
  return acquire == nullptr ? 0 : acquire->session;
}

}  // namespace

/// One event, and what the core does about it at once.
class CoreSystem::Reaction {
 public:
  Reaction(const CoreSystem& system, const Actor& before, unsigned who, unsigned tick)
      : system_(system), a_(before), who_(who), tick_(tick) {}

  // An event may bring about others at once; they are seen in the same step.
  Effect run(const core::Event& event) {
    events_ = {event};
    // A copy of each: `step` appends to the list.
    // By the index: the list grows while it is gone through.
    for (std::size_t e = 0; e < events_.size(); ++e) step(core::Event(events_[e]));
    tidy_up();
    out_.actor = system_.states_.keep(std::move(a_));
    return std::move(out_);
  }

 private:
  /// Walks the arrows of the diagram.
  void take(Life step) {
    for (const auto input : model::inputs_of(step, a_.life)) {
      const auto found = model::lifecycle().find(a_.life, input);
      if (!found) {
        // It stays where it is, and the exploration ends with this state.
        out_.broken = arrow;
      } else {
        a_.life = model::lifecycle().arrows()[*found].to;
      }
    }
  }

  void step(const core::Event& event) {
    if (std::holds_alternative<core::AcquireAsked>(event)) take(Life::created);
    if (std::holds_alternative<core::ReleaseAsked>(event)) {
      a_.holds = false;
      take(Life::release_asked);
    }
    // Asked before the core is, which forgets the command by this very event.
    const auto heard = heard_of_the_attempt(event);
    // The count goes on from where this actor's draws had come to.
    CountedEntropy entropy(who_, a_.drawn);
    core::Effects effects;
    a_.core.next(event, local(tick_), entropy, effects);
    // A grant or an end is an arrow of its own. Without either the attempt had an outcome after
    // which the call goes on waiting.
    const bool settled = std::any_of(effects.begin(), effects.end(), [](const auto& effect) {
      return std::holds_alternative<core::Granted>(effect) ||
             std::holds_alternative<core::Ended>(effect);
    });
    if (heard && a_.life == "Acquiring" && !settled) take(outcome_of(*heard));
    for (const auto& effect : effects) {
      std::visit([this](const auto& one) { carry_out(one); }, effect);
    }
  }

  /// The reply to this call's attempt, an empty one if it timed out, or nothing.
  std::optional<core::Reply> heard_of_the_attempt(const core::Event& event) {
    const auto of_this_call = [&](core::CommandId command) {
      const auto found = a_.awaited.find(command);
      return found != a_.awaited.end() && a_.session != 0 && found->second == a_.session;
    };
    // Its reply ends the waiting for it, whatever it says.
    if (const auto* reply = std::get_if<core::ReplyArrived>(&event)) {
      const bool its = of_this_call(reply->command);
      // Also where nobody asked: a late reply is no reason to wait for it again.
      a_.awaited.erase(reply->command);
      return its ? std::optional(reply->reply) : std::nullopt;
    }
    const auto* fired = std::get_if<core::TimerFired>(&event);
    if (fired == nullptr) return std::nullopt;
    a_.timers.erase(fired->timer);
    // An attempt that timed out has the same arrow as one that was answered with an unknown
    // outcome.
    const bool silence =
        fired->timer.kind == Timer::Kind::command_timeout && of_this_call(fired->timer.id);
    return silence ? std::optional(core::Reply()) : std::nullopt;
  }

  [[nodiscard]] Life outcome_of(const core::Reply& reply) const {
    // The document after the attempt says who holds the lock. Ours without a grant: the deadline
    // had passed when the reply came.
    if (reply.outcome != core::Outcome::done || reply.documents.empty()) {
      return Life::attempt_unanswered;
    }
    const bool ours = reply.documents[0].lock_id.starts_with(core::to_hex(a_.owner) + '.');
    return ours ? Life::won_too_late : Life::attempt_refused;
  }

  void carry_out(const core::Send& send) {
    const auto& command = send.command;
    // The index is there from the start and no fault hits its command, which decides nothing.
    if (std::holds_alternative<core::EnsureIndexCommand>(command.body)) {
      core::Reply done;
      done.outcome = core::Outcome::done;
      events_.emplace_back(core::ReplyArrived{command.id, done});
      return;
    }
    if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
      a_.owner = acquire->owner;
      take(Life::attempt_sent);
    } else if (std::holds_alternative<core::ExtendCommand>(command.body)) {
      take(Life::extension_sent);
      system_.seen_ |= 1u << extension;
    }
    // Until its reply or its time-out: a state without either has nothing more to hear.
    a_.awaited.emplace(command.id, session_of(command));
    Message request{who_, std::make_shared<const core::Command>(command)};
    // It goes on in the next step, before anything else happens.
    request.fresh = true;
    out_.sent.push_back(system_.states_.keep(std::move(request)));
  }
  // As the runtime cuts a command off at its socket: no reply of it is read any more.
  void carry_out(const core::Abandon& abandon) {
    a_.awaited.erase(abandon.command);
    out_.abandoned.push_back(abandon.command);
  }
  void carry_out(const core::SetTimer& timer) { a_.timers[timer.timer] = timer.at; }
  void carry_out(const core::ClearTimer&) {}  // to fire does no harm, and tidy_up forgets it
  void carry_out(const core::Granted& granted) {
    take(granted.by == core::Granted::By::pass_on ? Life::passed_on : Life::granted);
    a_.holds = true;
    a_.deadline = granted.deadline;
    out_.token = granted.token.value();
  }
  // `held()` counts from it at once, without a step of its user.
  void carry_out(const core::Extended& extended) {
    take(Life::extended);
    a_.deadline = extended.deadline;
  }
  // From here on its user knows. That it is notified in time is `judge_tick`'s matter.
  void carry_out(const core::Lost&) {
    take(Life::lost);
    a_.holds = false;
    system_.seen_ |= 1u << notified_lost;
  }
  // The call is over without a lock.
  void carry_out(const core::Ended&) {
    take(Life::ended);
    system_.seen_ |= 1u << given_up;
  }
  void carry_out(const core::Released&) { take(Life::deleted); }
  // For people; a warning changes no state.
  void carry_out(const core::Warned&) {}

  /// Takes out what can do nothing any more and would only tell equal states apart.
  void tidy_up() {
    const bool asking = a_.life == "Waiting" || a_.life == "Acquiring";
    if (!asking) a_.waits_since = 0;
    // REQUIRES: to fire one of these would have no effect on the core. One taken out by mistake
    // would hide behaviours, and the numbers of states, which are pinned, would fall.
    std::erase_if(a_.timers, [&](const auto& entry) {
      switch (entry.first.kind) {
        case Timer::Kind::command_timeout: return !a_.awaited.contains(entry.first.id);
        case Timer::Kind::attempt: return a_.life != "Waiting";
        case Timer::Kind::give_up: return !asking;
        // Of one that does not hold the end has been reported.
        case Timer::Kind::lease_end: return !a_.holds;
        default: return false;
      }
    });
    // A round with nothing to extend does nothing.
    const bool idle = std::all_of(a_.timers.begin(), a_.timers.end(), [](const auto& entry) {
      return entry.first.kind == Timer::Kind::extension_round;
    });
    if (a_.life != model::kOutside || a_.asks_left > 0 || !a_.awaited.empty() || !idle) return;
    // It has no calls left and owes nothing: what it remembers (paces, beats, numbers drawn) can
    // have no effect, and all such actors are one.
    a_ = {};
    a_.life = model::kOutside;
  }

  const CoreSystem& system_;
  Actor a_;
  const unsigned who_, tick_;
  std::vector<core::Event> events_;
  Effect out_;
};

/// On a copy: the actor itself stays as it was, for other steps of the states that have it.
CoreSystem::Effect CoreSystem::react(const Actor& before, unsigned who, unsigned tick,
                                     const core::Event& event) const {
  return Reaction(*this, before, who, tick).run(event);
}

}  // namespace leasehold::sim::explored
