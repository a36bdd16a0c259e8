#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "model/history/history.hpp"

/// What the slow checkers ask a history; every answer is looked for from its first event on.
namespace leasehold::properties {

constexpr double kMs = 1e6;  ///< in ns
constexpr double kForever = std::numeric_limits<double>::infinity();

using model::Event;
using model::Kind;
using Events = std::vector<const Event*>;

/// Times in which something stood still, in any order.
struct Delay {
  double from, to;
};
using Delays = std::vector<Delay>;

/// When something happened that was due, and late after `latest`; a process cared until `until`.
struct Bound {
  double due, latest, happened, until;
  Delays delays;
};

/// Of the world that a run happened in: what was disturbed, ran, and when what had to be over.
class WorldQuestions {
 public:
  explicit WorldQuestions(const model::History& h);

  template <typename Wanted>
  [[nodiscard]] Events all(const Wanted& wanted) const {
    Events found;
    for (const Event& e : h_) {
      if (wanted(e)) found.push_back(&e);
    }
    return found;
  }
  [[nodiscard]] const Events& all(Kind kind) const { return of_kind_[kind]; }
  template <typename Wanted>
  [[nodiscard]] const Event* first(const Wanted& wanted) const {
    for (const Event& e : h_) {
      if (wanted(e)) return &e;
    }
    return nullptr;
  }

  /// The first of this kind.
  template <typename Wanted>
  [[nodiscard]] const Event* first(Kind kind, const Wanted& wanted) const {
    const Events& those = all(kind);
    const auto found =
        std::find_if(those.begin(), those.end(), [&](const Event* e) { return wanted(*e); });
    return found == those.end() ? nullptr : *found;
  }

  /// What `make` finds, looked for once.
  template <typename Make>
  [[nodiscard]] const Delays& once(const std::string& what, const Make& make) const {
    const auto known = known_.find(what);
    return known != known_.end() ? known->second : known_.emplace(what, make()).first->second;
  }

  /// Of the session that this event belongs to.
  [[nodiscard]] const Event* of(const Event& session, Kind kind) const;
  /// What `held()` said there.
  [[nodiscard]] Events answers(const Event& session, const char* outcome) const;
  [[nodiscard]] Events attempts(const Event& session) const;

  // The world.
  [[nodiscard]] double finish() const { return finish_; }
  /// To its end: what it does not show did not happen.
  [[nodiscard]] bool oplog_read() const {
    return first([](const Event& e) { return e.kind == Kind::reread && e.outcome == "unread"; }) ==
           nullptr;
  }
  [[nodiscard]] double late() const { return late_; }
  [[nodiscard]] double lag() const { return lag_; }
  [[nodiscard]] double echo() const { return echo_; }
  /// From when a document is free for the TTL monitor until that was read: the monitor works as
  /// long as the truth is late; we read.
  [[nodiscard]] double ttl_pass() const { return ttl_ + 2 * lag_; }
  /// When faults, their echoes included, or a missing majority disturbed the servers.
  [[nodiscard]] Delays disturbances() const;
  /// The same of the links of this process.
  [[nodiscard]] Delays link_faults(const std::string& process) const;
  [[nodiscard]] Delays clock_faults() const;
  /// When no TTL monitor ran, and the pass after it.
  [[nodiscard]] Delays ttl_away() const;
  /// When the machine stood still, or also a member.
  [[nodiscard]] Delays stalls(bool by_members) const;
  /// When this process did not run.
  [[nodiscard]] Delays away(const std::string& process) const;
  /// When it waited for servers or links to answer.
  [[nodiscard]] Delays slow(const std::string& process) const;
  /// What its own doings, and what its commands wait for.
  [[nodiscard]] Delays of_process(const std::string& process) const;
  [[nodiscard]] Delays of_servers(const std::string& process) const;
  /// Whether a command of it that ended then ended in vain because of these.
  [[nodiscard]] bool explained(const std::string& process, double end) const;
  [[nodiscard]] bool ran(const std::string& process, double from, double to) const;
  [[nodiscard]] double last_sign(const std::string& process) const;
  [[nodiscard]] double alive_until(const std::string& process) const;
  /// The same; one that ended by itself did so with its last sign.
  [[nodiscard]] double runs_until(const std::string& process) const;
  /// Later than it had to be, and by more than the machine stood still while a process cared.
  [[nodiscard]] bool broken(const Bound& b) const;
  /// A span of this caller's clock by the harness's. One with an unknown rate may be as slow as
  /// the lock allows for.
  [[nodiscard]] double own_time(const Event& ask, double ns) const;

 protected:
  const model::History& h_;

 private:
  /// When a fault is over, of one that lasts its end; without its echo.
  [[nodiscard]] double end_of(const Event& fault) const;
  template <typename Wanted>
  [[nodiscard]] Delays faults(double echo, const Wanted& wanted) const;
  [[nodiscard]] bool is_process(const std::string& name) const;

  /// What began before the process did, or after its death, does not delay it.
  [[nodiscard]] Delays in_its_life(const std::string& process, Delays delays) const;

  mutable std::map<std::string, Delays> known_;
  mutable std::map<Kind, Events> of_kind_;
  double finish_ = kForever;
  double late_ = 400 * kMs, ttl_ = 1'000 * kMs, lag_ = 1'000 * kMs, echo_ = 3'000 * kMs,
         unreported_ = 3'000 * kMs;
};

/// How long `latest` is put off by what stood still from `due` on, each moment once.
[[nodiscard]] double put_off(Delays delays, double due, double latest);
[[nodiscard]] bool meets(const Delays& delays, double from, double to);
/// How much of the time from `from` to `to` these took, each moment once.
[[nodiscard]] double taken(const Delays& all, double from, double to);
[[nodiscard]] Delays together(std::initializer_list<Delays> all);


/// Never, if there is no such event.
inline double at(const Event* e) { return e == nullptr ? kForever : static_cast<double>(e->at_ns); }
inline bool same_session(const Event& a, const Event& b) {
  return a.process == b.process && a.session == b.session;
}
inline bool done(const Event* reply) { return reply != nullptr && reply->outcome == "done"; }
/// It is unknown what its command did.
inline bool unanswered(const Event* reply) {
  return reply == nullptr || reply->outcome == "unknown";
}

/// Then or later a user asked for the first time, as far as these answers say.
inline std::int64_t first_asked_ns(const Event& held) {
  const auto asked = held.outcome == "yes" ? held.last_asked_ns : held.first_asked_ns;
  return std::min(asked, held.first_answered_ns);
}

inline double whole_lease(const Event& ask) { return static_cast<double>(ask.expiry_ms) * kMs; }

/// What the holder may use of its lease, by its own clock: it stops earlier by the drift.
inline double own_lease(const Event& ask) {
  return static_cast<double>(ask.expiry_ms) * kMs *
         (1 - static_cast<double>(ask.max_drift_ppm) / 1e6);
}

}  // namespace leasehold::properties
