#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

/// Numbers for texts. Internal to the facts.
namespace leasehold::model {

using Id = std::uint32_t;  ///< of a text, a session or a command; each sort has numbers of its own
inline constexpr Id kNoText = 0;  ///< of texts: the empty one

/// What tells texts apart: of one of at most 16 characters these themselves, in two words, else a
/// hash of them.
struct TextKey {
  explicit TextKey(std::string_view text) : size(static_cast<std::uint32_t>(text.size())) {
    const char* at = text.data();
    const char* end = at + text.size();
    constexpr std::size_t kWord = 8, kHalf = 4;
    if (text.size() >= kWord) {
      low = load<std::uint64_t>(at);
      high = load<std::uint64_t>(end - kWord);
      for (at += kWord; at + kWord < end; at += kWord) low = mixed(low ^ load<std::uint64_t>(at));
    } else if (text.size() >= kHalf) {
      low = load<std::uint32_t>(at);
      high = load<std::uint32_t>(end - kHalf);
    } else {
      low = load<std::uint8_t>(at) | load<std::uint8_t>(at + text.size() / 2) << 8;
      high = load<std::uint8_t>(end - 1);
    }
  }
  TextKey() = default;
  bool operator==(const TextKey&) const = default;
  [[nodiscard]] bool is_whole() const { return size <= 16; }
  [[nodiscard]] std::uint64_t hash() const { return mixed(mixed(low ^ size) ^ high); }

 private:
  template <typename Word>
  static std::uint64_t load(const char* at) {
    Word value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  static std::uint64_t mixed(std::uint64_t value) {
    constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
    value *= kMix;
    return value ^ value >> 32;
  }

  std::uint64_t low = 0, high = 0;
  std::uint32_t size = 0;
};

/// Memory for texts, which stay where they are.
class TextMemory {
 public:
  std::string_view keep(std::string_view text) {
    if (text.size() > left_) {
      left_ = std::max(kChunk, text.size());
      free_ = chunks_.emplace_back(std::make_unique_for_overwrite<char[]>(left_)).get();
    }
    char* at = std::exchange(free_, free_ + text.size());
    left_ -= text.size();
    std::memcpy(at, text.data(), text.size());
    return {at, text.size()};
  }

 private:
  static constexpr std::size_t kChunk = 1 << 14;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;  ///< in the last chunk
  std::size_t left_ = 0;
};

/// Gives strings numbers, by their first appearance.
class Texts {
 public:
  explicit Texts(TextMemory& memory) : memory_(memory) {}

  Id of(std::string_view text) {
    if (text.empty()) return kNoText;
    if (all_.size() * 2 > slots_.size()) grow();
    const TextKey key(text);
    Slot& slot = find(key, text);
    if (slot.id == kNoText) {
      slot = {key, static_cast<Id>(all_.size())};
      all_.push_back(memory_.keep(text));
    }
    return slot.id;
  }
  /// The same, if it is likely this one.
  Id of(std::string_view text, Id likely) { return all_[likely] == text ? likely : of(text); }

  [[nodiscard]] const std::vector<std::string_view>& all() const { return all_; }

 private:
  struct Slot {
    TextKey key;
    Id id = kNoText;
  };
  static constexpr std::size_t kFewest = 64;

  Slot& find(const TextKey& key, std::string_view text) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = key.hash() & mask;; i = (i + 1) & mask) {
      Slot& slot = slots_[i];
      if (slot.id == kNoText) return slot;
      if (slot.key == key && (key.is_whole() || all_[slot.id] == text)) return slot;
    }
  }
  void grow() {
    auto old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 4));
    for (const Slot& slot : old) {
      if (slot.id != kNoText) find(slot.key, all_[slot.id]) = slot;
    }
  }

  TextMemory& memory_;
  std::vector<Slot> slots_ = std::vector<Slot>(kFewest);  ///< a power of two, half of it taken
  std::vector<std::string_view> all_{""};
};

}  // namespace leasehold::model
