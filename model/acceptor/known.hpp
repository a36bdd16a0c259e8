#pragma once

#include <cstdint>
#include <span>

#include "model/verdict/finding.hpp"

/// Which command wrote what, and who has left, as far as the acceptor has come.
namespace leasehold::model {

/// How many versions of a document were written; a deletion counts as one. Version v of a line is
/// its element v - 1.
using Version = std::uint32_t;
using Versions = std::span<const Change>;

/// The owner in the document; kNoText: there is none.
[[nodiscard]] inline Id holder_at(Versions line, Version v) {
  return v == 0 || line[v - 1].gone ? kNoText : line[v - 1].owner;
}

/// The first sending before `now` by which an owner ended; kNone: it had not.
[[nodiscard]] inline Index farewell(const Digest& d, Id owner, Index now) {
  Index first = kNone;
  for (const auto* by_owner : {&d.deletes, &d.hand_overs}) {
    const auto& sent = (*by_owner)[owner];
    if (!sent.empty()) first = std::min(first, sent.front().send);
  }
  return first < now ? first : kNone;
}

/// The first sending before `now` that writes this lockId; kNone: there was none.
[[nodiscard]] inline Index first_sending(const Digest& d, Id lock_id, Index now) {
  return d.first_writers[lock_id] < now ? d.first_writers[lock_id] : kNone;
}

/// The version of this lock with this lockId, the first if there are several; 0: none.
[[nodiscard]] inline Version written_by(const Digest& d, Id name, Id lock_id) {
  return d.written[lock_id].name == name ? d.written[lock_id].version : 0;
}

/// Whether a reply by now says that this command found its document. Of an extension one of the
/// statements matched; a read may have shown the owner.
[[nodiscard]] inline bool acknowledged(const Digest& d, Index send, Index now) {
  const Index reply = d.reply_to(send);
  return reply < now && d.done(reply) && d.at(reply).matched > 0;
}

/// The owner that this session was granted the lock for; kNoText: none.
[[nodiscard]] inline Id owner_of(const Digest& d, const Fact& e) {
  const Index granted = d.session_of(e).granted;
  return granted == kNone ? kNoText : d.fact(granted).owner;
}

}  // namespace leasehold::model
