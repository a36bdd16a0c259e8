#include <algorithm>
#include <iterator>

#include "model/spec/diagrams.hpp"
#include "model/spec/lock.hpp"

/// The abstract lock in words.
namespace leasehold::model {

using namespace lock_world;
using Act = LockAct;

std::string describe(const Scope& s) {
  const std::string places = s.queue == 1 ? "1 place" : std::to_string(s.queue) + " places";
  const auto if_on = [](bool on, const std::string& what) { return on ? ", " + what : ""; };
  return std::to_string(s.clients) + " clients" + (s.dotnet ? " (one of the .NET package)" : "") +
         (s.older ? " (one of an older release)" : "") +
         (s.readers > 0 ? " (" + std::to_string(s.readers) +
                              (s.permits ? " want one of two permits)" : " of them read)")
                        : "") +
         " with " + std::to_string(s.messages) + (s.messages == 1 ? " message" : " messages") +
         " each in flight, without end: acquisitions, pauses" +
         if_on(s.time_outs, "time-outs") +
         if_on(s.losses, s.losses_late ? "losses that no user awaits" : "losses") +
         if_on(s.crashes, "crashes") + if_on(s.ttl_passes, "TTL passes") +
         if_on(s.failovers, "failovers with rollback, clocks " + std::to_string(s.skew) +
                                " apart of margin " + std::to_string(s.clock_margin)) +
         if_on(s.late_starts, "commands that wait in the server") +
         if_on(s.stale_primary, "a stale primary") + if_on(s.hand_overs, "hand-overs") +
         if_on(s.queue > 0, "a queue of " + places);
}

namespace {

constexpr const char* kSlots[] = {"",         "acquire",     "extension",    "delete",
                                  "\"won\"",  "\"refused\"", "\"extended\"", "\"no match\"",
                                  "\"gone\"", "hand-over",   "renewal"};

std::string letter(int client) { return std::string(1, static_cast<char>('A' + client)); }

/// What the command did to the queue, or by it, which its reply does not say.
std::string in_the_queue(const World& from, const World& to, int client, Byte slot) {
  const Document &before = from.document, &after = to.document;
  if (slot == kDelete) {
    if (before.owner == after.owner && before.other == after.other) return "";
    if (after.owner == 0) return ": the document goes";
    if (before.is_held_by(after.owner) && after.other.owner == 0) return ": leaves the readers";
    if (after.readers() > 1) return ": readers share the lock";
    return ": passes the lock on to " + letter(client_of(after.owner));
  }
  if (std::equal(before.waiting, std::end(before.waiting), after.waiting)) return "";
  const auto mine = [client](const Entry& entry) {
    return entry.owner != 0 && client_of(entry.owner) == client;
  };
  const bool stands = std::any_of(after.waiting, std::end(after.waiting), mine);
  return stands ? ", and stands in the queue" : "";
}

std::string of_a_failover(const Scope& scope, const World& from, const World& to) {
  return "another member becomes primary, its clock " + std::to_string(scope.skew) +
         (to.second != 0 ? " ahead" : " behind") +
         (from.dirty != 0 ? "; the last write is rolled back" : "") +
         (to.stale_runs != 0 ? "; the old primary does not know yet" : "");
}

/// What happens to the message in this slot.
std::string of_an_execution(const Scope& scope, const World& from, LockAction action,
                            const World& to) {
  const Message& before = from.client[action.client].message[action.slot];
  const Message& after = to.client[action.client].message[action.slot];
  const std::string waited =
      action.waited == 0 ? "" : ", which started " + std::to_string(action.waited) + " before,";
  const std::string outcome = after.slot == kEmpty ? "" : std::string(": ") + kSlots[after.slot];
  const std::string queue =
      scope.queue > 0 ? in_the_queue(from, to, action.client, before.slot) : std::string();
  return waited + " is executed" + outcome + queue;
}

}  // namespace

std::string tell(const Scope& scope, const World& from, LockAction action, const World& to) {
  const Client& client = from.client[action.client];
  const std::string caller =
      is_package(scope, action.client) ? "the .NET client" : letter(action.client);
  const std::string slot = kSlots[client.message[action.slot].slot];
  const std::string message = caller + "'s " + slot;
  switch (action.act) {
    case LockAct::tick: return "time passes";
    case LockAct::commit: return "a majority has the last write";
    case LockAct::failover: return of_a_failover(scope, from, to);
    case LockAct::step_down: return "the old primary steps down";
    case LockAct::ttl_pass: return "the TTL monitor deletes the document";
    case LockAct::start: return message + " starts inside the server, and reads the cluster time";
    case LockAct::execute: return message + of_an_execution(scope, from, action, to);
    case LockAct::execute_stale: return message + " is executed by the old primary";
    case LockAct::lose: return message + " is lost";
    case LockAct::deliver: return caller + " receives " + slot;
    case LockAct::attempt:
      if (client.giver != 0) return caller + " sends the hand-over again";
      return caller + (client.phase == kIdle ? " asks, and" : "") + " sends an acquire";
    case LockAct::time_out: return caller + " times out waiting for a reply";
    case LockAct::give_up: return caller + " gives up";
    case LockAct::extend: return caller + " sends an extension";
    case LockAct::release: return caller + " releases: sends a delete";
    case LockAct::clean_up: return caller + " cleans up: sends a delete";
    case LockAct::crash: return caller + " crashes and restarts";
    case LockAct::hand_over:
      return caller + " releases: sends a hand-over to " + letter(action.waited);
    case LockAct::hear:
      return caller + " is notified of its grant" +
             (to.client[action.client].phase == kHeld ? ", and holds" : ", and gives it back");
    case LockAct::lose_notice: return "the notice of " + caller + "'s grant is lost";
    case LockAct::read_stream: return caller + " reads its change stream: nothing new";
  }
  return "";
}

std::set<std::string> arrows_of(const Labels& labels) {
  std::set<std::string> names;
  const auto take = [&](const TransitionTable& table, std::string_view taken) {
    for (std::size_t from = 0; from < taken.size();) {
      const auto arrow = taken.substr(from, taken.find("; ", from) - from);
      const auto space = arrow.find(' ');
      const auto place = table.find(arrow.substr(0, space), arrow.substr(space + 1));
      names.insert(std::string(table.name()) + ": " + table.arrows()[place.value()].name());
      from += arrow.size() + 2;
    }
  };
#define TAKE_LABEL(label, handle, flow, document) \
  if (labels.contains(Label::label)) {            \
    take(lifecycle(), handle);                    \
    take(flowchart(), flow);                      \
    take(document_states(), document);            \
  }
  LEASEHOLD_LABELS(TAKE_LABEL)
  return names;
}

}  // namespace leasehold::model
