#include "core/document/lock_queue.hpp"

#include <algorithm>
#include <charconv>

namespace leasehold::core {
namespace {

/// The number of digits is fixed, so that the server can cut the parts by their places.
std::string digits_of(std::chrono::milliseconds span) {
  std::string digits = std::to_string(span.count());
  digits.insert(0, kSpanDigits - std::min<std::size_t>(kSpanDigits, digits.size()), '0');
  return digits;
}

/// 0 if there is none.
std::int64_t number_at(std::string_view text, std::size_t at) {
  std::int64_t number = 0;
  text = text.substr(std::min(at, text.size()), kUntilDigits);
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::chrono::milliseconds dated(std::string_view entry) {
  return std::chrono::milliseconds(number_at(entry, 0) - number_at(entry, kStandsAt));
}

/// What the calls of the entries write, in their order.
std::vector<LockId> lock_ids_in(std::string_view queue) {
  std::vector<LockId> all;
  while (!queue.empty()) {
    const auto [entry, rest] = split_queue(queue);
    queue = rest;
    if (entry.size() < kEntryLockIdAt) continue;
    if (const auto parts = parse_lock_id(entry.substr(kEntryLockIdAt))) all.push_back(*parts);
  }
  return all;
}

/// So many will not be taken while a queue is there.
constexpr std::int64_t kMostTickets = 1'000'000'000;

}  // namespace

/// Splits at the first mark, because a holder's name has none (`without_queue_marks`).
LockIdAndQueue split_queue(std::string_view whole) {
  const auto mark = whole.find(kQueueMark);
  if (mark == std::string_view::npos) return {whole, {}};
  return {whole.substr(0, mark), whole.substr(mark + 1)};
}

/// `until` is left to the server, which puts its own time before this: no client's clock enters a
/// document.
std::string entry_without_until(std::chrono::milliseconds stands, std::chrono::milliseconds lasts,
                                std::string_view lock_id) {
  return '.' + digits_of(stands) + '.' + digits_of(lasts) + '.' + std::string(lock_id);
}

/// They come last. Numbers that no write leaves count as none.
Tickets tickets_in(std::string_view queue) {
  const auto last = queue.substr(queue.rfind(kQueueMark) + 1);  // npos + 1: all of it
  if (!last.starts_with(kTicketsMark)) return {};
  const auto admitted_at = last.find('.', kTicketsMark.size());
  if (admitted_at == std::string_view::npos) return {};
  const Tickets read{number_at(last, kTicketsMark.size()), number_at(last, admitted_at + 1)};
  const bool sound = 0 <= read.admitted && read.admitted <= read.taken;
  return sound && read.taken <= kMostTickets ? read : Tickets{};
}

/// Limited to what an entry may be good for, whatever is there.
std::chrono::milliseconds dated_within(std::string_view queue) {
  const auto first = split_queue(queue).lock_id;
  std::string_view last = first;
  while (!queue.empty()) {
    const auto [entry, rest] = split_queue(queue);
    if (entry.size() >= kEntryLockIdAt) last = entry;
    queue = rest;
  }
  return std::clamp(dated(last) - dated(first), std::chrono::milliseconds(0), kLongestEntry);
}

/// Expired entries count as well: whether one is void, only a server can say, by its own clock.
std::vector<Owner> owners_in(std::string_view queue) {
  std::vector<Owner> owners;
  for (const LockId& waiting : lock_ids_in(queue)) owners.push_back(waiting.owner);
  return owners;
}

Room room_wanted_in(std::string_view queue) {
  const auto all = lock_ids_in(queue);
  const auto first = std::ranges::find_if(all, [](const LockId& one) { return one.room != 0; });
  return first == all.end() ? Room() : first->room;
}

/// The first, if it is there twice: the server replaces an entry in place, but another program
/// may have written the queue.
std::optional<std::size_t> place_among(const std::vector<Owner>& owners, Owner owner) {
  const auto found = std::ranges::find(owners, owner);
  if (found == owners.end()) return std::nullopt;
  return static_cast<std::size_t>(found - owners.begin());
}

/// Replaces one character by one, so that a name that was short enough stays so.
std::string without_queue_marks(std::string holder) {
  std::replace(holder.begin(), holder.end(), kQueueMark, '-');
  return holder;
}

}  // namespace leasehold::core
