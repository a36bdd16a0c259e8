#include "model/workers/worker_digest.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

namespace leasehold::model {
namespace {

using Calls = WorkerCalls::value_type;

/// When its user may have ceased to rely on it at the earliest: it released, was notified of its
/// loss, was answered no, or was dead. A loss without a stamp may have been reported at once.
std::int64_t relied_until(const Digest& d, const SessionDigest& s) {
  auto end = std::min({d.at(s.granted).deadline_ns, d.time_of(s.release),
                       d.time_of(d.process_of[s.process]->crash)});
  if (s.notified != kNone) end = std::min(end, d.at(s.notified).sent_ns);
  if (s.answers.denied != kNone) end = std::min(end, d.at(s.answers.denied).first_asked_ns);
  return end;
}

/// Adds what a grant says to the answers of `held()`.
void believe_grant(const Digest& d, SessionDigest& s) {
  s.over_ns = s.answers.first_no_ns;
  if (s.granted == kNone) return;
  const auto from = d.at(s.granted).at_ns;
  const auto until = relied_until(d, s);
  if (s.answers.last_yes_ns >= from || until > from) {
    s.answers.first_yes_ns = std::min(s.answers.first_yes_ns, from);
    s.answers.first = s.granted;
  }
  if (until <= from || until <= s.answers.last_yes_ns) return;
  s.answers.last_yes_ns = until;
  s.answers.last = s.granted;
}

/// From when on no command of the call can be executed any more.
std::int64_t over_by(const Digest& d, const SessionDigest& call) {
  if (call.granted != kNone) return d.at(call.granted).at_ns;
  const Index crash = d.process_of[call.process]->crash;
  const Index end = call.ended != kNone ? call.ended : crash;
  if (end == kNone) return kNever;
  if (call.ended != kNone && d.at(end).outcome == "refused") return d.at(end).at_ns;
  // Commands on their way may arrive until the end of a fault of links or servers.
  const auto late = d.at(end).at_ns + d.allowed.lateness_ns;
  return d.disturbed(call.process, {call.asked.at_ns, late}) != nullptr ? kNever : late;
}

/// Finds the call of the first write of each owner of one name. Each grant comes with such a write.
/// An owner that is written again for another holding has no call.
class Attribution {
 public:
  Attribution(const Digest& d, const Calls& calls, const std::vector<Change>& changes) : d_(d) {
    std::set<Id> seen;
    for (const Change& c : changes) {
      if (c.gone) continue;
      puts_.push_back(c.event);
      if (seen.insert(c.owner).second) firsts_.push_back(c.event);
    }
    for (const SessionDigest* call : calls) {
      if (call->granted != kNone) left_.emplace_back(call, possible(firsts_, *call));
    }
    while (settle()) {
    }
  }

  [[nodiscard]] bool is_first(Index put) const {
    return std::find(firsts_.begin(), firsts_.end(), put) != firsts_.end();
  }
  /// The call that certainly wrote this, the first write of its owner; null: not certain.
  [[nodiscard]] const SessionDigest* of(Index first) const {
    const auto found = writers_.find(first);
    const bool certain = found != writers_.end() && !doubtful_.contains(d_.fact(first).owner);
    return certain ? found->second : nullptr;
  }

 private:
  /// The puts come in the order in which they were written and read.
  [[nodiscard]] std::vector<Index> possible(const std::vector<Index>& puts,
                                            const SessionDigest& call) const {
    const auto begin = std::partition_point(puts.begin(), puts.end(), [&](Index put) {
      return d_.at(put).at_ns < call.asked.at_ns;
    });
    const auto end = std::find_if(begin, puts.end(), [&](Index put) {
      return d_.at(put).from_ns > d_.at(call.granted).at_ns;
    });
    return {begin, end};
  }

  /// A call with one write left has that write, and no other call has it. If none is left, perhaps
  /// it had any other write. From the last call on; whether something became certain.
  bool settle() {
    bool settled = false;
    for (auto& [call, left] : std::views::reverse(left_)) {
      if (call == nullptr) continue;
      std::erase_if(left, [this](Index put) { return writers_.contains(put); });
      if (left.size() > 1) continue;
      if (left.empty()) {
        for (const Index put : possible(puts_, *call)) doubtful_.insert(d_.fact(put).owner);
      } else {
        writers_[left.front()] = call;
      }
      call = nullptr;
      settled = true;
    }
    return settled;
  }

  const Digest& d_;
  std::vector<Index> puts_, firsts_;
  /// First writes that may be a call's. Null: it is settled.
  std::vector<std::pair<const SessionDigest*, std::vector<Index>>> left_;
  std::map<Index, const SessionDigest*> writers_;
  std::set<Id> doubtful_;  ///< owners
};

/// Gives the writes of each owner whose call is known a lockId.
void set_writers(Digest& d, const Attribution& calls, std::vector<Change>& changes) {
  Id standing = kNoText;
  Id lock_id = kNoText;
  for (Change& c : changes) {
    if (c.gone || c.owner != standing) lock_id = kNoText;
    const auto* call = c.gone || c.owner == standing ? nullptr : calls.of(c.event);
    standing = c.gone ? kNoText : c.owner;
    if (call != nullptr) {
      lock_id = static_cast<Id>(d.writers.size());
      d.writers.push_back({call->ask, call->granted});
      d.facts.lock_ids.push_back(d.at(c.event).owner);
      d.facts.all[call->granted].lock_id = lock_id;
    }
    if (!c.gone) c.lock_id = d.facts.all[c.event].lock_id = lock_id;
  }
}

/// Whether the holder itself may have given it up by then, as far as its user knows.
bool may_have_given_up(const Digest& d, const SessionDigest& s, const Event& change) {
  const auto by = [&](Index i) { return i != kNone && d.at(i).at_ns <= change.at_ns; };
  const bool told = s.notified != kNone && d.at(s.notified).sent_ns <= change.at_ns;
  const bool denied =
      s.answers.denied != kNone && d.at(s.answers.denied).first_asked_ns <= change.at_ns;
  const Index end = d.process_of[s.process]->crash;
  return by(s.release) || told || denied || (by(end) && d.at(end).kind != Kind::crash);
}

/// The change may be older than the grant, or an attempt that the holder gave up before the grant
/// may have been cleaned up after it: then nothing is decided.
bool is_decided(const Digest& d, const SessionDigest& s, const Event& change) {
  const Span attempts{s.asked.at_ns, d.at(s.granted).at_ns};
  return change.from_ns >= attempts.to && d.disturbed(s.process, attempts) == nullptr &&
         d.ran_throughout(s.process, attempts);
}

void set_end(const Digest& d, const Calls& calls, const Attribution& writers, Tenure& t) {
  const SendDigest& sent = d.writer(t.last_put);
  if (sent.send == kNone || t.next == kNone) return;
  const SessionDigest& holder = d.session_of(d.fact(sent.send));
  const Event& change = d.at(t.next);
  t.decided = is_decided(d, holder, change);
  // A holder with a clock that was moved may extend into the past.
  const bool own = t.next_gone && d.fact(t.next).owner == t.owner && !d.dates_hold;
  t.given_up = own || d.disks_lost || may_have_given_up(d, holder, change);
  t.acquired = !t.next_gone && (writers.is_first(t.next) ||
                                std::any_of(calls.begin(), calls.end(), [&](const auto* call) {
                                  return call != &holder && call->asked.at_ns <= change.at_ns &&
                                         over_by(d, *call) >= change.from_ns;
                                }));
}

}  // namespace

WorkerCalls worker_calls(const Digest& d) {
  WorkerCalls calls(d.facts.names.size());
  for (const SessionDigest& s : d.sessions) {
    if (s.ask != kNone) calls[s.asked.name].push_back(&s);
  }
  for (auto& all : calls) {
    std::ranges::stable_sort(all, {}, [](const SessionDigest* one) { return one->asked.at_ns; });
  }
  return calls;
}

LaterGrants::LaterGrants(const Digest& d, const Calls& calls)
    : calls_(calls), first_(calls.size() + 1, kNone) {
  for (std::size_t i = calls.size(); i-- > 0;) {
    const Index granted = calls[i]->granted;
    first_[i] = d.time_of(granted) < d.time_of(first_[i + 1]) ? granted : first_[i + 1];
  }
}

Index LaterGrants::first_after(std::int64_t at_ns) const {
  const auto later = std::partition_point(calls_.begin(), calls_.end(), [&](const auto* call) {
    return call->asked.at_ns <= at_ns;
  });
  return first_[static_cast<std::size_t>(later - calls_.begin())];
}

Digest worker_digest(const History& history, const Promises& promises) {
  Digest d = digest(history);
  d.promises = &promises;
  d.of_a_document = true;
  d.dates_hold = true;
  for (const Index i : d.faults) {
    if (d.at(i).fault.find("clock") != std::string::npos) d.dates_hold = false;
    if (d.at(i).fault == "lost-data") d.disks_lost = true;
  }
  const auto calls = worker_calls(d);
  for (SessionDigest& s : d.sessions) believe_grant(d, s);
  for (Id name = 0; name < calls.size(); ++name) {
    const LaterGrants grants(d, calls[name]);
    for (const SessionDigest* s : calls[name]) {
      if (s->granted == kNone) continue;
      d.sessions[s->id].taken = grants.first_after(d.fact(s->granted).at_ns);
    }
    if (!promises.document || calls[name].empty()) continue;
    const Attribution writers(d, calls[name], d.truth[name]);
    set_writers(d, writers, d.truth[name]);
    for (Tenure& t : d.tenures[name]) set_end(d, calls[name], writers, t);
  }
  return d;
}

}  // namespace leasehold::model
