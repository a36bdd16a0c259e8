#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
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

}  // namespace leasehold::model
