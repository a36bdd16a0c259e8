#include <algorithm>
#include <ranges>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

/// One answered release: its session, its call, its answer and its grant.
struct Answered {
  const SessionDigest& session;
  const Fact& asked;
  const Fact& answer;
  const Fact& granted;
};

/// By owner: how each of its documents in the oplog ended.
struct AllEnds {
  std::vector<bool> by_itself;  ///< whether one may have gone by its own delete or hand-over
  Lists<Index> deleted;         ///< by its own delete, for certain: the reply that says so
  /// Deleted before its lease can have ended, and no reply claims it: the delete had no answer.
  Lists<Index> vanished;
};

AllEnds all_ends(const Digest& d) {
  AllEnds all{std::vector<bool>(d.facts.owners), {}, {}};
  for (auto* by_owner : {&all.deleted, &all.vanished}) by_owner->resize(d.facts.owners);
  for (const Tenure& t : std::views::join(d.tenures)) {
    if (!all.by_itself[t.owner]) all.by_itself[t.owner] = !left_behind(d, t);
    if (!t.next_gone && !t.left) continue;
    const Index claim = d.claim(t.next);
    if (claim == kNone) {
      const auto holder = writer_of(d, t);
      const bool early = holder && d.fact(t.next).at_ns < earliest_end(d, *holder);
      if (early) all.vanished[t.owner].push_back(t.next);
      continue;
    }
    const Fact& reply = d.fact(claim);
    const bool own = reply.owner == t.owner || reply.other_owner == t.owner;
    if (own) all.deleted[t.owner].push_back(claim);
  }
  return all;
}

/// Whether this document vanished by a command of this release that was never answered.
bool own_unanswered(const Digest& d, const Answered& a, Index gone) {
  const auto at = d.fact(gone).at_ns;
  if (at < a.asked.at_ns || at > a.answer.at_ns) return false;
  return std::ranges::any_of(d.farewells(a.granted.owner), [&](const SendDigest& one) {
    return d.unanswered(one) && d.fact(one.send).at_ns <= at;
  });
}

/// The last of these changes, if it is the owner's own write.
Index last_own(const Answered& a, std::span<const Change> changes) {
  if (changes.empty()) return kNone;
  const Change& last = changes.back();
  return last.held_by(a.granted.owner) ? last.event : kNone;
}

/// The owner's write if a member answered that does not know of the grant yet, and the document was
/// there from before the command was sent until after it was answered; kNone: not so.
Index denied_by_an_old_primary(const Digest& d, const Answered& a) {
  const auto& truth = d.truth[a.granted.name];
  for (const SendDigest& one : d.farewells(a.granted.owner)) {
    if (one.reply == kNone) continue;
    const Fact& reply = d.fact(one.reply);
    const bool decides = reply.outcome == Outcome::done && reply->matched == 0 &&
                         reply.lock_id == kNoText && reply.at_ns == a.answer.at_ns &&
                         reply->order < a.granted->token;
    if (!decides) continue;
    // Writes without a majority are not read.
    const auto known =
        d.servers.put_off(reply.at_ns,
                          reply.at_ns + d.allowed.truth_lag_ns + d.allowed.fault_echo_ns);
    const auto later = std::ranges::find_if(
        truth, [&](const Change& c) { return d.fact(c.event).at_ns > known; });
    const Index there = last_own(a, {truth.begin(), later});
    if (there != kNone && d.fact(there).at_ns < d.fact(one.send).at_ns) return there;
  }
  return kNone;
}

/// The owner's write if a delete of this release found nothing, although the document was there
/// before it was sent and after it was answered; kNone: not so.
Index overlooked(const Digest& d, const Answered& a) {
  const auto& sent = d.deletes[a.granted.owner];
  for (const SendDigest& one : sent) {
    if (!d.done(one.reply) || d.at(one.reply).matched > 0) continue;
    // A plain delete matches only a document without a queue; if it finds none, a pass-on follows.
    const bool followed = d.fact(sent.back().send).verb == Verb::pass_on;
    if (d.fact(one.send).verb == Verb::remove && followed) continue;
    const Index last = last_own(a, d.changes_by(a.granted.name, d.at(one.reply).order));
    if (last != kNone && d.fact(last).at_ns < d.fact(one.send).at_ns) return last;
  }
  return kNone;
}

void check_released(const Digest& d, Finding& f, const Answered& a, const AllEnds& ends) {
  if (ends.by_itself[a.granted.owner]) return;
  violate(f,
          subject(d, a.session.granted) +
              "'s release returned 'released', but no command of its own freed the lock",
          {a.session.release, a.session.released});
}

void check_not_owner(const Digest& d, Finding& f, const Answered& a, const AllEnds& ends) {
  const Index asked = a.session.release, answered = a.session.released;
  const auto& deleted = ends.deleted[a.granted.owner];
  const bool own = std::ranges::any_of(deleted, [&](Index reply) {
    return d.fact(reply).at_ns <= a.answer.at_ns && d.fact(reply).at_ns >= a.asked.at_ns;
  });
  if (own) {
    violate(f,
            subject(d, asked) +
                "'s release returned 'not_owner', but its own delete freed the lock",
            {asked, answered});
  }
  for (const Index gone : ends.vanished[a.granted.owner]) {
    if (!own_unanswered(d, a, gone)) continue;
    violate(f,
            subject(d, asked) +
                "'s release returned 'not_owner', but only its own command can have freed the lock",
            {asked, gone, answered});
  }
  Index there = overlooked(d, a);
  if (there == kNone) there = denied_by_an_old_primary(d, a);
  if (there == kNone) return;
  violate(f, subject(d, asked) + "'s release returned 'not_owner', but its document was there",
          {asked, answered, there});
}

}  // namespace

Finding check_release(const Digest& d) {
  Finding f = finding(Check::release);
  if (d.of_a_document) return f;  // published locks delete by their own rules
  const AllEnds ends = all_ends(d);
  for (const SessionDigest& s : d.sessions) {
    if (s.granted == kNone || s.release == kNone || s.released == kNone) continue;
    if (s.leaves_it_to_others) continue;  // it frees nothing
    const Answered a{s, d.fact(s.release), d.fact(s.released), d.fact(s.granted)};
    if (a.answer.outcome == Outcome::unknown) continue;
    ++f.checked;
    if (a.answer.outcome == Outcome::released) check_released(d, f, a, ends);
    // The loss was notified before: then the holder's own clean-up may have deleted the document.
    const bool lost = s.lost != kNone && d.fact(s.lost).at_ns <= a.asked.at_ns;
    if (a.answer.outcome == Outcome::not_owner && !lost) check_not_owner(d, f, a, ends);
  }
  return f;
}

}  // namespace leasehold::model
