#pragma once

#include <functional>
#include <leasehold/lock_event.hpp>
#include <leasehold/lock_options.hpp>
#include <leasehold/result.hpp>
#include <map>
#include <memory>
#include <string>

#include "core/protocol.hpp"
#include "runtime/handle_state.hpp"
#include "runtime/lock_event_translator.hpp"
#include "runtime/threads/callbacks.hpp"
#include "runtime/threads/loss_signals.hpp"
#include "runtime/threads/timers.hpp"
#include "runtime/threads/workers.hpp"

namespace leasehold::runtime {

/// Carries out what the core wants done, in order: commands go to workers, times to timers, results
/// to the callers, and what became of a held lock to its handle. It knows which calls wait for an
/// answer and which handles there are, and decides nothing.
///
/// INVARIANT: a session has a call that waits, then a handle, then neither: the core says each
/// once.
/// Thread safety: none, its driver serialises the calls; what it calls has locks of its own.
class EffectRunner {
 public:
  /// Called once, under the driver's lock: be quick, and own no user's function.
  using Answered = std::function<void(Result<std::shared_ptr<HandleState>>)>;

  struct Parts {
    Workers& workers;
    Timers& timers;
    Callbacks& callbacks;
    LossSignals& losses;
  };
  /// `on_event` may be empty. Both are called as Callbacks calls.
  using OnWarning = std::function<void(const std::string&)>;
  using OnEvent = std::function<void(const LockEvent&)>;
  EffectRunner(Parts parts, OnWarning on_warning, OnEvent on_event);

  /// `answered` gets what becomes of this session, which asks for a lock of these options.
  void expect(core::SessionId session, const LockOptions& options, Answered answered);

  /// The effects of this event, which happened at that time. Commands are moved out of them.
  void run(const core::Event& event, core::Effects& effects, core::LocalInstant at);

  void warn(const std::string& message);

 private:
  struct Call {
    LockOptions options;
    Answered answered;
  };

  void apply(core::Send& effect) { parts_.workers.submit(std::move(effect.command)); }
  void apply(const core::Abandon& effect) { parts_.workers.abandon(effect.command); }
  void apply(const core::SetTimer& effect) { parts_.timers.set(effect.timer, effect.at); }
  void apply(const core::ClearTimer& effect) { parts_.timers.clear(effect.timer); }
  void apply(const core::Granted& effect);
  void apply(const core::Extended& effect);
  void apply(const core::Lost& effect);
  void apply(const core::Ended& effect) { answer(effect.session, effect.error); }
  void apply(const core::Released& effect);
  void apply(const core::Warned& effect) { warn(effect.message); }
  void apply(const core::Congested&) {}  // for observers
  void answer(core::SessionId session, Result<std::shared_ptr<HandleState>> result);

  const Parts parts_;
  const OnWarning on_warning_;
  const std::shared_ptr<const OnEvent> on_event_;  ///< may be null
  LockEventTranslator translator_;
  std::map<core::SessionId, Call> waiting_;
  std::map<core::SessionId, std::shared_ptr<HandleState>> handles_;
};

}  // namespace leasehold::runtime
