#include <algorithm>
#include <array>
#include <bit>

#include "model/abstract/lock_sized.hpp"

/// Reduces the number of states: worlds with no relevant difference become one state.
namespace leasehold::model::lock_world {
namespace {

/// Numbers values below 15 as 1, 2, 3, ... in the order in which they first come.
class FirstPlaces {
 public:
  Byte operator()(Byte value) {
    if (value == 0) return 0;
    const int at = 4 * value;
    if ((numbers_ >> at & 15) == 0) numbers_ |= ++last_ << at;
    return byte(static_cast<int>(numbers_ >> at & 15));
  }

 private:
  std::uint64_t numbers_ = 0;  ///< four bits for each value
  std::uint64_t last_ = 0;
};

/// Calls f(owner, beat) for every place that shows a beat.
template <typename S, typename F>
void each_beat(World& w, const S&, F f) {
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    f(d->owner, d->beat);
    for (int p = 0; p < S::queue; ++p) f(d->waiting[p].owner, d->waiting[p].beat);
  }
  for (int i = 0; i < S::clients; ++i) {
    Client& c = w.client[i];
    f(c.sight_owner, c.sight_beat);
    f(c.owner, c.attempt_beat);
    for (int k = 0; k < S::messages; ++k) {
      Message& m = c.message[k];
      f(m.owner, m.beat), f(m.seen_owner, m.seen_beat);
    }
  }
}

/// Whether each client has only one named owner, with the first number, as in most worlds.
template <typename S>
bool has_first_owners_only(const World& w, const S& scope) {
  unsigned generations = 0;
  each_owner(w, scope, [&](Byte owner) { generations |= owner - (owner != 0 ? 1u : 0u); });
  return generations % kGenerations == 0;
}

template <typename S>
void number_owners(World& w, const S& scope) {
  if (has_first_owners_only(w, scope)) return;
  std::array<FirstPlaces, kMaxClients> number{};
  each_owner(w, scope, [&](Byte& owner) {
    if (owner == 0) return;
    const int i = client_of(owner);
    owner = byte(i * kGenerations + number[byte(i)](byte(generation_of(owner) + 1)));
  });
}

/// Renumbers beats: a beat only has to differ from the others of its owner.
template <typename S>
void number_beats(World& w, const S& scope) {
  using Beat = Rules::Beat;
  if (scope.rules.beat == Beat::restarted_by_extensions ||
      scope.rules.beat == Beat::counted_in_document) {
    return;  // there a beat is a count
  }
  int greatest = 0;
  each_beat(w, scope, [&](Byte, Byte beat) { greatest |= beat; });
  if (greatest <= 1) return;  // so in most worlds
  std::array<FirstPlaces, kMaxClients * kGenerations + 1> number;
  std::uint32_t begun = 0;  // most owners show none
  each_beat(w, scope, [&](Byte owner, Byte& beat) {
    if (beat == 0) return;
    if ((begun >> owner & 1) == 0) number[owner] = {};
    begun |= 1u << owner;
    beat = number[owner](beat);
  });
}

/// Replaces the numbers that `each` passes to its argument by their ranks 1, 2, 3, ...
template <typename Each>
void rank(Each each) {
  std::uint64_t used = 1;
  each([&](Byte value) { used |= std::uint64_t{1} << value; });
  if ((used & (used + 1)) == 0) return;  // they are ranks
  each([&](Byte& value) {
    value = byte(std::popcount(used & ((std::uint64_t{2} << value) - 1)) - 1);
  });
}

/// Keeps only the order of tokens and of writes.
template <typename S>
void rank_orders(World& w, const S& scope) {
  const auto each_token = [&](auto f) {
    f(w.top_token), f(w.clock), f(w.committed_clock), f(w.stale_clock);
    for (int i = 0; i < S::clients; ++i) {
      f(w.client[i].token), f(w.client[i].notice.token);
      for (int k = 0; k < S::messages; ++k) f(w.client[i].message[k].token);
    }
  };
  const auto each_order = [&](auto f) {
    f(w.top_order);
    for (int i = 0; i < S::clients; ++i) {
      f(w.client[i].order), f(w.client[i].notice.order);
      for (int k = 0; k < S::messages; ++k) f(w.client[i].message[k].order);
    }
  };
  using Token = Rules::Token;
  const Token kind = scope.rules.token;
  if (scope.orders) {  // all values below the greatest count alike
    each_order([&](Byte& order) { order = order != 0 && order < w.top_order ? Byte{1} : order; });
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

/// Whether this client's call may still be granted by this owner's entry.
template <typename S>
bool may_be_granted(const Client& c, Byte owner, const S& scope) {
  return scope.rules.accepts_ended_owners || (c.waits() && c.owner == owner);
}

/// Whether the age of a request matters although no client awaits its reply: it dates the grant of
/// its entry, or of the entry that it takes out of the queue.
template <typename S>
bool matters_how_old(const Client& c, const Message& m, const S& scope) {
  if (S::queue == 0) return false;
  if (is_acquire(m.slot)) return may_be_granted(c, m.owner, scope);
  return m.slot == kDelete && scope.all.late_starts;
}

/// Whether anything can still put this owner into the document, or has: else a delete of it does
/// nothing.
template <typename S>
bool may_come_up(const World& w, const S&, Byte owner) {
  for (const Document* d : {&w.document, &w.committed, &w.stale}) {
    if (d->owner == owner || place_of(*d, owner) >= 0) return true;
  }
  const Client& c = w.client[client_of(owner)];
  const auto writes = [owner](const Message& m) { return is_acquire(m.slot) && m.owner == owner; };
  return c.owner == owner || std::any_of(c.message, c.message + S::messages, writes);
}

/// Drops clean-ups and notices of owners that cannot come up.
template <typename S>
void drop_idle_clean_ups(World& w, const S& scope) {
  if (!scope.rules.release_checks_owner || scope.all.hand_overs) return;
  for (int i = 0; i < S::clients; ++i) {
    Client& c = w.client[i];
    if (is_package(scope.all, i)) continue;
    if (c.to_delete != 0 && !may_come_up(w, scope, c.to_delete)) c.to_delete = 0;
    if (c.notice.owner != 0 && !may_come_up(w, scope, c.notice.owner)) c.notice = {};
    for (int k = 0; k < S::messages; ++k) {
      Message& m = c.message[k];
      const bool idle = m.slot == kDelete && c.awaited != k + 1;
      if (idle && !may_come_up(w, scope, m.owner)) m = {};
    }
  }
}

/// Drops expired entries, and the ages of entries that no client will count on.
template <typename S>
void drop_irrelevant_places(World& w, const S& scope) {
  if (w.stale_runs == 0 || scope.rules.majority) {
    std::fill(std::begin(w.stale.waiting), std::end(w.stale.waiting), Entry{});
  }
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    for (int p = S::queue; p-- > 0;) {
      Entry& entry = d->waiting[p];
      if (entry.owner == 0) continue;
      if (!may_be_granted(w.client[client_of(entry.owner)], entry.owner, scope))
        entry.age = kOldest;
      if (entry.left == 0) remove_place(*d, p);
    }
  }
  for (int i = 0; i < S::clients; ++i) {
    Client& c = w.client[i];
    if (c.notice.owner != 0 && !may_be_granted(c, c.notice.owner, scope)) {
      c.notice.age = kOldest;
      c.notice.order = c.notice.token = 0;
    }
    if (c.waits()) continue;
    c.counted = kOldest;
    c.enlisted = 0;
  }
  drop_idle_clean_ups(w, scope);
}

/// Drops replies that no client awaits, and the ages of requests where they make no difference.
template <typename S>
void drop_messages(World& w, const S& scope) {
  for (int i = 0; i < S::clients; ++i) {
    Client& c = w.client[i];
    for (int k = 0; k < S::messages; ++k) {
      Message& m = c.message[k];
      if (m.slot == kEmpty || c.awaited == k + 1) continue;
      if (is_reply(m.slot)) {
        m = {};
      } else if (!matters_how_old(c, m, scope)) {
        m.age = kOldest;
      }
    }
  }
}

/// Drops how long ago the failover was, and for how long a document has been expired: both matter
/// only to commands that started before.
template <typename S>
void drop_times(World& w, const S& scope) {
  bool older_than_the_primary = false;
  int longest = scope.rules.margin == Rules::Margin::by_waiter ? scope.all.clock_margin : 0;
  for (int i = 0; scope.all.late_starts && i < S::clients; ++i) {
    for (int k = 0; k < S::messages; ++k) {
      const Message& m = w.client[i].message[k];
      const bool passes_on = m.slot == kDelete && S::queue > 0;
      const bool request =
          is_acquire(m.slot) || m.slot == kExtend || m.slot == kHandOver || passes_on;
      older_than_the_primary |= request && m.age > w.since_failover;
      if (is_acquire(m.slot)) longest = std::max(longest, int{m.age});
    }
  }
  if (!older_than_the_primary) w.since_failover = kOldest;
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    if (d->owner != 0) d->until = std::max(d->until, byte(kDue - longest));
  }
  if (scope.rules.majority && w.stale.owner != 0) w.stale.until = kDue;
}

/// Drops observed lockIds that can never be seen again: each lockId is written by one execution, so
/// a lockId that is in no document now will never be in one.
template <typename S>
void drop_sights(World& w, const S& scope) {
  const auto gone = [&](Byte owner, Byte beat) {
    if (owner == 0) return false;
    for (const Document* d : {&w.document, &w.committed}) {
      if (d->owner == owner && d->beat == beat) return false;
      for (int p = 0; p < S::queue; ++p) {
        if (d->waiting[p].owner == owner && d->waiting[p].beat == beat) return false;
      }
    }
    return true;
  };
  if (scope.rules.majority && gone(w.stale.owner, w.stale.beat)) w.stale = {};
  for (int i = 0; i < S::clients; ++i) {
    Client& c = w.client[i];
    if (gone(c.sight_owner, c.sight_beat)) c.sight_owner = c.sight_beat = c.sight_age = 0;
    for (int k = 0; k < S::messages; ++k) {
      Message& m = c.message[k];
      const bool names_giver = m.slot == kHandOver || m.slot == kDelete;
      if (!names_giver && gone(m.seen_owner, m.seen_beat)) m.seen_owner = m.seen_beat = 0;
    }
  }
}

/// Drops all that makes no difference any more, and what only a rollback needs where none can come.
template <typename S>
void drop_irrelevant(World& w, const S& scope) {
  if (!scope.all.failovers) w.dirty = 0;
  if (w.dirty == 0) {
    w.committed = {};
    w.committed_clock = 0;
  }
  if (w.stale_runs == 0) w.stale = {};
  if (S::queue > 0) drop_irrelevant_places(w, scope);
  // If clients await a majority, none ever hears of a grant of the old primary.
  if (w.stale_runs == 0 || scope.rules.majority) w.stale_clock = 0;
  drop_messages(w, scope);
  drop_times(w, scope);
  const bool unique = scope.rules.beat == Rules::Beat::every_command &&
                      scope.rules.compares_seen_beat && scope.rules.compares_seen_owner;
  if (unique) drop_sights(w, scope);
}

/// The world with client order[i] in place i.
template <typename S>
World arranged(const World& world, const S& scope, const std::array<int, kMaxClients>& order) {
  std::array<int, kMaxClients> place{};
  for (std::size_t i = 0; i < order.size(); ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  World w = world;
  for (std::size_t i = 0; i < order.size(); ++i) w.client[i] = world.client[order[i]];
  each_owner(w, scope, [&](Byte& owner) {
    if (owner == 0) return;
    const auto i = static_cast<std::size_t>(client_of(owner));
    owner = byte(place[i] * kGenerations + generation_of(owner) + 1);
  });
  return w;
}

/// The sort key of a client, without names.
template <typename S>
std::uint64_t key(const World& w, int i, const S& scope) {
  const Client& c = w.client[i];
  std::uint64_t k = 0;
  const auto put = [&k](int value, int bits) { k = k << bits | static_cast<std::uint64_t>(value); };
  const auto mine = [i](Byte owner) { return owner != 0 && client_of(owner) == i ? 1 : 0; };
  put(c.phase, 3), put(c.lease, 2), put(c.awaited, 2), put(c.order, 4);
  put(mine(w.document.owner), 1), put(mine(w.committed.owner), 1), put(mine(w.stale.owner), 1);
  put(c.sight_age, 2), put(c.sight_owner != 0, 1), put(c.doubtful != 0, 1),
      put(c.to_delete != 0, 1);
  put(c.owner != 0 && c.owner == w.document.owner, 1);
  if (scope.all.hand_overs) put(c.giver != 0, 1);
  if (S::queue > 0) {
    put(place_of(w.document, c.owner) + 1, 2), put(c.notice.owner != 0, 1);
    put(mine(w.document.waiting[0].owner), 1);
  }
  for (int m = 0; m < S::messages; ++m) {
    put(c.message[m].slot, 4), put(c.message[m].age, 2), put(c.message[m].order, 4);
    put(c.message[m].committed, 1), put(c.message[m].seen_owner != 0, 1);
    put(c.message[m].owner == w.document.owner, 1);
  }
  return k;
}

int interchangeable(const Scope& scope) { return scope.clients - (scope.dotnet ? 1 : 0); }

/// Sorts the clients by their keys; clients with equal keys keep their order.
template <typename S>
void arrange(World& w, const S& scope) {
  std::array<int, kMaxClients> order{0, 1, 2};
  std::array<std::uint64_t, kMaxClients> keys{};
  const int count = interchangeable(scope.all);
  for (int i = 0; i < count; ++i) keys[static_cast<std::size_t>(i)] = key(w, i, scope);
  bool moved = false;
  const auto in_order = [&](std::size_t a, std::size_t b) {
    if (keys[a] <= keys[b]) return;
    std::swap(keys[a], keys[b]), std::swap(order[a], order[b]);
    moved = true;
  };
  if (count > 1) in_order(0, 1);
  if (count > 2) in_order(1, 2), in_order(0, 1);
  if (moved) w = arranged(w, scope, order);
}

}  // namespace

World tidied(World w, const Scope& scope) {
  sized(scope, [&](const auto& s) {
    drop_irrelevant(w, s);
    rank_orders(w, s);
    number_owners(w, s);
    number_beats(w, s);
  });
  return w;
}

State state_of(const World& world, const Scope& scope) {
  World w = world;
  return sized(scope, [&](const auto& s) {
    drop_irrelevant(w, s);
    rank_orders(w, s);
    arrange(w, s);
    number_owners(w, s);
    number_beats(w, s);
    return pack(w, scope);
  });
}

bool is_the_same(const World& world, const State& state, const Scope& scope) {
  std::array<int, kMaxClients> order{0, 1, 2};
  do {
    const World w = sized(scope, [&](const auto& s) { return arranged(world, s, order); });
    if (state_of(w, scope) == state) return true;
  } while (std::next_permutation(order.begin(), order.begin() + interchangeable(scope)));
  return false;
}

}  // namespace leasehold::model::lock_world
