#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

/// The one place that writes to people and to the programs that read standard output.
namespace leasehold::cli {

/// Standard output cannot be written.
struct OutputFailed : std::runtime_error {
  explicit OutputFailed(int error_number);
  int error;  ///< as errno
};

/// Writes to standard output. Throws OutputFailed.
void print(std::string_view text);
/// Brings what was printed to its reader. Throws OutputFailed; a program calls it at its end, too,
/// because only then it knows that all was written.
void flush_output();

/// From here on a write to standard output that fails is no failure until `flush_output`: what else
/// a program does, and writes, is done first. `main` calls it before anything is printed.
void put_off_failed_output();

/// The words of an exception that ends a program. A std::thread that cannot start says no more than
/// "Resource temporarily unavailable".
[[nodiscard]] std::string words_of(const std::exception& error);

/// "2 min 5 s": for people.
[[nodiscard]] std::string span(std::int64_t ms);
/// "2026-11-22 01:02:03Z".
[[nodiscard]] std::string date(std::int64_t since_1970_ms);

/// What a terminal shows unchanged: control characters, marks that change the direction of
/// writing, and bytes that are no UTF-8 become \xNN. Names, notes and servers' words come from
/// other people.
[[nodiscard]] std::string printable(std::string_view text);

/// `printable`, then spaces up to this many characters.
[[nodiscard]] std::string column(std::string_view text, std::size_t width);
/// How many characters that is, without the spaces.
[[nodiscard]] std::size_t width_of(std::string_view text);

}  // namespace leasehold::cli
