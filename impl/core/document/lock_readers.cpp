#include "core/document/lock_readers.hpp"

#include <algorithm>
#include <charconv>

#include "core/document/lock_queue.hpp"
#include "core/document/utf8.hpp"

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
    if (entry.size() <= kReaderLockIdAt) continue;
    const auto until = date_at(entry, 0), since = date_at(entry, kSinceAt);
    if (until && since) readers.push_back({*until, *since, entry.substr(kReaderLockIdAt)});
  }
  return readers;
}

LockDocument holding_of(LockDocument document, Owner owner) {
  const auto all = readers_in(document.lock_id);
  const auto own = std::ranges::find_if(
      all, [&](const Reader& reader) { return names_owner(reader.lock_id, owner); });
  if (own == all.end()) return document;
  document.acquired_at = own->since;
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
    const auto count = std::to_string(all.size()) + (all.size() == 1 ? " reader" : " readers");
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
                            const std::string& holder, bool shared) {
  const std::string name = shared ? readers_holder(holder) : holder;
  return format_lock_id({owner, expiry.count(), beat, name, {}, shared});
}

}  // namespace leasehold::core
