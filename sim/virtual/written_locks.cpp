#include "sim/virtual/written_locks.hpp"

#include <string_view>

namespace leasehold::sim::simulated {
namespace {

using model::Event;
using model::Kind;

/// An entity with null lock fields is free (document-level); any other document is a lock.
bool is_held(const Object& document) {
  const Value* lock_id = document.find("LockId"_key);
  return lock_id == nullptr || !lock_id->is<Null>();
}

std::string_view lock_id_in(const Document& document) {
  const Value* lock_id = document ? document->find("lockId"_key) : nullptr;
  return lock_id != nullptr && lock_id->is<std::string>() ? *lock_id->as<std::string>()
                                                          : std::string_view();
}

/// Of a document of ours; those of the published locks have other fields.
void add_dates(Event& put, const Object& document) {
  // A damaged document may have another type there; the checkers then see nothing.
  const auto date = [&](const char* field) {
    const Value* value = document.find(field);
    return value != nullptr && value->is<Date>() ? value->as<Date>()->ms : 0;
  };
  put.acquired_at_ms = date("acquiredAt");
  put.expires_at_ms = date("expiresAt");
  const Value* token = document.find("fencingToken"_key);
  const auto* stored = token == nullptr ? nullptr : token->as<std::int64_t>();
  put.stored_token = stored == nullptr ? 0 : *stored;
}

}  // namespace

void WrittenLocks::add(const Change& change, std::int64_t order, const std::string& tag) {
  add_places(change, order);
  const auto now = became(change);
  if (now == LockTruth::Became::nothing) return;
  Event e;
  e.kind = now == LockTruth::Became::held ? Kind::put : Kind::gone;
  e.name = change.id;
  e.order = order;
  if (e.kind == Kind::put) {
    e.lock_id = !tag.empty() ? tag : LockTruth::holder_in(lock_id_in(change.after));
    if (tag.empty()) add_dates(e, *change.after);
  }
  emit_(std::move(e));
}

void WrittenLocks::add_places(const Change& change, std::int64_t order) {
  for (Event& e : truth_.queued(change.id, change.id, lock_id_in(change.after), order)) {
    emit_(std::move(e));
  }
}

/// All writes of a name come in the oplog's order, so what it was before is known.
LockTruth::Became WrittenLocks::became(const Change& change) {
  if (!change.after) return truth_.deleted(change.id);
  const Object& document = *change.after;
  if (!is_held(document)) return LockTruth::Became::free;
  const Value* expires = document.find("expiresAt"_key);
  // A lock with a queue is free while its document stays: without a holder, expired in 1970.
  const bool free = expires != nullptr && *expires == Value(Date{0});
  return truth_.written(change.id, std::string(lock_id_in(change.after)), free);
}

}  // namespace leasehold::sim::simulated
