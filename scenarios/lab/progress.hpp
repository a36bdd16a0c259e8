#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace leasehold::lab {

/// The progress of a run, for a line of its own.
struct Progress {
  double elapsed_s = 0;
  int seconds = 0;
  std::string phase;
  std::int64_t acquisitions = 0;
  std::int64_t violations = 0;
  std::map<std::string, int> faults;  ///< faults that last now, by kind
};

/// At most `width` characters: the time, the activity, violations, the phase, and the present
/// faults; what has no room is left out from the right.
[[nodiscard]] std::string to_line(const Progress& progress, std::size_t width);

/// The width of a line on the terminal behind this descriptor; 79 if it is none, or has no width.
[[nodiscard]] std::size_t line_width(int descriptor);

}  // namespace leasehold::lab
