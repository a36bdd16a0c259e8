#include "c/errors.hpp"

#include <algorithm>
#include <cstring>

namespace leasehold::c {
namespace {

constexpr int number(ErrorKind kind) { return static_cast<int>(kind) + 1; }
static_assert(number(ErrorKind::invalid_option) == LEASEHOLD_INVALID_OPTION);
static_assert(number(ErrorKind::refused) == LEASEHOLD_REFUSED);
static_assert(number(ErrorKind::timed_out) == LEASEHOLD_TIMED_OUT);
static_assert(number(ErrorKind::cancelled) == LEASEHOLD_CANCELLED);
static_assert(number(ErrorKind::unavailable) == LEASEHOLD_UNAVAILABLE);
static_assert(number(ErrorKind::unknown_outcome) == LEASEHOLD_UNKNOWN_OUTCOME);
static_assert(number(ErrorKind::configuration) == LEASEHOLD_CONFIGURATION);
static_assert(number(ErrorKind::shut_down) == LEASEHOLD_SHUT_DOWN);

static_assert(sizeof(leasehold_error) == 1024, "callers have it on their stacks");

}  // namespace

std::size_t fitting(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text.size();
  const auto continues = [&text](std::size_t at) { return (text[at] & '\xC0') == '\x80'; };
  while (most > 0 && continues(most)) --most;
  return most;
}

int report(const Error& error, leasehold_error* to) {
  if (to != nullptr) {
    *to = {};
    to->kind = number(error.kind);
    to->code = error.code;
    std::memcpy(to->message, error.message.data(), fitting(error.message, sizeof to->message - 1));
  }
  return number(error.kind);
}

void refuse(const std::string& sentence) {
  throw Failure{{ErrorKind::invalid_option, 0, sentence}};
}

}  // namespace leasehold::c
