#include "core/document/utf8.hpp"

namespace leasehold::core {
namespace {

/// By its first byte; 0: no character begins with it, which may go on one (80 to BF), would be of
/// an overlong form (C0, C1) or lie beyond Unicode (F5 and more).
std::size_t length_of_character(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

/// Overlong forms, surrogates and what is beyond U+10FFFF show in the second byte.
bool second_fits(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0: return second >= 0xA0;
    case 0xED: return second <= 0x9F;
    case 0xF0: return second >= 0x90;
    case 0xF4: return second <= 0x8F;
    default: return true;
  }
}

}  // namespace

std::size_t first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = text.empty() ? 0 : length_of_character(byte(0));
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length > 1 && !second_fits(byte(0), byte(1)) ? 0 : length;
}

/// Character by character: a prefix that ends inside one would be refused by the server, too.
std::string valid_utf8_prefix(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    const auto length = first_character(text.substr(end));
    if (length == 0) break;
    end += length;
  }
  return std::string(text.substr(0, end));
}

}  // namespace leasehold::core
