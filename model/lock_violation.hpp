#pragma once

#include <algorithm>
#include <iterator>

#include "model/lock_world.hpp"

/// What the steps of the abstract system can break, and what several of them ask. Internal to
/// LockSystem.
namespace leasehold::model::lock_world {

enum Violation : Byte {
  kNoViolation,
  kGivenAway,
  kForeignTaken,
  kFenceOrder,
  kFenceRefused,
  kToken,
  kRevived,
  kHeldTooLong,
  kOwnership,
  kUnrecognised
};
struct Broken {
  Guarantee guarantee;
  const char* text;
};
inline constexpr Broken kBroken[] = {
    {Guarantee::form, ""},
    {Guarantee::G1, "G1: a lease was given to another before it ran out"},
    {Guarantee::G1, "G1: a lock of the .NET package was taken before its expiresAt"},
    {Guarantee::G3, "G3: the resource accepts a write of an earlier holder after one of a later"},
    {Guarantee::G3, "G3: the resource refuses its current holder"},
    {Guarantee::G4, "G4: a token did not rise"},
    {Guarantee::G5, "G5: held() of a lost handle was true again"},
    {Guarantee::G5, "G5: held() is true past the deadline"},
    {Guarantee::G6, "G6: another's lock was touched"},
    {Guarantee::G7, "G7: a retry did not recognise its own win"}};

/// Whether an extension of this owner is on its way.
inline bool is_extending(const World& w, Byte owner) {
  const Client& c = w.client[client_of(owner)];
  return std::any_of(std::begin(c.message), std::end(c.message),
                     [owner](const Message& m) { return m.slot == kExtend && m.owner == owner; });
}

}  // namespace leasehold::model::lock_world
