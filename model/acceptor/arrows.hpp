#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/verdict/finding.hpp"

/// Which arrow of the published diagrams each step of a run takes: a run of the lock is a path of
/// them. REQUIRES: the history is whole (`Form`), because steps of a partial one fit nowhere.
namespace leasehold::model {

class Arrows {
 public:
  Arrows(const Digest& d, const Diagrams& diagrams)
      : d_(d),
        lifecycle_{diagrams.lifecycle},
        document_{diagrams.document},
        flowchart_{diagrams.flowchart},
        sessions_(d.sessions.size()),
        lost_(d.facts.owners),
        unexecuted_(d.facts.owners) {
    for (const SessionDigest& s : d.sessions) {
      if (s.lost != kNone && s.granted != kNone) lost_[d.fact(s.granted).owner] = true;
    }
    for (Id lock_id = 0; lock_id < d.writers.size(); ++lock_id) {
      const Index send = d.writers[lock_id].send;
      const bool extension = send != kNone && d.fact(send).verb == Verb::extend;
      if (extension && d.written[lock_id].version == 0) {
        unexecuted_[d.facts.owner_of_lock_id[lock_id]] = true;
      }
    }
  }

  void see(Index i, const Fact& e) {
    switch (e.kind) {
      case Kind::ask: return live(session(e), {"Create Lock"}, i);
      case Kind::send: return sent(i, e);
      case Kind::reply: return replied(i, e);
      case Kind::granted: return granted(i, e);
      case Kind::extended: return extended(i, e);
      case Kind::lost: return lost(i, e);
      case Kind::release: return live(session(e), {"Dispose Handle"}, i);
      case Kind::released: {
        const auto how = handed_over(e) ? "Lock Handed Over" : "Lock Document Deleted";
        return live(session(e), {how, "Lock Released"}, i);
      }
      case Kind::ended:
        if (session(e).won) won_too_late(session(e), i);
        live(session(e), {"Give Up"}, i);
        return chart(session(e), {"Give Up"}, i);
      default: return;
    }
  }

  /// Violated if a step was no arrow: the finding names state and input.
  [[nodiscard]] Finding result(ArrowCounts& taken) {
    for (const auto& changes : d_.truth) walk_document(changes);
    for (Diagram* one : {&lifecycle_, &document_, &flowchart_}) {
      taken[std::string(one->table.name())] = std::move(one->taken);
    }
    return std::move(found_);
  }

 private:
  using State = std::string_view;
  using Labels = std::initializer_list<std::string_view>;

  struct Diagram {
    const TransitionTable& table;
    std::vector<std::int64_t> taken = std::vector<std::int64_t>(table.arrows().size());
  };
  struct Session {
    State life = kOutside, chart = "A";
    bool won = false;  ///< an attempt won, without a grant so far
  };

  void take(Diagram& diagram, State& state, std::string_view label, Index event) {
    ++found_.checked;
    if (const auto arrow = diagram.table.find(state, label)) {
      ++diagram.taken[*arrow];
      state = diagram.table.arrows()[*arrow].to;
      return;
    }
    violate(found_,
            std::string(diagram.table.name()) + ": no arrow " + std::string(state) + " --" +
                std::string(label) + "-->",
            {event});
  }
  void live(Session& s, const Labels& labels, Index i) {
    for (const auto label : labels) take(lifecycle_, s.life, label, i);
  }
  void chart(Session& s, const Labels& labels, Index i) {
    for (const auto label : labels) take(flowchart_, s.chart, label, i);
  }
  Session& session(const Fact& e) { return sessions_[e.session]; }

  // Handles and attempts

  void sent(Index i, const Fact& e) {
    if (!asks_for_lock(e) && e.verb != Verb::extend) return;
    Session& s = session(e);
    if (e.verb == Verb::extend) {
      // The diagram has one extension at a time: nothing came of the one before.
      if (s.life == "Extending") live(s, {"Outcome Unknown"}, i);
      return live(s, {"Background Extension Task"}, i);
    }
    if (s.won) won_too_late(s, i);
    live(s, {"Call AcquireAsync()"}, i);
    if (s.chart == "P") chart(s, {"then"}, i);
    chart(s, {"then"}, i);  // A or Q, B
  }

  void replied(Index i, const Fact& e) {
    const Index sent = d_.commands[e.command].send;
    if (sent >= i || !asks_for_lock(d_.fact(sent))) return;
    const Fact& attempt = d_.fact(sent);
    Session& s = session(attempt);
    if (s.chart != "B") return;  // the call has ended; the answer is for the clean-up
    if (e.outcome == Outcome::done && e->matched == 1) {
      s.won = true;
      return chart_win(s, attempt, i);
    }
    if (e.outcome == Outcome::done && e.verb == Verb::hand_over) {
      live(s, {"Nothing To Hand Over"}, i);
      return chart(s, {"Nothing To Hand Over"}, i);
    }
    if (e.outcome != Outcome::done && e.outcome != Outcome::duplicate_key) {
      live(s, {"Outcome Unknown"}, i);
      return chart(s, {"No Reply"}, i);
    }
    live(s, {"Lock Held by Others"}, i);
    // The lock of a lost race was free when the attempt was sent.
    if (!lost_race(attempt, e)) return chart(s, {"then", "Yes", "No", "then"}, i);
    chart(s, {"then", "No", "then", "then", "then", "then", "then", "then", "No", "then"}, i);
  }

  /// Whether the holder in the refusal was granted while the attempt was under way.
  [[nodiscard]] bool lost_race(const Fact& attempt, const Fact& reply) const {
    const Index winner = d_.writers[reply.lock_id].send;
    if (winner == kNone) return false;
    const Fact& send = d_.fact(winner);
    return send.verb == Verb::acquire && send.at_ns > attempt.at_ns && send.at_ns < reply.at_ns;
  }

  /// The document before a win shows the win's way through the chart.
  void chart_win(Session& s, const Fact& attempt, Index i) {
    const auto [name, version] = d_.written[attempt.lock_id];
    if (version == 0) return;  // the history lacks that write
    const Id stood = holder_at(d_.truth[name], version - 1);
    if (stood == kNoText) {
      chart(s, {"then", "No"}, i);
    } else {
      const Change& before = d_.truth[name][version - 2];
      const bool joins = !rules::excludes(d_.room(attempt.lock_id), d_.room(before.text));
      const bool ours = before.held_by(d_.owner_of_lock_id(attempt)) || joins;
      const bool given = attempt.verb == Verb::hand_over && stood == attempt.other_owner;
      chart(s, {"then", "Yes", ours ? "Ours" : given ? "Handed Over" : "Yes"}, i);
    }
    chart(s, {"then", "then", "then", "then", "then", "then", "Yes"}, i);  // H to M, N
  }

  /// A driver's retry says that an attempt won but not when. Then the news of that write, from the
  /// change stream, grant the lock (see `core::read_answer`).
  void granted(Index i, const Fact& e) {
    Session& s = session(e);
    // Who shares the entry of another call of its process has sent nothing.
    const bool shares = d_.session_of(e).shares != kNone;
    const bool passed_on = e.verb == Verb::pass_on || shares;
    if (passed_on && s.won) won_too_late(s, i);
    live(s, {passed_on ? "Lock Passed On" : "Successfully Acquired Lock"}, i);
    if (shares) return;
    if (passed_on) chart(s, {"Passed On"}, i);
    chart(s, {"then", "then"}, i);  // N, R, S
    s.won = false;
  }

  /// A win became no grant: the call asks again, hears of it, or ends.
  void won_too_late(Session& s, Index i) {
    live(s, {"Won Too Late"}, i);
    chart(s, {"Won Too Late"}, i);
    s.won = false;
  }

  /// An extension serves all that share an entry, and is sent for one of them.
  void extended(Index i, const Fact& e) {
    Session& s = session(e);
    const Index sent = d_.writers[e.lock_id].send;
    const bool others = sent != kNone && d_.fact(sent).session != e.session;
    if (others && s.life != "Extending") live(s, {"Background Extension Task"}, i);
    live(s, {"Extension Successful"}, i);
  }

  void lost(Index i, const Fact& e) {
    Session& s = session(e);
    live(s, {s.life == "Extending" ? "Extension Failed" : "Lease Ran Out"}, i);
    // The signal is the end of the diagram; a release may still follow.
    Session signalled = s;
    live(signalled, {"HandleLostToken Signaled"}, i);
  }

  /// Whether the release of this session gave its lock to another, as far as the session knew.
  [[nodiscard]] bool handed_over(const Fact& released) const {
    const Id owner = owner_of(d_, released);
    return owner != kNoText && released.outcome == Outcome::released &&
           !d_.hand_overs[owner].empty() && d_.deletes[owner].empty();
  }

  // Documents

  void walk_document(const std::vector<Change>& changes) {
    State state = "NonExistent";
    Id owner = kNoText;
    Index standing = kNone;
    for (const Change& change : changes) {
      const Index i = change.event, writer = d_.writers[change.lock_id].send;
      const Change& before = d_.change_before(i);
      const auto go = [&](std::string_view label) { take(document_, state, label, i); };
      // No path of the lock's own: another one begins.
      if (!change.gone && d_.by_administrator[change.lock_id]) {
        state = "NonExistent";
        owner = kNoText;
      }
      if (change.gone) {
        const bool released = !d_.deletes[owner].empty() || left_by_a_reader(before);
        end_tenure(state, {owner, standing, i}, released ? "Release" : "TTL Cleanup");
      } else if (writer != kNone && d_.fact(writer).verb == Verb::extend) {
        go("Background Task");
        go("Success");
      } else if (owner == kNoText) {
        go("Acquire Attempt");
      } else if (before.held_by(change.owner) || both_of_readers(before, change)) {
        go("Own Retry");  // to everybody else readers are one holder
      } else if (gave(owner, change, writer) || left_by_a_reader(before)) {
        go("Handed Over");
      } else {
        end_tenure(state, {owner, standing, i}, "Other Process Acquires");
      }
      owner = change.owner;
      standing = change.gone ? kNone : i;
    }
  }

  [[nodiscard]] static bool both_of_readers(const Change& before, const Change& after) {
    return !before.readers.empty() && !after.readers.empty();
  }
  [[nodiscard]] bool left_by_a_reader(const Change& before) const {
    return std::ranges::any_of(before.readers, [this](const ReaderEntry& r) {
      return !d_.deletes[r.owner].empty();
    });
  }

  /// Whether this owner's release gave the lock to the writer of this change: by a hand-over, or to
  /// the first of the queue.
  [[nodiscard]] bool gave(Id owner, const Change& change, Index writer) const {
    const bool by_hand_over = writer != kNone && d_.fact(writer).verb == Verb::hand_over;
    if (by_hand_over && d_.fact(writer).other_owner == owner) return true;
    return passed_on(d_, {owner, kNone, change.event, false, change.event});
  }

  struct End {
    Id owner;
    Index last_put, change;
  };

  /// Whether the lease of the last write can have run out before the change came. No process sees
  /// it run out, and a lock that is taken in mid-lease is no path.
  [[nodiscard]] bool can_have_run_out(const End& end) const {
    const auto holder = end.last_put == kNone ? std::nullopt : writer_of(d_, end.last_put);
    if (!holder) return true;
    const auto next = writer_of(d_, end.change);
    const auto by = next ? executed_by(d_, *next, end.change) : d_.fact(end.change).at_ns;
    return by >= earliest_end(d_, *holder);
  }

  /// The end of a holder's time at the document: what expired first, if anything, then `how`.
  void end_tenure(State& state, const End& end, std::string_view how) {
    const auto go = [&](std::string_view label) { take(document_, state, label, end.change); };
    const bool release = how == "Release";
    const bool released_in_time = release && !lost_[end.owner];
    if (!released_in_time && (release || can_have_run_out(end))) {
      if (unexecuted_[end.owner]) go("Background Task");
      go(unexecuted_[end.owner] ? "Failure" : "Lease Ran Out");
    }
    go(how);
    if (how != "TTL Cleanup") return;
    // No client sees it, but the lifecycle diagram has arrows for it.
    Session unseen{.life = "Waiting"};
    live(unseen, {"TTL Cleanup", "Stale Lock Cleaned Up"}, end.change);
  }

  const Digest& d_;
  Finding found_ = finding(Check::arrows);
  Diagram lifecycle_, document_, flowchart_;
  std::vector<Session> sessions_;
  /// By owner: its handle was lost before it was released; an extension of it was sent and never
  /// executed.
  std::vector<bool> lost_, unexecuted_;
};

}  // namespace leasehold::model
