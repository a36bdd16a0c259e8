#include <algorithm>
#include <array>
#include <tuple>

#include "model/lock_system.hpp"

/// States that differ in nothing that matters are made one: this is what keeps the system small.
namespace leasehold::model {

using Byte = LockSystem::Byte;

LockSystem::World LockSystem::tidied(World w) const {
  forget_the_past(w);
  drop_what_nobody_needs(w);
  number_generations(w);
  rank_orders(w);
  number_beats(w);
  return w;
}

/// Moves the present to kNow. What is older than any rule looks back is alike.
void LockSystem::forget_the_past(World& w) {
  const int shift = w.now - kNow;
  const auto keep = [&](Byte& time) { time = byte(std::max(time - shift, kNow - kHorizon)); };
  const auto drop = [&](Byte& time) { time = time <= w.now ? Byte{0} : byte(time - shift); };
  for (Document* d : {&w.document, &w.committed}) {
    if (d->owner != 0) keep(d->expires);
  }
  drop(w.lease_end);
  if (w.lease_end == 0) w.lease_owner = 0;
  drop(w.committed_lease_end);
  if (w.committed_lease_end == 0) w.committed_lease_owner = 0;
  for (Client& c : w.client) {
    drop(c.belief_end);
    if (c.sight_owner != 0) keep(c.sight_at);
    for (Message& m : c.message) {
      if (m.slot == kEmpty) continue;
      keep(m.sent);
      if (m.started != 0) keep(m.started);
    }
  }
  w.now = kNow;
}

/// Replies that nobody awaits, and sights of what can never be seen again.
void LockSystem::drop_what_nobody_needs(World& w) const {
  for (int i = 0; i < scope_.clients; ++i) {
    Client& c = w.client[i];
    for (int k = 0; k < scope_.messages; ++k) {
      Message& m = c.message[k];
      if (c.awaited == k + 1 || m.slot == kEmpty) continue;
      if (m.slot >= kWon) m = {};
      if (m.slot != kEmpty) m.sent = kNow - kHorizon;  // nobody will believe from it
    }
  }
  const bool beats_repeat =
      is(Variant::beat_restarted_by_an_extension) || is(Variant::beat_not_raised_by_a_retry) ||
      is(Variant::observed_beat_not_compared) || is(Variant::observed_string_not_compared);
  if (beats_repeat) return;
  const auto may_be_seen = [&](Byte owner, Byte beat) {
    for (const Document* d : {&w.document, &w.committed}) {
      if (d->owner == owner && d->beat == beat) return true;
    }
    const Client& of = w.client[client_of(owner)];
    for (const Message& m : of.message) {
      if (m.slot != kEmpty && m.slot < kWon && m.owner == owner && m.beat == beat) return true;
    }
    return false;
  };
  for (int i = 0; i < scope_.clients; ++i) {
    Client& c = w.client[i];
    if (c.sight_owner != 0 && !may_be_seen(c.sight_owner, c.sight_beat)) {
      c.sight_owner = c.sight_beat = c.sight_at = 0;
    }
    for (Message& m : c.message) {
      if (m.slot != kAcquire || m.seen_owner == 0) continue;
      if (!may_be_seen(m.seen_owner, m.seen_beat)) m.seen_owner = m.seen_beat = 0;
    }
  }
}

/// Owners that nothing names any more are forgotten; the rest are numbered anew.
void LockSystem::number_generations(World& w) const {
  for (int i = 0; i < scope_.clients; ++i) {
    Client& c = w.client[i];
    std::array<Byte*, 8 + kMaxClients*(2 + 2 * kMaxMessages)> places{};
    std::size_t count = 0;
    const auto name = [&](Byte& owner) {
      if (owner != 0 && client_of(owner) == i) places[count++] = &owner;
    };
    Byte own = c.phase == kIdle || c.phase == kCrashed ? Byte{0} : owner_of(i, c);
    name(own);
    for (Byte* owner :
         {&w.document.owner, &w.committed.owner, &w.lease_owner, &w.committed_lease_owner}) {
      name(*owner);
    }
    for (Client& other : w.client) {
      name(other.sight_owner);
      name(other.to_delete);
      for (Message& m : other.message) {
        name(m.owner);
        name(m.seen_owner);
      }
    }
    std::array<Byte, kGenerations> number{};
    for (std::size_t k = 0; k < count; ++k) number[byte(generation_of(*places[k]))] = 1;
    Byte next = 0, deleted = 0;
    for (std::size_t g = 0; g < number.size(); ++g) {
      if (number[g] == 0) continue;
      if ((c.deleted >> g & 1) != 0) deleted |= byte(1 << next);
      number[g] = next++;
    }
    for (std::size_t k = 0; k < count; ++k) {
      *places[k] = byte(i * kGenerations + number[byte(generation_of(*places[k]))] + 1);
    }
    c.deleted = deleted;
    c.generation = own == 0 ? next : byte(generation_of(own));
    c.newest = next;
  }
}

namespace {

/// The owner after its client changed places.
Byte moved(Byte owner, const int* place) {
  if (owner == 0) return owner;
  return LockSystem::byte(place[LockSystem::client_of(owner)] * LockSystem::kGenerations +
                          LockSystem::generation_of(owner) + 1);
}

/// Gives the values at these places the numbers 1, 2, 3, ... in their order; 0 stays 0. The
/// greatest.
Byte renumber(Byte* const* places, std::size_t count) {
  std::array<Byte, 256> number{};
  for (std::size_t i = 0; i < count; ++i) number[*places[i]] = 1;
  number[0] = 0;
  Byte next = 0;
  for (Byte& n : number) {
    if (n != 0) n = ++next;
  }
  for (std::size_t i = 0; i < count; ++i) *places[i] = number[*places[i]];
  return next;
}

}  // namespace

/// Only the order of tokens and of writes matters.
void LockSystem::rank_orders(World& w) const {
  if (is(Variant::token_counter_in_the_document)) return;  // there a token is a count
  std::array<Byte*, 8 + kMaxClients*(2 + 3 * kMaxMessages)> places{};
  std::size_t count = 0;
  for (Byte* place : {&w.order, &w.fence, &w.fence_order, &w.top_token, &w.top_order}) {
    places[count++] = place;
  }
  for (Client& c : w.client) {
    places[count++] = &c.token;
    places[count++] = &c.order;
    for (Message& m : c.message) {
      for (Byte* place : {&m.token, &m.order, &m.clock}) places[count++] = place;
    }
  }
  (void)renumber(places.data(), count);
}

/// A beat only has to differ from the others of its process.
void LockSystem::number_beats(World& w) const {
  if (is(Variant::beat_restarted_by_an_extension)) return;  // there a beat is a count
  for (int i = 0; i < scope_.clients; ++i) {
    std::array<Byte*, 4 + kMaxClients*(1 + 2 * kMaxMessages)> places{};
    std::size_t count = 0;
    const auto of_client = [&](Byte owner) { return owner != 0 && client_of(owner) == i; };
    for (Document* d : {&w.document, &w.committed}) {
      if (of_client(d->owner)) places[count++] = &d->beat;
    }
    for (Client& c : w.client) {
      if (of_client(c.sight_owner)) places[count++] = &c.sight_beat;
      for (Message& m : c.message) {
        if (of_client(m.owner) && m.beat != 0) places[count++] = &m.beat;
        if (of_client(m.seen_owner)) places[count++] = &m.seen_beat;
      }
    }
    if (is(Variant::beat_not_raised_by_a_retry)) places[count++] = &w.client[i].attempt_beat;
    w.client[i].beat = renumber(places.data(), count);
  }
}

/// Clients differ by name only: the one whose own state sorts first comes first.
LockSystem::World LockSystem::sort_clients(const World& world) const {
  int order[kMaxClients] = {0, 1, 2};
  const auto before = [&](int a, int b) {
    const Client &x = world.client[a], &y = world.client[b];
    const auto key = [](const Client& c) {
      return std::tuple(c.phase, c.belief_end, c.generation, c.beat, c.token, c.awaited, c.paused,
                        c.acquired, c.sight_at, c.sight_beat, c.message[0].slot, c.message[0].beat,
                        c.message[0].sent, c.message[1].slot);
    };
    return key(x) < key(y);
  };
  std::stable_sort(order, order + scope_.clients, before);
  if (std::is_sorted(order, order + scope_.clients)) return world;
  return arranged(world, order);
}

/// Whether the world is this state, whatever its clients are called. Sorting leaves ties.
bool LockSystem::is_the_same(const World& world, const State& state) const {
  int order[kMaxClients] = {0, 1, 2};
  do {
    if (pack(canonical(arranged(world, order))) == state) return true;
  } while (std::next_permutation(order, order + scope_.clients));
  return false;
}

/// The world with client order[i] in place i.
LockSystem::World LockSystem::arranged(const World& world, const int* order) const {
  int place[kMaxClients] = {0, 1, 2};
  for (int i = 0; i < scope_.clients; ++i) place[order[i]] = i;
  World w = world;
  for (int i = 0; i < scope_.clients; ++i) w.client[i] = world.client[order[i]];
  for (Byte* owner :
       {&w.document.owner, &w.committed.owner, &w.lease_owner, &w.committed_lease_owner}) {
    *owner = moved(*owner, place);
  }
  for (int i = 0; i < scope_.clients; ++i) {
    Client& c = w.client[i];
    c.sight_owner = moved(c.sight_owner, place);
    c.to_delete = moved(c.to_delete, place);
    for (Message& m : c.message) {
      m.owner = moved(m.owner, place);
      m.seen_owner = moved(m.seen_owner, place);
    }
  }
  return w;
}

}  // namespace leasehold::model
