#include "model/history/locks.hpp"

namespace leasehold::model {

const std::vector<Lock>& all_locks() {
  static const std::vector<Lock> all{Lock::leasehold, Lock::distributed_lock, Lock::document_level,
                                     Lock::insert_unique, Lock::set_on_insert};
  return all;
}

std::string_view name_of(Lock lock) {
  switch (lock) {
    case Lock::leasehold: return "leasehold";
    case Lock::distributed_lock: return "distributed-lock";
    case Lock::document_level: return "document-level";
    case Lock::insert_unique: return "insert-unique";
    case Lock::set_on_insert: return "set-on-insert";
  }
  return "?";
}

std::optional<Lock> lock_named(std::string_view name) {
  for (const Lock lock : all_locks()) {
    if (name_of(lock) == name) return lock;
  }
  return std::nullopt;
}

}  // namespace leasehold::model
