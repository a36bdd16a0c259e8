#include <stdexcept>

#include "model/lock_arrows.hpp"
#include "model/lock_system.hpp"

/// The abstract system in words.
namespace leasehold::model {

using namespace lock_world;

namespace arrow {

namespace {

/// Adds the arrow that leaves this state; returns where it leads.
std::string_view add(Set& set, const TransitionTable& table, std::string_view from,
                     std::string_view input) {
  std::size_t before = 0;
  for (const auto* other : all_tables()) {
    if (other == &table) break;
    before += other->arrows().size();
  }
  const auto found = table.find(from, input);
  if (!found) {
    throw std::logic_error("no arrow '" + std::string(from) + " --" + std::string(input) +
                           "-->' in " + std::string(table.name()));
  }
  const std::size_t bit = before + *found;
  set.at(bit / 64) |= std::uint64_t{1} << bit % 64;
  return table.arrows()[*found].to;
}

}  // namespace

Set set_of(std::initializer_list<Taken> all) {
  Set set{};
  for (const Taken& one : all) {
    if (!one.step) {
      add(set, one.table, one.from, one.input);
      continue;
    }
    auto state = one.from;
    for (const auto input : inputs_of(*one.step, state)) state = add(set, one.table, state, input);
  }
  return set;
}

}  // namespace arrow

std::string describe(const Scope& s) {
  const std::string places = s.queue == 1 ? "1 place" : std::to_string(s.queue) + " places";
  const auto if_on = [](bool on, const std::string& what) { return on ? ", " + what : ""; };
  return std::to_string(s.clients) + " clients" + (s.dotnet ? " (one of the .NET package)" : "") +
         " with " + std::to_string(s.messages) + (s.messages == 1 ? " message" : " messages") +
         " each in flight, without end: acquisitions, pauses" +
         if_on(s.losses, s.losses_late ? "losses of what nobody awaits" : "losses") +
         if_on(s.crashes, "crashes") + if_on(s.ttl_passes, "TTL passes") +
         if_on(s.failovers, "failovers with rollback, clocks " + std::to_string(s.skew) +
                                " apart of margin " + std::to_string(s.clock_margin)) +
         if_on(s.late_starts, "commands that wait in the server") +
         if_on(s.stale_primary, "a stale primary") + if_on(s.hand_overs, "hand-overs") +
         if_on(s.queue > 0, "a queue of " + places);
}

const std::vector<std::string_view>& LockSystem::sometimes() {
  static const std::vector<std::string_view> names{
      "a client holds",
      "a holder is past its lease",
      "a later grant arrived before an earlier lease ended",
      "a write may be rolled back",
      "a dead holder was observed",
      "somebody stands in the queue",
      "a waiter is notified of a grant"};
  return names;
}

std::uint64_t LockSystem::reached_in(const World& w) const {
  std::uint64_t bits = w.dirty != 0 ? 8u : 0u;
  if (w.document.waiting[0].owner != 0) bits |= 32;
  for (int i = 0; i < scope_.clients; ++i) {
    const Client& c = w.client[i];
    if (c.phase == kHeld) bits |= c.lease > 0 ? 1u : 2u;
    if (c.phase == kHeld && c.order < w.top_order) bits |= 4;
    for (const Message& m : c.message) bits |= m.slot == kAcquire && m.seen_owner != 0 ? 16u : 0u;
    if (c.notice.owner != 0 && c.notice.committed != 0) bits |= 64;
  }
  return bits;
}

std::vector<std::string> LockSystem::arrows_taken() const {
  std::vector<std::string> names;
  std::size_t bit = 0;
  for (const auto* table : all_tables()) {
    for (const auto& arrow : table->arrows()) {
      if ((arrows_.at(bit / 64) >> bit % 64 & 1) != 0) {
        names.push_back(std::string(table->name()) + ": " + arrow.name());
      }
      ++bit;
    }
  }
  return names;
}

std::vector<std::string> LockSystem::story(const std::vector<State>& path) const {
  std::vector<std::string> lines;
  World here;
  Out next;
  int time = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    next.clear();
    steps(here, next);
    for (const auto& [world, action] : next) {
      if (!is_the_same(world, path[i], scope_)) continue;
      lines.push_back("[" + std::to_string(time) + "] " + tell(here, action, world));
      time += action.act == Act::tick ? 1 : 0;
      here = tidied(world, scope_);
      break;
    }
  }
  return lines;
}

namespace {

/// What the command did besides what its reply says: to the queue, or by it.
std::string in_the_queue(const World& from, const World& to, int client, Byte slot) {
  const Document &before = from.document, &after = to.document;
  if (slot == kDelete) {
    if (before.owner == 0 || before.owner == after.owner) return "";
    if (after.owner == 0) return ": the document goes";
    return std::string(": passes the lock on to ") +
           static_cast<char>('A' + client_of(after.owner));
  }
  if (std::equal(before.waiting, std::end(before.waiting), after.waiting)) return "";
  const auto mine = [client](const Entry& entry) {
    return entry.owner != 0 && client_of(entry.owner) == client;
  };
  const bool stands = std::any_of(after.waiting, std::end(after.waiting), mine);
  return stands ? ", and stands in the queue" : "";
}

}  // namespace

std::string LockSystem::tell(const World& w, Action action, const World& next) const {
  const bool package = is_package(scope_, action.client);
  const std::string who =
      package ? "the .NET client" : std::string(1, static_cast<char>('A' + action.client));
  const Message& m = w.client[action.client].message[action.slot];
  const Message& after = next.client[action.client].message[action.slot];
  static constexpr const char* kSlots[] = {
      "",         "acquire",     "extension",    "delete",
      "\"won\"",  "\"refused\"", "\"extended\"", "\"no match\"",
      "\"gone\"", "hand-over",   "renewal"};
  const std::string message = who + "'s " + kSlots[m.slot];
  switch (action.act) {
    case Act::tick: return "time passes";
    case Act::commit: return "a majority has the last write";
    case Act::failover:
      return "another member becomes primary, its clock " + std::to_string(scope_.skew) +
             (next.second != 0 ? " ahead" : " behind") +
             (w.dirty != 0 ? "; the last write is rolled back" : "") +
             (next.stale_runs != 0 ? "; the old primary does not know yet" : "");
    case Act::step_down: return "the old primary steps down";
    case Act::ttl_pass: return "the TTL monitor deletes the document";
    case Act::start: return message + " starts inside the server, and reads the cluster time";
    case Act::execute: {
      const std::string waited =
          action.waited == 0 ? "" : ", which started " + std::to_string(action.waited) + " before,";
      const std::string outcome =
          after.slot == kEmpty ? "" : std::string(": ") + kSlots[after.slot];
      const std::string queue =
          scope_.queue > 0 ? in_the_queue(w, next, action.client, m.slot) : std::string();
      return message + waited + " is executed" + outcome + queue;
    }
    case Act::execute_stale: return message + " is executed by the old primary";
    case Act::lose: return message + " is lost";
    case Act::deliver: return who + " receives " + kSlots[m.slot];
    case Act::attempt:
      if (w.client[action.client].giver != 0) return who + " sends the hand-over again";
      return who + (w.client[action.client].phase == kIdle ? " asks, and" : "") +
             " sends an acquire";
    case Act::time_out: return who + " times out waiting for a reply";
    case Act::give_up: return who + " gives up";
    case Act::extend: return who + " sends an extension";
    case Act::release: return who + " releases: sends a delete";
    case Act::clean_up: return who + " cleans up: sends a delete";
    case Act::crash: return who + " crashes and restarts";
    case Act::hand_over:
      return who + " releases: sends a hand-over to " +
             std::string(1, static_cast<char>('A' + action.waited));
    case Act::hear:
      return who + " is notified of its grant" +
             (next.client[action.client].phase == kHeld ? ", and holds" : ", and gives it back");
    case Act::lose_notice: return "the news of " + who + "'s grant is lost";
    case Act::read_stream: return who + " reads its change stream: nothing new";
  }
  return "";
}

}  // namespace leasehold::model
