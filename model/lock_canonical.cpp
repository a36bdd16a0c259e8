#include <algorithm>
#include <array>

#include "model/lock_lanes.hpp"
#include "model/lock_sized.hpp"

/// What makes states few: those that differ in nothing that matters are one.
namespace leasehold::model::lock_world {
namespace {

template <typename F>
void each_document(Worlds& w, F f) {
  f(w.document), f(w.committed), f(w.stale);
}

/// How many there are of what `each` calls its argument with, at most.
constexpr std::size_t kMaxPerWorld = 32;

/// Owners named again by the order in which they first come: of the client that is now in place
/// place[i] the first is place[i] * kGenerations + 1.
template <typename S>
void number_owners(Worlds& w, const S& scope, const std::array<Lanes, kMaxClients>& place) {
  std::array<Lanes, kMaxClients> next;
  for (std::size_t i = 0; i < S::clients; ++i) next[i] = place[i] * kGenerations + 1;
  std::array<Lanes, kMaxPerWorld> before;
  std::array<Lanes, kMaxPerWorld> after;
  std::size_t count = 0;
  each_owner(w, scope, [&](Lanes& owner) {
    Lanes number{};
    for (std::size_t g = 0; g < count; ++g) number |= (before[g] == owner) & after[g];
    const Lanes is_new = is_none(number) & is_some(owner);
    for (int i = 0; i < S::clients; ++i) {
      const Lanes his = is_new & of_client(owner, i);
      number |= his & next[byte(i)];
      next[byte(i)] -= his;  // ones are -1
    }
    before[count] = owner;
    after[count++] = owner = number;
  });
}

/// Every place that shows a beat, with the owner that it belongs to.
template <typename S, typename F>
void each_beat(Worlds& w, const S& scope, F f) {
  const bool kept = scope.rules.beat == Rules::Beat::kept_by_retries;
  each_document(w, [&](auto& d) {
    f(d.owner, d.beat);
    for (int p = 0; p < S::queue; ++p) f(d.waiting[p].owner, d.waiting[p].beat);
  });
  for (int i = 0; i < S::clients; ++i) {
    auto& c = w.client[i];
    f(c.sight_owner, c.sight_beat);
    if (kept) f(c.owner, c.attempt_beat);
    for (int k = 0; k < S::messages; ++k) {
      auto& m = c.message[k];
      if (kept) f(m.owner, m.beat);
      f(m.seen_owner, m.seen_beat);
    }
  }
}

/// A beat only has to differ from the others of its owner.
template <typename S>
void number_beats(Worlds& w, const S& scope) {
  using Beat = Rules::Beat;
  if (scope.rules.beat == Beat::restarted_by_extensions ||
      scope.rules.beat == Beat::counted_in_document) {
    return;  // there a beat is a count
  }
  struct Seen {
    Lanes owner, beat, number;
  };
  std::array<Seen, kMaxPerWorld> seen;
  std::size_t count = 0;
  each_beat(w, scope, [&](Lanes owner, Lanes& beat) {
    Lanes number{}, greatest{};
    for (std::size_t g = 0; g < count; ++g) {
      const Lanes his = (seen[g].owner == owner) & seen[g].number;
      number |= (seen[g].beat == beat) & his;
      greatest = greater(greatest, his);
    }
    number = is_none(number) ? greatest + 1 : number;
    number &= is_some(beat);
    seen[count++] = {owner, beat, number};
    beat = number;
  });
}

/// Gives the numbers at the places that `each` calls its argument with the ranks 1, 2, 3, ...
template <typename Each>
void rank(Each each) {
  std::array<Lanes, kMaxPerWorld> value, first;
  std::size_t count = 0;
  each([&](Lanes x) {
    Lanes is_first = is_some(x);
    for (std::size_t g = 0; g < count; ++g) is_first &= value[g] != x;
    value[count] = x;
    first[count++] = is_first;
  });
  each([&](Lanes& x) {
    Lanes rank{};
    for (std::size_t g = 0; g < count; ++g) rank -= first[g] & (value[g] <= x);  // ones are -1
    x = rank;
  });
}

/// Only the order of tokens and of writes matters.
template <typename S>
void rank_orders(Worlds& w, const S& scope) {
  const auto each_token = [&](auto f) {
    f(w.top_token), f(w.clock), f(w.committed_clock), f(w.stale_clock);
    for (int i = 0; i < S::clients; ++i) {
      f(w.client[i].token);
      if (S::queue > 0) f(w.client[i].notice.token);
      for (int k = 0; k < S::messages; ++k) f(w.client[i].message[k].token);
    }
  };
  const auto each_order = [&](auto f) {
    f(w.top_order);
    for (int i = 0; i < S::clients; ++i) {
      f(w.client[i].order);
      if (S::queue > 0) f(w.client[i].notice.order);
      for (int k = 0; k < S::messages; ++k) f(w.client[i].message[k].order);
    }
  };
  using Token = Rules::Token;
  const Token kind = scope.rules.token;
  if (scope.orders) {  // what is below the greatest is alike
    const Lanes top = w.top_order;
    each_order([top](Lanes& order) { set(order, is_some(order) & (order < top), 1); });
    rank(each_order);
    return;
  }
  if (kind == Token::counter || kind == Token::none) return rank(each_order);
  if (scope.all.stale_primary) {
    rank(each_token);
    return rank(each_order);
  }
  rank([&](auto f) { each_token(f), each_order(f); });
}

Lanes is_acquiring(Lanes slot) { return is(slot, kAcquire) | is(slot, kRenewal); }
Lanes is_waiting(const Clients& c) { return is(c.phase, kWaiting) | is(c.phase, kAttempting); }

/// Whether this client's call may still be granted by this owner's entry.
template <typename S>
Lanes may_be_granted(const Clients& c, Lanes owner, const S& scope) {
  if (scope.rules.accepts_ended_owners) return all(-1);
  return is_waiting(c) & (c.owner == owner);
}

/// Of a request whose reply nobody awaits: when it was sent dates the grant of its entry, or of the
/// entry that it takes out of the queue.
template <typename S>
Lanes matters_how_old(const Clients& c, const Messages& m, const S& scope) {
  if (S::queue == 0) return Lanes{};
  const Lanes passes_on = scope.all.late_starts ? is(m.slot, kDelete) : Lanes{};
  return passes_on | (is_acquiring(m.slot) & may_be_granted(c, m.owner, scope));
}

/// Whether anything can still put this owner into the document, or has: else a delete of it does
/// nothing.
template <typename S>
Lanes may_come_up(Worlds& w, const S&, Lanes owner) {
  Lanes may{};
  each_document(w, [&](const auto& d) {
    may |= d.owner == owner;
    for (int p = 0; p < S::queue; ++p) may |= d.waiting[p].owner == owner;
  });
  for (int i = 0; i < S::clients; ++i) {
    const Clients& c = w.client[i];
    may |= c.owner == owner;
    for (int k = 0; k < S::messages; ++k) {
      may |= is_acquiring(c.message[k].slot) & (c.message[k].owner == owner);
    }
  }
  return may;
}

/// Clean-ups of what cannot come up, and news of it.
template <typename S>
void drop_idle_clean_ups(Worlds& w, const S& scope) {
  if (!scope.rules.release_checks_owner || scope.all.hand_overs) return;
  for (int i = 0; i < S::clients; ++i) {
    auto& c = w.client[i];
    if (is_package(scope.all, i)) continue;
    clear(c.to_delete, ~may_come_up(w, scope, c.to_delete));
    clear(c.notice, ~may_come_up(w, scope, c.notice.owner));
    for (int k = 0; k < S::messages; ++k) {
      auto& m = c.message[k];
      const Lanes idle = is(m.slot, kDelete) & ~is(c.awaited, k + 1);
      clear(m, idle & ~may_come_up(w, scope, m.owner));
    }
  }
}

/// An entry whose time is over leaves, and those behind it move up.
template <typename D>
void remove_place(D& d, int place, Lanes where) {
  for (int p = place; p + 1 < kMaxPlaces; ++p) {
    each_lane_of(d.waiting[p], d.waiting[p + 1], [where](Lanes& x, Lanes behind) {
      x = where ? behind : x;
    });
  }
  clear(d.waiting[kMaxPlaces - 1], where);
}

/// Entries whose time is over, and how old that is of which nobody will count on.
template <typename S>
void drop_irrelevant_places(Worlds& w, const S& scope) {
  clear(w.stale.waiting, scope.rules.majority ? all(-1) : is_none(w.stale_runs));
  each_document(w, [&](auto& d) {
    for (int p = S::queue; p-- > 0;) {
      auto& entry = d.waiting[p];
      Lanes granted{};
      for (int i = 0; i < S::clients; ++i) {
        granted |= may_be_granted(w.client[i], entry.owner, scope);
      }
      set(entry.age, is_some(entry.owner) & ~granted, kOldest);
      remove_place(d, p, is_some(entry.owner) & is_none(entry.left));
    }
  });
  for (int i = 0; i < S::clients; ++i) {
    auto& c = w.client[i];
    const Lanes idle = is_some(c.notice.owner) & ~may_be_granted(c, c.notice.owner, scope);
    set(c.notice.age, idle, kOldest);
    clear(c.notice.order, idle), clear(c.notice.token, idle);
    set(c.counted, ~is_waiting(c), kOldest);
    clear(c.enlisted, ~is_waiting(c));
  }
  drop_idle_clean_ups(w, scope);
}

/// Replies that nobody awaits, and the ages of requests to which they make no difference.
template <typename S>
void drop_messages(Worlds& w, const S& scope) {
  for (int i = 0; i < S::clients; ++i) {
    auto& c = w.client[i];
    for (int k = 0; k < S::messages; ++k) {
      auto& m = c.message[k];
      const Lanes unawaited = is_some(m.slot) & ~is(c.awaited, k + 1);
      const Lanes reply = (m.slot >= all(kWon)) & (m.slot <= all(kGone));
      set(m.age, unawaited & ~matters_how_old(c, m, scope), kOldest);
      clear(m, unawaited & reply);
    }
  }
}

/// How long ago the failover was, and for how long a document has been expired: both matter to
/// commands that started before only.
template <typename S>
void drop_times(Worlds& w, const S& scope) {
  Lanes older_than_the_primary{};
  Lanes longest =
      all(scope.rules.margin == Rules::Margin::by_waiter ? scope.all.clock_margin : 0);
  for (int i = 0; scope.all.late_starts && i < S::clients; ++i) {
    for (int k = 0; k < S::messages; ++k) {
      const auto& m = w.client[i].message[k];
      const Lanes acquires = is_acquiring(m.slot);
      const Lanes passes_on = S::queue > 0 ? is(m.slot, kDelete) : Lanes{};
      const Lanes request = acquires | is(m.slot, kExtend) | is(m.slot, kHandOver) | passes_on;
      older_than_the_primary |= request & (m.age > w.since_failover);
      longest = greater(longest, m.age & acquires);
    }
  }
  set(w.since_failover, ~older_than_the_primary, kOldest);
  each_document(w, [&](auto& d) {
    const Lanes least = all(kDue) - longest;
    d.until = is_some(d.owner) ? greater(d.until, least) : d.until;
  });
  if (scope.rules.majority) set(w.stale.until, is_some(w.stale.owner), kDue);
}

/// Sights of what can never be seen again: each lockId is written by one execution, so what is in
/// no document now will never be in one.
template <typename S>
void drop_sights(Worlds& w, const S& scope) {
  const auto gone = [&](Lanes owner, Lanes beat) {
    Lanes there{};
    for (const auto* d : {&w.document, &w.committed}) {
      there |= (d->owner == owner) & (d->beat == beat);
      for (int p = 0; p < S::queue; ++p) {
        there |= (d->waiting[p].owner == owner) & (d->waiting[p].beat == beat);
      }
    }
    return is_some(owner) & ~there;
  };
  if (scope.rules.majority && scope.all.stale_primary) {
    clear(w.stale, gone(w.stale.owner, w.stale.beat));
  }
  for (int i = 0; i < S::clients; ++i) {
    auto& c = w.client[i];
    const Lanes unseen = gone(c.sight_owner, c.sight_beat);
    clear(c.sight_owner, unseen), clear(c.sight_beat, unseen), clear(c.sight_age, unseen);
    for (int k = 0; k < S::messages; ++k) {
      auto& m = c.message[k];
      const Lanes names_giver = is(m.slot, kHandOver) | is(m.slot, kDelete);
      const Lanes idle = ~names_giver & gone(m.seen_owner, m.seen_beat);
      clear(m.seen_owner, idle), clear(m.seen_beat, idle);
    }
  }
}

/// All that makes no difference any more, and what a state that cannot be rolled back need not
/// keep.
template <typename S>
void drop_irrelevant(Worlds& w, const S& scope) {
  if (!scope.all.failovers) w.dirty = Lanes{};
  clear(w.committed, is_none(w.dirty));
  clear(w.committed_clock, is_none(w.dirty));
  clear(w.stale, is_none(w.stale_runs));
  if (S::queue > 0) drop_irrelevant_places(w, scope);
  // Where a majority is awaited, nobody ever hears what the old primary granted.
  clear(w.stale_clock, scope.rules.majority ? all(-1) : is_none(w.stale_runs));
  drop_messages(w, scope);
  drop_times(w, scope);
  const bool unique = scope.rules.beat == Rules::Beat::every_command &&
                      scope.rules.compares_seen_beat && scope.rules.compares_seen_owner;
  if (unique) drop_sights(w, scope);
}

/// What tells a client from the others, without names: it comes in the order of these.
template <typename S, typename F>
void each_key(const Worlds& w, int i, const S& scope, F put) {
  const Clients& c = w.client[i];
  const auto put_if = [&](Lanes condition) { put(-condition); };  // ones are -1
  const auto mine = [&](Lanes owner) { put_if(of_client(owner, i)); };
  put(c.phase), put(c.lease), put(c.awaited), put(c.order);
  mine(w.document.owner), mine(w.committed.owner), mine(w.stale.owner);
  put(c.sight_age), put_if(is_some(c.sight_owner)), put_if(is_some(c.doubtful));
  put_if(is_some(c.to_delete));
  put_if(is_some(c.owner) & (c.owner == w.document.owner));
  if (scope.all.hand_overs) put_if(is_some(c.giver));
  if (S::queue > 0) {
    Lanes place{};
    for (int p = S::queue; p-- > 0;) {
      set(place, is_some(c.owner) & (w.document.waiting[p].owner == c.owner), p + 1);
    }
    put(place), put_if(is_some(c.notice.owner));
    mine(w.document.waiting[0].owner);
  }
  for (int k = 0; k < S::messages; ++k) {
    const Messages& m = c.message[k];
    put(m.slot), put(m.age), put(m.order), put(m.committed);
    put_if(is_some(m.seen_owner)), put_if(m.owner == w.document.owner);
  }
}

int interchangeable(const Scope& scope) { return scope.clients - (scope.dotnet ? 1 : 0); }

using Places = std::array<Lanes, kMaxClients>;
Places as_they_are() { return {all(0), all(1), all(2)}; }

/// Puts the clients in the order of their keys; those with equal ones keep theirs. Their new
/// places; their owners have the names that they had.
template <typename S>
Places arrange(Worlds& w, const S& scope) {
  struct Keys {
    std::array<Lanes, kMaxPerWorld> key;
    Lanes client;
  };
  std::array<Keys, kMaxClients> keys;
  std::size_t size = 0;
  for (int i = 0; i < S::clients; ++i) {
    size = 0;
    each_key(w, i, scope, [&](Lanes x) { keys[byte(i)].key[size++] = x; });
    keys[byte(i)].client = all(i);
  }
  const auto in_order = [&](std::size_t a, std::size_t b) {
    Lanes above{}, alike = all(-1);
    for (std::size_t n = 0; n < size; ++n) {
      const Lanes x = keys[a].key[n], y = keys[b].key[n];
      above |= alike & (x > y);
      alike &= x == y;
    }
    exchange(keys[a], keys[b], above);
    exchange(w.client[a], w.client[b], above);
  };
  const int count = interchangeable(scope.all);
  if (count > 1) in_order(0, 1);
  if (count > 2) in_order(1, 2), in_order(0, 1);
  Places place{};
  for (int p = 0; p < S::clients; ++p) {
    for (int i = 0; i < S::clients; ++i) {
      set(place[byte(i)], is(keys[byte(p)].client, i), p);
    }
  }
  return place;
}

/// The world with client order[i] in place i.
World arranged(const World& world, const Scope& scope, const std::array<int, kMaxClients>& order) {
  std::array<int, kMaxClients> place{};
  for (std::size_t i = 0; i < order.size(); ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  World w = world;
  for (std::size_t i = 0; i < order.size(); ++i) w.client[i] = world.client[order[i]];
  sized(scope, [&](const auto& s) {
    each_owner(w, s, [&](Byte& owner) {
      if (owner == 0) return;
      const auto i = static_cast<std::size_t>(client_of(owner));
      owner = byte(place[i] * kGenerations + generation_of(owner) + 1);
    });
  });
  return w;
}

}  // namespace

void tidy(Worlds& w, const Scope& scope) {
  sized(scope, [&](const auto& s) {
    drop_irrelevant(w, s);
    rank_orders(w, s);
    number_owners(w, s, as_they_are());
    number_beats(w, s);
  });
}

void make_canonical(Worlds& w, const Scope& scope) {
  sized(scope, [&](const auto& s) {
    drop_irrelevant(w, s);
    rank_orders(w, s);
    number_owners(w, s, arrange(w, s));
    number_beats(w, s);
  });
}

bool is_the_same(const World& world, const State& state, const Scope& scope) {
  std::array<int, kMaxClients> order{0, 1, 2};
  do {
    if (state_of(arranged(world, scope, order), scope) == state) return true;
  } while (std::next_permutation(order.begin(), order.begin() + interchangeable(scope)));
  return false;
}

}  // namespace leasehold::model::lock_world
