#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>
#include <tuple>

#include "model/spec/lock.hpp"

/// Makes one world of all that differ only in what makes no difference.
namespace leasehold::model::lock_world {
namespace {

/// Drops what can have no effect any more.
struct Tidier {
  World& w;
  const Scope& scope;
  const Rules& rules = scope.rules;

  void tidy() const {
    if (!scope.failovers) w.dirty = 0;
    if (w.dirty == 0) {  // only a rollback needs it
      w.committed = {};
      w.committed_clock = 0;
    }
    if (w.stale_runs == 0) w.stale = {};
    if (scope.queue > 0) drop_places();
    // If clients await a majority, none is ever notified of a grant of the old primary.
    if (w.stale_runs == 0 || rules.majority) w.stale_clock = 0;
    drop_messages();
    drop_times();
    const bool unique = rules.beat == Rules::Beat::every_command && rules.compares_seen_beat &&
                        rules.compares_seen_owner;
    if (unique) drop_sights();
  }

  /// Whether this owner's call may still be granted by its entry.
  [[nodiscard]] bool may_be_granted(Byte owner) const {
    const Client& c = w.client[client_of(owner)];
    return rules.accepts_ended_owners || (c.waits() && c.owner == owner);
  }

  /// Whether anything can still put this owner into the document, or has: else a delete of it does
  /// nothing.
  [[nodiscard]] bool may_come_up(Byte owner) const {
    for (const Document* d : {&w.document, &w.committed, &w.stale}) {
      if (d->is_held_by(owner) || d->place_of(owner) >= 0) return true;
    }
    const Client& c = w.client[client_of(owner)];
    return c.owner == owner || std::any_of(c.message, std::end(c.message), [&](const Message& m) {
             return m.is_acquire() && m.owner == owner;
           });
  }

  /// Drops expired entries, the ages of entries that no client will count on, and clean-ups and
  /// notices of owners that cannot come up.
  void drop_places() const {
    if (w.stale_runs == 0 || rules.majority) {
      std::fill(std::begin(w.stale.waiting), std::end(w.stale.waiting), Entry{});
    }
    for (Document* d : {&w.document, &w.committed, &w.stale}) {
      for (int p = kMaxPlaces; p-- > 0;) {
        Entry& entry = d->waiting[p];
        if (entry.owner == 0) continue;
        if (!may_be_granted(entry.owner)) {
          entry.age = kOldest;
          if (d == &w.document && scope.readers > 0) w.patience[p] = kUnbounded;
        }
        if (entry.left == 0) remove_place(w, *d, p);
      }
    }
    for (int p = 0; p < kMaxPlaces; ++p) {
      if (w.document.waiting[p].owner == 0) w.patience[p] = 0;
    }
    for (Client& c : w.client) {
      if (c.notice.owner != 0 && !may_be_granted(c.notice.owner)) {
        c.notice.age = kOldest;
        c.notice.order = c.notice.token = 0;
      }
      if (c.waits()) continue;
      c.counted = kOldest;
      c.enlisted = 0;
    }
    if (!rules.release_checks_owner || scope.hand_overs) return;
    for (int i = 0; i < scope.clients; ++i) {
      Client& c = w.client[i];
      if (is_package(scope, i)) continue;
      if (c.to_delete != 0 && !may_come_up(c.to_delete)) c.to_delete = 0;
      if (c.notice.owner != 0 && !may_come_up(c.notice.owner)) c.notice = {};
      for (int k = 0; k < kMaxMessages; ++k) {
        const bool idle = c.message[k].slot == kDelete && c.awaited != k + 1;
        if (idle && !may_come_up(c.message[k].owner)) c.message[k] = {};
      }
    }
  }

  /// Whether the age of a request matters although no client awaits its reply: it dates the grant
  /// of its entry, or of the entry that it takes out of the queue.
  [[nodiscard]] bool matters_how_old(const Message& m) const {
    if (scope.queue == 0) return false;
    return m.is_acquire() ? may_be_granted(m.owner) : m.slot == kDelete && scope.late_starts;
  }

  /// Drops replies that no client awaits, and the ages of requests where they make no difference.
  void drop_messages() const {
    for (Client& c : w.client) {
      for (int k = 0; k < kMaxMessages; ++k) {
        Message& m = c.message[k];
        if (m.slot == kEmpty || c.awaited == k + 1) continue;
        if (m.is_reply()) {
          m = {};
        } else if (!matters_how_old(m)) {
          m.age = kOldest;
        }
      }
    }
  }

  /// Drops how long ago the failover was, and for how long a document has been expired: both matter
  /// only to commands that started before.
  void drop_times() const {
    bool older_than_the_primary = false;
    int longest = rules.margin == Rules::Margin::by_waiter ? scope.clock_margin : 0;
    for (int i = 0; scope.late_starts && i < scope.clients; ++i) {
      for (const Message& m : w.client[i].message) {
        const bool reads_clock = m.is_acquire() || m.slot == kExtend || m.slot == kHandOver ||
                                 (m.slot == kDelete && scope.queue + scope.readers > 0);
        older_than_the_primary |= reads_clock && m.age > w.since_failover;
        const bool compares = m.is_acquire() || (m.slot == kDelete && scope.readers > 0);
        if (compares) longest = std::max(longest, int{m.age});
      }
    }
    if (!older_than_the_primary) w.since_failover = kOldest;
    for (Document* d : {&w.document, &w.committed, &w.stale}) {
      if (d->owner == 0) continue;
      for (Byte* until : {&d->until, &d->own_until, &d->other.until}) {
        if (until == &d->until || *until != 0) *until = std::max(*until, byte(kDue - longest));
      }
    }
    if (!rules.majority || w.stale.owner == 0) return;
    for (Byte* until : {&w.stale.until, &w.stale.own_until, &w.stale.other.until}) {
      if (until == &w.stale.until || *until != 0) *until = kDue;
    }
  }

  /// Drops observed lockIds that can never be seen again: each lockId is written by one execution,
  /// so a lockId that is in no document now will never be in one.
  void drop_sights() const {
    const auto gone = [&](Byte owner, Byte beat) {
      if (owner == 0) return false;
      for (const Document* d : {&w.document, &w.committed}) {
        if (d->owner == owner && d->beat == beat) return false;
        for (const Entry& entry : d->waiting) {
          if (entry.owner == owner && entry.beat == beat) return false;
        }
      }
      return true;
    };
    if (rules.majority && gone(w.stale.owner, w.stale.beat)) w.stale = {};
    for (Client& c : w.client) {
      if (gone(c.sight_owner, c.sight_beat)) c.sight_owner = c.sight_beat = c.sight_age = 0;
      for (Message& m : c.message) {
        const bool names_giver = m.slot == kHandOver || m.slot == kDelete;
        if (!names_giver && gone(m.seen_owner, m.seen_beat)) m.seen_owner = m.seen_beat = 0;
      }
    }
  }
};

/// Gives values, which are below 16, the numbers 1, 2, 3, ... in the order in which they first
/// come.
struct Numbers {
  std::array<Byte, 16> number{};
  Byte last = 0;

  Byte operator()(Byte value) {
    Byte& its = number[value];
    if (its == 0 && value != 0) its = ++last;
    return its;
  }
};

void number_owners(World& w) {
  std::array<Numbers, kMaxClients> numbers{};
  each_owner(w, [&](Byte& owner) {
    if (owner == 0) return;
    const int i = client_of(owner);
    const auto generation = numbers[static_cast<std::size_t>(i)](byte(owner - i * kGenerations));
    owner = byte(i * kGenerations + generation);
  });
}

/// A beat only has to differ from the others of its owner, unless it is a count.
void number_beats(World& w, const Rules& rules) {
  using Beat = Rules::Beat;
  if (rules.beat == Beat::restarted_by_extensions || rules.beat == Beat::counted_in_document) {
    return;
  }
  std::array<Numbers, kMaxClients * kGenerations + 1> numbers{};
  const auto anew = [&](Byte owner, Byte& beat) { beat = numbers[owner](beat); };
  for (Document* d : {&w.document, &w.committed, &w.stale}) {
    anew(d->owner, d->beat);
    for (Entry& entry : d->waiting) anew(entry.owner, entry.beat);
  }
  for (Client& c : w.client) {
    anew(c.sight_owner, c.sight_beat), anew(c.owner, c.attempt_beat);
    for (Message& m : c.message) anew(m.owner, m.beat), anew(m.seen_owner, m.seen_beat);
  }
}

/// Replaces the numbers that `each` passes on, which are below 64, by their ranks 1, 2, 3, ...
template <typename Each>
void rank(Each each) {
  std::uint64_t used = 1;  // 0 stays
  each([&](Byte number) { used |= std::uint64_t{1} << number; });
  std::array<Byte, 64> ranks;
  for (int n = 0; used != 0; used &= used - 1) {
    ranks[static_cast<std::size_t>(std::countr_zero(used))] = byte(n++);
  }
  each([&](Byte& number) { number = ranks[number]; });
}

/// A reader's grant counts like the latest of all as long as no later writer's grant is known. So
/// the latest of a writer matters only if a reader's is before it.
void rank_of_readers(World& w, const Scope& scope) {
  if (!tokens_are_orders(scope) || scope.rules.resource != Rules::Resource::two_numbers) return;
  bool before = false;
  for (int i = 0; i < scope.readers; ++i) {
    each_order_of(w.client[i], [&](Byte& order) {
      before |= order != 0 && order < w.wrote_order;
      if (order != 0 && order < w.top_order) order = order < w.wrote_order ? Byte{1} : w.top_order;
    });
  }
  w.wrote_order = before ? w.top_order : Byte{0};
}

/// Keeps only the order of tokens and of writes.
void rank_orders(World& w, const Scope& scope) {
  const auto orders = [&](auto f) { each_order(w, f); };
  const auto tokens = [&](auto f) { each_token(w, f); };
  if (scope.readers > 0) rank_of_readers(w, scope);
  if (tokens_are_orders(scope)) {  // all values below the greatest count alike
    each_order(w,
               [&](Byte& order) { order = order != 0 && order < w.top_order ? Byte{1} : order; });
  } else if (scope.stale_primary && scope.rules.token != Rules::Token::counter) {
    rank(tokens);
  } else if (scope.rules.token == Rules::Token::cluster_time) {
    return rank([&](auto f) { orders(f), tokens(f); });  // they are numbers of one kind
  }
  rank(orders);
}

}  // namespace

World arranged(const World& world, const Order& order) {
  World w = world;
  Order place{};
  for (int i = 0; i < kMaxClients; ++i) {
    const int from = order[static_cast<std::size_t>(i)];
    w.client[i] = world.client[from];
    place[static_cast<std::size_t>(from)] = i;
  }
  each_owner(w, [&](Byte& owner) {
    if (owner == 0) return;
    const int i = client_of(owner);
    owner = byte(owner + (place[static_cast<std::size_t>(i)] - i) * kGenerations);
  });
  return w;
}

World canonical(World w, const Scope& scope, Order* order) {
  static_assert(std::has_unique_object_representations_v<World>);  // its bytes are its numbers
  Tidier{w, scope}.tidy();
  rank_orders(w, scope);
  // The least of all arrangements of the clients. Most are passed over by something that no name
  // changes.
  const auto less = [&w](int i, int j) {
    const auto rough = [](const Client& c) {
      const Message& m = c.message[0];
      return std::tie(c.phase, m.slot, c.lease, c.order, c.sight_age, m.age, c.awaited);
    };
    return rough(w.client[i]) < rough(w.client[j]);
  };
  Order tried{0, 1, 2};
  const int alike = scope.clients - (scope.dotnet || scope.older ? 1 : 0);
  const auto begin = tried.begin() + (scope.readers == 1 ? 1 : 0),
             end = tried.begin() + (scope.readers > 1 ? scope.readers : alike);
  std::optional<World> least;
  do {
    if (!std::is_sorted(begin, end, less)) continue;
    World one = std::ranges::is_sorted(tried) ? w : arranged(w, tried);
    number_owners(one);
    number_beats(one, scope.rules);
    if (least && std::memcmp(&*least, &one, sizeof one) <= 0) continue;
    least = one;
    if (order != nullptr) *order = tried;
  } while (std::next_permutation(begin, end));
  return *least;
}

}  // namespace leasehold::model::lock_world
