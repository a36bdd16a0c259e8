#include "core/document/lock_readers.hpp"

#include <algorithm>
#include <charconv>

#include "core/document/lock_queue.hpp"
#include "core/document/utf8.hpp"
#include "core/limits.hpp"

namespace leasehold::core {
namespace {

std::optional<ServerInstant> date_at(std::string_view entry, int at) {
  const auto digits = entry.substr(static_cast<std::size_t>(at), kUntilDigits);
  ServerInstant date;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), date.since_1970_ms);
  if (error != std::errc() || end != digits.data() + kUntilDigits) return std::nullopt;
  return date;
}

}  // namespace

std::size_t most_in(Room room) {
  return room > 0 ? static_cast<std::size_t>(room) : room == kReaders ? kMostReaders : 1;
}

std::string since_text(ServerInstant since, Room room, int slot) {
  const auto digits = std::to_string(slot);
  return std::to_string(since.since_1970_ms) +
         (room > 0 ? std::string(kSlotDigits - digits.size(), '0') + digits : "");
}

bool is_of_readers(std::string_view lock_id) {
  const auto holder = split_queue(lock_id).lock_id;
  return holder.starts_with(kReadersOwner) && holder.find(kReaderMark) != std::string_view::npos;
}

std::vector<Reader> readers_in(std::string_view lock_id) {
  std::vector<Reader> readers;
  if (!is_of_readers(lock_id)) return readers;
  auto rest = split_queue(lock_id).lock_id;
  for (auto mark = rest.find(kReaderMark); mark != std::string_view::npos;) {
    rest.remove_prefix(mark + 1);
    mark = rest.find(kReaderMark);
    const auto entry = rest.substr(0, mark);
    if (entry.size() <= kReaderLockIdAt + kSlotDigits) continue;
    const auto until = date_at(entry, 0), since = date_at(entry, kSinceAt);
    if (!until || !since) continue;
    const bool has_slot = entry[kReaderLockIdAt - 1] != '.';
    const auto slot = entry.substr(kReaderLockIdAt - 1, has_slot ? kSlotDigits : 0);
    Reader reader{*until, *since, 0, entry.substr(kReaderLockIdAt + slot.size())};
    std::from_chars(slot.data(), slot.data() + slot.size(), reader.slot);
    readers.push_back(reader);
  }
  return readers;
}

LockDocument holding_of(LockDocument document, Owner owner) {
  const auto all = readers_in(document.lock_id);
  const auto own = std::ranges::find_if(
      all, [&](const Reader& reader) { return names_owner(reader.lock_id, owner); });
  if (own == all.end()) return document;
  document.acquired_at = own->since;
  document.slot = own->slot;
  document.lock_id = std::string(own->lock_id);
  return document;
}

/// More names than a line has room for are left out.
std::string holder_for_people(std::string_view lock_id) {
  constexpr int kNamed = 3;
  const auto all = readers_in(lock_id);
  if (!all.empty()) {
    std::string names;
    int left = kNamed;
    for (const Reader& one : all) {
      const auto id = parse_lock_id(one.lock_id);
      if (!id || id->holder.empty() || left-- <= 0) continue;
      names.append(names.empty() ? "" : ", ").append(id->holder);
    }
    if (left < 0) names += ", ...";
    const Room room = room_of(lock_id);
    auto count = std::to_string(all.size());
    if (room > 0) {
      count += " of " + std::to_string(room) + " permits";
    } else {
      count += all.size() == 1 ? " reader" : " readers";
    }
    return names.empty() ? count : count + " (" + names + ")";
  }
  const auto parts = parse_lock_id(lock_id);
  return std::string(parts && !parts->holder.empty() ? parts->holder
                                                     : split_queue(lock_id).lock_id);
}

std::string readers_holder(std::string holder) {
  holder = valid_utf8_prefix(std::string_view(holder).substr(0, kReadersHolderBytes));
  std::ranges::replace(holder, kReaderMark, '-');
  return holder;
}

std::string written_lock_id(Owner owner, std::chrono::milliseconds expiry, std::uint64_t beat,
                            const std::string& holder, Room room) {
  const std::string name = room != 0 ? readers_holder(holder) : holder;
  return format_lock_id({owner, expiry.count(), beat, name, {}, room});
}

}  // namespace leasehold::core
