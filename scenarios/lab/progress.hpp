#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>

#include "sim/live/run/harness.hpp"

namespace leasehold::lab {

/// At most `width` characters: the time, the activity, violations, the phase, and the present
/// faults; what has no room is left out from the right.
[[nodiscard]] std::string to_line(const sim::live::Progress& progress, int seconds,
                                  std::int64_t violations, std::size_t width);

/// "minimising the failing plan: 34 of at most 160 s".
[[nodiscard]] std::string minimising_line(double elapsed_s);

/// A line on standard error that overwrites itself on a terminal, and comes every ten seconds in a
/// log.
class StatusLine {
 public:
  ~StatusLine() { end(); }
  /// Without a time it comes on a terminal alone.
  void show(const std::string& line, double elapsed_s = -1);
  void end() const;

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  double next_s_ = 0;
};

/// The failing plan, minimised until the time for that is over; shows for how long it has been.
[[nodiscard]] sim::Plan minimised(const sim::Plan& plan,
                                  const std::function<bool(const sim::Plan&)>& fails);

/// The width of a line on the terminal behind this descriptor; 79 if it is none, or has no width.
[[nodiscard]] std::size_t line_width(int descriptor);

/// From here on Ctrl-C, SIGTERM and the end of the terminal do not end the process, because a long
/// command ends itself between two runs and reports what it has found. Another one, two seconds
/// later or more, ends the process at once.
void catch_interruptions();

/// Whether such a signal came. Thread safety: any thread.
[[nodiscard]] bool interrupted();

}  // namespace leasehold::lab
