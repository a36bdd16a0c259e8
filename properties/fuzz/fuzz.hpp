#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// What every target here shares. libFuzzer calls LLVMFuzzerTestOneInput with bytes of its making
/// for as long as it is asked to; a crash, a sanitizer's report or a broken `must` is a finding.
namespace leasehold::fuzz {

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

/// A property of anything that was read from outside.
inline void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace leasehold::fuzz
