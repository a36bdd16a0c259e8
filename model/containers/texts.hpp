#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
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

/// A text that few events have. Empty it takes no more than a pointer: a history has many events,
/// and each is moved several times.
class RareText {
 public:
  RareText() = default;
  RareText(std::string text)
      : text_(text.empty() ? nullptr : std::make_unique<std::string>(std::move(text))) {}
  RareText(const char* text) : RareText(std::string(text)) {}
  RareText(const RareText& other) : RareText(other.str()) {}
  RareText(RareText&&) = default;
  RareText& operator=(const RareText& other) { return *this = RareText(other.str()); }
  RareText& operator=(RareText&&) = default;
  ~RareText() = default;

  [[nodiscard]] bool empty() const { return text_ == nullptr; }
  [[nodiscard]] const std::string& str() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  operator const std::string&() const { return str(); }
  friend bool operator==(const RareText& a, const RareText& b) { return a.str() == b.str(); }

 private:
  std::unique_ptr<std::string> text_;  ///< never of an empty one
};

}  // namespace leasehold::model
