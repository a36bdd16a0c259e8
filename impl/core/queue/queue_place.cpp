#include "core/queue/queue_place.hpp"

#include <algorithm>

#include "core/document/lock_queue.hpp"

namespace leasehold::core {
namespace {

/// An entry is renewed by the next attempt that is answered. This many in a row without an answer
/// take minutes; and a grant that names an older one is no more than a hint to ask.
constexpr std::size_t kAttemptsRemembered = 8;

/// A turn has a majority write and the event of it. As long as it is not known how long turns are,
/// that is the least: asking too early costs a look, too late leaves the lock free.
constexpr Duration kShortestTurn = std::chrono::milliseconds(3);
/// Bounds of an estimate, whatever the document says. Strategies' own are far below.
constexpr Duration kLongestTurn = std::chrono::hours(1);
constexpr std::int64_t kMostBefore = 100'000;
/// A call outside comes back when so many will be queued: because of them a call that is late
/// leaves no turn unused, and because of the rest a call that is early finds room.
constexpr std::int64_t kPlacesTaken = kMostInQueue * 3 / 4;

/// A call that has been the first for so long looks this often in all of that time.
constexpr Duration kPatientAfter = std::chrono::seconds(5);
constexpr int kLooks = 16;
constexpr Duration kLongestUnread = std::chrono::milliseconds(800);

}  // namespace

/// The oldest makes room.
void QueuePlace::sent(std::uint64_t beat, LocalInstant now) {
  if (attempts_.size() == kAttemptsRemembered) attempts_.erase(attempts_.begin());
  attempts_.push_back({beat, now});
}

/// By the beat, which no other attempt of this provider has.
std::optional<LocalInstant> QueuePlace::sent_at(std::uint64_t beat) const {
  const auto found = std::ranges::find(attempts_, beat, &Attempt::beat);
  return found == attempts_.end() ? std::nullopt : std::optional(found->sent);
}

/// A place that was lost, because the document was deleted or overwritten, is a new one when it is
/// found again: its time begins anew. What an old primary shows is of a time before, or no majority
/// confirms it: then the call may have a place there, and may have one elsewhere.
void QueuePlace::shown(const Reply& refusal, Owner owner, LocalInstant now) {
  const auto& queue = refusal.documents.front().queue;
  const auto at = refusal.operation_time;
  const bool confirmed = refusal.outcome == Outcome::done;
  const auto owners = owners_in(queue);
  const auto place = place_among(owners, owner);
  if (at < (confirmed ? confirmed_at_ : stood_at_) || (!place && !confirmed)) return;
  const bool stood = stands(), was_first = before_ == 0;
  before_ = place;
  if (!was_first) first_since_ = now;
  if (stands()) stood_at_ = at;
  if (stands() && confirmed) confirmed_at_ = at;
  if (!stood) stands_since_ = now;
  if (stands() || owners.empty()) {
    full_.reset();
    ticket_.reset();
  } else {
    see_full(queue, static_cast<std::int64_t>(owners.size()), now);
  }
}

Duration QueuePlace::unread_for(LocalInstant now) const {
  const Duration first_for = before_ == 0 ? now - first_since_ : Duration(0);
  if (first_for < kPatientAfter) return Duration(0);
  return std::min(first_for / kLooks, kLongestUnread);
}

/// Each call that joined was served, has left, or is there: so the tickets tell how many have
/// gone, and two looks how fast. The first look has only the dates of the entries. They are a turn
/// apart once calls join as others are served.
void QueuePlace::see_full(const std::string& queue, std::int64_t places, LocalInstant now) {
  const Tickets tickets = tickets_in(queue);
  if (ticket_ > tickets.taken) {
    ticket_.reset();  // of numbers that are over: the next look takes one
  } else if (!ticket_ && tickets.taken > 0 && !attempts_.empty()) {
    ticket_ = tickets.taken;  // this look has taken it
  }
  const std::int64_t gone = tickets.admitted - places;
  if (!full_) {
    const auto turns = std::max<std::int64_t>(places - 1, 1);
    full_ = Full{gone, now, Duration(dated_within(queue)) / turns};
  } else if (gone != full_->gone) {
    const auto moved = gone - full_->gone;
    full_ = Full{gone, now, moved > 0 ? (now - full_->seen) / moved : full_->turn};
  }
  full_->lasts = full_->turn * places;
  const auto before = ticket_ ? *ticket_ - tickets.admitted + places - kPlacesTaken : 0;
  const auto turn = std::clamp(full_->turn, kShortestTurn, kLongestTurn);
  full_->room_in = std::clamp<std::int64_t>(before, 0, kMostBefore) * turn;
  // A queue that has not moved stays watched from that look, ever more seldom.
  full_->room_in = std::max(full_->room_in, now - full_->seen);
}

}  // namespace leasehold::core
