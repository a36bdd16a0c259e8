#pragma once

#include <map>
#include <string>

/// What the writes of lock documents, in the oplog's order, are to the lock. Where processes queue
/// in the document there are writes that are nothing to it, and documents of free locks.
namespace leasehold::sim {

class LockTruth {
 public:
  enum class Became { held, free, nothing };

  /// By `_id`. The lockId as it stands; `free`: the document is in force since 1970 no more, as a
  /// release leaves it that offers the lock, or finds that nobody waits.
  [[nodiscard]] Became written(const std::string& id, const std::string& lock_id, bool free);
  [[nodiscard]] Became deleted(const std::string& id);

  /// Without the queue behind it.
  [[nodiscard]] static std::string holder_in(const std::string& lock_id);

 private:
  struct Lock {
    std::string lock_id;
    bool free = false;  ///< there is a document all the same
  };
  std::map<std::string, Lock> locks_;
};

}  // namespace leasehold::sim
