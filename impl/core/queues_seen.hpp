#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "core/protocol.hpp"

namespace leasehold::core {

/// What a provider has seen of the queues of locks: where somebody waited lately, and which of its
/// own owners may still stand somewhere although nobody waits by them.
///
/// INVARIANT: at most kMaxSights names and as many owners; what is oldest makes room.
class QueuesSeen {
 public:
  /// A document of this name was shown, with or without a queue.
  void see(const std::string& name, const LockDocument& document, LocalInstant now);
  /// Whether somebody waited for this lock lately: its release then passes it on. Otherwise the
  /// document is deleted.
  [[nodiscard]] bool anyone_waited(const std::string& name, LocalInstant now) const;

  /// An owner that may be granted the lock yet, by an entry or a command that was not answered.
  struct Departed {
    std::string name;
    std::chrono::milliseconds timeout;
    Duration expiry;
    LocalInstant since;
    bool operator==(const Departed&) const = default;
  };
  /// Kept until it is granted the lock or has to make room: how long a request may be on its way
  /// nobody knows.
  void leave_behind(Owner owner, Departed departed);
  /// It was granted the lock: whose it was. It is forgotten with that; a second grant needs a
  /// second command.
  [[nodiscard]] std::optional<Departed> take(Owner owner);

  bool operator==(const QueuesSeen&) const = default;

 private:
  std::map<std::string, LocalInstant> waited_;  ///< by name: when somebody was last seen waiting
  std::map<Owner, Departed> departed_;
};

}  // namespace leasehold::core
