#include "sim/live/oplog/document_truth.hpp"

#include <algorithm>
#include <utility>

#include "sim/live/oplog/oplog.hpp"
#include "sim/record/lock_truth.hpp"

namespace leasehold::sim::live {
namespace {

/// The value at a path like "lock.owner"; null: there is none.
const Json* at_path(const Json& document, const std::string& path) {
  const Json* value = &document;
  for (std::size_t from = 0; from <= path.size();) {
    const auto dot = std::min(path.find('.', from), path.size());
    const auto found = value->find(path.substr(from, dot - from));
    if (found == value->end()) return nullptr;
    value = &*found;
    from = dot + 1;
  }
  return value->is_null() ? nullptr : value;
}

/// ObjectIds, UUIDs and numbers too.
std::string words(const Json* value) {
  if (value == nullptr) return "";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

/// A date, or ms since 1970.
std::int64_t ms_since_1970(const Json* value) {
  if (value == nullptr) return 0;
  return value->is_object() && value->contains("$date") ? date_ms(*value) : integer(*value);
}

}  // namespace

DocumentTruth::Seen DocumentTruth::seen_in(const Json& document, std::int64_t wall_ms) const {
  Seen seen{words(at_path(document, mapping_.id)), words(at_path(document, mapping_.owner))};
  if (of_lock_ids_) seen.owner = model::owner_of(LockTruth::holder_in(seen.owner));
  seen.held = !seen.owner.empty();
  const Json* expires = mapping_.expires.empty() ? nullptr : at_path(document, mapping_.expires);
  if (expires == nullptr) return seen;
  seen.expires_at_ms = ms_since_1970(expires);
  if (seen.expires_at_ms <= wall_ms) seen.held = false;
  return seen;
}

std::optional<model::Event> DocumentTruth::read(const Json& entry, const Json& when) {
  const auto key = id_in(entry).dump();
  const Json* document = apply(documents_, entry, key);
  // The first entry of a document may be a change of it.
  if (document != nullptr && !document->contains("_id")) documents_[key]["_id"] = id_in(entry);
  return became(key, document, when);
}

std::optional<model::Event> DocumentTruth::became(const std::string& key, const Json* document,
                                                  const Json& when) {
  const auto wall_ms = when.contains("wall") ? date_ms(when["wall"]) : 0;
  const Seen before = seen_[key];
  Seen now = document == nullptr ? Seen{} : seen_in(*document, wall_ms);
  seen_[key] = now;
  const bool same = now.owner == before.owner && now.expires_at_ms == before.expires_at_ms;
  if (!now.held && !before.held) return std::nullopt;
  if (now.held && before.held && same) return std::nullopt;
  model::Event e;
  e.kind = now.held ? model::Kind::put : model::Kind::gone;
  e.name = document == nullptr ? before.name : now.name;
  e.owner = now.owner;
  e.order = packed_timestamp(when.at("ts"));
  e.wall_ms = wall_ms;
  if (now.held) e.expires_at_ms = now.expires_at_ms;
  return e;
}

model::History DocumentTruth::drop(const Json& when) {
  model::History all;
  for (const auto& [key, document] : std::exchange(documents_, {})) {
    if (auto e = became(key, nullptr, when)) all.push_back(std::move(*e));
  }
  return all;
}

}  // namespace leasehold::sim::live
