#include "sim/live/oplog/document_truth.hpp"

#include <algorithm>
#include <utility>

#include "sim/live/oplog/oplog.hpp"

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

/// Ours, or one of a published lock, which has other fields.
LockDocument lock_in(const Json& document) {
  LockDocument lock;
  const auto* const holder = document.contains("LockId") ? "LockId" : "lockId";
  lock.lock_id = text_in(document, holder);
  lock.of_nobody = document.contains("LockId") && document["LockId"].is_null();
  lock.acquired_at_ms = date_ms(document.value("acquiredAt", Json()));
  const auto expires = document.find("expiresAt");
  if (expires != document.end() && expires->contains("$date")) {
    lock.expires_at_ms = date_ms(*expires);
  }
  if (document.contains("fencingToken")) lock.stored_token = integer(document["fencingToken"]);
  return lock;
}

}  // namespace

DocumentTruth::Seen DocumentTruth::seen_in(const Json& document, std::int64_t wall_ms) const {
  Seen seen{words(at_path(document, mapping_->id)), words(at_path(document, mapping_->owner))};
  if (of_lock_ids_) seen.owner = model::owner_of(LockTruth::holder_in(seen.owner));
  seen.held = !seen.owner.empty();
  const Json* expires = mapping_->expires.empty() ? nullptr : at_path(document, mapping_->expires);
  if (expires == nullptr) return seen;
  seen.expires_at_ms = ms_since_1970(expires);
  if (seen.expires_at_ms <= wall_ms) seen.held = false;
  return seen;
}

model::History DocumentTruth::read(const Json& entry, const Json& when) {
  const Json& id = id_in(entry);
  const auto key = id.dump();
  const auto known = documents_.find(key);
  const Json before = known == documents_.end() ? Json{{"_id", id}} : known->second;
  if (apply(documents_, entry, key) == nullptr) return became(key, before, true, when);
  Json& document = documents_[key];
  // The first entry of a document may be a change of it.
  if (!document.contains("_id")) document["_id"] = id;
  return became(key, document, false, when);
}

/// Ours is named by the document's `_id`, or by `resourceId` ("insert-unique").
model::History DocumentTruth::became(const std::string& key, const Json& known, bool gone,
                                     const Json& when) {
  const auto order = packed_timestamp(when.at("ts"));
  if (!mapping_) {
    const auto name = text_in(known, known.contains("resourceId") ? "resourceId" : "_id");
    const auto lock = lock_in(known);
    return truth_.written(key, name, gone ? nullptr : &lock, order);
  }
  const auto wall_ms = when.contains("wall") ? date_ms(when["wall"]) : 0;
  const Seen now = gone ? Seen{} : seen_in(known, wall_ms);
  const Seen before = std::exchange(seen_[key], now);
  const bool same = now.owner == before.owner && now.expires_at_ms == before.expires_at_ms;
  if (now.held == before.held && (same || !now.held)) return {};
  model::Event e;
  e.kind = now.held ? model::Kind::put : model::Kind::gone;
  e.name = gone ? before.name : now.name;
  e.owner = now.owner;
  e.order = order;
  e.wall_ms = wall_ms;
  if (now.held) e.expires_at_ms = now.expires_at_ms;
  return {std::move(e)};
}

model::History DocumentTruth::drop(const Json& when) {
  model::History all;
  for (const auto& [key, document] : std::exchange(documents_, {})) {
    const auto events = became(key, document, true, when);
    all.insert(all.end(), events.begin(), events.end());
  }
  return all;
}

}  // namespace leasehold::sim::live
