#include <limits>

#include "model/monitors/monitor.hpp"

/// The rules of clients: they look at what a process sends, hears and counts on.
namespace leasehold::model {
namespace {

/// Of a process's time, converted to the harness's: each end of a span may be a grain off.
constexpr std::int64_t kRounding = 2'000;

/// How long a span of a clock that runs so much fast takes by the harness's.
std::int64_t true_span(std::int64_t local_ns, std::int64_t rate_ppm) {
  constexpr std::int64_t kMillion = 1'000'000;
  return static_cast<std::int64_t>(static_cast<__int128>(local_ns) * kMillion /
                                   (kMillion + rate_ppm));
}

std::int64_t drift_ns(std::int64_t lease_ms, const Event& ask) {
  return lease_ms * ask.max_drift_ppm;  // ms * ppm = ns
}

/// The clock of each process.
class ProcessClocks {
 public:
  void see(const Event& e) {
    if (e.kind == Kind::start) clocks_[e.process].rate_ppm = e.clock_drift_ppm;
    if (!e.suspended) return;
    if (e.kind == Kind::pause) clocks_[e.process].stood_until_ns = kNever;
    if (e.kind == Kind::resume) clocks_[e.process].stood_until_ns = e.at_ns;
  }
  [[nodiscard]] std::int64_t rate_ppm(const std::string& process) const {
    const auto found = clocks_.find(process);
    return found == clocks_.end() ? 0 : found->second.rate_ppm;
  }
  /// Whether it stood still then or later: its spans are not the harness's.
  [[nodiscard]] bool stood_since(const std::string& process, std::int64_t at_ns) const {
    const auto found = clocks_.find(process);
    return found != clocks_.end() && found->second.stood_until_ns >= at_ns;
  }

 private:
  struct Clock {
    std::int64_t rate_ppm = 0;
    std::int64_t stood_until_ns = std::numeric_limits<std::int64_t>::min();
  };
  std::unordered_map<std::string_view, Clock> clocks_;
};

/// "A lockId names one execution of one command, for ever."
class UniqueLockId final : public Monitor {
 public:
  UniqueLockId() : Monitor(Guarantee::unique_lock_id) {}

  void see(Index i, const Event& e, const Commands& commands) override {
    if (e.kind != Kind::send || e.lock_id.empty()) return;
    ++found.checked;
    const Index before = commands.sending(e.lock_id);
    if (before == kNone) return;
    violate(found, command_of(e) + " writes the lockId of an earlier command", {before, i});
  }
};

/// "A deadline is at most a lease, less the drift, after the sending of an acknowledged write."
class Deadline final : public Monitor {
 public:
  explicit Deadline(const Digest& d) : Monitor(Guarantee::deadline), d_(d) {}

  void see(Index i, const Event& e, const Commands& commands) override {
    clocks_.see(e);
    if (e.kind == Kind::reply) replies_[{e.process, e.command}] = i;
    if (e.kind == Kind::granted || e.kind == Kind::extended) look_at(i, e, commands);
  }

 private:
  void look_at(Index i, const Event& e, const Commands& commands) {
    std::int64_t& until = until_[{e.process, e.session}];
    const auto before = std::exchange(until, std::max(until, e.deadline_ns));
    const Index sent = commands.sending(e.lock_id);
    const Event* ask = commands.ask(e);
    if (sent == kNone || ask == nullptr) return;  // no write of it: the history is not whole
    const Event& send = d_.at(sent);
    if (clocks_.stood_since(e.process, send.at_ns)) return;
    ++found.checked;
    if (e.verb != "pass-on" && !acknowledged(send)) {
      violate(found,
              command_of(send) + " counts as " + to_string(e.kind) +
                  " without a reply that acknowledges its write",
              {sent, reply_to(send), i});
      return;
    }
    const auto lease = ask->expiry_ms * kMs - drift_ns(ask->expiry_ms, *ask);
    const auto latest = send.at_ns + true_span(lease, clocks_.rate_ppm(e.process)) + kRounding;
    if (e.deadline_ns <= latest || e.deadline_ns <= before) return;
    violate(found,
            command_of(send) + " gives a deadline " + std::to_string(e.deadline_ns - latest) +
                " ns later than a lease, less the drift, after its sending",
            {sent, i});
  }

  Index reply_to(const Event& send) const {
    const auto reply = replies_.find({send.process, send.command});
    return reply == replies_.end() ? kNone : reply->second;
  }
  /// Of an extension: that one of the statements matched; a read may have shown whose.
  bool acknowledged(const Event& send) const {
    const Index reply = reply_to(send);
    return reply != kNone && d_.at(reply).outcome == "done" && d_.at(reply).matched > 0;
  }

  const Digest& d_;
  ProcessClocks clocks_;
  ByKey<std::int64_t, Index> replies_;       ///< by process and command
  ByKey<std::int64_t, std::int64_t> until_;  ///< by process and session: the deadline so far
};

/// "A holder is presumed dead only a whole lease, and the drift, after a reply first showed its
/// lockId": the lease of whoever wrote that, the drift of who presumes it.
class PresumedDead final : public Monitor {
 public:
  explicit PresumedDead(const Digest& d) : Monitor(Guarantee::presumed_dead), d_(d) {}

  void see(Index i, const Event& e, const Commands& commands) override {
    clocks_.see(e);
    // Whoever wrote down dates also wrote down whom an attempt observed.
    if (e.kind == Kind::put) require_dates(e, found);
    if (e.kind == Kind::reply && !e.seen_lock_id.empty()) {
      const std::string_view process = e.process, seen = e.seen_lock_id.str();
      sights_.emplace(std::pair{process, seen}, i);
    }
    if (e.kind != Kind::send || e.verb != "acquire") return;
    ++found.checked;  // one that presumes nobody dead is right to
    if (!e.observed_lock_id.empty()) look_at(i, e, commands);
  }

 private:
  void look_at(Index i, const Event& e, const Commands& commands) {
    ++found.counts["presumed_dead"];
    const std::string_view observed = e.observed_lock_id.str();
    const auto sight = sights_.find({e.process, observed});
    const Index seen = sight == sights_.end() ? kNone : sight->second;
    if (seen == kNone) {
      violate(found, command_of(e) + " presumes a holder dead whom it has never seen", {i});
      return;
    }
    const Event* holder = commands.sender(observed);
    const Event* holders = holder == nullptr ? nullptr : commands.ask(*holder);
    const Event* ask = commands.ask(e);
    if (holders == nullptr || ask == nullptr) return;  // of another client, whose lease nobody said
    const auto lease = holders->expiry_ms * kMs + drift_ns(holders->expiry_ms, *ask);
    const auto needed = true_span(lease, clocks_.rate_ppm(e.process)) - kRounding;
    const auto waited = e.at_ns - d_.at(seen).at_ns;
    if (waited >= needed) return;
    violate(found,
            command_of(e) + " presumes a holder dead " + std::to_string(needed - waited) +
                " ns too early",
            {commands.sending(observed), seen, i});
  }

  const Digest& d_;
  ProcessClocks clocks_;
  ByKey<std::string_view, Index> sights_;  ///< by process and lockId: the first
};

/// "After its delete, pass-on or hand-over was sent an owner asks for nothing and holds nothing."
class EndedOwner final : public Monitor {
 public:
  explicit EndedOwner(const Digest& d) : Monitor(Guarantee::ended_owner), d_(d) {}

  void see(Index i, const Event& e, const Commands& commands) override {
    const bool asks = e.kind == Kind::send && (asks_for_lock(e) || e.verb == "extend");
    if (asks) {
      look_at(i, commands.farewell(e.owner), command_of(e) + " is of an owner");
    } else if (e.kind == Kind::granted) {
      owners_[{e.process, e.session}] = e.owner;
      look_at(i, commands.farewell(e.owner), whose(e) + " is granted to an owner");
    } else if (e.kind == Kind::extended) {
      look_at(i, farewell_of(e, commands), whose(e) + " is extended for an owner");
    } else if (e.kind == Kind::held && e.outcome == "yes") {
      const Farewell* ended = farewell_of(e, commands);
      // Who is asked is no later than a process may be.
      const bool since = ended != nullptr &&
                         e.last_asked_ns > d_.at(ended->send).at_ns + d_.allowed.lateness_ns;
      look_at(i, since ? ended : nullptr, whose(e) + " is held by an owner");
    }
  }

 private:
  void look_at(Index i, const Farewell* ended, const std::string& what) {
    ++found.checked;
    if (ended == nullptr) return;
    violate(found, what + " whose " + d_.at(ended->send).verb + " was sent before",
            {ended->send, i});
  }

  const Farewell* farewell_of(const Event& e, const Commands& commands) const {
    const auto owner = owners_.find({e.process, e.session});
    return owner == owners_.end() ? nullptr : commands.farewell(owner->second);
  }
  static std::string whose(const Event& e) {
    return "lock '" + e.name + "' of " + e.process + " (session " + std::to_string(e.session) + ')';
  }

  const Digest& d_;
  ByKey<std::int64_t, std::string_view> owners_;  ///< by process and session
};

}  // namespace

void add_client_rules(Monitors& monitors, const Digest& d) {
  monitors.push_back(std::make_unique<UniqueLockId>());
  monitors.push_back(std::make_unique<Deadline>(d));
  monitors.push_back(std::make_unique<PresumedDead>(d));
  monitors.push_back(std::make_unique<EndedOwner>(d));
}

}  // namespace leasehold::model
