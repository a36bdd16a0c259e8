#pragma once

#include <cstdio>
#include <cstdlib>

/// Aborts on a contradiction of our own; stays on in release builds. Never for what a server says.
/// It aborts instead of throwing, because a process that can no longer say what it holds must not
/// go on holding it, and the locks of a process that is gone free themselves.
#define LEASEHOLD_CHECK(condition)                                                           \
  ((condition)                                                                               \
       ? void()                                                                              \
       : (std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition), \
          std::abort()))
