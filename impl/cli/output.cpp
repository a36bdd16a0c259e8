#include "cli/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <system_error>

#include "core/document/utf8.hpp"

namespace leasehold::cli {
namespace {

/// The number of a character of one to three bytes, for what `is_shown` looks for; 0: a longer one.
unsigned number_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  if (character.size() == 2) return (byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu);
  if (character.size() == 3) {
    return (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
  }
  return 0;
}

bool is_shown(std::string_view character) {
  if (character.size() > 3) return true;
  const unsigned number = number_of(character);
  const bool control = number < 0x20 || (number >= 0x7F && number < 0xA0);
  const bool line_end = number == 0x2028 || number == 0x2029;
  const bool direction = number == 0x061C || number == 0x200E || number == 0x200F ||
                         (number >= 0x202A && number <= 0x202E) ||
                         (number >= 0x2066 && number <= 0x2069);
  return !control && !line_end && !direction;
}

void append_escaped(std::string& to, std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const char one : bytes) {
    const auto byte = static_cast<unsigned char>(one);
    to += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

int failed_write = 0;  ///< why the first write that failed did

[[maybe_unused]] ssize_t write_or_remember(void*, const char* bytes, std::size_t size) {
  for (std::size_t written = 0; written < size && failed_write == 0;) {
    const auto n = ::write(STDOUT_FILENO, bytes + written, size - written);
    if (n >= 0) written += static_cast<std::size_t>(n);
    if (n < 0 && errno != EINTR) failed_write = errno;
  }
  return static_cast<ssize_t>(size);
}

std::size_t characters_in(std::string_view valid) {
  return static_cast<std::size_t>(std::ranges::count_if(valid, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace

OutputFailed::OutputFailed(int error_number)
    : std::runtime_error(std::string("standard output cannot be written: ") +
                         std::strerror(error_number)),
      error(error_number) {}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw OutputFailed(errno);
}

void flush_output() {
  if (std::fflush(stdout) != 0) throw OutputFailed(errno);
  if (failed_write != 0) throw OutputFailed(failed_write);
}

void put_off_failed_output() {
#ifdef __GLIBC__  // where stdout is a variable
  FILE* all_is_well = fopencookie(nullptr, "w", {nullptr, write_or_remember, nullptr, nullptr});
  if (all_is_well == nullptr) return;
  if (isatty(STDOUT_FILENO) != 0) setvbuf(all_is_well, nullptr, _IOLBF, BUFSIZ);
  stdout = all_is_well;
#endif
}

std::string words_of(const std::exception& error) {
  const auto none = std::make_error_code(std::errc::resource_unavailable_try_again);
  const std::string words = error.what();
  return words == none.message() ? "no thread can be started: " + words : words;
}

std::string span(std::int64_t ms) {
  if (ms <= -100) return "-" + span(-ms);
  ms = std::max<std::int64_t>(ms, 0);
  const auto s = ms / 1'000;
  if (s < 10) return std::to_string(s) + "." + std::to_string(ms % 1'000 / 100) + " s";
  if (s < 120) return std::to_string(s) + " s";
  if (s < 7'200) return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  return std::to_string(s / 3'600) + " h " + std::to_string(s % 3'600 / 60) + " min";
}

std::string date(std::int64_t since_1970_ms) {
  const auto seconds = static_cast<std::time_t>(since_1970_ms / 1'000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts);
  return text;
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto length = core::first_character(text);
    const auto character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length > 0 && is_shown(character)) {
      shown += character;
    } else {
      append_escaped(shown, character);
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

std::string column(std::string_view text, std::size_t width) {
  auto shown = printable(text);
  const auto size = characters_in(shown);
  if (size < width) shown.append(width - size, ' ');
  return shown;
}

std::size_t width_of(std::string_view text) { return characters_in(printable(text)); }

}  // namespace leasehold::cli
