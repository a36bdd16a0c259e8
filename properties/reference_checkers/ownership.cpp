#include <algorithm>

#include "properties/reference_checkers/questions.hpp"
#include "properties/reference_checkers/reference_checkers.hpp"

/// G6 and release: whose document a command touched, and what a release says of it.
namespace leasehold::properties {
namespace {

/// The owner that stood there just before this change; none if it was free.
std::string stood_before(const Questions& q, const Event& change) {
  const Event* before = q.change_before(change);
  return before == nullptr || before->kind == Kind::gone ? "" : model::owner_of(before->lock_id);
}

bool names(const Event& command, const std::string& owner) {
  return !owner.empty() && (command.owner == owner || command.also_owner == owner);
}

/// No reply claims it, and no lease can have run out: if a delete of another
/// was on its way then, unanswered, it was that.
bool must_be_anothers(const Questions& q, const Stay& s) {
  const Event& gone = *s.next;
  if (q.claimed_by(gone) != nullptr || q.gave_up(s.owner, &gone)) return false;
  if (at(&gone) >= at(s.send) + whole_lease(*s.ask)) return false;
  return q.first([&](const Event& e) {
    if (e.kind != Kind::send || !model::leaves_lock(e) || e.name != gone.name) return false;
    const Event* reply = q.reply_to(e);
    const bool in_doubt = unanswered(reply);
    return e.at_ns <= gone.at_ns && !names(e, s.owner) && in_doubt;
  }) != nullptr;
}

/// A release gives away only what it holds; an extension writes only over its own document, a
/// hand-over also over that of the giver.
bool writes_over_anothers(const Questions& q, const Event& put) {
  if (const Event* by = q.claimed_by(put)) {
    const auto gives = stood_before(q, put);
    return !gives.empty() && !names(*by, gives);
  }
  const Event* send = q.sender(put);
  if (send == nullptr) return false;
  const auto holder = stood_before(q, put);
  if (send->verb == "extend") return holder != model::owner_of(put.lock_id);
  if (send->verb != "hand-over") return false;
  return holder != model::owner_of(put.lock_id) && holder != send->giver;
}

}  // namespace

/// "Release, extend and clean-up never touch another's lock."
int slow_ownership(const Questions& q) {
  int found = 0;
  for (const Event* gone : q.all(Kind::gone)) {
    const Event* reply = q.claimed_by(*gone);
    found += reply != nullptr && !names(*reply, stood_before(q, *gone)) ? 1 : 0;
  }
  for (const Event* put : q.all(Kind::put)) found += writes_over_anothers(q, *put) ? 1 : 0;
  for (const Stay& s : q.stays()) {
    const bool deleted = s.next != nullptr && s.next->kind == Kind::gone;
    found += deleted && must_be_anothers(q, s) ? 1 : 0;
  }
  return found;
}

namespace {

/// Whether a document of this owner ended by what may have been its own command.
bool freed_it(const Questions& q, const std::string& owner) {
  return q.first([&](const Event& put) {
    return put.kind == Kind::put && model::owner_of(put.lock_id) == owner &&
           q.gave_up(owner, q.change_after(put));
  }) != nullptr;
}

/// Whether the answer to a delete that was heard during this release says that it freed the lock.
bool heard_that_it_did(const Questions& q, const std::string& owner, const Event& asked,
                       const Event& answer) {
  return q.first([&](const Event& gone) {
    if (gone.kind != Kind::gone || stood_before(q, gone) != owner) return false;
    const Event* reply = q.claimed_by(gone);
    return reply != nullptr && names(*reply, owner) && reply->at_ns >= asked.at_ns &&
           reply->at_ns <= answer.at_ns;
  }) != nullptr;
}

/// Whether a delete found nothing where its owner's document was before and after.
bool overlooked_it(const Questions& q, const Event& granted) {
  const auto deletes = q.deletes_of(granted.owner);
  return std::any_of(deletes.begin(), deletes.end(), [&](const Event* one) {
    const Event* reply = q.reply_to(*one);
    if (!done(reply) || reply->matched > 0) return false;
    // A delete of what no call waits for: a pass-on follows where one does.
    if (one->verb == "delete" && deletes.back()->verb == "pass-on") return false;
    const Event* stands = q.change_by(granted.name, reply->order);
    return stands != nullptr && stands->kind == Kind::put &&
           model::owner_of(stands->lock_id) == granted.owner && at(stands) < at(one);
  });
}

/// The deletes and hand-overs of this owner.
Events ways_out(const Questions& q, const std::string& owner) {
  auto ways = q.deletes_of(owner);
  const auto given = q.hand_overs_of(owner);
  ways.insert(ways.end(), given.begin(), given.end());
  return ways;
}

/// How many documents of this owner went during the release, before their lease was over and with
/// no reply for it, while a command of the release had no answer.
int vanished_by_it(const Questions& q, const Event& granted, const Event& asked,
                   const Event& answer) {
  int found = 0;
  for (const Stay& s : q.stays()) {
    const bool gone = s.owner == granted.owner && s.next != nullptr && s.next->kind == Kind::gone;
    if (!gone || q.claimed_by(*s.next) != nullptr) continue;
    if (at(s.next) >= at(s.send) + whole_lease(*s.ask)) continue;
    if (at(s.next) < at(&asked) || at(s.next) > at(&answer)) continue;
    const auto ways = ways_out(q, granted.owner);
    found += std::any_of(ways.begin(), ways.end(), [&](const Event* one) {
      const Event* reply = q.reply_to(*one);
      return at(one) <= at(s.next) && unanswered(reply);
    });
  }
  return found;
}

/// Whether the last word came from a member that did not know of the grant, and the document was
/// there before the command and still after its answer.
bool denied_by_an_old_primary(const Questions& q, const Event& granted, const Event& answer) {
  const auto ways = ways_out(q, granted.owner);
  return std::any_of(ways.begin(), ways.end(), [&](const Event* one) {
    const Event* reply = q.reply_to(*one);
    const bool decides = done(reply) && reply->matched == 0 && reply->seen_lock_id.empty() &&
                         reply->at_ns == answer.at_ns && reply->order < granted.token;
    if (!decides) return false;
    const double known = put_off(together({q.disturbances(), q.stalls(true)}), at(reply),
                                 at(reply) + q.lag() + q.echo());
    const auto changes = q.all([&](const Event& e) {
      return (e.kind == Kind::put || e.kind == Kind::gone) && e.name == granted.name &&
             at(&e) <= known;
    });
    const auto last =
        std::max_element(changes.begin(), changes.end(),
                         [](const Event* a, const Event* b) { return a->order < b->order; });
    return last != changes.end() && (*last)->kind == Kind::put && at(*last) < at(one) &&
           model::owner_of((*last)->lock_id) == granted.owner;
  });
}

}  // namespace

/// "A release says 'released' only if the owner's document was there and went by it, and
/// 'not_owner' only if it was not there any more."
int slow_release(const Questions& q) {
  int found = 0;
  for (const Event* answer : q.all(Kind::released)) {
    const Event* granted = q.of(*answer, Kind::granted);
    const Event* asked = q.of(*answer, Kind::release);
    if (granted == nullptr || asked == nullptr) continue;
    if (answer->outcome == "released") found += freed_it(q, granted->owner) ? 0 : 1;
    // A process that lost it before and cleaned up itself is right to say that it is not there.
    const bool lost = at(q.of(*answer, Kind::lost)) <= at(asked);
    if (answer->outcome != "not_owner" || lost) continue;
    found += heard_that_it_did(q, granted->owner, *asked, *answer) ? 1 : 0;
    found += vanished_by_it(q, *granted, *asked, *answer);
    found += overlooked_it(q, *granted) || denied_by_an_old_primary(q, *granted, *answer) ? 1 : 0;
  }
  return found;
}

}  // namespace leasehold::properties
