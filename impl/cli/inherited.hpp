#pragma once

/// What a program inherits from the process that started it, made known.
namespace leasehold::cli {

/// Afterwards: descriptors 0 to 2 are open, on /dev/null if they were closed, so that no file or
/// connection gets one of their numbers; no signal is blocked; SIGCHLD has its default disposition,
/// because with an ignored one the kernel discards how children end; SIGPIPE and SIGXFSZ are
/// ignored, because a closed pipe and a file that may not grow are errors of a write. All other
/// ignored signals stay ignored. The locale is "C" as long as a program does not call setlocale.
///
/// REQUIRES: no other thread runs; `main` calls it first.
void settle_inherited_state();

/// Whether the signal was ignored at that call: by nohup, or by `&` in a shell without job control.
/// A program takes no such signal.
[[nodiscard]] bool was_ignored(int signal);

}  // namespace leasehold::cli
