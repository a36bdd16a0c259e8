#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>

#include "core/provider.hpp"
#include "core/step.hpp"
#include "published/recipe.hpp"

namespace leasehold::published {

/// A published lock, run as its author describes it: one command after another, errors thrown to
/// the caller, no clean-up of what an unanswered attempt may have won, no local end of a lease.
class RecipeProvider final : public core::Provider {
 public:
  RecipeProvider(const Recipe& recipe, const Hardening& hardening)
      : recipe_(&recipe), hardening_(hardening) {}

  void next(const core::Event& event, const core::Clocks& now, core::Entropy& entropy,
            core::Effects& out) override;
  /// None of these locks cleans up.
  [[nodiscard]] std::size_t departures_left() const override { return 0; }

 private:
  struct Session {
    enum class Phase { waiting, attempting, held, lost, releasing };
    Call call;
    std::optional<core::LocalInstant> give_up_at;
    bool single_attempt = false;
    Phase phase = Phase::waiting;
    core::CommandId command = 0;
    core::LocalInstant attempt_at, extend_at, answered_at, deadline;
    int attempts = 0;
    FencingToken token;  ///< held, lost, releasing: of the grant
  };
  struct PendingCommand {
    core::CommandId id;
    core::RawCommand::Role role;
    core::SessionId session;
    core::LocalInstant sent;
    std::string lock_id;  ///< names this command among all
  };
  struct Step : core::Step {
    core::WallInstant wall;
  };

  void on(const core::AcquireAsked& event, Step step);
  void on(const core::CancelAsked& event, Step step);
  void on(const core::ReleaseAsked& event, Step step);
  void on(const core::DeadlineSeen& event, Step step);
  void on(const core::ExtendAsked& event, Step step);
  void on(const core::ReplyArrived& event, Step step);
  void on(const core::TimerFired& event, Step step);
  void on(const core::CloseAsked& event, Step step);

  void ensure_indexes(const Call& call, Step step);
  void attempt(core::SessionId id, Step step);
  void answer_index(Step step);
  void answer_prepare(core::SessionId id, const core::Reply& reply, Step step);
  void answer_acquire(core::SessionId id, const PendingCommand& pending, const core::Reply& reply,
                      Step step);
  void refused(core::SessionId id, const core::Reply& reply, Step step);
  void answer_extension(core::SessionId id, const PendingCommand& pending, const core::Reply& reply,
                        Step step);
  void answer_release(core::SessionId id, const core::Reply& reply, Step step);
  void extend(core::SessionId id, Step step);
  void lose(core::SessionId id, LostReason reason, Step step);
  void end(core::SessionId id, ErrorKind kind, const std::string& why, int code, Step step);
  void send(core::SessionId id, core::RawCommand::Role role, std::string_view text,
            const Call& call, Step step);
  static void clear_timers(core::SessionId id, std::initializer_list<core::Timer::Kind> kinds,
                           Step step);
  [[nodiscard]] core::LocalInstant held_until(const Session& s, core::LocalInstant sent) const;

  const Recipe* recipe_;
  Hardening hardening_;
  std::map<core::SessionId, Session> sessions_;
  std::map<core::CommandId, PendingCommand> pending_;
  core::CommandId last_command_ = 0;
  std::uint64_t last_beat_ = 0;
  int indexes_under_way_ = 0;
  bool indexes_asked_ = false, closed_ = false;
};

/// A provider by the laboratory's names: "leasehold" and those of the recipes; null for any other.
[[nodiscard]] std::unique_ptr<core::Provider> provider_named(std::string_view lock,
                                                             std::string holder, int workers,
                                                             const Hardening& hardening = {});

}  // namespace leasehold::published
