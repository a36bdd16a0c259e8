#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/verdict/finding.hpp"

/// The assumptions of the proof in `model/proof` about clients, their commands and documents: the
/// monitors check them for each event of a run. A client that breaks one breaks a guarantee only
/// with bad luck; the monitor finds the first command that breaks it.
namespace leasehold::model {

class Monitors {
 public:
  explicit Monitors(const Digest& d)
      : d_(d), until_(d.sessions.size()), documents_(d.facts.names.size()) {}

  void see(Index i, const Fact& e) {
    switch (e.kind) {
      case Kind::send: return sent(i, e);
      case Kind::reply:
        if (e.lock_id != kNoText) sights_.try_emplace({e.process, e.lock_id}, i);
        return;
      case Kind::granted:
        check_deadline(i, e);
        check_granted_token(i, e);
        return check_owner(i, e, e.owner);
      case Kind::extended:
        check_deadline(i, e);
        return check_owner(i, e, owner_of(d_, e));
      case Kind::held:
        if (e.outcome == Outcome::yes) check_owner(i, e, owner_of(d_, e));
        return;
      case Kind::put:
        put(i, e);
        documents_[e.name].put = i;
        return;
      case Kind::gone:
        check_readers_gone(i, d_.change(i), d_.change_before(i));
        documents_[e.name].put = kNone;
        return;
      default: return;
    }
  }

  /// One for each rule, in the order of their enumerators.
  [[nodiscard]] std::vector<Finding> result() {
    return {lock_id_, deadline_, presumed_, ended_, written_over_, expires_at_, token_};
  }

 private:
  /// A process's time is converted to the harness's, so each end of a span may be a grain off.
  static constexpr std::int64_t kRounding = 2'000;

  /// How long a span of this process's clock takes by the harness's.
  [[nodiscard]] std::int64_t true_span(std::int64_t local_ns, Id process) const {
    constexpr std::int64_t kMillion = 1'000'000;
    return static_cast<std::int64_t>(static_cast<__int128>(local_ns) * kMillion /
                                     (kMillion + d_.process_of[process]->rate_ppm));
  }
  /// Whether the process was paused between then and this event: a pause distorts its spans.
  [[nodiscard]] bool stood_since(const Fact& e, std::int64_t at_ns) const {
    return std::ranges::any_of(d_.process_of[e.process]->suspended, [&](const Span& stood) {
      return stood.from <= e.at_ns && stood.to >= at_ns;
    });
  }
  /// The acquire call of this session; null: not known.
  [[nodiscard]] const Event* ask(Id session) const {
    const Index asked = d_.sessions[session].ask;
    return asked == kNone ? nullptr : &d_.at(asked);
  }
  /// "lock 'a': acquire 7 of p1".
  [[nodiscard]] std::string command(Index sent) const {
    const Event& send = d_.at(sent);
    return "lock '" + send.name + "': " + send.verb + ' ' + std::to_string(send.command) + " of " +
           send.process;
  }

  void sent(Index i, const Fact& e) {
    if (e.lock_id != kNoText) {
      ++lock_id_.checked;
      const Index before = first_sending(d_, e.lock_id, i);
      if (before != kNone) {
        violate(lock_id_, command(i) + " writes the lockId of an earlier command", {before, i});
      }
    }
    if (asks_for_lock(e) || e.verb == Verb::extend) check_owner(i, e, e.owner);
    if (e.verb == Verb::pass_on) documents_[e.name].queued = true;
    if (e.verb != Verb::acquire) return;
    ++presumed_.checked;  // presuming no holder dead is never wrong
    if (e.observed != kNoText) check_presumed(i, e);
  }

  /// "A deadline is at most a lease, less the drift, after the sending of an acknowledged write."
  void check_deadline(Index i, const Fact& e) {
    std::int64_t& until = until_[e.session];
    const auto before = std::exchange(until, std::max(until, e->deadline_ns));
    const Index sent = first_sending(d_, e.lock_id, i);
    const Event* call = ask(e.session);
    if (sent == kNone || call == nullptr) return;  // without its command the history is not whole
    const Fact& send = d_.fact(sent);
    if (stood_since(e, send.at_ns)) return;
    ++deadline_.checked;
    // Who shares an entry counts on the command that its reader counted on, or on a later one.
    const Index shares = d_.session_of(e).shares;
    const bool same = shares != kNone && d_.fact(shares).lock_id == e.lock_id;
    const Fact& first = same ? d_.fact(shares) : e;
    if (first.verb != Verb::pass_on && !acknowledged(d_, sent, i)) {
      return violate(deadline_,
                     command(sent) + " counts as " + to_string(e.kind) +
                         " without a reply that acknowledges its write",
                     {sent, d_.commands[send.command].reply, i});
    }
    const auto span = rules::holder_span(call->expiry_ms * kMs,
                                         rules::drift_ns(call->expiry_ms, call->max_drift_ppm));
    const auto latest = rules::deadline(send.at_ns, true_span(span, e.process)) + kRounding;
    if (e->deadline_ns <= latest || e->deadline_ns <= before) return;
    violate(deadline_,
            command(sent) + " gives a deadline " + std::to_string(e->deadline_ns - latest) +
                " ns later than a lease, less the drift, after its sending",
            {sent, i});
  }

  /// "A holder is presumed dead only a whole lease, and the drift, after a reply first showed its
  /// lockId": the lease of the writer of that lockId, the drift of the presuming process.
  void check_presumed(Index i, const Fact& e) {
    ++presumed_.counts["presumed_dead"];
    const auto seen = sights_.find({e.process, e.observed});
    if (seen == sights_.end()) {
      return violate(presumed_, command(i) + " presumes a holder dead that it has never seen", {i});
    }
    // If there are several readers, the one with the longest lease counts.
    Index holder = first_sending(d_, e.observed, i);
    const auto lease_of = [this](Index sent) {
      const Event* call = sent == kNone ? nullptr : ask(d_.fact(sent).session);
      return call == nullptr ? 0 : call->expiry_ms;
    };
    for (const ReaderEntry& r : d_.facts.readers[e.observed]) {
      const Index sent = first_sending(d_, r.lock_id, i);
      if (lease_of(sent) > lease_of(holder)) holder = sent;
    }
    const auto lease_ms = lease_of(holder);
    const Event* call = ask(e.session);
    if (lease_ms == 0 || call == nullptr) return;  // the lease of another client is not known
    const auto span = rules::observer_span(
        lease_ms * kMs, rules::drift_ns(lease_ms, call->max_drift_ppm));
    const auto needed = true_span(span, e.process) - kRounding;
    const auto seen_at = d_.fact(seen->second).at_ns;
    if (rules::is_presumed_dead(seen_at, needed, e.at_ns)) return;
    violate(presumed_,
            command(i) + " presumes a holder dead " +
                std::to_string(needed - (e.at_ns - seen_at)) + " ns too early",
            {holder, seen->second, i});
  }

  /// "After its delete, pass-on or hand-over was sent an owner asks for nothing and holds nothing."
  void check_owner(Index i, const Fact& e, Id owner) {
    ++ended_.checked;
    const Index ended = farewell(d_, owner, i);
    if (ended == kNone) return;
    // A process may ask held() later by the lateness that is allowed.
    const auto since = d_.fact(ended).at_ns + d_.allowed.lateness_ns;
    if (e.kind == Kind::held && e->last_asked_ns <= since) return;
    const std::string what =
        e.kind == Kind::send
            ? command(i) + " is of an owner"
            : "lock '" + e->name + "' of " + e->process + " (session " +
                  std::to_string(e->session) + ')' +
                  (e.kind == Kind::granted    ? " is granted to an owner"
                   : e.kind == Kind::extended ? " is extended for an owner"
                                              : " is held by an owner");
    violate(ended_, what + " whose " + d_.at(ended).verb + " was sent before", {ended, i});
  }

  // Documents: only dates of the same one are compared

  struct Write {
    Index put;
    Index standing;  ///< the put before; kNone: no document, or a free one
    Index sending;   ///< what wrote it; of a pass-on the attempt that left the entry
    const Fact& send;
    bool own;     ///< the document was this owner's
    bool queued;  ///< a free one may have stood there
    const Event& after;
    const Event& before;
    const ReaderEntry* entry = nullptr;  ///< a reader's
    const ReaderEntry* entry_before = nullptr;
  };

  void put(Index i, const Fact& e) {
    auto& [standing, queued] = documents_[e.name];
    const Event& after = *e.event;
    if (after.expires_at_ms == 0) {
      // A history with dates also has the lockId that each attempt observed.
      for (Finding* rule : {&presumed_, &written_over_, &expires_at_, &token_}) {
        rule->leave_open(Open::other, "the history does not say what stands in its documents: an "
                                      "older release wrote it");
      }
      return;
    }
    const Event& before = standing == kNone ? kNoEvent : d_.at(standing);
    if (standing != kNone && before.expires_at_ms == 0) return;
    const Change& now = d_.change(i);
    const Change& was = d_.change_before(i);
    if (!now.readers.empty()) check_readers(i, now, was);
    now.each_written([&](Id owner, Id lock_id) {
      const Index sending = first_sending(d_, lock_id, i);
      queued |= sending == kNone;
      if (sending == kNone) return;  // another client's
      const bool own = standing != kNone && was.held_by(owner);
      const Write w{i,      standing, sending, d_.fact(sending),  own,
                    queued, after,    before,  now.reader(owner), was.reader(owner)};
      check_written_over(w);
      check_expires_at(w);
      check_token(w);
    });
    check_readers_gone(i, now, was);
  }

  /// "Each command of a reader gives its entry a new lockId, and the document expires with the last
  /// of them." The whole text comes again when those leave who came since.
  void check_readers(Index i, const Change& now, const Change& was) {
    const auto lock = "lock '" + d_.at(i).name + "': ";
    ++lock_id_.checked;
    const bool again = std::ranges::any_of(now.readers, [&](const ReaderEntry& r) {
      return r.written && written_by(d_, d_.fact(i).name, r.lock_id) != d_.fact(i).version;
    });
    if (again || now.text == was.text) {
      violate(lock_id_, lock + "a command of a reader wrote a lockId that stood there before",
              {was.event, i});
    }
    std::int64_t latest = 0;
    for (const ReaderEntry& r : now.readers) latest = std::max(latest, r.until_ms);
    ++expires_at_.checked;
    if (latest == d_.at(i).expires_at_ms) return;
    violate(expires_at_,
            lock + "it expires " + std::to_string(latest - d_.at(i).expires_at_ms) +
                " ms before the last of its readers",
            {was.event, i});
  }

  /// "A reader's entry is taken out only by its own release, when it is over, or with those of all
  /// that were observed."
  void check_readers_gone(Index i, const Change& now, const Change& was) {
    if (now.gone && d_.claim(i) == kNone) return;  // G6 asks whose deletion it was
    const bool excludes = !now.gone && now.readers.empty();
    if (excludes && d_.writers[now.lock_id].send == kNone) return;  // of a client that is not ours
    for (const ReaderEntry& r : gone_readers(was, now)) {
      ++written_over_.checked;
      const auto by = d_.claim(i) == kNone ? writer_of(d_, d_.writers[now.lock_id]) : std::nullopt;
      bool taken = is_over(d_, r.lock_id, i);  // a release has no date
      if (by) {
        const ReaderEntry* entry = now.reader(now.owner);
        const auto until = entry == nullptr ? d_.at(i).expires_at_ms : entry->until_ms;
        const auto latest = until - by->ask()->expiry_ms - by->ask()->clock_margin_ms;
        const bool observed = d_.fact(by->command.send).observed == was.text;
        taken = rules::may_take(observed, rules::is_expired(r.until_ms, latest));
      }
      if (taken || may_have_left(d_, r, now)) continue;
      violate(written_over_,
              "lock '" + d_.at(i).name + "': a reader's entry went, neither over nor given up",
              {was.event, d_.writers[now.lock_id].send, i});
    }
  }

  /// "The token of a grant is above the stored one."
  void check_granted_token(Index i, const Fact& e) {
    const Version v = written_by(d_, e.name, e.lock_id);
    if (d_.session_of(e).shares != kNone) return;  // that write granted it nothing
    if (v == 0 || e->token > d_.at(d_.truth[e.name][v - 1].event).stored_token) return;
    violate(token_, "lock '" + e->name + "': a grant has the stored token for its own", {i});
  }

  void accuse(Finding& rule, const Write& w, const std::string& what) {
    violate(rule, command(w.sending) + ' ' + what, {w.standing, w.sending, w.put});
  }

  /// "A lock document is written over only if it is missing, its own, the observed one, given by
  /// its holder, or expired."
  void check_written_over(const Write& w) {
    ++written_over_.checked;
    if (w.own) return;
    const bool takes = w.send.verb == Verb::acquire;
    const Change& was = d_.change_before(w.put);
    if (takes && w.entry != nullptr && !was.readers.empty()) return;  // it joins them
    if (w.standing == kNone) {
      if (!takes) accuse(written_over_, w, "writes a lock where there is none");
      return;
    }
    // It was given by a hand-over, or by a release of its holder to the queue.
    const Id holder = d_.fact(w.standing).owner;
    if (w.send.verb == Verb::hand_over && was.held_by(w.send.other_owner)) return;
    const auto passes_on = [&](Id owner) {
      return std::ranges::any_of(d_.deletes[owner], [&](const SendDigest& one) {
        return one.send < w.put && d_.fact(one.send).verb == Verb::pass_on;
      });
    };
    const bool passed_on = passes_on(holder) ||
                           std::ranges::any_of(was.readers, passes_on, &ReaderEntry::owner);
    if (takes && passed_on) return;
    const bool observed = w.send.observed == was.text;
    const bool expired = rules::is_expired(w.before.expires_at_ms, w.after.acquired_at_ms);
    if (takes && rules::may_take(observed, expired)) return;
    const auto left_ms = w.before.expires_at_ms - w.after.acquired_at_ms;
    accuse(written_over_, w,
           "writes over a lock that is another's: neither observed nor given, and in force for " +
               std::to_string(left_ms) + " ms more");
  }

  /// "expiresAt is acquiredAt + expiry + clock_margin, and no own write lowers it."
  void check_expires_at(const Write& w) {
    ++expires_at_.checked;
    const bool reads = w.entry != nullptr, read = w.entry_before != nullptr;
    const auto acquired_at = reads ? w.entry->since_ms : w.after.acquired_at_ms;
    const auto expires_at = reads ? w.entry->until_ms : w.after.expires_at_ms;
    const auto lowered_by = (read ? w.entry_before->until_ms : w.before.expires_at_ms) - expires_at;
    if (w.own && acquired_at != (read ? w.entry_before->since_ms : w.before.acquired_at_ms)) {
      accuse(expires_at_, w, "changes acquiredAt of a lock that its owner has already");
    } else if (w.own && lowered_by > 0) {
      accuse(expires_at_, w,
             "lowers expiresAt of its own lock by " + std::to_string(lowered_by) + " ms");
    }
    // A free document may name the next owner, which then keeps its acquiredAt.
    const Event* call = ask(w.send.session);
    if (w.own || (w.standing == kNone && w.queued) || call == nullptr) return;
    const auto lasts = expires_at - acquired_at;
    const auto due = call->expiry_ms + call->clock_margin_ms;
    if (lasts == due) return;
    accuse(expires_at_, w,
           "leaves a document that expires " + std::to_string(lasts) +
               " ms after acquiredAt: expiry and clock_margin are " + std::to_string(due) + " ms");
  }

  /// "The stored fencing token rises with each grant, and is below the grant's own": that is the
  /// order of the write. An extension may keep it.
  void check_token(const Write& w) {
    ++token_.checked;
    if (w.after.stored_token >= d_.at(w.put).order) {
      return accuse(token_, w, "stores a fencing token that is not below its own");
    }
    const auto least = w.before.stored_token + (w.send.verb == Verb::extend ? 0 : 1);
    if (w.standing == kNone || w.after.stored_token >= least) return;
    accuse(token_, w, "does not raise the stored fencing token");
  }

  struct Document {
    Index put = kNone;    ///< kNone: there is none
    bool queued = false;  ///< a release, or another client, may have passed it on before: it may
                          ///< stand there, free
  };

  const Digest& d_;
  Finding lock_id_ = finding(Check::unique_lock_id), deadline_ = finding(Check::deadline),
          presumed_ = finding(Check::presumed_dead), ended_ = finding(Check::ended_owner),
          written_over_ = finding(Check::compare_and_set),
          expires_at_ = finding(Check::expires_at), token_ = finding(Check::stored_token);
  std::vector<std::int64_t> until_;            ///< by session: the deadline so far
  std::map<std::pair<Id, Id>, Index> sights_;  ///< by process and lockId: the first
  std::vector<Document> documents_;            ///< by name
};

}  // namespace leasehold::model
