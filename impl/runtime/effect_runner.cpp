#include "runtime/effect_runner.hpp"

#include <utility>

namespace leasehold::runtime {

EffectRunner::EffectRunner(Parts parts, OnWarning on_warning, OnEvent on_event)
    : parts_(parts),
      on_warning_(std::move(on_warning)),
      on_event_(on_event ? std::make_shared<OnEvent>(std::move(on_event)) : nullptr) {}

void EffectRunner::expect(core::SessionId session, const LockOptions& options, Answered answered) {
  waiting_.insert_or_assign(session, Call{options, std::move(answered)});
}

/// A function may go on when this is gone, so it owns what it uses. Events are translated first,
/// because carrying out an effect moves its command out of it.
void EffectRunner::run(const core::Event& event, core::Effects& effects, core::LocalInstant at) {
  if (on_event_) {
    for (auto& lock_event : translator_.translate(event, effects, at)) {
      parts_.callbacks.post(
          [to = on_event_, lock_event = std::move(lock_event)] { (*to)(lock_event); });
    }
  }
  for (auto& effect : effects) {
    std::visit([this](auto& e) { apply(e); }, effect);
  }
}

void EffectRunner::warn(const std::string& message) {
  parts_.callbacks.post([to = on_warning_, message] { to(message); });
}

void EffectRunner::answer(core::SessionId session, Result<std::shared_ptr<HandleState>> result) {
  waiting_.extract(session).mapped().answered(std::move(result));
}

void EffectRunner::apply(const core::Granted& effect) {
  auto handle = std::make_shared<HandleState>(effect, waiting_.at(effect.session).options);
  handles_[effect.session] = handle;
  answer(effect.session, std::move(handle));
}

void EffectRunner::apply(const core::Extended& effect) {
  handles_.at(effect.session)->extend(effect.deadline);
}

/// The handle is not held from here on; its signal may come later. If there is no thread for the
/// signal, a callback gives it.
void EffectRunner::apply(const core::Lost& effect) {
  const auto& handle = handles_.at(effect.session);
  handle->end();
  if (parts_.losses.signal(handle)) return;
  parts_.callbacks.post([handle] { handle->signal_lost(); });
}

void EffectRunner::apply(const core::Released& effect) {
  const auto handle = handles_.extract(effect.session).mapped();
  for (auto& then : handle->answer_release(effect.result)) {
    parts_.callbacks.post([then = std::move(then), result = effect.result] { then(result); });
  }
}

}  // namespace leasehold::runtime
