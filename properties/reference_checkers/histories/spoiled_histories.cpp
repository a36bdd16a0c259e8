#include <algorithm>

#include "model/containers/spans.hpp"
#include "model/history/history_builder.hpp"
#include "properties/reference_checkers/histories/spoiler.hpp"

/// What no lock of ours would do, done to a generated history.
namespace leasehold::properties {

using model::HistoryBuilder;
using model::Kind;
using model::kMs;

const std::vector<Spoiler::Spoil>& Spoiler::spoils() {
  using enum model::Check;
  static const std::vector<Spoil> all{
      {G1, &Spoiler::steal},
      {G2, &Spoiler::hold_on},
      {G3, &Spoiler::spoil_the_fence},
      {G4, &Spoiler::miscount},
      {G5, &Spoiler::forget_to_notify},
      {G6, &Spoiler::touch_anothers},
      {G7, &Spoiler::overlook_a_win},
      {G8, &Spoiler::leave_a_document},
      {G9, &Spoiler::send_too_much},
      {release, &Spoiler::say_the_wrong_thing},
      {needless, &Spoiler::lose_needlessly},
      {calls, &Spoiler::mislead_the_user},
      {unique_lock_id, &Spoiler::reuse_a_lock_id},
      {deadline, &Spoiler::count_from_later},
      {presumed_dead, &Spoiler::presume_somebody_dead},
      {ended_owner, &Spoiler::use_an_ended_owner},
      {compare_and_set, &Spoiler::steal},
      {expires_at, &Spoiler::misdate},
      {stored_token, &Spoiler::store_another_token},
  };
  return all;
}

void Spoiler::spoil(History& h, model::Check check) {
  command_ = 800;
  for (const Spoil& spoil : spoils()) {
    const bool aimed = spoil.check == check;
    const bool is_rule = kind_of(spoil.check) == model::CheckKind::rule;
    const bool by_the_way = !is_rule && draw_.one_in(16);
    if (aimed ? !draw_.one_in(3) : by_the_way) (this->*spoil.how)(h);
  }
}

void Spoiler::lose_some(History& h) {
  if (draw_.one_in(6)) lose_an_answer(h);
  if (draw_.one_in(6)) lose_an_event(h);
  sort_by_time(h);
}

model::Event Spoiler::command(const Event& session, int at, const char* what) {
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

model::Event Spoiler::answer(const Event& send, int after, std::int64_t matched,
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

model::Event Spoiler::put_by(const Event& send, std::int64_t order) {
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
void Spoiler::steal(History& h) {
  Event thief;
  thief.process = draw_.any_of({"b", "c"});
  thief.session = 1;
  const Event send = command(thief, draw_.from(30, 1'300), "acquire");
  const auto order = unused(h, draw_.any_of({103, 107}));
  h.insert(h.end(), {send, put_by(send, order)});
  if (!draw_.one_in(4)) h.push_back(answer(send, draw_.from(1, 200), 1, order));
}

/// held() stays true for too long, or turns true again.
void Spoiler::hold_on(History& h) {
  Event* yes = draw_.pick(
      h, [](const Event& e) { return e.kind == Kind::held && e.outcome == "yes"; });
  if (yes == nullptr) return;
  if (draw_.one_in(2)) {
    yes->last_asked_ns += draw_.from(1, 3'000) * kMs;
    yes->at_ns = yes->last_asked_ns;
    return;
  }
  Event no = *yes;
  no.outcome = "no";
  no.first_asked_ns = yes->first_answered_ns;
  no.first_answered_ns = no.first_asked_ns + draw_.from(1, 20) * kMs;
  no.last_asked_ns = 0;
  no.at_ns = no.first_answered_ns;
  h.push_back(no);
}

/// The resource refuses its holder, or takes two writes in the other order.
void Spoiler::spoil_the_fence(History& h) {
  std::vector<Event*> stored;
  for (Event& e : h) {
    if (e.kind == Kind::stored) stored.push_back(&e);
  }
  if (stored.size() > 1 && draw_.one_in(2)) return std::swap(stored[0]->order, stored[1]->order);
  Event* write = draw_.pick(h, [](const Event& e) { return e.kind == Kind::write; });
  if (write == nullptr) return;
  write->outcome = "refused";
  if (draw_.one_in(3)) write->at_ns += draw_.from(0, 600) * kMs;  // another may have held by then
}

/// A token that is not the time of its write, as a lock would give out that counts by itself, or
/// one for a write that was rolled back.
void Spoiler::miscount(History& h) {
  Event* grant = any_grant(h);
  if (grant == nullptr) return;
  if (!draw_.one_in(3)) {
    grant->token = draw_.one_in(8) ? 0 : grant->token + draw_.any_of({-150, -1, 1, 150});
    return;
  }
  const auto lock_id = grant->lock_id;
  std::erase_if(h, [&](const Event& e) { return e.kind == Kind::put && e.lock_id == lock_id; });
}

/// lost() does not fire, or does without a loss; held() stays true past the deadline; a grant or an
/// extension comes when its lease is over, or after a later one; a handle reaches its user late.
void Spoiler::forget_to_notify(History& h) {
  Event* grant = any_grant(h);
  if (grant == nullptr) return;
  Event e = *grant;
  switch (draw_.from(0, 5)) {
    case 0:
      e = as_kind(Kind::notified, e);
      e.at_ns += draw_.from(0, 1'500) * kMs;
      break;
    case 1:
      e = as_kind(Kind::held, e);
      e.outcome = "yes";
      e.count = 2;
      e.first_answered_ns = e.at_ns + kMs;
      e.last_asked_ns = e.at_ns + draw_.from(900, 1'200) * kMs;
      e.at_ns = e.last_asked_ns;
      break;
    case 2:
      e = as_kind(Kind::extended, e);
      e.sent_ns += draw_.from(-200, 900) * kMs;
      e.deadline_ns = e.sent_ns + 1'000 * kMs;
      e.at_ns = e.sent_ns + draw_.from(200, 1'300) * kMs;
      break;
    case 3: grant->at_ns = grant->sent_ns + draw_.from(900, 1'200) * kMs; return;
    case 4:
      e = as_kind(Kind::held, e);
      e.outcome = "no";
      e.count = 1;
      e.first_asked_ns = grant->sent_ns + draw_.from(900, 2'000) * kMs;
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
void Spoiler::touch_anothers(History& h) {
  Event other;
  other.process = draw_.any_of({"b", "c"});
  other.session = 1;
  const int when = draw_.from(90, 1'300);
  const auto order = unused(h, 107);
  if (draw_.one_in(3)) {
    const Event send = command(other, when, "extend");
    h.insert(h.end(), {send, put_by(send, order), answer(send, 10, 1, order)});
    return;
  }
  Event send = command(other, when, "delete");
  if (draw_.one_in(3)) {  // so it is the owner's after all
    const auto owner = HistoryBuilder::owner("a", 1);
    if (draw_.one_in(2)) {
      send.owner = owner;
    } else {
      send.also_owner = owner;
    }
  }
  Event gone = as_kind(Kind::gone, put_by(send, order));
  gone.at_ns += draw_.from(0, 100) * kMs;
  h.insert(h.end(), {send, gone});
  if (draw_.one_in(2)) h.push_back(answer(send, 10, 1, order));
}

/// It asked again, found itself there, and did not see it.
void Spoiler::overlook_a_win(History& h) {
  Event* won = draw_.pick(
      h, [](const Event& e) { return e.kind == Kind::reply && e.verb.empty(); });
  if (won == nullptr) return;
  won->verb = "acquire";
  won->owner = won->process == "a" ? HistoryBuilder::owner("a", 1) : "somebody";
  won->seen_lock_id = won->owner + ".1000.77";
  won->matched = draw_.from(0, 1);
}

/// A document goes later, or not at all.
void Spoiler::leave_a_document(History& h) {
  Event* gone = draw_.pick(h, Kind::gone);
  if (gone == nullptr) return;
  if (draw_.one_in(2)) {
    gone->at_ns += draw_.from(100, 5'000) * kMs;
  } else {
    h.erase(h.begin() + (gone - h.data()));
  }
}

/// It cleans up after nothing but refusals, or the driver sends more than it was asked for.
void Spoiler::send_too_much(History& h) {
  Event* refused = draw_.pick(h, [](const Event& e) {
    return e.kind == Kind::reply && e.process != "a" && e.matched == 0 && e.verb.empty();
  });
  if (refused != nullptr && draw_.one_in(2)) {
    refused->seen_lock_id = HistoryBuilder::owner("a", 1) + ".1000.1";
    Event session = *refused;
    session.session = draw_.one_in(4) ? 9 : 1;
    h.push_back(command(session, ms_of(*refused), "delete"));
    return;
  }
  Event wire;
  wire.kind = Kind::wire;
  wire.at_ns = 8'000 * kMs;
  wire.process = draw_.any_of({"a", "b"});
  wire.verb = draw_.any_of({"findAndModify", "delete", "update", "find"});
  wire.count = draw_.from(1, 3);
  h.push_back(wire);
}

/// A release returns what it did not find.
void Spoiler::say_the_wrong_thing(History& h) {
  Event* released = draw_.pick(h, Kind::released);
  if (released != nullptr && draw_.one_in(2)) {
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
  const Event send = command(granted, ms_of(granted) + draw_.from(5, 900), "delete");
  const Event reply = answer(send, 10, 0, granted.token + draw_.from(0, 20));
  Event release = as_kind(Kind::release, send), answered = as_kind(Kind::released, reply);
  release.session = answered.session = granted.session;
  answered.name = granted.name;
  answered.outcome = draw_.any_of({"released", "not_owner"});
  h.insert(h.end(), {release, send, reply, answered});
}

/// It loses a lock that it has just extended, or whose document is there.
/// A call returns late, never, or something else; a handle promises too much.
void Spoiler::mislead_the_user(History& h) {
  Event* end = draw_.pick(h, Kind::returned);
  Event* held = draw_.pick(h, [](const Event& e) {
    return e.kind == Kind::held && e.deadline_ns != 0;
  });
  if (held != nullptr && draw_.one_in(3)) {
    held->deadline_ns += draw_.from(1, 900) * kMs;
    if (draw_.one_in(3)) held->outcome = "no";
    return;
  }
  if (end == nullptr) return;
  switch (draw_.from(0, 4)) {
    case 0: end->at_ns += draw_.from(1, 2'000) * kMs; break;
    case 1: h.erase(h.begin() + (end - h.data())); break;
    case 2: end->token += 1; break;
    case 3: end->deadline_ns += draw_.from(-900, 900) * kMs; break;
    default:
      end->outcome = draw_.any_of({"granted", "released", "not_owner", "timed_out", "refused",
                                   "configuration", "cancelled", "invalid_option", "yes", "no"});
  }
  sort_by_time(h);
}

void Spoiler::lose_needlessly(History& h) {
  const Event* grant = any_grant(h);
  if (grant == nullptr) return;
  const Event granted = *grant;
  std::erase_if(h, [&](const Event& e) {
    const bool own = e.process == granted.process && e.session == granted.session;
    return own && e.kind == Kind::lost;
  });
  const Event send = command(granted, ms_of(granted) + draw_.from(5, 900), "extend");
  const bool found = draw_.one_in(2);
  const auto order = unused(h, granted.token + 3);
  h.push_back(send);
  if (found) h.push_back(put_by(send, order));
  h.push_back(answer(send, draw_.from(1, 40), found ? 1 : 0, order));
  if (draw_.one_in(5)) {  // and so did another statement of the same command
    Event more = send;
    more.session += 5;
    more.lock_id += "1";
    h.push_back(more);
  }
  Event lost = as_kind(Kind::lost, granted);
  lost.outcome = found ? "deadline" : "not_owner";
  lost.at_ns = send.at_ns + draw_.from(20, draw_.one_in(3) ? 1'400 : 700) * kMs;
  h.push_back(lost);
}

void Spoiler::lose_an_answer(History& h) {
  Event* reply = draw_.pick(h, Kind::reply);
  if (reply == nullptr) return;
  reply->outcome = draw_.any_of({"unknown", "failed_before"});
  reply->matched = reply->order = 0;
}

void Spoiler::lose_an_event(History& h) {
  const Event* lost = draw_.pick(h, [](const Event& e) {
    return e.kind != Kind::run && e.kind != Kind::heal && e.kind != Kind::finish &&
           e.kind != Kind::start && e.kind != Kind::ask;
  });
  h.erase(h.begin() + (lost - h.data()));
}

}  // namespace leasehold::properties
