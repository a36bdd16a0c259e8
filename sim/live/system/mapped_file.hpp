#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace leasehold::sim::live {

/// A file that several processes map, read and write as one `Block`; a new one is zeros. The
/// block's members say what may be done to it at the same time.
template <typename Block>
class MappedFile {
 public:
  /// Opens the file, or makes it. Throws std::runtime_error, which calls it `what`.
  MappedFile(const std::string& what, const std::string& file) {
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const bool sized = fd >= 0 && ftruncate(fd, sizeof(Block)) == 0;
    void* mapped = !sized ? MAP_FAILED
                          : mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (mapped == MAP_FAILED) throw std::runtime_error(what + " " + file + ": cannot be mapped");
    block_ = static_cast<Block*>(mapped);
  }
  MappedFile(MappedFile&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (block_ != nullptr) munmap(block_, sizeof(Block));
  }

  Block* operator->() const { return block_; }

 private:
  Block* block_ = nullptr;
};

}  // namespace leasehold::sim::live
