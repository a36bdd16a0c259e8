#pragma once

#include <leasehold/waiting.hpp>

/// A strategy of one's own for `leasehold-bench contend --strategy FILE.so`: a shared object that
/// defines this function. What it gives must live as long as the program, and serve all threads.
/// `leasehold_strategy(NAME FILE.cpp)` in CMake builds one; bench/contend/own_strategy.cpp shows
/// it.
extern "C" const leasehold::WaitingStrategy* leasehold_waiting_strategy();
