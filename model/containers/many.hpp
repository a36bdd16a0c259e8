#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace leasehold::model {

/// Allocates what is large in huge pages, where the system has them: checkers go through all of
/// it several times, and finding its pages, or having them made, would take as long as that.
template <typename T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <typename Other>
  HugePages(const HugePages<Other>&) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kPage) return std::allocator<T>().allocate(count);
    void* memory = ::operator new(rounded(bytes), std::align_val_t{kPage});
    madvise(memory, rounded(bytes), MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kPage) return std::allocator<T>().deallocate(memory, count);
    ::operator delete(memory, std::align_val_t{kPage});
  }
  bool operator==(const HugePages&) const = default;

 private:
  static constexpr std::size_t kPage = std::size_t{1} << 21;
  static constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + kPage - 1) / kPage * kPage;
  }
};

/// A vector that may become large.
template <typename T>
using Many = std::vector<T, HugePages<T>>;

/// Values by the number that they belong to, in the order of their addition: one block of memory,
/// whatever the number of groups. First all are added, then they are looked up.
template <typename Value>
class Grouped {
 public:
  void add(std::uint32_t group, Value value) { added_.emplace_back(group, std::move(value)); }

  /// After the last addition.
  void arrange(std::size_t groups) {
    begins_.assign(groups + 1, 0);
    for (const auto& [group, value] : added_) ++begins_[group + 1];
    for (std::size_t i = 0; i < groups; ++i) begins_[i + 1] += begins_[i];
    values_.resize(added_.size());
    auto next = begins_;
    for (auto& [group, value] : added_) values_[next[group]++] = std::move(value);
    added_ = {};
  }

  [[nodiscard]] std::span<const Value> of(std::uint32_t group) const {
    return {values_.data() + begins_[group], values_.data() + begins_[group + 1]};
  }
  [[nodiscard]] Many<Value>& values() { return values_; }
  [[nodiscard]] const Many<Value>& values() const { return values_; }

 private:
  Many<std::pair<std::uint32_t, Value>> added_;
  std::vector<std::uint32_t> begins_;  ///< by group, and the end of the last
  Many<Value> values_;
};

}  // namespace leasehold::model
