#include "core/release/departure.hpp"

#include <algorithm>
#include <utility>

namespace leasehold::core {
namespace {

/// Doubling goes no further: a server that is back is asked again within this.
constexpr std::chrono::seconds kLongestRepeat{5};

}  // namespace

Departure Departure::of(const std::string& name, Owner owner, const LockOptions& options,
                        LocalInstant now) {
  Departure departure;
  departure.name = name;
  departure.owner = owner;
  departure.timeout = options.effective_operation_timeout();
  departure.give_up_at = two_leases_from(now, options.expiry);
  return departure;
}

/// It names the owner, so that another's document is not touched, whatever became of the lock
/// since. That makes it safe to send again.
decltype(Command::body) Departure::delete_command() const {
  if (by == By::pass_on) return PassOnCommand{name, owner, or_owner, offers};
  return DeleteCommand{name, owner, or_owner, true};
}

/// It names both owners: sent again, it finds what it may have written before.
decltype(Command::body) Departure::hand_over_command(std::string lock_id) const {
  return HandOverCommand{
      receiver->session,     name, owner, *or_owner, std::move(lock_id), receiver->expiry,
      receiver->clock_margin};
}

std::string Departure::receivers_lock_id(std::uint64_t beat, const std::string& holder) const {
  return format_lock_id({*or_owner, receiver->expiry.count(), beat, holder});
}

bool Departure::has_left(const Reply& reply) const {
  if (by != By::pass_on) return reply.matched > 0;
  const auto held =
      reply.documents.empty() ? std::nullopt : parse_lock_id(reply.documents.front().lock_id);
  return held && (held->owner == owner || held->owner == or_owner);
}

/// The first is a quarter of the timeout, so that a caller that waits for its release may still
/// be notified of the second try.
Duration Departure::pause_after_failure(LocalInstant now) const {
  const auto first =
      std::clamp<Duration>(timeout / 4, std::chrono::milliseconds(10), std::chrono::seconds(1));
  const auto pause = std::min<Duration>(first * (1 << failures), kLongestRepeat);
  return std::min(pause, give_up_at - now);
}

}  // namespace leasehold::core
