#include "sim/explored/core_system.hpp"

#include <algorithm>

#include "model/transition_table.hpp"
#include "sim/explored/core_terms.hpp"

namespace leasehold::sim::explored {
namespace {

using namespace terms;

constexpr std::array<const char*, 9> kBroken{
    nullptr,
    "G1: a lease was given away before it ran out or was released",
    "G2: held() is true in two processes at once",
    "G4: a token is not above one that was granted before",
    "G5: a lease ended unreleased, and its holder was not notified",
    "G6: another's lock was touched",
    "G7: a waiter did not get a free or dead lock within the bound",
    "G7: a call that is over left its lock behind",
    "arrows: a step that no diagram has"};

constexpr std::array<const char*, kCoreFaults> kFaultNames{
    "lost request", "late request", "lost reply", "slow reply",  "waiting inside", "error before",
    "error after",  "crash",        "pause",      "clock ahead", "cancel"};

/// The odd constant is 2^64 divided by the golden ratio: neighbouring numbers end far apart.
std::size_t mixed(std::size_t seed, std::size_t value) {
  return (seed ^ value) * 0x9E3779B97F4A7C15u;
}

}  // namespace

// By what the command is, not where it is kept: the same one sent in another order of events is the
// same message.
bool CoreSystem::Message::operator==(const Message& other) const {
  return who == other.who && *command == *other.command && started_ms == other.started_ms &&
         started_at == other.started_at && reply == other.reply && fresh == other.fresh;
}

template <typename T>
std::uint32_t CoreSystem::Pool<T>::keep(T value, std::size_t hash) {
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

std::string describe(const CoreScope& scope) {
  std::string kinds;
  for (unsigned k = 0; k < kCoreFaults; ++k) {
    if ((scope.kinds >> k & 1) != 0)
      kinds += (kinds.empty() ? "" : ", ") + std::string(kFaultNames[k]);
  }
  return "2 providers with " + std::to_string(scope.acquires[0]) + " and " +
         std::to_string(scope.acquires[1]) + " acquires, " + std::to_string(scope.ticks) +
         " ticks with a lease of 3 and a margin of " + std::to_string(scope.margin_ticks) +
         ", up to " + std::to_string(scope.faults) + " of the faults " + kinds;
}

const std::vector<NamedCoreScope>& core_scopes() {
  const auto bit = [](CoreFault fault) { return 1u << static_cast<unsigned>(fault); };
  // No clock frees a dead holder's lock within the ticks: it has to be observed.
  const unsigned deadly =
      bit(CoreFault::crash) | bit(CoreFault::pause) | bit(CoreFault::lost_reply);
  // Long with one fault, short with two: each fits the memory and the minutes of a test run.
  static const std::vector<NamedCoreScope> scopes{
      {"one-fault", {.ticks = 10, .faults = 1}, 3'756'855},
      {"observed-only", {.ticks = 10, .faults = 1, .margin_ticks = 20, .kinds = deadly}, 670'506},
      {"two-faults", {.ticks = 5, .faults = 2}, 12'491'624}};
  return scopes;
}

const std::vector<std::string>& CoreSystem::seen_events() {
  static const std::vector<std::string> names{"takeover of one observed dead",
                                              "takeover by the server's clock",
                                              "own win recognised",
                                              "loss notified",
                                              "extension",
                                              "TTL deletion",
                                              "late request executed",
                                              "call given up"};
  return names;
}

CoreSystem::CoreSystem(const CoreScope& scope) : scope_(scope) {
  // All else is one tick, so that within a lease an extension can fail and be tried again.
  options_.expiry = kLeaseTicks * kTick;
  options_.extension_cadence = kTick;
  options_.operation_timeout = kTick;
  options_.clock_margin = scope.margin_ticks * kTick;
  // From a tick to a tick: the pause has one length, whatever is drawn.
  options_.waiting = uniform_waiting(kTick, kTick);
}

std::uint32_t CoreSystem::keep(Actor actor) const {
  // Not all that is compared is mixed in: timers and what is awaited follow from the core's state,
  // mostly.
  std::size_t hash = mixed(actor.core.hash(), actor.drawn);
  hash = mixed(hash, static_cast<std::size_t>(actor.deadline.time_since_epoch().count()));
  hash = mixed(hash, actor.session << 8 | actor.waits_since << 3 | (actor.holds ? 1u : 0u) |
                         (actor.paused ? 2u : 0u) | (actor.crashed ? 4u : 0u));
  return actors_.keep(std::move(actor), hash);
}

std::uint32_t CoreSystem::keep(Message message) const {
  // What tells commands of one number apart. More would cost more than the comparisons it spares.
  const core::Command& command = *message.command;
  std::size_t hash = mixed(command.id, message.who * 4 + (message.fresh ? 1 : 0));
  const auto mix_text = [&hash](const std::string& text) {
    hash = mixed(hash, std::hash<std::string>()(text));
  };
  if (const auto* acquire = std::get_if<core::AcquireCommand>(&command.body)) {
    mix_text(acquire->lock_id);
    mix_text(acquire->observed.value_or(""));
  } else if (const auto* extend = std::get_if<core::ExtendCommand>(&command.body)) {
    mix_text(extend->statements[0].lock_id);
    hash = mixed(hash, static_cast<std::size_t>(extend->statements[0].token.value()));
    hash = mixed(hash, static_cast<std::size_t>(extend->statements[0].acquired_at.since_1970_ms));
  } else if (const auto* gone = std::get_if<core::DeleteCommand>(&command.body)) {
    hash = mixed(hash, gone->owner.low);
  }
  if (message.reply) {
    hash = mixed(hash, static_cast<std::size_t>(message.reply->operation_time.value()));
    hash = mixed(hash, static_cast<std::size_t>(message.reply->outcome));
    if (!message.reply->documents.empty()) mix_text(message.reply->documents[0].lock_id);
  }
  hash = mixed(hash, static_cast<std::size_t>(message.started_ms.value_or(0)));
  // 0 means "no message" in a state.
  return messages_.keep(std::move(message), hash) + 1;
}

std::uint32_t CoreSystem::keep(const Document& document) const {
  std::string bytes;
  if (document) {
    const simulated::Bytes encoded(*document);
    bytes.assign(reinterpret_cast<const char*>(bson_get_data(encoded.get())), encoded.get()->len);
  }
  // No document has no bytes, and is kept first: it is number 0.
  const auto next = static_cast<std::uint32_t>(documents_.size());
  const auto [at, fresh] = document_numbers_.emplace(std::move(bytes), next);
  if (fresh) documents_.push_back(document);
  return at->second;
}

const CoreSystem::Actor& CoreSystem::actor(const World& w, unsigned who) const {
  return actors_[w.actors[who]];
}

CoreSystem::State CoreSystem::first() const {
  World w;
  for (unsigned who = 0; who < 2; ++who) {
    Actor a;
    a.life = model::kOutside;
    a.asks_left = scope_.acquires[who];
    w.actors[who] = keep(a);
  }
  w.document = keep(Document());
  return pack(w);
}

CoreSystem::State CoreSystem::pack(const World& w) const {
  // Bits that are not set stay 0: equal worlds have equal words, by which states are compared.
  State s{};
  s[0] = w.actors[0] | std::uint64_t{w.actors[1]} << 32;
  s[1] = w.document | std::uint64_t{w.tick} << 24 | std::uint64_t{w.writes} << 30 |
         std::uint64_t{w.granted} << 38 | std::uint64_t{w.ahead} << 46 |
         std::uint64_t{w.broken} << 47 | std::uint64_t{w.fault_at} << 51 |
         std::uint64_t{w.written_at} << 57;
  s[2] = w.faults;
  auto messages = w.messages;
  // On their way they have no order. From the largest, so that free places (0) are last.
  std::sort(messages.numbers.begin(), messages.numbers.end(), std::greater<>());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    s[3 + i / 2] |= std::uint64_t{messages[i]} << (i % 2 * 32);
  }
  return s;
}

CoreSystem::World CoreSystem::unpack(const State& s) const {
  const auto bits = [&](unsigned from, unsigned count) {
    return static_cast<unsigned>(s[1] >> from & ((1u << count) - 1));
  };
  World w;
  w.actors = {static_cast<std::uint32_t>(s[0]), static_cast<std::uint32_t>(s[0] >> 32)};
  w.document = bits(0, 24);
  w.tick = bits(24, 6);
  w.writes = bits(30, 8);
  w.granted = bits(38, 8);
  w.ahead = bits(46, 1);
  w.broken = bits(47, 4);
  w.fault_at = bits(51, 6);
  w.written_at = bits(57, 6);
  w.faults = static_cast<unsigned>(s[2]);
  for (std::size_t i = 0; i < kMaxMessages; ++i) {
    const auto number = static_cast<std::uint32_t>(s[3 + i / 2] >> (i % 2 * 32));
    // They come sorted; a position is of this state only, and no step is named by it.
    if (number != kNoMessage) w.messages.push_back(number);
  }
  return w;
}

model::Judgement CoreSystem::judge(const State& state) const {
  return {.broken = kBroken[unpack(state).broken], .reached = seen_};
}

bool CoreSystem::spend(World& w, CoreFault fault) const {
  // Each kind once, which bounds the search. What the same fault twice would show is left out.
  const unsigned bit = 1u << static_cast<unsigned>(fault);
  const auto spent = static_cast<unsigned>(std::popcount(w.faults));
  if ((w.faults & bit) != 0 || (scope_.kinds & bit) == 0 || spent >= scope_.faults) return false;
  w.faults |= bit;
  w.fault_at = w.tick;
  return true;
}

void CoreSystem::emit(World to, const char* step, unsigned who, const char* text) const {
  // As `held()` answers: by the clock, whether the loss was reported or not. A paused holder
  // counts: it goes on where it was.
  const auto holds = [&](unsigned p) {
    const Actor& a = actor(to, p);
    return a.holds && !a.crashed && local(to.tick) < a.deadline;
  };
  if (to.broken == none && holds(0) && holds(1)) to.broken = g2;
  Found found{
      pack(to), {static_cast<std::uint8_t>(found_.size()), static_cast<std::uint8_t>(who)}, ""};
  // Only the few states of a counterexample are put in words.
  if (telling_) {
    found.text = std::to_string(to.tick * kTick.count()) + " ms  ";
    if (who < 2) found.text += "p" + std::to_string(who) + " ";
    found.text += step;
    if (*text != 0) found.text += std::string(" ") + text;
  }
  found_.push_back(std::move(found));
}

std::vector<std::string> CoreSystem::story(const std::vector<State>& path) const {
  telling_ = true;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    steps(path[i]);
    // Two steps may lead to one state; the text of either says how.
    const auto taken = std::find_if(found_.begin(), found_.end(),
                                    [&](const Found& f) { return f.to == path[i + 1]; });
    lines.push_back(taken->text);
  }
  telling_ = false;
  return lines;
}

}  // namespace leasehold::sim::explored
