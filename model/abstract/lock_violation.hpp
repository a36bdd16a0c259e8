#pragma once

#include "model/abstract/lock_world.hpp"

/// The violations that steps of the abstract lock can cause. Internal to it.
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
  Check guarantee;
  const char* text;
};
inline constexpr Broken kBroken[] = {
    {Check::form, ""},
    {Check::G1, "G1: a lease was given to another before it ran out"},
    {Check::G1, "G1: a lock of the .NET package was taken before its expiresAt"},
    {Check::G3, "G3: the resource accepts a write of an earlier holder after one of a later"},
    {Check::G3, "G3: the resource refuses its current holder"},
    {Check::G4, "G4: a token did not rise"},
    {Check::G5, "G5: held() of a lost handle was true again"},
    {Check::G5, "G5: held() is true past the deadline"},
    {Check::G6, "G6: another's lock was touched"},
    {Check::G7, "G7: a retry did not recognise its own win"}};

/// Records that the world breaks this, if the scope checks it. The first violation stays.
inline void violate(World& w, int violation, const Scope& scope) {
  const bool first = w.violation == kNoViolation;
  const bool looked_at = scope.guarantees.contains(kBroken[violation].guarantee);
  if (first && looked_at) w.violation = byte(violation);
}

}  // namespace leasehold::model::lock_world
