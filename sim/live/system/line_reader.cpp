#include "sim/live/system/line_reader.hpp"

#include <unistd.h>

namespace leasehold::sim::live {

bool LineReader::read_from(int fd) {
  char buffer[1 << 16];
  const auto n = read(fd, buffer, sizeof buffer);
  if (n == 0) ended_ = true;
  if (n <= 0) return false;
  text_.append(buffer, static_cast<std::size_t>(n));
  return true;
}

/// Returned lines are cut off when no other is left: a cut for each line would be quadratic.
std::optional<std::string> LineReader::next() {
  const auto end = text_.find('\n', from_);
  if (end == std::string::npos) {
    text_.erase(0, from_);
    from_ = 0;
    return std::nullopt;
  }
  auto line = text_.substr(from_, end - from_);
  from_ = end + 1;
  return line;
}

}  // namespace leasehold::sim::live
