#include "sim/virtual/documents/key.hpp"

#include <mutex>
#include <unordered_set>

namespace leasehold::sim::simulated {
namespace {

/// A set of nodes, which stay where they are when it grows.
const std::string* shared_text(std::string_view text) {
  static std::mutex mutex;
  // Never destroyed: keys of static lifetime refer to it.
  static auto& all = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return &*all.emplace(text).first;
}

}  // namespace

Key::Key(std::string_view text) : text_(shared_text(text)) {}

}  // namespace leasehold::sim::simulated
