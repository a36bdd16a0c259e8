#include "sim/virtual/commands/injected_errors.hpp"

#include "sim/virtual/commands/change_streams.hpp"
#include "sim/virtual/commands/server_errors.hpp"

namespace leasehold::sim::simulated {
namespace {

/// Only these insert: a hand-over or a pass-on changes what is there.
bool is_acquire(const Object& command) {
  const Value* upsert = command.find("upsert"_key);
  return command.fields.at(0).first == "findAndModify" && upsert != nullptr && upsert->truth();
}

/// Whether this is an acquire of a lock that is held: as if another's upsert had raced it.
bool finds_a_lock(const Collection& locks, const Object& command) {
  if (!is_acquire(command)) return false;
  const Value* id = command.find("query"_key)->as<Object>()->find("_id"_key);
  return locks.find(*id->as<std::string>()) != nullptr;
}

}  // namespace

/// One acquire in three of a lock that is taken: any other command has no unique key to break.
std::optional<Object> InjectedErrors::instead_of(const Object& command,
                                                 const Collection& locks) const {
  if (count_ % 3 == 0 && finds_a_lock(locks, command)) return duplicate_id();
  // A stream's command writes nothing that could be executed and yet fail.
  if (executed_ && !ChangeStreams::serves(command)) return std::nullopt;
  return error_reply(code_, "injected");
}

/// Only writes that wait for a majority are repeated: another has no time that could be mistaken
/// for a token.
bool InjectedErrors::repeats(const Object& command, const Executed& executed) const {
  return count_ % 4 == 3 && is_acquire(command) && !executed.changes.empty() &&
         executed.for_majority;
}

/// Either leaves open whether a majority has the write. By turns, so that both are met.
Object InjectedErrors::after(const Object& reply) const {
  if (count_ % 2 == 0) return error_reply(code_, "injected after the execution");
  return write_concern_error(reply, code_, "injected");
}

}  // namespace leasehold::sim::simulated
