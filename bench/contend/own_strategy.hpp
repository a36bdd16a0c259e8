#pragma once

#include <leasehold/waiting.hpp>

/// A strategy of the user's for `leasehold-bench contend --strategy FILE.so`: a shared object that
/// defines this function. The returned strategy must live as long as the program, and serve all
/// threads. `leasehold_strategy(NAME FILE.cpp)` in CMake builds one; bench/contend/own_strategy.cpp
/// shows it.
extern "C" const leasehold::WaitingStrategy* leasehold_waiting_strategy();
