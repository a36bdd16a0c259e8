#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace leasehold::sim::live {

/// What comes from a descriptor, line by line. Not thread-safe.
///
///     while (lines.read_from(child.out())) {
///       while (const auto line = lines.next()) hear(*line);
///     }
class LineReader {
 public:
  /// Reads once what is there now. Returns whether there was anything.
  bool read_from(int fd);
  /// The next line that is complete, without its end.
  [[nodiscard]] std::optional<std::string> next();

  /// Whether nothing more will come.
  [[nodiscard]] bool ended() const { return ended_; }
  /// The bytes not returned yet: once `next` returns nothing, those of a line without an end.
  [[nodiscard]] std::size_t waiting() const { return text_.size() - from_; }
  /// Those bytes, `most` of them at most.
  [[nodiscard]] std::string rest(std::size_t most) const { return text_.substr(from_, most); }

 private:
  std::string text_;
  std::size_t from_ = 0;  ///< where the rest begins
  bool ended_ = false;
};

}  // namespace leasehold::sim::live
