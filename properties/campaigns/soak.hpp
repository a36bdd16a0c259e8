#pragma once

#include <array>
#include <functional>
#include <vector>

#include "properties/campaigns/verify.hpp"

/// One long run of many processes on a real replica set, with every kind of fault: whether the
/// guarantees hold, and whether the processes that run from start to end grow.
namespace leasehold::properties {

/// The plan for the options, which have a number of processes and of locks. Kills and pauses hit
/// odd processes alone, and fewer of them; leases and holdings are longer than in a short run, so
/// that the machine has time for an hour of it. The even ones are never killed, and are measured.
[[nodiscard]] sim::Plan soak_plan(const VerifyOptions& options);

/// In less time pools and caches still fill, so that growth shows nothing.
inline constexpr int kShortestSoakMinutes = 20;

/// What is measured. Memory that is resident and not anonymous is pages of the program's files,
/// read when their code first runs: it is bounded, and no leak.
enum Measure { kResident_kib, kAnonymous_kib, kDescriptors };
inline constexpr std::array kMeasures{"resident_kib", "anonymous_kib", "descriptors"};

/// One process with all that it started, or the mean of several, from /proc.
struct MemorySample {
  double at_s = 0;
  std::array<double, kMeasures.size()> values = {};
};

/// The course of a value, as the mean of the measured processes, from a quarter of the run on,
/// because pools and caches fill until then.
struct Trend {
  double mean = 0;
  double growth = 0;  ///< of the fitted line, from the first point to the last
  double error = 0;   ///< the standard error of `growth`, by how the points lie about the line

  /// Whether it grew by more than `most`, and by more than twice its error, so not by chance.
  [[nodiscard]] bool grew(double most) const { return growth > most && growth > 2 * error; }
};

/// Least squares over (x, y), with x rising. No growth for fewer than two points, no error for
/// fewer than three.
[[nodiscard]] Trend trend(const std::vector<double>& x, const std::vector<double>& y);

/// How the processes grew that lived from the first quarter's end to the end.
struct Growth {
  int measured = 0;  ///< of them
  std::array<Trend, kMeasures.size()> trends = {};
  std::vector<MemorySample> course;  ///< their mean, minute by minute, from the start on
};

/// Violated: anonymous memory or descriptors grew. Unknown: the run was too short, or no process
/// was measured. The memory of a user's worker may be that of a language that collects garbage.
[[nodiscard]] model::Finding growth_finding(const Growth& growth, double elapsed_s, bool foreign);

struct SoakReport {
  VerifyReport run;  ///< with the growth among its findings
  Growth growth;
};

/// Runs that plan for the options' seconds.
[[nodiscard]] SoakReport soak(VerifyOptions options, const OnProgress& on_progress,
                              const std::function<bool()>& stop);

}  // namespace leasehold::properties
