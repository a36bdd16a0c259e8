#include <algorithm>

#include "properties/slow_checkers/generated_histories.hpp"

/// What no lock of ours would do, done to a generated history.
namespace leasehold::properties {

using model::HistoryBuilder;
using model::Kind;
using model::kMs;

const std::vector<HistoryGenerator::Spoil>& HistoryGenerator::spoils() {
  using enum model::Guarantee;
  static const std::vector<Spoil> all{
      {G1, &HistoryGenerator::steal},
      {G2, &HistoryGenerator::hold_on},
      {G3, &HistoryGenerator::spoil_the_fence},
      {G4, &HistoryGenerator::miscount},
      {G5, &HistoryGenerator::forget_to_notify},
      {G6, &HistoryGenerator::touch_anothers},
      {G7, &HistoryGenerator::overlook_a_win},
      {G8, &HistoryGenerator::leave_a_document},
      {G9, &HistoryGenerator::send_too_much},
      {release, &HistoryGenerator::say_the_wrong_thing},
      {needless, &HistoryGenerator::lose_needlessly},
      {unique_lock_id, &HistoryGenerator::reuse_a_lock_id},
      {deadline, &HistoryGenerator::count_from_later},
      {presumed_dead, &HistoryGenerator::presume_somebody_dead},
      {ended_owner, &HistoryGenerator::use_an_ended_owner},
      {compare_and_set, &HistoryGenerator::steal},
      {expires_at, &HistoryGenerator::misdate},
      {stored_token, &HistoryGenerator::store_another_token},
  };
  return all;
}

model::Event HistoryGenerator::command(const Event& session, int at, const char* what) {
  Event e;
  e.at_ns = at * kMs;
  e.kind = Kind::send;
  e.process = session.process;
  e.session = session.session;
  e.name = "lock";
  e.command = ++command_;
  e.verb = what;
  e.owner = HistoryBuilder::owner(e.process, static_cast<int>(e.session));
  if (e.verb != "delete") e.lock_id = e.owner + ".1000." + std::to_string(e.command);
  return e;
}

model::Event HistoryGenerator::answer(const Event& send, int after, std::int64_t matched,
                                      std::int64_t order) {
  Event e = as_kind(Kind::reply, send);
  e.at_ns += after * kMs;
  e.outcome = "done";
  e.matched = matched;
  e.order = order;
  if (e.verb == "delete") return e;
  e.verb.clear();
  e.owner.clear();
  return e;
}

model::Event HistoryGenerator::put_by(const Event& send, std::int64_t order) {
  Event e;
  e.at_ns = send.at_ns;
  e.kind = Kind::put;
  e.name = send.name;
  e.lock_id = send.lock_id;
  e.order = order;
  e.acquired_at_ms = 1'700'000'000'000 + e.at_ns / kMs;
  e.expires_at_ms = e.acquired_at_ms + 1'500;
  e.stored_token = order - 1;
  return e;
}

namespace {

/// The next time from then on at which nothing was written yet.
std::int64_t unused(const model::History& h, std::int64_t order) {
  const auto used = [&](const model::Event& e) {
    return e.order == order &&
           (e.kind == Kind::put || e.kind == Kind::gone || e.kind == Kind::stored);
  };
  while (std::any_of(h.begin(), h.end(), used)) ++order;
  return order;
}

int ms_of(const model::Event& e) { return static_cast<int>(e.at_ns / kMs); }

}  // namespace

/// Another takes the lock while the first holder still has it, or shortly afterwards.
void HistoryGenerator::steal(History& h) {
  Event thief;
  thief.process = any_of({"b", "c"});
  thief.session = 1;
  const Event send = command(thief, from(30, 1'300), "acquire");
  const auto order = unused(h, any_of({103, 107}));
  h.insert(h.end(), {send, put_by(send, order)});
  if (!one_in(4)) h.push_back(answer(send, from(1, 200), 1, order));
}

/// held() stays true for too long, or turns true again.
void HistoryGenerator::hold_on(History& h) {
  Event* yes = pick(h, [](const Event& e) { return e.kind == Kind::held && e.outcome == "yes"; });
  if (yes == nullptr) return;
  if (one_in(2)) {
    yes->last_asked_ns += from(1, 3'000) * kMs;
    yes->at_ns = yes->last_asked_ns;
    return;
  }
  Event no = *yes;
  no.outcome = "no";
  no.first_asked_ns = yes->first_answered_ns;
  no.first_answered_ns = no.first_asked_ns + from(1, 20) * kMs;
  no.last_asked_ns = 0;
  no.at_ns = no.first_answered_ns;
  h.push_back(no);
}

/// The resource refuses its holder, or takes two writes in the other order.
void HistoryGenerator::spoil_the_fence(History& h) {
  std::vector<Event*> stored;
  for (Event& e : h) {
    if (e.kind == Kind::stored) stored.push_back(&e);
  }
  if (stored.size() > 1 && one_in(2)) return std::swap(stored[0]->order, stored[1]->order);
  Event* write = pick(h, [](const Event& e) { return e.kind == Kind::write; });
  if (write == nullptr) return;
  write->outcome = "refused";
  if (one_in(3)) write->at_ns += from(0, 600) * kMs;  // whoever held the lock by then
}

/// A token that is not the time of its write, as a lock would give out that counts by itself, or
/// one for a write that was rolled back.
void HistoryGenerator::miscount(History& h) {
  Event* grant = any_grant(h);
  if (grant == nullptr) return;
  if (!one_in(3)) {
    grant->token = one_in(8) ? 0 : grant->token + any_of({-150, -1, 1, 150});
    return;
  }
  const auto lock_id = grant->lock_id;
  std::erase_if(h, [&](const Event& e) { return e.kind == Kind::put && e.lock_id == lock_id; });
}

/// lost() does not fire, or does without a loss; held() stays true past the deadline; a grant or an
/// extension comes when its lease is over, or after a later one; a handle reaches its user late.
void HistoryGenerator::forget_to_notify(History& h) {
  Event* grant = any_grant(h);
  if (grant == nullptr) return;
  Event e = *grant;
  switch (from(0, 5)) {
    case 0:
      e = as_kind(Kind::notified, e);
      e.at_ns += from(0, 1'500) * kMs;
      break;
    case 1:
      e = as_kind(Kind::held, e);
      e.outcome = "yes";
      e.count = 2;
      e.first_answered_ns = e.at_ns + kMs;
      e.last_asked_ns = e.at_ns + from(900, 1'200) * kMs;
      e.at_ns = e.last_asked_ns;
      break;
    case 2:
      e = as_kind(Kind::extended, e);
      e.sent_ns += from(-200, 900) * kMs;
      e.deadline_ns = e.sent_ns + 1'000 * kMs;
      e.at_ns = e.sent_ns + from(200, 1'300) * kMs;
      break;
    case 3: grant->at_ns = grant->sent_ns + from(900, 1'200) * kMs; return;
    case 4:
      e = as_kind(Kind::held, e);
      e.outcome = "no";
      e.count = 1;
      e.first_asked_ns = grant->sent_ns + from(900, 2'000) * kMs;
      e.at_ns = e.first_answered_ns = e.first_asked_ns;
      break;
    default: break;
  }
  std::erase_if(h, [&](const Event& other) {
    const bool own = other.process == e.process && other.session == e.session;
    const bool replaced =
        e.outcome == "no" ? other.kind == Kind::held : other.kind == Kind::notified;
    return own && replaced;
  });
  if (e.kind != Kind::granted) h.push_back(e);
}

/// A delete or an extension of one finds another's document, and takes it.
void HistoryGenerator::touch_anothers(History& h) {
  Event other;
  other.process = any_of({"b", "c"});
  other.session = 1;
  const int when = from(90, 1'300);
  const auto order = unused(h, 107);
  if (one_in(3)) {
    const Event send = command(other, when, "extend");
    h.insert(h.end(), {send, put_by(send, order), answer(send, 10, 1, order)});
    return;
  }
  Event send = command(other, when, "delete");
  if (one_in(3)) {  // so it is the owner's after all
    const auto owner = HistoryBuilder::owner("a", 1);
    if (one_in(2)) {
      send.owner = owner;
    } else {
      send.also_owner = owner;
    }
  }
  Event gone = as_kind(Kind::gone, put_by(send, order));
  gone.at_ns += from(0, 100) * kMs;
  h.insert(h.end(), {send, gone});
  if (one_in(2)) h.push_back(answer(send, 10, 1, order));
}

/// It asked again, found itself there, and did not see it.
void HistoryGenerator::overlook_a_win(History& h) {
  Event* won = pick(h, [](const Event& e) { return e.kind == Kind::reply && e.verb.empty(); });
  if (won == nullptr) return;
  won->verb = "acquire";
  won->owner = won->process == "a" ? HistoryBuilder::owner("a", 1) : "somebody";
  won->seen_lock_id = won->owner + ".1000.77";
  won->matched = from(0, 1);
}

/// A document goes later, or not at all.
void HistoryGenerator::leave_a_document(History& h) {
  Event* gone = pick(h, Kind::gone);
  if (gone == nullptr) return;
  if (one_in(2)) {
    gone->at_ns += from(100, 5'000) * kMs;
  } else {
    h.erase(h.begin() + (gone - h.data()));
  }
}

/// It cleans up after nothing but refusals, or the driver sends more than it was asked for.
void HistoryGenerator::send_too_much(History& h) {
  Event* refused = pick(h, [](const Event& e) {
    return e.kind == Kind::reply && e.process != "a" && e.matched == 0 && e.verb.empty();
  });
  if (refused != nullptr && one_in(2)) {
    refused->seen_lock_id = HistoryBuilder::owner("a", 1) + ".1000.1";
    Event session = *refused;
    session.session = one_in(4) ? 9 : 1;
    h.push_back(command(session, ms_of(*refused), "delete"));
    return;
  }
  Event wire;
  wire.kind = Kind::wire;
  wire.at_ns = 8'000 * kMs;
  wire.process = any_of({"a", "b"});
  wire.verb = any_of({"findAndModify", "delete", "update", "find"});
  wire.count = from(1, 3);
  h.push_back(wire);
}

/// A release returns what it did not find.
void HistoryGenerator::say_the_wrong_thing(History& h) {
  Event* released = pick(h, Kind::released);
  if (released != nullptr && one_in(2)) {
    released->outcome = released->outcome == "released" ? "not_owner" : "released";
    return;
  }
  const Event* grant = any_grant(h);
  if (grant == nullptr) return;
  // One more release, whose delete finds nothing.
  const Event granted = *grant;
  std::erase_if(h, [&](const Event& e) {
    const bool own = e.process == granted.process && e.session == granted.session;
    return own && (e.kind == Kind::release || e.kind == Kind::released);
  });
  const Event send = command(granted, ms_of(granted) + from(5, 900), "delete");
  const Event reply = answer(send, 10, 0, granted.token + from(0, 20));
  Event release = as_kind(Kind::release, send), answered = as_kind(Kind::released, reply);
  release.session = answered.session = granted.session;
  answered.name = granted.name;
  answered.outcome = any_of({"released", "not_owner"});
  h.insert(h.end(), {release, send, reply, answered});
}

/// It loses a lock that it has just extended, or whose document is there.
void HistoryGenerator::lose_needlessly(History& h) {
  const Event* grant = any_grant(h);
  if (grant == nullptr) return;
  const Event granted = *grant;
  std::erase_if(h, [&](const Event& e) {
    const bool own = e.process == granted.process && e.session == granted.session;
    return own && e.kind == Kind::lost;
  });
  const Event send = command(granted, ms_of(granted) + from(5, 900), "extend");
  const bool found = one_in(2);
  const auto order = unused(h, granted.token + 3);
  h.push_back(send);
  if (found) h.push_back(put_by(send, order));
  h.push_back(answer(send, from(1, 40), found ? 1 : 0, order));
  if (one_in(5)) {  // and so did another statement of the same command
    Event more = send;
    more.session += 5;
    more.lock_id += "1";
    h.push_back(more);
  }
  Event lost = as_kind(Kind::lost, granted);
  lost.outcome = found ? "deadline" : "not_owner";
  lost.at_ns = send.at_ns + from(20, one_in(3) ? 1'400 : 700) * kMs;
  h.push_back(lost);
}

void HistoryGenerator::lose_an_answer(History& h) {
  Event* reply = pick(h, Kind::reply);
  if (reply == nullptr) return;
  reply->outcome = any_of({"unknown", "failed_before"});
  reply->matched = reply->order = 0;
}

void HistoryGenerator::lose_an_event(History& h) {
  const Event* lost = pick(h, [](const Event& e) {
    return e.kind != Kind::run && e.kind != Kind::heal && e.kind != Kind::finish &&
           e.kind != Kind::start && e.kind != Kind::ask;
  });
  h.erase(h.begin() + (lost - h.data()));
}

}  // namespace leasehold::properties
