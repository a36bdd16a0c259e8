#include <algorithm>
#include <string_view>

#include "model/verdict/finding.hpp"

namespace leasehold::model {
namespace {

std::int64_t count(const std::map<std::string, std::int64_t>& counts, const char* key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

/// By process: its sessions, as spans in which it may have sent commands.
using Lives = std::vector<std::vector<std::pair<Span, const SessionDigest*>>>;

Lives lives_of(const Digest& d) {
  Lives lives(d.process_of.size());
  for (const SessionDigest& s : d.sessions) {
    if (s.ask == kNone) continue;
    Span life{s.asked.at_ns, std::min(d.time_of(s.ended), d.time_of(s.released))};
    if (life.to != kNever) life.to += d.allowed.lateness_ns;
    lives[s.process].emplace_back(life, &s);
  }
  return lives;
}

/// Whether every attempt was answered: then none had to be repeated.
bool all_answered(const Digest& d, const SessionDigest& s) {
  const auto& attempts = d.attempts[s.id];
  return std::ranges::all_of(attempts, [&](Index send) { return d.done(d.writer(send).reply); });
}

/// Whether the lock was free from the call to the win, without another call between. To a reader it
/// is also free if readers have it, and nobody ever waited.
bool uncontended(const Digest& d, const SessionDigest& s) {
  const Written won = d.written[d.fact(s.granted).lock_id];
  if (won.version == 1) return all_answered(d, s);
  if (won.version == 0 || !all_answered(d, s)) return false;
  const Change& last = d.truth[won.name][won.version - 2];
  const auto room = d.room(d.fact(s.granted).lock_id);
  const bool joins = !last.gone && !rules::excludes(room, d.room(last.text)) &&
                     last.readers.size() < most_in(room) && d.places[won.name].empty();
  return (last.gone || joins) && d.fact(last.event).at_ns < s.asked.at_ns;
}

/// What may have cost this acquire a second command.
const Span* hindered(const Digest& d, const SessionDigest& s) {
  const Span asking{s.asked.at_ns, d.fact(s.granted).at_ns};
  const Span* delay = d.delays(s.process, Needs::servers).first_in(asking);
  return delay != nullptr ? delay : d.disturbed(s.process, asking);
}

/// By process: when it looked for a lock.
std::vector<std::vector<Index>> looks_of(const Digest& d) {
  std::vector<std::vector<Index>> looks(d.process_of.size());
  if (d.of_a_document) return looks;
  for (const Index i : d.all_sends) {
    if (d.fact(i).verb == Verb::look) looks[d.fact(i).process].push_back(i);
  }
  return looks;
}

/// A look for a lock that its process sent while it did nothing but this acquire.
Index look_meanwhile(const Digest& d, const std::vector<Index>& looks,
                     const Lives::value_type& all, const SessionDigest& s) {
  const Span asking{s.asked.at_ns, d.fact(s.granted).at_ns};
  const auto time_of = [&d](Index i) { return d.fact(i).at_ns; };
  const auto look = std::ranges::lower_bound(looks, asking.from, {}, time_of);
  if (look == looks.end() || time_of(*look) >= asking.to) return kNone;
  const bool alone = std::ranges::none_of(
      all, [&](const auto& life) { return life.second != &s && life.first.meets(asking); });
  return alone ? *look : kNone;
}

/// One command, where no process holds the lock and no command is lost.
void check_acquires(const Digest& d, Finding& f) {
  const auto lives = lives_of(d);
  const auto looks = looks_of(d);
  for (const SessionDigest& s : d.sessions) {
    if (s.granted == kNone || s.ask == kNone) continue;
    if (s.shares != kNone) {
      ++f.checked;
      if (d.attempts[s.id].empty()) continue;
      violate(f, subject(d, s.granted) + " shares the entry of a reader, and sent a command for it",
              {d.attempts[s.id].front(), s.granted});
    }
    if (s.shares != kNone || !uncontended(d, s)) continue;
    const Index look = look_meanwhile(d, looks[s.process], lives[s.process], s);
    const auto& attempts = d.attempts[s.id];
    const bool one_command = attempts.size() == 1 && look == kNone;
    const Span* delay = one_command ? nullptr : hindered(d, s);
    if (delay != nullptr) {
      excuse(f, delay->why);
      continue;
    }
    ++f.checked;
    if (one_command) continue;
    std::vector<Index> events(attempts.begin(), attempts.end());
    events.push_back(look);
    violate(f,
            d.process_name(s.process) +
                ": an acquire without contention took more than one command",
            std::move(events));
  }
}

/// Whether a delete of this owner was sent, not only a command that leaves its place in a queue.
bool has_deleted(const Digest& d, Id owner) {
  const auto& sent = d.deletes[owner];
  const auto verb_of = [&d](const SendDigest& one) { return d.fact(one.send).verb; };
  return std::ranges::count(sent, Verb::remove, verb_of) > 0;
}

/// Whether the answer to this attempt says that another has the lock.
bool says_refused(const Digest& d, const Fact& attempt) {
  const Index reply = d.writers[attempt.lock_id].reply;
  if (reply == kNone) return false;
  const Fact& r = d.fact(reply);
  const bool another = r.outcome == Outcome::done && r.lock_id != kNoText &&
                       d.owner_of_lock_id(r) != attempt.owner;
  return another || r.outcome == Outcome::duplicate_key;
}

/// If all attempts of a call were refused, it has nothing to clean up.
void check_refused(const Digest& d, Finding& f) {
  struct Attempts {
    Index first = kNone;
    bool all_refused = true;
    bool received = false;  ///< it was handed the lock, or its queue gave it
  };
  std::vector<Attempts> owners(d.facts.owners);
  for (const Index i : d.all_sends) {
    const Fact& e = d.fact(i);
    Attempts& of = owners[e.owner];
    if (e.verb == Verb::hand_over) of.received = true;
    if (e.verb != Verb::acquire) continue;
    if (of.first == kNone) of.first = i;
    of.all_refused = of.all_refused && says_refused(d, e);
  }
  for (const SessionDigest& s : d.sessions) {
    if (s.granted != kNone) owners[d.fact(s.granted).owner].received = true;
  }
  std::vector<std::pair<std::string_view, Id>> broken;
  std::int64_t only_refused = 0;
  for (Id owner = 0; owner < owners.size(); ++owner) {
    const Attempts& of = owners[owner];
    if (of.first == kNone || !of.all_refused) continue;
    ++only_refused;
    if (!of.received && has_deleted(d, owner)) broken.emplace_back(d.at(of.first).owner, owner);
  }
  if (only_refused > 0) f.counts["only_refused"] = only_refused;
  std::ranges::sort(broken);
  for (const auto& [text, owner] : broken) {
    const Index first = owners[owner].first;
    violate(f, d.at(first).process + ": a call whose attempts were all refused sent a delete",
            {first, d.deletes[owner].front().send});
  }
}

/// A release is one command. It is two if its delete finds waiting calls that were not in the queue
/// when the lock was granted.
std::size_t most_commands(const Digest& d, std::span<const SendDigest> sent) {
  const Index first = sent.front().reply;
  const bool others_wait = sent.size() > 1 && d.fact(sent[0].send).verb == Verb::remove &&
                           d.fact(sent[1].send).verb == Verb::pass_on && d.done(first) &&
                           d.at(first).matched == 0;
  return others_wait ? 2 : 1;
}

/// Whether the call made one attempt, and it was answered: then nothing may be left behind.
bool got_at_once(const Digest& d, const SessionDigest& s) {
  const auto& attempts = d.attempts[s.id];
  return attempts.size() == 1 && !d.unanswered(d.writer(attempts.front()));
}

/// Whether a server that knows of the grant answered this release; an old primary does not know it.
bool answered(const Digest& d, const SessionDigest& s, Index reply) {
  return d.done(reply) && d.at(reply).order >= d.at(s.granted).token;
}

void check_releases(const Digest& d, Finding& f) {
  std::int64_t grants = 0, attempts = 0;
  for (const SessionDigest& s : d.sessions) {
    if (s.granted == kNone) continue;
    ++grants;
    attempts += static_cast<std::int64_t>(d.attempts[s.id].size());
    if (s.released == kNone || d.fact(s.released).outcome == Outcome::unknown) continue;
    if (s.leaves_it_to_others) continue;
    const Id owner = d.fact(s.granted).owner;
    if (!d.hand_overs[owner].empty()) continue;  // the hand-over is its release
    // At the end of the longest holding the lock itself has sent a delete.
    if (s.lost != kNone && d.fact(s.lost).outcome == Outcome::max_holding) continue;
    const auto& deletes = d.deletes[owner];
    if (deletes.empty()) {
      violate(f, d.process_name(s.process) + ": a release without a command",
              {s.granted, s.released});
      continue;
    }
    const auto most = most_commands(d, deletes);
    if (got_at_once(d, s) && deletes.size() > most &&
        answered(d, s, deletes[most - 1].reply)) {
      violate(f, d.process_name(s.process) + ": a release took more than one command",
              {s.granted, s.release, s.released});
    }
  }
  if (grants > 0) f.counts.insert({{"grants", grants}, {"attempts", attempts}});
}

/// The driver sends what it was asked to send, and no more.
void check_wire(const Digest& d, Finding& f) {
  constexpr std::pair<Verb, const char*> kNames[] = {{Verb::acquire, "findAndModify"},
                                                     {Verb::extend, "update"},
                                                     {Verb::remove, "delete"},
                                                     {Verb::look, "find"}};
  for (Id id = 0; id < d.process_of.size(); ++id) {
    if (d.process_of[id] == nullptr) continue;
    const ProcessDigest& p = *d.process_of[id];
    const auto sent = [&p](Verb verb) { return p.sent[static_cast<std::size_t>(verb)]; };
    for (const auto& [verb, wires] : kNames) {
      const auto others = sent(Verb::hand_over) + sent(Verb::pass_on);
      const auto asked = sent(verb) + (verb == Verb::acquire ? others : 0);
      if (count(p.wire, wires) <= asked) continue;
      violate(f,
              d.process_name(id) + ": the driver sent " + std::to_string(count(p.wire, wires)) +
                  " " + wires + ", and was asked for " + std::to_string(asked),
              {p.start});
    }
  }
}

}  // namespace

Finding check_cost(const Digest& d) {
  Finding f = finding(Check::G9);
  check_releases(d, f);
  check_acquires(d, f);
  check_refused(d, f);
  if (!d.of_a_document) check_wire(d, f);  // published locks send other commands
  return f;
}

}  // namespace leasehold::model
