#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
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

/// "minimising the failing plan: 34 of at most 160 s".
[[nodiscard]] std::string minimising_line(double elapsed_s);

/// A line on standard error that overwrites itself on a terminal, and comes every ten seconds in a
/// log.
class StatusLine {
 public:
  void show(const std::string& line, double elapsed_s);
  void end() const;

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  double next_s_ = 0;
};

/// Shows for how long a failing plan has been minimised, until the time for that is over.
class Minimising {
 public:
  [[nodiscard]] bool is_over();
  void end() const { line_.end(); }

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  StatusLine line_;
};

/// The width of a line on the terminal behind this descriptor; 79 if it is none, or has no width.
[[nodiscard]] std::size_t line_width(int descriptor);

/// From here on Ctrl-C, SIGTERM and the end of the terminal do not end the process, because a long
/// command ends itself between two runs and reports what it has found. Another one, two seconds
/// later or more, ends the process at once.
void catch_interruptions();

/// Whether such a signal came. Thread safety: any thread.
[[nodiscard]] bool interrupted();

/// Runs `work` on as many threads as there are cores, and returns when all have ended. Meanwhile
/// calls `watch`, if there is one, about five times a second from the caller's thread. If a thread
/// throws, the others run to their end, and the exception is thrown here.
void on_all_cores(const std::function<void()>& work, const std::function<void()>& watch = nullptr);

}  // namespace leasehold::lab
