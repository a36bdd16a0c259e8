#pragma once

namespace leasehold::lab {

/// From here on Ctrl-C, SIGTERM and the end of the terminal do not end the process, because a long
/// command ends itself between two runs and reports what it has found. Another one, two seconds
/// later or more, ends the process at once.
void catch_interruptions();

/// Whether such a signal came. Thread safety: any thread.
[[nodiscard]] bool interrupted();

}  // namespace leasehold::lab
