#include "properties/guided/abstract_states.hpp"

#include <algorithm>
#include <array>

namespace leasehold::properties {
namespace {

using model::Event;
using model::Kind;

/// FNV-1a, folded to 16 bits.
class Number {
 public:
  void add(std::size_t value) {
    hash_ = (hash_ ^ value) * 0x100000001B3u;
  }
  [[nodiscard]] std::uint16_t get() const {
    return static_cast<std::uint16_t>(hash_ ^ hash_ >> 16 ^ hash_ >> 32 ^ hash_ >> 48);
  }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325u;
};

std::size_t up_to_two(std::size_t count) { return std::min<std::size_t>(count, 2); }

/// The words of a reply, numbered from 1.
std::uint8_t number_of(const std::string& outcome) {
  static constexpr std::array kWords{"done", "unknown", "failed_before", "duplicate_key",
                                     "configuration"};
  const auto found = std::find(kWords.begin(), kWords.end(), outcome);
  return static_cast<std::uint8_t>(found - kWords.begin() + 1);
}

}  // namespace

std::set<std::uint16_t> AbstractStates::of(const model::History& history) {
  AbstractStates states;
  std::set<std::uint16_t> reached;
  for (const Event& e : history) {
    states.take(e);
    const auto lock = states.locks_.find(e.name);
    if (lock != states.locks_.end()) {
      reached.insert(states.number(lock->second, e.kind));
      continue;
    }
    // It has no name, or befalls many locks: what they are in is new by what befell them.
    const bool befalls = e.kind == Kind::crash || e.kind == Kind::pause || e.kind == Kind::fault;
    for (const auto& [name, one] : states.locks_) {
      if (befalls) reached.insert(states.number(one, e.kind));
    }
  }
  return reached;
}

void AbstractStates::take(const Event& e) {
  const auto call = std::pair(e.process, e.session);
  switch (e.kind) {
    case Kind::ask: locks_[e.name].waiting.insert(call); break;
    case Kind::send: {
      auto& lock = locks_[e.name];
      process_of_[e.owner] = e.process;
      if (!model::asks_for_lock(e) && !model::leaves_lock(e)) break;
      sent_[{e.process, e.command}] = {e.name, model::asks_for_lock(e)};
      ++(model::asks_for_lock(e) ? lock.asking : lock.leaving);
      break;
    }
    case Kind::reply: take_reply(e); break;
    case Kind::granted:
      locks_[e.name].waiting.erase(call);
      locks_[e.name].holding.insert(call);
      break;
    case Kind::lost:
    case Kind::release: locks_[e.name].holding.erase(call); break;
    case Kind::ended: locks_[e.name].waiting.erase(call); break;
    case Kind::put: {
      auto& lock = locks_[e.name];
      lock.owner = e.owner;
      const auto process = process_of_.find(e.owner);
      const bool dead = process != process_of_.end() && dead_.contains(process->second);
      lock.document = dead ? Document::of_dead : Document::of_live;
      break;
    }
    case Kind::gone: locks_[e.name].document = Document::none; break;
    case Kind::crash: bury(e.process); break;
    case Kind::pause: stopped_.insert(e.process); break;
    case Kind::resume: stopped_.erase(e.process); break;
    case Kind::fault: faults_ += e.begins ? 1 : e.ends ? -1 : 0; break;
    default: break;
  }
}

void AbstractStates::take_reply(const Event& e) {
  const auto sent = sent_.find({e.process, e.command});
  if (sent == sent_.end()) return;
  auto& lock = locks_[sent->second.name];
  --(sent->second.asks ? lock.asking : lock.leaving);
  lock.last_reply = number_of(e.outcome);
  sent_.erase(sent);
}

void AbstractStates::bury(const std::string& process) {
  dead_.insert(process);
  stopped_.erase(process);
  const auto is_its = [&](const auto& call) { return call.first == process; };
  for (auto& [name, lock] : locks_) {
    std::erase_if(lock.waiting, is_its);
    std::erase_if(lock.holding, is_its);
    const auto owner = process_of_.find(lock.owner);
    const bool had_it = owner != process_of_.end() && owner->second == process;
    if (had_it && lock.document == Document::of_live) lock.document = Document::of_dead;
  }
}

std::uint16_t AbstractStates::number(const Lock& lock, Kind by) const {
  const bool stopped =
      std::any_of(lock.holding.begin(), lock.holding.end(),
                  [this](const auto& call) { return stopped_.contains(call.first); });
  Number number;
  number.add(static_cast<std::size_t>(lock.document));
  number.add(up_to_two(lock.waiting.size()));
  number.add(up_to_two(lock.holding.size()));
  number.add(up_to_two(static_cast<std::size_t>(std::max(lock.asking, 0))));
  number.add(up_to_two(static_cast<std::size_t>(std::max(lock.leaving, 0))));
  number.add(stopped ? 1 : 0);
  number.add(lock.last_reply);
  number.add(up_to_two(static_cast<std::size_t>(std::max(faults_, 0))));
  number.add(static_cast<std::size_t>(by));
  return number.get();
}

}  // namespace leasehold::properties
