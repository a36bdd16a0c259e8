#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace leasehold::model {

/// An array of zeros in huge pages, where the system has them: it is read at random, and most of
/// that time is spent on finding pages.
template <typename T>
class HugeArray {
 public:
  /// Throws std::bad_alloc.
  explicit HugeArray(std::size_t size) : memory_(mapped(size), Unmap{bytes_for(size)}) {}
  T& operator[](std::size_t i) { return first()[i]; }
  const T& operator[](std::size_t i) const { return first()[i]; }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr std::size_t kPage = std::size_t{1} << 21;
  /// One page more than needed, for the array to start with one.
  static std::size_t bytes_for(std::size_t size) {
    return (size * sizeof(T) + kPage - 1) / kPage * kPage + kPage;
  }
  static void* mapped(std::size_t size) {
    void* memory = mmap(nullptr, bytes_for(size), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, bytes_for(size), MADV_HUGEPAGE);
    return memory;
  }
  struct Unmap {
    std::size_t bytes;
    void operator()(void* memory) const { munmap(memory, bytes); }
  };
  [[nodiscard]] T* first() const {
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.get());
    return reinterpret_cast<T*>((at + kPage - 1) / kPage * kPage);
  }
  std::unique_ptr<void, Unmap> memory_;
};

/// Memory that grows by whole chunks: no copying, no peak while it grows.
template <typename T>
class Chunked {
 public:
  void push_back(const T& value) {
    if ((size_ & kMask) == 0) chunks_.emplace_back(kMask + 1);
    chunks_.back()[size_ & kMask] = value;
    ++size_;
  }
  const T& operator[](std::uint64_t i) const { return chunks_[i >> kShift][i & kMask]; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t bytes() const { return chunks_.size() * (kMask + 1) * sizeof(T); }

 private:
  /// Of a power of two of bytes nearly: 4 MB of the largest, one page at least.
  static constexpr int kShift = sizeof(T) > 8 ? 17 : 19;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << kShift) - 1;
  std::vector<HugeArray<T>> chunks_;
  std::uint64_t size_ = 0;
};

}  // namespace leasehold::model
