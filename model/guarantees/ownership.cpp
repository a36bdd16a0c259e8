#include <set>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

/// A delete that was under way when this deletion was read, and that has no certain outcome.
Index unanswered_delete(const Digest& d, const Fact& gone) {
  for (const auto& of_owner : d.deletes) {
    for (const SendDigest& one : of_owner) {
      const Fact& send = d.fact(one.send);
      const bool reaches = send.name == gone.name && send.at_ns <= gone.at_ns;
      if (reaches && d.unanswered(one)) return one.send;
    }
  }
  return kNone;
}

/// A deletion that no reply claims and that comes before any lease can have ended is neither its
/// owner's nor the TTL monitor's.
void check_unclaimed(const Digest& d, Finding& f, const Tenure& t) {
  const auto holder = writer_of(d, t);
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

/// A deletion belongs to the command with the reply that claims it: it deleted something at exactly
/// that time. A release gives away a lock of its own owner, or a free lock that was offered.
void check_claimed(const Digest& d, Finding& f, Index change) {
  const Change& before = d.change_before(change);
  const Index claim = d.claim(change);
  const bool gone = d.fact(change).kind == Kind::gone;
  ++f.checked;
  if (!gone) ++f.counts["passed_on"];
  const Fact& reply = d.fact(claim);
  const bool held = before.held_by(reply.owner) || before.held_by(reply.other_owner);
  if (held || (before.gone && !gone)) return;
  violate(f,
          "lock '" + d.at(change).name + "': a release " + (gone ? "or clean-up of " : "of ") +
              d.at(claim).process +
              (gone ? " deleted the lock of another" : " gave away another's lock"),
          {before.event, claim, change});
}

/// An extension writes only over its own owner, a hand-over only over its own owner or the giver.
void check_update(const Digest& d, Finding& f, Index put) {
  const Change& before = d.change_before(put);
  const SendDigest& sent = d.writer(put);
  if (sent.send == kNone) return;
  const Fact& send = d.fact(sent.send);
  if (send.verb != Verb::extend && send.verb != Verb::hand_over) return;
  ++f.checked;
  const bool extension = send.verb == Verb::extend;
  ++f.counts[extension ? "extensions" : "hand_overs"];
  const bool own = before.held_by(d.owner_of_lock_id(send));
  if (own || (!extension && before.held_by(send.other_owner))) return;
  violate(f,
          "lock '" + d.at(put).name + "': " + (extension ? "an extension of " : "a hand-over of ") +
              d.at(sent.send).process +
              (before.gone ? " inserted a lock that was gone" : " wrote over another's lock"),
          {before.event, sent.send, put});
}

/// A reader's entry goes by its own release, or when it is over. Whoever takes the lock of all
/// readers too early breaks G1.
void check_readers_left(const Digest& d, Finding& f, const Change& c) {
  const Index claim = d.claim(c.event);
  if (claim == kNone && c.readers.empty()) return;
  for (const ReaderEntry& r : gone_readers(d.change_before(c.event), c)) {
    ++f.checked;
    ++f.counts["readers_left"];
    if (is_over(d, r.lock_id, c.event) || may_have_left(d, r, c)) continue;
    const Index by = claim == kNone ? d.writers[c.lock_id].send : claim;
    violate(f,
            "lock '" + d.at(c.event).name + "': a command of " +
                (by == kNone ? "somebody" : d.at(by).process) + " took out the reader " +
                d.at(d.writers[r.lock_id].send).process,
            {d.writers[r.lock_id].send, by, c.event});
  }
}

/// The other processes that were releasing this lock at its end, in words.
std::string who_released(const Digest& d, const Tenure& t, const SessionDigest& holder) {
  std::set<std::string> names;
  for (const SessionDigest& s : d.sessions) {
    if (&s == &holder || s.release == kNone || s.asked.name != holder.asked.name) continue;
    const bool over = s.released != kNone && d.fact(s.released).at_ns < d.at(t.next).from_ns;
    if (d.fact(s.release).at_ns <= d.fact(t.next).at_ns && !over) {
      names.insert(d.process_name(s.process));
    }
  }
  std::string out;
  for (const auto& process : names) {
    out += (out.empty() ? "; it was being released by " : ", ") + process;
  }
  return out;
}

/// Nobody but its holder ends a tenure of a lock that is known by its answers before the end of its
/// lease. An acquire that does breaks G1.
void check_robbed(const Digest& d, Finding& f, const Tenure& t) {
  const auto holder = writer_of(d, t);
  if (!holder || t.next == kNone || !t.decided) return;
  const bool robbed = !t.given_up && !t.acquired;
  if (t.next_gone || robbed) ++f.checked;
  const auto left = earliest_end(d, *holder, t, t.next) - d.fact(t.next).at_ns;
  if (!robbed || left <= 0) return;
  violate(f,
          "lock '" + d.at(t.next).name + "': the document of " +
              d.process_name(holder->session->process) +
              (t.next_gone ? " was freed " : " was overwritten ") + ms(left) +
              " before its lease ran out, and not by its holder" +
              who_released(d, t, *holder->session),
          {holder->command.reply, t.last_put, t.next});
}

}  // namespace

Finding check_ownership(const Digest& d) {
  Finding f = finding(Check::G6);
  for (Id name = 0; name < d.truth.size(); ++name) {
    if (d.promises != nullptr) {
      for (const Tenure& t : d.tenures[name]) check_robbed(d, f, t);
      continue;
    }
    for (const Change& c : d.truth[name]) {
      check_readers_left(d, f, c);
      if (d.claim(c.event) != kNone) {
        check_claimed(d, f, c.event);
      } else if (!c.gone) {
        check_update(d, f, c.event);
      }
    }
    for (const Tenure& t : d.tenures[name]) {
      if (t.next_gone && d.claim(t.next) == kNone) check_unclaimed(d, f, t);
    }
  }
  return f;
}

}  // namespace leasehold::model
