#include "sim/conformance/conformance.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "model/finding.hpp"
#include "model/lifecycle_steps.hpp"

namespace leasehold::sim {
namespace {

using model::Change;
using model::Digest;
using model::Event;
using model::Index;
using model::Kind;
using model::kNone;
using model::TransitionTable;
using Step = model::LifecycleStep;

/// One thing that moves through a table.
class Walk {
 public:
  Walk(const TransitionTable& table, std::vector<std::int64_t>& taken, std::string_view state)
      : table_(&table), taken_(&taken), state_(state) {}

  [[nodiscard]] std::string_view state() const { return state_; }

  /// Takes the arrow; false if there is none.
  bool step(std::string_view input) {
    const auto arrow = table_->find(state_, input);
    if (!arrow) return false;
    ++(*taken_)[*arrow];
    state_ = table_->arrows()[*arrow].to;
    return true;
  }

 private:
  const TransitionTable* table_;
  std::vector<std::int64_t>* taken_;
  std::string_view state_;
};

class Conformer {
 public:
  Conformer(const Digest& digest, const Tables& tables) : d_(digest), tables_(tables) {
    for (const auto* table : {&tables.lifecycle, &tables.document, &tables.flowchart}) {
      out_.taken[std::string(table->name())].resize(table->arrows().size());
    }
    out_.finding = model::finding(model::Guarantee::arrows);
  }

  Conformance run() {
    for (Index i = 0; i < d_.history->size(); ++i) visit(i, d_.at(i));
    for (const auto& [name, changes] : d_.truth) walk_document(changes);
    return std::move(out_);
  }

 private:
  using Key = std::pair<std::string, std::int64_t>;

  struct Session {
    Walk life;
    Walk chart;
    bool won = false;  ///< an attempt won, and nothing was made of it yet
  };

  std::vector<std::int64_t>& taken(const TransitionTable& table) {
    return out_.taken.at(std::string(table.name()));
  }

  void take(const TransitionTable& table, Walk& walk, std::string_view input, Index event) {
    ++out_.finding.checked;
    const auto from = walk.state();
    if (walk.step(input)) return;
    violate(out_.finding,
            std::string(table.name()) + ": no arrow " + std::string(from) + " --" +
                std::string(input) + "-->",
            {event});
  }
  /// Through the lifecycle.
  void live(Walk& life, Step step, Index i) {
    for (const auto input : model::inputs_of(step, life.state())) {
      take(tables_.lifecycle, life, input, i);
    }
  }
  void live(Session& s, Step step, Index i) { live(s.life, step, i); }
  void chart(Session& s, std::initializer_list<std::string_view> inputs, Index i) {
    for (const auto input : inputs) take(tables_.flowchart, s.chart, input, i);
  }

  Session& session(const Event& e) {
    const auto [at, fresh] = sessions_.try_emplace(
        {e.process, e.session},
        Session{Walk(tables_.lifecycle, taken(tables_.lifecycle), model::kOutside),
                Walk(tables_.flowchart, taken(tables_.flowchart), "A")});
    return at->second;
  }

  void visit(Index i, const Event& e) {
    switch (e.kind) {
      case Kind::ask: return live(session(e), Step::created, i);
      case Kind::send: return sent(i, e);
      case Kind::reply: return replied(i, e);
      case Kind::granted:
        if (e.verb == "pass-on") {
          live(session(e), Step::passed_on, i);
          chart(session(e), {"Passed On"}, i);
        } else {
          live(session(e), Step::granted, i);
        }
        chart(session(e), {"then", "then"}, i);  // N, R, S
        session(e).won = false;
        return;
      case Kind::extended: return live(session(e), Step::extended, i);
      case Kind::lost: return lost(i, e);
      case Kind::release: return live(session(e), Step::release_asked, i);
      case Kind::released:
        return live(session(e), handed_over(e) ? Step::handed_over : Step::deleted, i);
      case Kind::ended:
        if (session(e).won) won_too_late(session(e), i);
        live(session(e), Step::ended, i);
        chart(session(e), {"Give Up"}, i);
        return;
      default: return;
    }
  }

  /// Nothing was made of a win: the call asks again, or ends.
  void won_too_late(Session& s, Index i) {
    live(s, Step::won_too_late, i);
    chart(s, {"Won Too Late"}, i);
    s.won = false;
  }

  void sent(Index i, const Event& e) {
    if (model::asks_for_lock(e)) {
      Session& s = session(e);
      attempts_[{e.process, e.command}] = i;
      if (s.won) won_too_late(s, i);
      live(s, Step::attempt_sent, i);
      if (s.chart.state() == "P") chart(s, {"then"}, i);
      chart(s, {"then"}, i);  // A or Q, B
    } else if (e.verb == "extend") {
      live(session(e), Step::extension_sent, i);
    }
  }

  void replied(Index i, const Event& e) {
    const auto sent = attempts_.find({e.process, e.command});
    if (sent == attempts_.end()) return;
    const Event& attempt = d_.at(sent->second);
    Session& s = session(attempt);
    if (s.chart.state() != "B") return;  // the call has ended; the answer is for the clean-up
    if (e.outcome == "done" && e.matched == 1) {
      s.won = true;
      return chart_win(s, attempt, i);
    }
    if (e.outcome == "done" && e.verb == "hand-over") {
      live(s, Step::nothing_to_hand_over, i);
      return chart(s, {"Nothing To Hand Over"}, i);
    }
    if (e.outcome == "done" || e.outcome == "duplicate_key") {
      live(s, Step::attempt_refused, i);
      if (lost_race(attempt, e)) {
        // It was free when we set out.
        chart(s, {"then", "No", "then", "then", "then", "then", "then", "then", "No", "then"}, i);
      } else {
        chart(s, {"then", "Yes", "No", "then"}, i);
      }
      return;
    }
    live(s, Step::attempt_unanswered, i);
    chart(s, {"No Reply"}, i);
  }

  /// Whether the release of this session gave its lock to another, as far as it knew.
  bool handed_over(const Event& released) const {
    const auto s = d_.sessions.find({released.process, released.session});
    if (s == d_.sessions.end() || s->second.granted == kNone) return false;
    const auto& owner = d_.at(s->second.granted).owner;
    return released.outcome == "released" && d_.hand_overs.contains(owner) &&
           !d_.deletes.contains(owner);
  }

  /// Whether the holder that refused us was granted while our attempt was out.
  bool lost_race(const Event& attempt, const Event& reply) const {
    const auto winner = d_.writers.find(reply.seen_lock_id);
    if (winner == d_.writers.end() || winner->second.send == kNone) return false;
    const Event& send = d_.at(winner->second.send);
    return send.verb == "acquire" && send.at_ns > attempt.at_ns && send.at_ns < reply.at_ns;
  }

  /// Which way a win went through the chart is shown by the document before it.
  void chart_win(Session& s, const Event& attempt, Index i) {
    const std::string owner = model::owner_of(attempt.lock_id);
    const auto stood = owners_before().find(attempt.lock_id);
    if (stood == owners_before().end()) return;  // a history that lacks the very write
    const std::string& before = stood->second;
    if (before.empty()) {
      chart(s, {"then", "No"}, i);
    } else {
      const bool given = attempt.verb == "hand-over" && before == attempt.giver;
      chart(s, {"then", "Yes", before == owner ? "Ours" : given ? "Handed Over" : "Yes"}, i);
    }
    chart(s, {"then", "then", "then", "then", "then", "then", "Yes"}, i);  // H to M, N
  }

  void lost(Index i, const Event& e) {
    Session& s = session(e);
    live(s, Step::lost, i);
    // The signal ends what the diagram shows; a release may still follow.
    Walk signalled = s.life;
    live(signalled, Step::signalled, i);
  }

  void walk_document(const std::vector<Change>& changes) {
    Walk walk(tables_.document, taken(tables_.document), "NonExistent");
    const auto go = [&](std::string_view input, Index i) {
      take(tables_.document, walk, input, i);
    };
    std::string owner;
    Index last_put = kNone;
    for (const Change& change : changes) {
      const Event& e = d_.at(change.event);
      const Index standing = std::exchange(last_put, change.gone ? kNone : change.event);
      if (change.gone) {
        end_tenure(walk, {owner, standing, change.event},
                   d_.deletes.contains(owner) ? "Release" : "TTL Cleanup");
        owner.clear();
        continue;
      }
      const auto writer = d_.writers.find(e.lock_id);
      const bool extension = writer != d_.writers.end() && writer->second.send != kNone &&
                             d_.at(writer->second.send).verb == "extend";
      const auto next = model::owner_of(e.lock_id);
      if (extension) {
        go("Background Task", change.event);
        go("Success", change.event);
      } else if (owner.empty()) {
        go("Acquire Attempt", change.event);
      } else if (next == owner) {
        go("Own Retry", change.event);
      } else if (gave(owner, change, writer)) {
        go("Handed Over", change.event);
      } else {
        end_tenure(walk, {owner, standing, change.event}, "Other Process Acquires");
      }
      owner = next;
    }
  }

  /// Whether this owner's release gave the lock to the writer of this change: by a hand-over, or to
  /// the first of the queue.
  bool gave(const std::string& owner, const Change& change,
            std::unordered_map<std::string, model::SendDigest>::const_iterator writer) const {
    const bool known = writer != d_.writers.end() && writer->second.send != kNone;
    if (known && d_.at(writer->second.send).giver == owner) return true;
    return model::passed_on(d_, {owner, kNone, change.event, false, change.event});
  }

  struct End {
    const std::string& owner;
    Index last_put, change;
  };

  /// Whether the lease of the last write can have run out before the change came: nobody sees it
  /// run out, and a lock that is taken in mid-lease is no path.
  bool can_have_run_out(const End& end) const {
    const auto holder = end.last_put == kNone ? std::nullopt : model::writer_of(d_, end.last_put);
    if (!holder) return true;
    const auto next = model::writer_of(d_, end.change);
    const auto by = next ? model::executed_by(d_, *next, end.change) : d_.at(end.change).at_ns;
    return by >= model::earliest_end(d_, *holder);
  }

  /// How a holder's time at the document ended: what expired first, if anything.
  void end_tenure(Walk& walk, const End& end, std::string_view how) {
    const Index i = end.change;
    const auto go = [&](std::string_view input) { take(tables_.document, walk, input, i); };
    const bool released_in_time = how == "Release" && !lost_owners().contains(end.owner);
    if (!released_in_time && (how == "Release" || can_have_run_out(end))) {
      if (unexecuted_extensions().contains(end.owner)) {
        go("Background Task");
        go("Failure");
      } else {
        go("Lease Ran Out");
      }
    }
    go(how);
    if (how == "TTL Cleanup") {
      // No client sees it: the arrow that the lifecycle diagram draws for it.
      Walk unseen(tables_.lifecycle, taken(tables_.lifecycle), "Waiting");
      live(unseen, Step::cleaned_up, i);
    }
  }

  /// Whose document each write found, by the write's lockId; empty: nobody's.
  const std::unordered_map<std::string, std::string>& owners_before() {
    if (!owners_before_) {
      owners_before_.emplace();
      for (const auto& [name, changes] : d_.truth) {
        std::string owner;
        for (const Change& c : changes) {
          const auto& lock_id = d_.at(c.event).lock_id;
          if (!c.gone) owners_before_->emplace(lock_id, owner);
          owner = c.gone ? "" : model::owner_of(lock_id);
        }
      }
    }
    return *owners_before_;
  }

  /// Owners whose handle was lost before it was released.
  const std::set<std::string>& lost_owners() {
    if (!lost_owners_) {
      lost_owners_.emplace();
      for (const auto& [key, s] : d_.sessions) {
        if (s.lost != kNone && s.granted != kNone) lost_owners_->insert(d_.at(s.granted).owner);
      }
    }
    return *lost_owners_;
  }

  /// Owners with an extension that was sent and never executed.
  const std::set<std::string>& unexecuted_extensions() {
    if (!unexecuted_) {
      unexecuted_.emplace();
      std::set<std::string> executed;
      for (const auto& [name, changes] : d_.truth) {
        for (const Change& c : changes) executed.insert(d_.at(c.event).lock_id);
      }
      for (const auto& [lock_id, sent] : d_.writers) {
        const bool extension = sent.send != kNone && d_.at(sent.send).verb == "extend";
        if (extension && !executed.contains(lock_id)) {
          unexecuted_->insert(model::owner_of(lock_id));
        }
      }
    }
    return *unexecuted_;
  }

  const Digest& d_;
  const Tables& tables_;
  Conformance out_;
  std::map<Key, Session> sessions_;
  std::map<Key, Index> attempts_;
  std::optional<std::unordered_map<std::string, std::string>> owners_before_;
  std::optional<std::set<std::string>> lost_owners_;
  std::optional<std::set<std::string>> unexecuted_;
};

}  // namespace

Conformance conform(const model::History& history, const Tables& tables) {
  return conform(model::digest(history), tables);
}

Conformance conform(const Digest& digest, const Tables& tables) {
  return Conformer(digest, tables).run();
}

void add(ArrowCounts& to, const ArrowCounts& from) {
  for (const auto& [table, counts] : from) {
    auto& sums = to[table];
    sums.resize(std::max(sums.size(), counts.size()));
    for (std::size_t i = 0; i < counts.size(); ++i) sums[i] += counts[i];
  }
}

std::vector<std::string> never_taken(const ArrowCounts& taken) {
  std::vector<std::string> names;
  for (const auto* table : model::all_tables()) {
    const auto counts = taken.find(std::string(table->name()));
    for (std::size_t i = 0; i < table->arrows().size(); ++i) {
      const auto& arrow = table->arrows()[i];
      const bool never = counts == taken.end() || counts->second.at(i) == 0;
      if (never && arrow.source == model::Source::document) {
        names.push_back(std::string(table->name()) + ": " + arrow.name());
      }
    }
  }
  return names;
}

}  // namespace leasehold::sim
