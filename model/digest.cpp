#include "model/digest.hpp"

#include <algorithm>
#include <deque>

#include "model/lock_rules.hpp"

namespace leasehold::model {
namespace {

using CommandKey = std::pair<std::string, std::int64_t>;

class Builder {
 public:
  explicit Builder(const History& history) { out_.history = &history; }

  void add(Index i, const Event& e) {
    const bool own = !e.process.empty() && e.kind != Kind::stored && e.kind != Kind::crash &&
                     e.kind != Kind::exit;
    if (own) process(e).last_ns = std::max(process(e).last_ns, e.at_ns);
    // A stall is noticed, and what was sent is counted, also when the lock is gone already.
    const bool of_lock = own && e.kind != Kind::wire && e.kind != Kind::stall;
    if (of_lock) process(e).lock_ran_until_ns = std::max(process(e).lock_ran_until_ns, e.at_ns);
    switch (e.kind) {
      case Kind::start:
        process(e).start = i;
        process(e).rate_ppm = e.clock_drift_ppm;
        break;
      case Kind::crash: process(e).crash = i; break;
      case Kind::exit:
        if (!e.process.empty()) process(e).crash = i;
        break;
      case Kind::pause: paused_[e.process] = e.at_ns; break;
      case Kind::resume: end_pause(e); break;
      case Kind::stall:
        (e.process.empty() ? out_.stalls : process(e).away).push_back({e.from_ns, e.at_ns});
        break;
      case Kind::wire: process(e).wire[e.verb] += e.count; break;
      case Kind::fault: add_fault(e); break;
      case Kind::heal: out_.healed_ns = e.at_ns; break;
      case Kind::finish: out_.finished_ns = e.at_ns; break;
      case Kind::ask:
        session(e).ask = i;
        process(e).timeout_ms = std::max(process(e).timeout_ms, e.operation_timeout_ms);
        break;
      case Kind::send: add_send(i, e); break;
      case Kind::reply: add_reply(i, e); break;
      case Kind::granted: session(e).granted = i; break;
      case Kind::extended: session(e).extended.push_back(i); break;
      case Kind::lost: session(e).lost = i; break;
      case Kind::held: add_answer(i, e, session(e).answers); break;
      case Kind::notified: session(e).notified = i; break;
      case Kind::release: session(e).release = i; break;
      case Kind::released: session(e).released = i; break;
      case Kind::ended: session(e).ended = i; break;
      case Kind::write: out_.writes.push_back(i); break;
      case Kind::put: out_.truth[e.name].push_back({i, false}); break;
      case Kind::gone: out_.truth[e.name].push_back({i, true}); break;
      case Kind::stored: out_.stored.push_back(i); break;
      case Kind::protocol: process(e).crash = i; break;  // it is ended for that
      case Kind::reread: break;
      case Kind::run: begin(e); break;
    }
  }

  Digest finish() {
    for (const auto& [name, from] : paused_) out_.processes[name].away.push_back({from, kNever});
    const auto by_order = [this](Index a, Index b) { return out_.at(a).order < out_.at(b).order; };
    std::stable_sort(out_.stored.begin(), out_.stored.end(), by_order);
    for (auto& [name, changes] : out_.truth) {
      std::stable_sort(changes.begin(), changes.end(), [&](const Change& a, const Change& b) {
        return by_order(a.event, b.event);
      });
    }
    for (auto& [key, session] : out_.sessions) set_over(key.first, session);
    for (auto& [lock_id, send] : out_.writers) send.reply = reply_to(send.send);
    for (auto* by_owner : {&out_.deletes, &out_.hand_overs}) {
      for (auto& [owner, sends] : *by_owner) {
        for (auto& send : sends) send.reply = reply_to(send.send);
      }
    }
    return std::move(out_);
  }

 private:
  ProcessDigest& process(const Event& e) { return out_.processes[e.process]; }
  SessionDigest& session(const Event& e) { return out_.sessions[{e.process, e.session}]; }

  void begin(const Event& e) {
    const auto lock = lock_named(e.lock.str());
    out_.of_a_document = lock && *lock != Lock::leasehold;
    if (e.ttl_period_ms == 0) return;
    out_.allowed = {e.lateness_ns, e.ttl_period_ms * kMs, e.truth_lag_ns, e.fault_echo_ms * kMs};
  }

  static void add_answer(Index i, const Event& e, Answers& a) {
    const bool yes = e.outcome == "yes";
    const auto first_asked = yes ? e.last_asked_ns : e.first_asked_ns;
    a.first_ns = std::min({a.first_ns, first_asked, e.first_answered_ns});
    if (!yes) {
      a.no += e.count;
      if (e.first_answered_ns >= a.first_no_ns) return;
      a.first_no_ns = e.first_answered_ns;
      a.denied = i;
      return;
    }
    a.yes += e.count;
    if (e.first_answered_ns < a.first_yes_ns) {
      a.first_yes_ns = e.first_answered_ns;
      a.first = i;
    }
    if (e.last_asked_ns > a.last_yes_ns) {
      a.last_yes_ns = e.last_asked_ns;
      a.last = i;
    }
  }

  void end_pause(const Event& e) {
    const auto began = paused_.find(e.process);
    if (began == paused_.end()) return;
    process(e).away.push_back({began->second, e.at_ns});
    paused_.erase(began);
  }

  /// One that lasts disturbs the servers until it ends. Of two of one kind on one victim each has
  /// an end of its own.
  void add_fault(const Event& e) {
    out_.clocks_moved = out_.clocks_moved || e.fault.str().starts_with("clock");
    auto& begun = lasting_[{e.fault, e.victim}];
    if (e.ends && !begun.empty()) {
      out_.faulty[begun.front()].to = e.at_ns + out_.allowed.fault_echo_ns;
      begun.pop_front();
      return;
    }
    if (e.begins) begun.push_back(out_.faulty.size());
    out_.faulty.push_back({e.at_ns, e.at_ns + out_.allowed.fault_echo_ns});
  }

  void add_send(Index i, const Event& e) {
    if (last_counted_ != CommandKey{e.process, e.command}) {
      ++process(e).sent[e.verb];
      last_counted_ = {e.process, e.command};
    }
    if (asks_for_lock(e)) session(e).attempts.push_back(i);
    if (e.verb == "extend") session(e).extensions.push_back(i);
    if (e.verb == "hand-over") out_.hand_overs[e.giver].push_back({i, kNone});
    if (!e.lock_id.empty()) out_.writers[e.lock_id].send = i;
    if (!leaves_lock(e)) return;
    out_.deletes[e.owner].push_back({i, kNone});
    if (!e.also_owner.empty()) out_.deletes[e.also_owner].push_back({i, kNone});
  }

  void add_reply(Index i, const Event& e) {
    replies_[{e.process, e.command}] = i;
    if (leaves_lock(e) && e.matched > 0 && e.outcome == "done") out_.claims[e.order] = i;
  }

  Index reply_to(Index send) const {
    if (send == kNone) return kNone;
    const auto found = replies_.find({out_.at(send).process, out_.at(send).command});
    return found == replies_.end() ? kNone : found->second;
  }

  void set_over(const std::string& name, SessionDigest& s) {
    if (s.granted == kNone) return;
    auto deadline = out_.at(s.granted).deadline_ns;
    for (const Index e : s.extended) deadline = std::max(deadline, out_.at(e).deadline_ns);
    s.over_ns = std::min(deadline, s.answers.first_no_ns);
    for (const Index end : {s.notified, s.release, out_.processes[name].crash}) {
      if (end != kNone) s.over_ns = std::min(s.over_ns, out_.at(end).at_ns);
    }
  }

  Digest out_;
  std::map<std::string, std::int64_t> paused_;
  /// By kind and victim: the places in `faulty` of those that have not ended, oldest first.
  std::map<std::pair<std::string, std::string>, std::deque<std::size_t>> lasting_;
  std::map<CommandKey, Index> replies_;
  CommandKey last_counted_;
};

}  // namespace

bool Digest::disturbed(Span span) const {
  return std::any_of(faulty.begin(), faulty.end(), [&](const Span& f) { return f.meets(span); });
}

std::int64_t Digest::stalled_ns(Span span) const {
  std::int64_t sum = 0;
  for (const Span& stall : stalls) {
    if (stall.meets(span)) sum += stall.to - stall.from;
  }
  return sum;
}

bool Digest::ran_throughout(const std::string& process, Span span) const {
  const auto found = processes.find(process);
  if (found == processes.end()) return false;
  const ProcessDigest& p = found->second;
  if (p.known_alive_until() < span.to) return false;
  return std::none_of(p.away.begin(), p.away.end(), [&](const Span& a) { return a.meets(span); });
}

Digest digest(const History& history) {
  Builder builder(history);
  for (Index i = 0; i < history.size(); ++i) builder.add(i, history[i]);
  return builder.finish();
}

}  // namespace leasehold::model
