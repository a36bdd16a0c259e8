#include "runtime/force_release.hpp"

#include <string>

namespace leasehold::runtime {
namespace {

std::string frees_itself(const core::ForcedRelease& force) {
  const auto in = std::chrono::ceil<std::chrono::seconds>(force.take.lease + force.take.margin);
  return "; it frees itself in " + std::to_string(in.count()) + " s";
}

Error failed(const core::Reply& reply, const std::string& what) {
  return {reply.error_kind(), reply.code,
          what + (reply.message.empty() ? "" : ": " + reply.message)};
}

/// Nothing: it was taken.
std::optional<Error> take(const core::ForcedRelease& force, const core::Reply& reply,
                          const std::string& lock) {
  using Taken = core::ForcedRelease::Taken;
  const auto taken = force.taken(reply);
  if (taken == Taken::yes) return std::nullopt;
  if (taken == Taken::unconfirmed) {
    return failed(reply, "no majority confirmed that " + lock + " was taken" + frees_itself(force));
  }
  // A document that shows another says so, whatever became of the write concern.
  if (reply.outcome == core::Outcome::done || reply.outcome == core::Outcome::duplicate_key ||
      !reply.documents.empty()) {
    return Error{ErrorKind::refused, 0,
                 lock +
                     " was extended or changed hands meanwhile; nothing was done. Its holder is "
                     "alive: try again to take the lock from it anyway"};
  }
  const bool perhaps = reply.outcome == core::Outcome::unknown;
  return failed(reply, lock + (perhaps ? " may have been taken" + frees_itself(force)
                                       : " was not taken"));
}

}  // namespace

std::optional<Error> force_release(const core::ForcedRelease& force, const ForceSteps& steps) {
  const std::string lock = "lock '" + force.take.name + "'";
  if (auto error = take(force, steps.send(force.take), lock)) return error;
  if (!steps.wait(force.wait)) {
    return Error{
        ErrorKind::cancelled, 0,
        lock + ": cancelled before the old holder must have noticed" + frees_itself(force)};
  }
  const auto freed = steps.send(force.free);
  if (force.freed(freed)) return std::nullopt;
  return failed(freed, "no majority confirmed the release of " + lock + frees_itself(force));
}

}  // namespace leasehold::runtime
