#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "model/digest.hpp"

/// What the monitors remember of the commands that they have seen so far. All texts are those of
/// the history's own events.
namespace leasehold::model {

/// A process and a number of its own (a session, a command), or two texts.
template <typename Second>
struct KeyHash {
  std::size_t operator()(const std::pair<std::string_view, Second>& key) const {
    return std::hash<std::string_view>{}(key.first) * 31 + std::hash<Second>{}(key.second);
  }
};
template <typename Second, typename T>
using ByKey = std::unordered_map<std::pair<std::string_view, Second>, T, KeyHash<Second>>;

/// The sending by which an owner ended.
struct Farewell {
  Index send = kNone;
  bool passed_on = false;  ///< one of its releases may have given the lock to whoever queued
};

class Commands {
 public:
  explicit Commands(const Digest& d) : d_(d) {}

  /// After all rules have looked at the event.
  void see(Index i, const Event& e) {
    if (e.kind == Kind::ask) asks_[{e.process, e.session}] = i;
    if (e.kind != Kind::send) return;
    if (!e.lock_id.empty()) senders_.emplace(e.lock_id, i);
    if (e.verb == "hand-over") end(e.giver.str(), i, false);
    if (!leaves_lock(e)) return;
    end(e.owner, i, e.verb == "pass-on");
    if (!e.also_owner.empty()) end(e.also_owner.str(), i, e.verb == "pass-on");
  }

  /// Who first sent a command that writes this lockId; null: nobody so far.
  [[nodiscard]] const Event* sender(std::string_view lock_id) const {
    const auto found = senders_.find(lock_id);
    return found == senders_.end() ? nullptr : &d_.at(found->second);
  }
  [[nodiscard]] Index sending(std::string_view lock_id) const {
    const auto found = senders_.find(lock_id);
    return found == senders_.end() ? kNone : found->second;
  }
  /// The acquire call of this session's event; null: not seen.
  [[nodiscard]] const Event* ask(const Event& of_session) const {
    const auto found = asks_.find({of_session.process, of_session.session});
    return found == asks_.end() ? nullptr : &d_.at(found->second);
  }
  [[nodiscard]] const Farewell* farewell(std::string_view owner) const {
    const auto found = ended_.find(owner);
    return found == ended_.end() ? nullptr : &found->second;
  }

 private:
  void end(std::string_view owner, Index send, bool passed_on) {
    Farewell& farewell = ended_.emplace(owner, Farewell{send}).first->second;
    farewell.passed_on |= passed_on;
  }

  const Digest& d_;
  std::unordered_map<std::string_view, Index> senders_;  ///< by lockId
  ByKey<std::int64_t, Index> asks_;                      ///< by process and session
  std::unordered_map<std::string_view, Farewell> ended_;
};

/// The owner in a lockId, as a part of it.
[[nodiscard]] inline std::string_view owner_in(std::string_view lock_id) {
  return lock_id.substr(0, lock_id.find('.'));
}

}  // namespace leasehold::model
