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
  /// Reads once what is there now. Whether anything was.
  bool read_from(int fd);
  /// The next line that is whole by now, without its end.
  [[nodiscard]] std::optional<std::string> next();

  /// Whether nothing comes any more.
  [[nodiscard]] bool ended() const { return ended_; }
  /// The bytes that `next` has not given: after it gave nothing, those of a line without an end.
  [[nodiscard]] std::size_t waiting() const { return text_.size() - from_; }
  /// Those, or so many of them at most.
  [[nodiscard]] std::string rest(std::size_t most) const { return text_.substr(from_, most); }

 private:
  std::string text_;
  std::size_t from_ = 0;  ///< of what was not given yet
  bool ended_ = false;
};

}  // namespace leasehold::sim::live
