#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Numbers for texts. Internal to the facts.
namespace leasehold::model {

using Id = std::uint32_t;  ///< of a text, a session or a command; each sort has numbers of its own
inline constexpr Id kNoText = 0;  ///< of texts: the empty one

/// Memory for texts, which stay where they are.
using TextMemory = std::deque<std::string>;

/// Gives strings numbers, by their first appearance.
class Texts {
 public:
  explicit Texts(TextMemory& memory) : memory_(memory) {}

  Id of(std::string_view text) {
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    const auto id = static_cast<Id>(all_.size());
    ids_.emplace(all_.emplace_back(memory_.emplace_back(text)), id);
    return id;
  }
  /// The same, if it is likely this one.
  Id of(std::string_view text, Id likely) { return all_[likely] == text ? likely : of(text); }

  [[nodiscard]] const std::vector<std::string_view>& all() const { return all_; }

 private:
  TextMemory& memory_;
  std::unordered_map<std::string_view, Id> ids_{{"", kNoText}};
  std::vector<std::string_view> all_{""};
};

}  // namespace leasehold::model
