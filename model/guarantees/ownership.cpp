#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

/// A delete that was under way when this deletion was read, and that has no certain outcome.
Index unanswered_delete(const Digest& d, const Fact& gone) {
  for (const SendDigest& one : d.deletes.values()) {
    const Fact& send = d.fact(one.send);
    const bool reaches = send.name == gone.name && send.at_ns <= gone.at_ns;
    if (reaches && d.unanswered(one)) return one.send;
  }
  return kNone;
}

/// A deletion that no reply claims and that comes before any lease can have ended is neither its
/// owner's nor the TTL monitor's.
void check_unclaimed(const Digest& d, Finding& f, const Tenure& t) {
  const auto holder = writer_of(d, t.last_put);
  if (!holder || may_have_deleted(d, t)) return;
  const Fact& gone = d.fact(t.next);
  if (gone.at_ns >= earliest_end(d, *holder)) return;
  const Index foreign = unanswered_delete(d, gone);  // not the holder's, see above
  if (foreign == kNone) return;
  ++f.checked;
  violate(f,
          "lock '" + d.name(gone.name) + "': a release or clean-up of " + d.at(foreign).process +
              " without an answer deleted the lock of another",
          {t.last_put, foreign, t.next});
}

/// The write before a change.
struct StandingWrite {
  Index last_put = kNone;
  Id holder = kNoText;
};

/// A deletion belongs to the command with the reply that claims it: it deleted something at exactly
/// that time.
void check_deletion(const Digest& d, Finding& f, const StandingWrite& before, Index gone) {
  const Index claim = d.claim(gone);
  if (claim == kNone) return;
  ++f.checked;
  const Fact& reply = d.fact(claim);
  const Id holder = before.holder;
  if (reply.owner == holder || (reply.other_owner == holder && holder != kNoText)) return;
  violate(f,
          "lock '" + d.at(gone).name + "': a release or clean-up of " + d.at(claim).process +
              " deleted the lock of another",
          {before.last_put, claim, gone});
}

/// A release gives away a lock of its own owner, or a free lock that was offered.
void check_passed_on(const Digest& d, Finding& f, const StandingWrite& before, Index put) {
  ++f.checked;
  ++f.counts["passed_on"];
  const Index claim = d.claim(put);
  const Fact& release = d.fact(claim);
  const Id holder = before.holder;
  if (holder == kNoText || release.owner == holder || release.other_owner == holder) return;
  violate(f,
          "lock '" + d.at(put).name + "': a release of " + d.at(claim).process +
              " gave away another's lock",
          {before.last_put, claim, put});
}

/// An extension writes only over its own owner, a hand-over only over its own owner or the giver.
void check_update(const Digest& d, Finding& f, const StandingWrite& before, Index put) {
  if (d.claim(put) != kNone) return check_passed_on(d, f, before, put);
  const SendDigest& sent = d.writer(put);
  if (sent.send == kNone) return;
  const Fact& send = d.fact(sent.send);
  if (send.verb != Verb::extend && send.verb != Verb::hand_over) return;
  ++f.checked;
  const bool extension = send.verb == Verb::extend;
  ++f.counts[extension ? "extensions" : "hand_overs"];
  const Id holder = before.holder;
  if (holder == d.owner_of_lock_id(send) || (!extension && holder == send.other_owner)) return;
  violate(f,
          "lock '" + d.at(put).name + "': " + (extension ? "an extension of " : "a hand-over of ") +
              d.at(sent.send).process +
              (holder == kNoText ? " inserted a lock that was gone" : " wrote over another's lock"),
          {before.last_put, sent.send, put});
}

}  // namespace

Finding check_ownership(const Digest& d) {
  Finding f = finding(Check::G6);
  for (Id name = 0; name < d.truth.size(); ++name) {
    StandingWrite standing;
    for (const Change& c : d.truth[name]) {
      if (c.gone) {
        check_deletion(d, f, standing, c.event);
        standing = {};
      } else {
        check_update(d, f, standing, c.event);
        standing = {c.event, c.owner};
      }
    }
    for (const Tenure& t : d.tenures[name]) {
      if (t.next_gone && d.claim(t.next) == kNone) check_unclaimed(d, f, t);
    }
  }
  return f;
}

}  // namespace leasehold::model
