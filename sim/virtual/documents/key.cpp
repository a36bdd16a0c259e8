#include "sim/virtual/documents/key.hpp"

#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace leasehold::sim::simulated {
namespace {

const std::string* shared_text(std::string_view text) {
  // What this thread has looked up before it finds without a lock.
  thread_local std::unordered_map<std::string_view, const std::string*> known;
  if (const auto found = known.find(text); found != known.end()) return found->second;
  static std::mutex mutex;
  // Nodes, which stay where they are when it grows. Never destroyed: keys of static lifetime refer
  // to it.
  static auto& all = *new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  const std::string& one = *all.emplace(text).first;
  return known[one] = &one;
}

}  // namespace

Key::Key(std::string_view text) : text_(shared_text(text)) {}

}  // namespace leasehold::sim::simulated
