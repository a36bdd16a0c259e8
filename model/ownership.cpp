#include "model/finding.hpp"

namespace leasehold::model {
namespace {

/// A delete that was under way when this deletion was read, and of which nobody knows what it did.
Index unanswered_delete(const Digest& d, const Event& gone) {
  for (const auto& [owner, sends] : d.deletes) {
    for (const SendDigest& one : sends) {
      const Event& send = d.at(one.send);
      const bool reaches = send.name == gone.name && send.at_ns <= gone.at_ns;
      if (reaches && d.unanswered(one)) return one.send;
    }
  }
  return kNone;
}

/// A deletion that no reply claims and that comes before any lease can have ended is neither its
/// owner's nor the TTL monitor's, as long as the servers' clocks were left alone.
void check_unclaimed(const Digest& d, Finding& f, const Tenure& t) {
  const auto holder = writer_of(d, t.last_put);
  if (!holder || d.clocks_moved || may_have_deleted(d, t)) return;
  const Event& gone = d.at(t.next);
  if (gone.at_ns >= earliest_end(d, *holder)) return;
  const Index foreign = unanswered_delete(d, gone);  // not the holder's, which may have deleted
  if (foreign == kNone) return;
  ++f.checked;
  violate(f,
          "lock '" + gone.name + "': a release or clean-up of " + d.at(foreign).process +
              " that nobody answered deleted the lock of another",
          {t.last_put, foreign, t.next});
}

/// A deletion belongs to whoever's reply says that it deleted something at just that time.
void check_deletion(const Digest& d, Finding& f, const std::string& name, Index gone,
                    Index last_put) {
  const auto claim = d.claims.find(d.at(gone).order);
  if (claim == d.claims.end()) return;
  ++f.checked;
  const std::string holder = last_put == kNone ? "" : owner_of(d.at(last_put).lock_id);
  const Event& reply = d.at(claim->second);
  if (reply.owner == holder || (reply.also_owner == holder && !holder.empty())) return;
  violate(f,
          "lock '" + name + "': a release or clean-up of " + d.at(claim->second).process +
              " deleted the lock of another",
          {last_put, claim->second, gone});
}

/// A release gives away what its own owner holds, or what is offered and nobody's.
void check_passed_on(const Digest& d, Finding& f, const std::string& name, Index put,
                     Index last_put) {
  ++f.checked;
  ++f.counts["passed_on"];
  const std::string holder = last_put == kNone ? "" : owner_of(d.at(last_put).lock_id);
  const Event& release = d.at(passed_on_by(d, put));
  if (holder.empty() || release.owner == holder || release.also_owner == holder) return;
  violate(f, "lock '" + name + "': a release of " + release.process + " gave away another's lock",
          {last_put, passed_on_by(d, put), put});
}

/// An extension writes only where its own owner stands, a hand-over where its own or who gives.
void check_update(const Digest& d, Finding& f, const std::string& name, Index put, Index last_put) {
  if (passed_on_by(d, put) != kNone) return check_passed_on(d, f, name, put, last_put);
  const auto sent = d.writers.find(d.at(put).lock_id);
  if (sent == d.writers.end() || sent->second.send == kNone) return;
  const Event& send = d.at(sent->second.send);
  if (send.verb != "extend" && send.verb != "hand-over") return;
  ++f.checked;
  const bool extension = send.verb == "extend";
  ++f.counts[extension ? "extensions" : "hand_overs"];
  const std::string holder = last_put == kNone ? "" : owner_of(d.at(last_put).lock_id);
  if (holder == owner_of(send.lock_id) || (!extension && holder == send.giver)) return;
  violate(f,
          "lock '" + name + "': " + (extension ? "an extension of " : "a hand-over of ") +
              send.process +
              (holder.empty() ? " inserted a lock that was gone" : " wrote over another's lock"),
          {last_put, sent->second.send, put});
}

}  // namespace

Finding check_ownership(const Digest& d) {
  Finding f = finding(Guarantee::G6);
  for (const auto& [name, changes] : d.truth) {
    Index last_put = kNone;
    for (const Change& c : changes) {
      if (c.gone) {
        check_deletion(d, f, name, c.event, last_put);
        last_put = kNone;
      } else {
        check_update(d, f, name, c.event, last_put);
        last_put = c.event;
      }
    }
    for (const Tenure& t : tenures(d, changes)) {
      if (t.next_gone && !d.claims.contains(d.at(t.next).order)) check_unclaimed(d, f, t);
    }
  }
  return f;
}

}  // namespace leasehold::model
