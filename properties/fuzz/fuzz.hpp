#pragma once

#include <cstdio>
#include <cstdlib>

/// What every target here shares. libFuzzer calls LLVMFuzzerTestOneInput with bytes of its making
/// for as long as it is asked to; a crash, a sanitizer's report or a broken `must` is a finding.
namespace leasehold::fuzz {

/// A property of anything that was read from outside.
inline void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace leasehold::fuzz
