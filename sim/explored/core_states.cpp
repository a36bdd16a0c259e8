#include "sim/explored/core_states.hpp"

#include <functional>

namespace leasehold::sim::explored {
namespace {

/// The odd constant is 2^64 divided by the golden ratio: neighbouring numbers end far apart.
std::size_t mixed(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15u;
}

}  // namespace

// By the command's content, not its address: the same command sent in another order of events is
// the same message.
bool Message::operator==(const Message& other) const {
  return process == other.process && *command == *other.command && started_ms == other.started_ms &&
         started_at == other.started_at && reply == other.reply && fresh == other.fresh;
}

template <typename T>
std::uint32_t Pool<T>::keep(T value, std::size_t hash) {
  // Equality decides, so an exploration is exact however bad the hash.
  const auto [from, to] = index_.equal_range(hash);
  for (auto i = from; i != to; ++i) {
    if (*values_[i->second] == value) return i->second;
  }
  const auto number = static_cast<std::uint32_t>(values_.size());
  values_.push_back(std::make_unique<const T>(std::move(value)));
  index_.emplace(hash, number);
  return number;
}

std::uint32_t CoreStates::keep(Actor actor) {
  // Timers and awaited replies are left out, because they mostly follow from the core's state.
  std::size_t hash = mixed(actor.core.hash(), actor.drawn);
  for (const User& user : actor.users) {
    hash = mixed(hash, static_cast<std::size_t>(user.deadline.time_since_epoch().count()));
    hash = mixed(hash, user.session << 8 | user.waits_since << 1 | (user.holds ? 1u : 0u));
  }
  hash = mixed(hash, (actor.paused ? 2u : 0u) | (actor.crashed ? 4u : 0u));
  return actors_.keep(std::move(actor), hash);
}

std::uint32_t CoreStates::keep(Message message) {
  // What tells commands of one number apart. More would cost more than it saves.
  const core::Command& command = *message.command;
  std::size_t hash = mixed(command.id, message.process * 4 + (message.fresh ? 1 : 0));
  const auto mix_text = [&hash](const std::string& text) {
    hash = mixed(hash, std::hash<std::string>()(text));
  };
  // A lockId has the owner and the beat, so it tells nearly all commands apart.
  if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
    mix_text(acquire->lock_id);
    mix_text(acquire->observed.value_or(""));
  } else if (const auto* extend = std::get_if<core::ExtendCommand>(&command.body)) {
    mix_text(extend->statements[0].lock_id);
    hash = mixed(hash, static_cast<std::size_t>(extend->statements[0].token.value()));
    hash = mixed(hash, static_cast<std::size_t>(extend->statements[0].acquired_at.since_1970_ms));
  } else if (const auto* gone = std::get_if<core::DeleteCommand>(&command.body)) {
    // The higher half only names the process, which is mixed in already.
    hash = mixed(hash, gone->owner.low);
  } else if (const auto* given = std::get_if<core::HandOverCommand>(&command.body)) {
    mix_text(given->lock_id);
  } else if (const auto* passed = std::get_if<core::PassOnCommand>(&command.body)) {
    hash = mixed(hash, passed->owner.low);
  }
  // The same request has as many replies as there were documents and times at which to execute it.
  if (message.reply) {
    hash = mixed(hash, static_cast<std::size_t>(message.reply->operation_time.value()));
    hash = mixed(hash, static_cast<std::size_t>(message.reply->outcome));
    if (!message.reply->documents.empty()) mix_text(message.reply->documents[0].lock_id);
  }
  hash = mixed(hash, static_cast<std::size_t>(message.started_ms.value_or(0)));
  // 0 means "no message" in a state.
  return messages_.keep(std::move(message), hash) + 1;
}

std::uint32_t CoreStates::keep(const Documents& documents) {
  std::string bytes;
  for (const Document& document : documents) {
    if (!document) continue;
    // Documents are compared as the server would: by their bytes, which name the lock.
    const simulated::Bytes encoded(*document);
    bytes.append(reinterpret_cast<const char*>(bson_get_data(encoded.get())), encoded.get()->len);
  }
  // No document has no bytes, and is kept first: it is number 0.
  const auto next = static_cast<std::uint32_t>(documents_.size());
  const auto [at, fresh] = document_numbers_.emplace(std::move(bytes), next);
  if (fresh) documents_.push_back(documents);
  return at->second;
}

/// Fields as large as the scopes need. A number that outgrew its bits would change another, and two
/// worlds could become one state.
CoreStates::Words CoreStates::pack(const World& w) {
  // Bits that are not set stay 0: equal worlds have equal words, by which states are compared.
  Words s{};
  s[0] = w.actors[0] | std::uint64_t{w.actors[1]} << 32;
  s[1] = w.documents | std::uint64_t{w.tick} << 24 | std::uint64_t{w.writes} << 30 |
         std::uint64_t{w.granted[0]} << 38 | std::uint64_t{w.ahead} << 46 |
         std::uint64_t{w.broken} << 47 | std::uint64_t{w.fault_at} << 51 |
         std::uint64_t{w.written_at} << 57;
  s[2] = w.faults | std::uint64_t{w.granted[1]} << 16 | std::uint64_t{w.before} << 24 |
         std::uint64_t{w.before_writes} << 48;
  auto messages = w.messages;
  // Messages under way have no order. From the largest, so that free places (0) are last.
  std::sort(messages.numbers.begin(), messages.numbers.end(), std::greater<>());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    s[3 + i / 2] |= std::uint64_t{messages[i]} << (i % 2 * 32);
  }
  return s;
}

World CoreStates::unpack(const Words& s) {
  const auto bits = [&](unsigned from, unsigned count, std::size_t word = 1) {
    // REQUIRES: places and sizes as in `pack`.
    return static_cast<unsigned>(s[word] >> from & ((1u << count) - 1));
  };
  World w;
  w.actors = {static_cast<std::uint32_t>(s[0]), static_cast<std::uint32_t>(s[0] >> 32)};
  w.documents = bits(0, 24);
  w.tick = bits(24, 6);
  w.writes = bits(30, 8);
  w.granted = {bits(38, 8), bits(16, 8, 2)};
  w.ahead = bits(46, 1);
  w.broken = bits(47, 4);
  w.fault_at = bits(51, 6);
  w.written_at = bits(57, 6);
  w.faults = bits(0, 16, 2);
  w.before = bits(24, 24, 2);
  w.before_writes = bits(48, 8, 2);
  for (std::size_t i = 0; i < kMaxMessages; ++i) {
    const auto number = static_cast<std::uint32_t>(s[3 + i / 2] >> (i % 2 * 32));
    // They come sorted; a position is of this state only, and no step refers to it.
    if (number != kNoMessage) w.messages.push_back(number);
  }
  return w;
}

}  // namespace leasehold::sim::explored
