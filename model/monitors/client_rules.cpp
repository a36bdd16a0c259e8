#include <limits>
#include <map>
#include <utility>

#include "model/monitors/monitor.hpp"
#include "model/spec/rules.hpp"

/// The rules of clients: they check what a process sends, receives and counts on.
namespace leasehold::model {
namespace {

/// A process's time is converted to the harness's, so each end of a span may be a grain off.
constexpr std::int64_t kRounding = 2'000;

/// How long a span of a clock with this rate error takes by the harness's clock.
std::int64_t true_span(std::int64_t local_ns, std::int64_t rate_ppm) {
  constexpr std::int64_t kMillion = 1'000'000;
  return static_cast<std::int64_t>(static_cast<__int128>(local_ns) * kMillion /
                                   (kMillion + rate_ppm));
}

/// The clock of each process.
class ProcessClocks {
 public:
  explicit ProcessClocks(const Digest& d) : d_(d), clocks_(d.facts.processes.size()) {}

  void see(Index i, const Fact& e) {
    if (e.kind != Kind::start && e.kind != Kind::pause && e.kind != Kind::resume) return;
    const Event& event = d_.at(i);
    Clock& clock = clocks_[e.process];
    if (e.kind == Kind::start) clock.rate_ppm = event.clock_drift_ppm;
    if (!event.suspended) return;
    if (e.kind == Kind::pause) clock.stood_until_ns = kNever;
    if (e.kind == Kind::resume) clock.stood_until_ns = e.at_ns;
  }
  [[nodiscard]] std::int64_t rate_ppm(Id process) const { return clocks_[process].rate_ppm; }
  /// Whether the process was paused then or later: a pause distorts its spans.
  [[nodiscard]] bool stood_since(Id process, std::int64_t at_ns) const {
    return clocks_[process].stood_until_ns >= at_ns;
  }

 private:
  struct Clock {
    std::int64_t rate_ppm = 0;
    std::int64_t stood_until_ns = std::numeric_limits<std::int64_t>::min();
  };
  const Digest& d_;
  std::vector<Clock> clocks_;
};

/// "A lockId names one execution of one command, for ever."
class UniqueLockId final : public Monitor {
 public:
  explicit UniqueLockId(const Digest& d)
      : Monitor(Check::unique_lock_id, {Kind::send}), d_(d) {}

  void see(Index i, const Fact& e, const Commands& commands) override {
    if (e.lock_id == kNoText) return;
    ++found.checked;
    const Index before = commands.sending(e.lock_id);
    if (before == kNone) return;
    violate(found, command_of(d_.at(i)) + " writes the lockId of an earlier command", {before, i});
  }

 private:
  const Digest& d_;
};

/// "A deadline is at most a lease, less the drift, after the sending of an acknowledged write."
class Deadline final : public Monitor {
 public:
  explicit Deadline(const Digest& d)
      : Monitor(Check::deadline, {Kind::start, Kind::pause, Kind::resume, Kind::reply,
                                  Kind::granted, Kind::extended}),
        d_(d),
        clocks_(d),
        replies_(d.facts.commands.size(), kNone),
        until_(d.sessions.size()) {}

  void see(Index i, const Fact& e, const Commands& commands) override {
    clocks_.see(i, e);
    if (e.kind == Kind::reply) replies_[e.command] = i;
    if (e.kind == Kind::granted || e.kind == Kind::extended) look_at(i, e, commands);
  }

 private:
  void look_at(Index i, const Fact& e, const Commands& commands) {
    std::int64_t& until = until_[e.session];
    const auto before = std::exchange(until, std::max(until, e->deadline_ns));
    const Index sent = commands.sending(e.lock_id);
    const Event* ask = commands.ask(e.session);
    if (sent == kNone || ask == nullptr) return;  // without its command the history is not whole
    const Fact& send = d_.fact(sent);
    if (clocks_.stood_since(e.process, send.at_ns)) return;
    ++found.checked;
    if (e.verb != Verb::pass_on && !acknowledged(send)) {
      violate(found,
              command_of(d_.at(sent)) + " counts as " + to_string(e.kind) +
                  " without a reply that acknowledges its write",
              {sent, replies_[send.command], i});
      return;
    }
    const auto span = rules::holder_span(ask->expiry_ms * kMs,
                                         rules::drift_ns(ask->expiry_ms, ask->max_drift_ppm));
    const auto latest =
        rules::deadline(send.at_ns, true_span(span, clocks_.rate_ppm(e.process))) + kRounding;
    if (e->deadline_ns <= latest || e->deadline_ns <= before) return;
    violate(found,
            command_of(d_.at(sent)) + " gives a deadline " +
                std::to_string(e->deadline_ns - latest) +
                " ns later than a lease, less the drift, after its sending",
            {sent, i});
  }

  /// For an extension: one of its statements matched; a read may have shown the owner.
  bool acknowledged(const Fact& send) const {
    const Index reply = replies_[send.command];
    return reply != kNone && d_.fact(reply).outcome == Outcome::done && d_.at(reply).matched > 0;
  }

  const Digest& d_;
  ProcessClocks clocks_;
  std::vector<Index> replies_;       ///< by command
  std::vector<std::int64_t> until_;  ///< by session: the deadline so far
};

/// "A holder is presumed dead only a whole lease, and the drift, after a reply first showed its
/// lockId": the lease of the writer of that lockId, the drift of the presuming process.
class PresumedDead final : public Monitor {
 public:
  explicit PresumedDead(const Digest& d)
      : Monitor(Check::presumed_dead, {Kind::start, Kind::pause, Kind::resume, Kind::put,
                                       Kind::reply, Kind::send}),
        d_(d),
        clocks_(d),
        last_sights_(d.facts.processes.size(), kNoText) {}

  void see(Index i, const Fact& e, const Commands& commands) override {
    clocks_.see(i, e);
    // A history with dates also has the lockId that each attempt observed.
    if (e.kind == Kind::put) require_dates(*e.event, found);
    if (e.kind == Kind::reply && e.lock_id != kNoText) note_sight(i, e);
    if (e.kind != Kind::send || e.verb != Verb::acquire) return;
    ++found.checked;  // presuming no holder dead is never wrong
    if (e.observed != kNoText) look_at(i, e, commands);
  }

 private:
  /// Most replies show what the one before showed.
  void note_sight(Index i, const Fact& reply) {
    if (std::exchange(last_sights_[reply.process], reply.lock_id) == reply.lock_id) return;
    sights_.insert({{reply.process, reply.lock_id}, i});
  }

  void look_at(Index i, const Fact& e, const Commands& commands) {
    ++found.counts["presumed_dead"];
    const auto seen = sights_.find({e.process, e.observed});
    if (seen == sights_.end()) {
      violate(found, command_of(d_.at(i)) + " presumes a holder dead that it has never seen", {i});
      return;
    }
    const Index holder = commands.sending(e.observed);
    const Event* holders = holder == kNone ? nullptr : commands.ask(d_.fact(holder).session);
    const Event* ask = commands.ask(e.session);
    if (holders == nullptr || ask == nullptr) return;  // the lease of another client is not known
    const auto span = rules::observer_span(
        holders->expiry_ms * kMs, rules::drift_ns(holders->expiry_ms, ask->max_drift_ppm));
    const auto needed = true_span(span, clocks_.rate_ppm(e.process)) - kRounding;
    const auto seen_at = d_.fact(seen->second).at_ns;
    if (rules::is_presumed_dead(seen_at, needed, e.at_ns)) return;
    const auto waited = e.at_ns - seen_at;
    violate(found,
            command_of(d_.at(i)) + " presumes a holder dead " + std::to_string(needed - waited) +
                " ns too early",
            {holder, seen->second, i});
  }

  const Digest& d_;
  ProcessClocks clocks_;
  std::map<std::pair<Id, Id>, Index> sights_;  ///< by process and lockId: the first
  std::vector<Id> last_sights_;                ///< by process
};

/// "After its delete, pass-on or hand-over was sent an owner asks for nothing and holds nothing."
class EndedOwner final : public Monitor {
 public:
  explicit EndedOwner(const Digest& d)
      : Monitor(Check::ended_owner, {Kind::send, Kind::granted, Kind::extended, Kind::held}),
        d_(d),
        owners_(d.sessions.size(), kNone) {}

  void see(Index i, const Fact& e, const Commands& commands) override {
    if (e.kind == Kind::send) {
      if (asks_for_lock(e) || e.verb == Verb::extend) look_at(i, commands.farewell(e.owner));
    } else if (e.kind == Kind::granted) {
      owners_[e.session] = e.owner;
      look_at(i, commands.farewell(e.owner));
    } else if (e.kind == Kind::extended) {
      look_at(i, farewell_of(e, commands));
    } else if (e.outcome == Outcome::yes) {
      const Farewell* ended = farewell_of(e, commands);
      // A process may ask held() later by the lateness that is allowed.
      const bool since = ended != nullptr &&
                         e->last_asked_ns > d_.fact(ended->send).at_ns + d_.allowed.lateness_ns;
      look_at(i, since ? ended : nullptr);
    }
  }

 private:
  void look_at(Index i, const Farewell* ended) {
    ++found.checked;
    if (ended == nullptr) return;
    violate(found, what(d_.at(i)) + " whose " + d_.at(ended->send).verb + " was sent before",
            {ended->send, i});
  }

  const Farewell* farewell_of(const Fact& e, const Commands& commands) const {
    const Id owner = owners_[e.session];
    return owner == kNone ? nullptr : commands.farewell(owner);
  }
  static std::string what(const Event& e) {
    if (e.kind == Kind::send) return command_of(e) + " is of an owner";
    const auto whose =
        "lock '" + e.name + "' of " + e.process + " (session " + std::to_string(e.session) + ')';
    return whose + (e.kind == Kind::granted    ? " is granted to an owner"
                    : e.kind == Kind::extended ? " is extended for an owner"
                                               : " is held by an owner");
  }

  const Digest& d_;
  std::vector<Id> owners_;  ///< by session; kNone: without a grant
};

}  // namespace

void add_client_rules(Monitors& monitors, const Digest& d) {
  monitors.push_back(std::make_unique<UniqueLockId>(d));
  monitors.push_back(std::make_unique<Deadline>(d));
  monitors.push_back(std::make_unique<PresumedDead>(d));
  monitors.push_back(std::make_unique<EndedOwner>(d));
}

}  // namespace leasehold::model
