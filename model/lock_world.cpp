#include "model/lock_world.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

namespace leasehold::model::lock_world {
namespace {

template <typename D, typename F>
void queue_fields(D& d, const Scope& scope, F f) {
  for (int p = 0; p < scope.queue; ++p) {
    auto& entry = d.waiting[p];
    f(entry.owner, 5);
    if (entry.owner != 0) f(entry.beat, 3), f(entry.left, 2), f(entry.age, 2);
  }
}

template <typename C, typename F>
void waiter_fields(C& c, const Scope& scope, F f) {
  f(c.notice.owner, 5);
  if (c.notice.owner != 0) {
    f(c.notice.age, 2), f(c.notice.order, 4), f(c.notice.committed, 1);
    if (!tokens_are_orders(scope)) f(c.notice.token, 4);
  }
  if (scope.rules.grant_counts != Rules::GrantCounts::from_its_renewal) f(c.counted, 2);
  if (!scope.rules.renewals_restore) f(c.enlisted, 1);
}

/// Calls f(field, bits) for all that a state consists of, always in the same order.
template <typename W, typename F>
void each_field(W& w, const Scope& scope, F f) {
  f(w.second, 1), f(w.since_failover, 2), f(w.dirty, 1), f(w.stale_runs, 1);
  f(w.top_order, 4), f(w.violation, 4);
  const bool tokens = !tokens_are_orders(scope);
  if (tokens) f(w.top_token, 4);
  if (scope.stale_primary) f(w.clock, 4), f(w.committed_clock, 4), f(w.stale_clock, 4);
  const bool counts = scope.queue == 0 || scope.rules.token == Rules::Token::counter;
  const auto document = [&](auto& d) {
    f(d.owner, 5), f(d.beat, 3), f(d.until, 4);
    if (counts) f(d.counter, 3);
  };
  document(w.document);
  if (scope.queue == 0 || w.dirty != 0) document(w.committed);
  if (scope.stale_primary) document(w.stale);
  if (scope.queue > 0) {
    queue_fields(w.document, scope, f);
    if (w.dirty != 0) queue_fields(w.committed, scope, f);
    if (scope.stale_primary && !scope.rules.majority) queue_fields(w.stale, scope, f);
  }
  for (int i = 0; i < scope.clients; ++i) {
    auto& c = w.client[i];
    // With a queue there is room only for what a client in its phase can have. The package's client
    // observes, fences and cleans up nothing.
    const bool terse = scope.queue > 0;
    const bool ours = !terse || !is_package(scope, i);
    f(c.phase, 3), f(c.owner, 5), f(c.awaited, 2);
    if (!terse || c.phase >= kHeld) {
      f(c.lease, 2), f(c.due, 2), f(c.order, 4);
      if (tokens) f(c.token, 4);
    }
    if (!terse || c.waits()) f(c.doubtful, 5);
    if (ours) f(c.sight_owner, 5), f(c.sight_beat, 3), f(c.sight_age, 2), f(c.to_delete, 5);
    if (scope.hand_overs) f(c.giver, 5);
    if (scope.rules.beat == Rules::Beat::kept_by_retries) f(c.attempt_beat, 3);
    if (scope.queue > 0 && ours) waiter_fields(c, scope, f);
    for (int k = 0; k < scope.messages; ++k) {
      auto& m = c.message[k];
      f(m.slot, 4);
      if (m.slot == kEmpty) continue;
      f(m.owner, 5), f(m.age, 2), f(m.committed, 1);
      if (m.slot == kWon) {
        f(m.order, 4);
        if (tokens) f(m.token, 4);
      } else {
        f(m.seen_owner, 5), f(m.seen_beat, 3);
      }
      if (scope.rules.beat == Rules::Beat::kept_by_retries) f(m.beat, 3);
      if (scope.rules.token == Rules::Token::cluster_time && m.slot != kWon) f(m.token, 4);
    }
  }
}

/// Gives values below 15 the numbers 1, 2, 3, ... in the order in which they first come.
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

/// Every place that names an owner, the documents first.
template <typename W, typename F>
void each_owner(W& w, const Scope& scope, F f) {
  f(w.document.owner), f(w.committed.owner), f(w.stale.owner);
  for (int p = 0; p < scope.queue; ++p) {
    f(w.document.waiting[p].owner), f(w.committed.waiting[p].owner), f(w.stale.waiting[p].owner);
  }
  for (int i = 0; i < scope.clients; ++i) {
    auto& c = w.client[i];
    f(c.owner), f(c.doubtful), f(c.to_delete), f(c.sight_owner), f(c.giver), f(c.notice.owner);
    for (int k = 0; k < scope.messages; ++k) {
      f(c.message[k].owner), f(c.message[k].seen_owner);
    }
  }
}

/// Every place that shows a beat, with the owner that it belongs to.
template <typename F>
void each_beat(World& w, const Scope& scope, F f) {
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    f(d->owner, d->beat);
    for (int p = 0; p < scope.queue; ++p) f(d->waiting[p].owner, d->waiting[p].beat);
  }
  for (int i = 0; i < scope.clients; ++i) {
    Client& c = w.client[i];
    f(c.sight_owner, c.sight_beat);
    f(c.owner, c.attempt_beat);
    for (int k = 0; k < scope.messages; ++k) {
      Message& m = c.message[k];
      f(m.owner, m.beat), f(m.seen_owner, m.seen_beat);
    }
  }
}

void number_owners(World& w, const Scope& scope) {
  std::array<FirstPlaces, kMaxClients> number{};
  each_owner(w, scope, [&](Byte& owner) {
    if (owner == 0) return;
    const int i = client_of(owner);
    owner = byte(i * kGenerations + number[byte(i)](byte(generation_of(owner) + 1)));
  });
}

/// A beat only has to differ from the others of its owner.
void number_beats(World& w, const Scope& scope) {
  using Beat = Rules::Beat;
  if (scope.rules.beat == Beat::restarted_by_extensions ||
      scope.rules.beat == Beat::counted_in_document) {
    return;  // there a beat is a count
  }
  std::array<FirstPlaces, kMaxClients * kGenerations + 1> number{};
  each_beat(w, scope, [&](Byte owner, Byte& beat) { beat = number[owner](beat); });
}

/// Gives the numbers at the places that `each` calls its argument with the ranks 1, 2, 3, ...
template <typename Each>
void rank(Each each) {
  std::uint64_t used = 1;
  each([&](Byte value) { used |= std::uint64_t{1} << value; });
  each([&](Byte& value) {
    value = byte(std::popcount(used & ((std::uint64_t{2} << value) - 1)) - 1);
  });
}

/// Only the order of tokens and of writes matters.
void rank_orders(World& w, const Scope& scope) {
  const auto each_token = [&](auto f) {
    f(w.top_token), f(w.clock), f(w.committed_clock), f(w.stale_clock);
    for (int i = 0; i < scope.clients; ++i) {
      f(w.client[i].token), f(w.client[i].notice.token);
      for (int k = 0; k < scope.messages; ++k) f(w.client[i].message[k].token);
    }
  };
  const auto each_order = [&](auto f) {
    f(w.top_order);
    for (int i = 0; i < scope.clients; ++i) {
      f(w.client[i].order), f(w.client[i].notice.order);
      for (int k = 0; k < scope.messages; ++k) f(w.client[i].message[k].order);
    }
  };
  using Token = Rules::Token;
  const Token kind = scope.rules.token;
  if (tokens_are_orders(scope)) {  // what is below the greatest is alike
    each_order([&](Byte& order) { order = order != 0 && order < w.top_order ? Byte{1} : order; });
    rank(each_order);
    return;
  }
  if (kind == Token::counter || kind == Token::none) return rank(each_order);
  if (scope.stale_primary) {
    rank(each_token);
    return rank(each_order);
  }
  rank([&](auto f) { each_token(f), each_order(f); });
}

/// Whether this client's call may still be granted by this owner's entry.
bool may_be_granted(const Client& c, Byte owner, const Scope& scope) {
  return scope.rules.accepts_ended_owners || (c.waits() && c.owner == owner);
}

/// Of a request whose reply nobody awaits: when it was sent dates the grant of its entry, or of the
/// entry that it takes out of the queue.
bool matters_how_old(const Client& c, const Message& m, const Scope& scope) {
  if (scope.queue == 0) return false;
  if (is_acquire(m.slot)) return may_be_granted(c, m.owner, scope);
  return m.slot == kDelete && scope.late_starts;
}

/// Whether anything can still put this owner into the document, or has: else a delete of it does
/// nothing.
bool may_come_up(const World& w, const Scope& scope, Byte owner) {
  for (const Document* d : {&w.document, &w.committed, &w.stale}) {
    if (d->owner == owner || place_of(*d, owner) >= 0) return true;
  }
  const Client& c = w.client[client_of(owner)];
  const auto writes = [owner](const Message& m) { return is_acquire(m.slot) && m.owner == owner; };
  return c.owner == owner || std::any_of(c.message, c.message + scope.messages, writes);
}

/// Clean-ups of what cannot come up, and news of it.
void drop_idle_clean_ups(World& w, const Scope& scope) {
  if (!scope.rules.release_checks_owner || scope.hand_overs) return;
  for (int i = 0; i < scope.clients; ++i) {
    Client& c = w.client[i];
    if (is_package(scope, i)) continue;
    if (c.to_delete != 0 && !may_come_up(w, scope, c.to_delete)) c.to_delete = 0;
    if (c.notice.owner != 0 && !may_come_up(w, scope, c.notice.owner)) c.notice = {};
    for (int k = 0; k < scope.messages; ++k) {
      Message& m = c.message[k];
      const bool idle = m.slot == kDelete && c.awaited != k + 1;
      if (idle && !may_come_up(w, scope, m.owner)) m = {};
    }
  }
}

/// Entries whose time is over, and how old that is of which nobody will count on.
void drop_irrelevant_places(World& w, const Scope& scope) {
  if (w.stale_runs == 0 || scope.rules.majority) {
    std::fill(std::begin(w.stale.waiting), std::end(w.stale.waiting), Entry{});
  }
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    for (int p = scope.queue; p-- > 0;) {
      Entry& entry = d->waiting[p];
      if (entry.owner == 0) continue;
      if (!may_be_granted(w.client[client_of(entry.owner)], entry.owner, scope))
        entry.age = kOldest;
      if (entry.left == 0) remove_place(*d, p);
    }
  }
  for (int i = 0; i < scope.clients; ++i) {
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

/// Replies that nobody awaits, sights of what can never be seen again, and what a state that cannot
/// be rolled back need not keep.
void drop_irrelevant(World& w, const Scope& scope) {
  if (!scope.failovers) w.dirty = 0;
  if (w.dirty == 0) {
    w.committed = {};
    w.committed_clock = 0;
  }
  if (w.stale_runs == 0) w.stale = {};
  if (scope.queue > 0) drop_irrelevant_places(w, scope);
  // Where a majority is awaited, nobody ever hears what the old primary granted.
  if (w.stale_runs == 0 || scope.rules.majority) w.stale_clock = 0;
  for (int i = 0; i < scope.clients; ++i) {
    Client& c = w.client[i];
    for (int k = 0; k < scope.messages; ++k) {
      Message& m = c.message[k];
      if (m.slot == kEmpty || c.awaited == k + 1) continue;
      if (is_reply(m.slot)) {
        m = {};
      } else if (!matters_how_old(c, m, scope)) {
        m.age = kOldest;
      }
    }
  }
  bool older_than_the_primary = false;
  for (int i = 0; i < scope.clients; ++i) {
    for (const Message& m : w.client[i].message) {
      const bool passes_on = m.slot == kDelete && scope.queue > 0;
      const bool request =
          is_acquire(m.slot) || m.slot == kExtend || m.slot == kHandOver || passes_on;
      older_than_the_primary |= scope.late_starts && request && m.age > w.since_failover;
    }
  }
  if (!older_than_the_primary) w.since_failover = kOldest;
  // How long a document has been expired matters to commands that started before only.
  int longest = scope.rules.margin == Rules::Margin::by_waiter ? scope.clock_margin : 0;
  for (int i = 0; i < scope.clients; ++i) {
    for (const Message& m : w.client[i].message) {
      if (is_acquire(m.slot) && scope.late_starts) longest = std::max(longest, int{m.age});
    }
  }
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    if (d->owner != 0) d->until = std::max(d->until, byte(kDue - longest));
  }
  if (scope.rules.majority && w.stale.owner != 0) w.stale.until = kDue;
  if (scope.rules.beat != Rules::Beat::every_command || !scope.rules.compares_seen_beat ||
      !scope.rules.compares_seen_owner) {
    return;
  }
  // Each lockId is written by one execution: what is in no document now will never be again.
  const auto gone = [&](Byte owner, Byte beat) {
    for (const Document* d : {&w.document, &w.committed}) {
      if (d->owner == owner && d->beat == beat) return false;
      for (const Entry& entry : d->waiting) {
        if (entry.owner == owner && entry.beat == beat) return false;
      }
    }
    return owner != 0;
  };
  if (scope.rules.majority && gone(w.stale.owner, w.stale.beat)) w.stale = {};
  for (int i = 0; i < scope.clients; ++i) {
    Client& c = w.client[i];
    if (gone(c.sight_owner, c.sight_beat)) c.sight_owner = c.sight_beat = c.sight_age = 0;
    for (int k = 0; k < scope.messages; ++k) {
      Message& m = c.message[k];
      const bool names_giver = m.slot == kHandOver || m.slot == kDelete;
      if (!names_giver && gone(m.seen_owner, m.seen_beat)) m.seen_owner = m.seen_beat = 0;
    }
  }
}

/// The world with client order[i] in place i.
World arranged(const World& world, const Scope& scope, const std::array<int, kMaxClients>& order) {
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

int interchangeable(const Scope& scope) { return scope.clients - (scope.dotnet ? 1 : 0); }

/// What tells a client from the others, without names.
std::uint64_t key(const World& w, int i, const Scope& scope) {
  const Client& c = w.client[i];
  std::uint64_t k = 0;
  const auto put = [&k](int value, int bits) { k = k << bits | static_cast<std::uint64_t>(value); };
  const auto mine = [i](Byte owner) { return owner != 0 && client_of(owner) == i ? 1 : 0; };
  put(c.phase, 3), put(c.lease, 2), put(c.awaited, 2), put(c.order, 4);
  put(mine(w.document.owner), 1), put(mine(w.committed.owner), 1), put(mine(w.stale.owner), 1);
  put(c.sight_age, 2), put(c.sight_owner != 0, 1), put(c.doubtful != 0, 1),
      put(c.to_delete != 0, 1);
  put(c.owner != 0 && c.owner == w.document.owner, 1);
  if (scope.hand_overs) put(c.giver != 0, 1);
  if (scope.queue > 0) {
    put(place_of(w.document, c.owner) + 1, 2), put(c.notice.owner != 0, 1);
    put(mine(w.document.waiting[0].owner), 1);
  }
  for (int m = 0; m < scope.messages; ++m) {
    put(c.message[m].slot, 4), put(c.message[m].age, 2), put(c.message[m].order, 4);
    put(c.message[m].committed, 1), put(c.message[m].seen_owner != 0, 1);
    put(c.message[m].owner == w.document.owner, 1);
  }
  return k;
}

}  // namespace

bool tokens_are_orders(const Scope& scope) {
  return scope.rules.token == Rules::Token::operation_time && !scope.stale_primary;
}

State pack(const World& world, const Scope& scope) {
  State state{};
  std::size_t word = 0;
  int free = 64;
  each_field(world, scope, [&](Byte value, int bits) {
    if (bits > free) {
      if (++word == state.size()) throw std::length_error("a state does not fit");
      free = 64;
    }
    free -= bits;
    state[word] |= static_cast<std::uint64_t>(value) << free;
  });
  return state;
}

World unpack(const State& state, const Scope& scope) {
  World world;
  std::size_t word = 0;
  int free = 64;
  each_field(world, scope, [&](Byte& value, int bits) {
    if (bits > free) {
      ++word;
      free = 64;
    }
    free -= bits;
    value = byte(static_cast<int>(state[word] >> free & ((1u << bits) - 1)));
  });
  return world;
}

World tidied(World w, const Scope& scope) {
  drop_irrelevant(w, scope);
  rank_orders(w, scope);
  number_owners(w, scope);
  number_beats(w, scope);
  return w;
}

World canonical(const World& world, const Scope& scope) {
  World w = world;
  drop_irrelevant(w, scope);
  rank_orders(w, scope);
  std::array<int, kMaxClients> order{0, 1, 2};
  std::array<std::uint64_t, kMaxClients> keys{};
  const int count = interchangeable(scope);
  for (int i = 0; i < count; ++i) keys[static_cast<std::size_t>(i)] = key(w, i, scope);
  std::stable_sort(order.begin(), order.begin() + count, [&](int a, int b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  if (!std::is_sorted(order.begin(), order.end())) w = arranged(w, scope, order);
  number_owners(w, scope);
  number_beats(w, scope);
  return w;
}

bool is_the_same(const World& world, const State& state, const Scope& scope) {
  std::array<int, kMaxClients> order{0, 1, 2};
  do {
    if (pack(canonical(arranged(world, scope, order), scope), scope) == state) return true;
  } while (std::next_permutation(order.begin(), order.begin() + interchangeable(scope)));
  return false;
}

void age(World& w, const Scope& scope) {
  const auto older = [](Byte& age) { age = std::min(byte(age + 1), byte(kOldest)); };
  const auto less = [](Byte& left) { left = left == 0 ? left : byte(left - 1); };
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    less(d->until);
    for (Entry& entry : d->waiting) {
      if (entry.owner != 0) less(entry.left), older(entry.age);
    }
  }
  older(w.since_failover);
  for (int i = 0; i < scope.clients; ++i) {
    Client& c = w.client[i];
    less(c.lease), less(c.due), older(c.counted);
    if (c.notice.owner != 0) older(c.notice.age);
    if (c.sight_owner != 0) older(c.sight_age);
    for (int k = 0; k < scope.messages; ++k) {
      if (c.message[k].slot != kEmpty) older(c.message[k].age);
    }
  }
}

Byte fresh_owner(const World& w, int client, const Scope& scope) {
  std::uint32_t used = 0;
  each_owner(w, scope, [&](Byte owner) { used |= 1u << owner; });
  for (int g = 0; g < kGenerations; ++g) {
    const Byte owner = byte(client * kGenerations + g + 1);
    if ((used >> owner & 1) == 0) return owner;
  }
  return 0;
}

const Rules& rules_for(const Scope& scope, int client) {
  static const Rules package = rules_of(Lock::distributed_lock);
  return is_package(scope, client) ? package : scope.rules;
}

}  // namespace leasehold::model::lock_world
