#pragma once

#include <leasehold/lock_event.hpp>
#include <map>
#include <string>
#include <vector>

#include "core/protocol.hpp"

namespace leasehold::runtime {

/// Turns the steps of a core into the events of users. Not thread-safe: its driver
/// serialises the calls.
class LockEventTranslator {
 public:
  /// What happened to locks by this step of the core.
  [[nodiscard]] std::vector<LockEvent> translate(const core::Event& event,
                                                 const core::Effects& effects,
                                                 core::LocalInstant now);

 private:
  /// A reply names its command alone; what the command was is noted when it is sent.
  struct Sent {
    enum class Kind { attempt, extension, removal } kind;
    std::string lock;     ///< attempt, removal
    std::string lock_id;  ///< attempt: what the document shows if it won
    std::vector<core::ExtendStatement> statements{};  ///< extension
  };
  /// The core keeps no times for people, so this notes how long anything took.
  struct Since {
    core::LocalInstant asked, granted;
  };
  using Events = std::vector<LockEvent>;

  void on_reply(const core::ReplyArrived& event, Events& out);
  void on_send(const core::Command& command, Events& out);
  void on_effect(const core::Effect& effect, core::LocalInstant now, Events& out);

  std::map<core::CommandId, Sent> sent_;
  std::map<core::SessionId, Since> since_;  ///< until the session is over
};

}  // namespace leasehold::runtime
