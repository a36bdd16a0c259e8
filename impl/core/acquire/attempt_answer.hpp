#pragma once

#include <cstdint>
#include <string>

#include "core/acquire/acquire_call.hpp"

/// How the reply to an attempt is read. A reply is evidence of one execution of one command, and
/// anything that it does not say for certain is taken for the worse.
namespace leasehold::core {

/// What the answer to an attempt says.
///
/// `refused` and `cannot_succeed` leave nothing behind, nor does `not_executed`. After the next two
/// the owner may be in the document, now or by a request that is still on its way.
enum class AttemptAnswer {
  refused,         ///< certainly not ours
  cannot_succeed,  ///< certainly not executed, nor would another be
  not_executed,    ///< certainly not
  unanswered,      ///< may have won, or may win yet
  permanent,       ///< the same, and another cannot succeed
  won,             ///< this very execution did
};

/// Whether another has the lock, whatever the write concern says: then the attempt wrote nothing
/// but, if the call queues, its entry.
[[nodiscard]] bool refuses(const Reply& reply, Owner owner);

/// What the reply says of the attempt of this call that has this beat.
[[nodiscard]] AttemptAnswer read_answer(const AcquireCall& call, std::uint64_t beat,
                                        const std::string& holder, const Reply& reply);

/// The holder, for people: the part of the lockId after the beat, or all of a lockId that is not of
/// our form; or how many share it, and why one that `asked` to share it, too, has to wait.
[[nodiscard]] std::string held_by(const LockDocument& document, Room asked = 0);

}  // namespace leasehold::core
