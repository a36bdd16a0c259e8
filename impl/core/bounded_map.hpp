#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace leasehold::core {

/// A map of at most so many keys, in the order of their use: the one not used for longest makes
/// room. What a use costs does not depend on how many keys there were before.
template <typename Key, typename Value, std::size_t kMost>
class BoundedMap {
 public:
  /// Null: there is none, or it made room. This is no use.
  [[nodiscard]] const Value* find(const Key& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second.first;
  }
  [[nodiscard]] Value* find(const Key& key) {
    return const_cast<Value*>(std::as_const(*this).find(key));
  }

  /// From here on its use is the newest.
  void keep(const Key& key, Value value) {
    erase(key);
    if (values_.size() == kMost) erase(uses_.begin()->second);
    uses_.emplace_hint(uses_.end(), ++last_use_, key);
    values_.emplace(key, std::pair(std::move(value), last_use_));
  }
  void erase(const Key& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return;
    uses_.erase(found->second.second);
    values_.erase(found);
  }

 private:
  std::map<Key, std::pair<Value, std::uint64_t>> values_;
  std::map<std::uint64_t, Key> uses_;  ///< the same keys, by the number of their last use
  std::uint64_t last_use_ = 0;
};

}  // namespace leasehold::core
