#pragma once

#include <leasehold/lock_event.hpp>
#include <map>
#include <string>
#include <vector>

#include "core/protocol.hpp"

namespace leasehold::runtime {

/// Turns the steps of a core into what users want to hear of. Not thread-safe: its driver
/// serialises the calls.
class LockEventTranslator {
 public:
  /// What happened to locks by this step of the core.
  [[nodiscard]] std::vector<LockEvent> tell(const core::Event& event, const core::Effects& effects,
                                            core::LocalInstant now);

 private:
  struct Sent {
    enum class Kind { attempt, hand_over, extension, removal } kind;
    std::string lock;     ///< extension: the names are those of its sessions
    std::string lock_id;  ///< attempt: what the document shows if it won
    std::vector<core::SessionId> sessions;
  };
  struct Call {
    std::string lock;
    core::LocalInstant asked, granted;
    FencingToken token;
    bool handed_over = false;
  };
  using Events = std::vector<LockEvent>;

  void on_event(const core::Event& event, core::LocalInstant now, Events& out);
  void on_reply(const core::ReplyArrived& event, Events& out);
  void on_send(const core::Command& command, Events& out);
  void on_effect(const core::Effect& effect, core::LocalInstant now, Events& out);
  void end(core::SessionId session, LockEvent::Kind kind, core::LocalInstant now,
           const char* detail, Events& out);

  std::map<core::CommandId, Sent> sent_;
  std::map<core::SessionId, Call> calls_;
};

}  // namespace leasehold::runtime
