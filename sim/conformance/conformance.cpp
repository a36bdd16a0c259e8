#include "sim/conformance/conformance.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "model/verdict/finding.hpp"

namespace leasehold::sim {
namespace {

using model::Change;
using model::Digest;
using model::Fact;
using model::Id;
using model::Index;
using model::kNoText;
using model::Kind;
using model::kNone;
using model::Outcome;
using model::TransitionTable;
using model::Verb;
using Step = model::LifecycleStep;

using State = std::uint8_t;
using Input = std::uint8_t;

/// A table with numbers for states and inputs: `[state][input]` is the arrow.
class CompiledTable {
 public:
  CompiledTable(const TransitionTable& table, std::vector<std::int64_t>& taken)
      : table_(&table), taken_(&taken), states_(table.states()), inputs_(table.inputs()) {
    taken.resize(table.arrows().size());
    for (std::size_t i = 0; i < table.arrows().size(); ++i) {
      const auto& arrow = table.arrows()[i];
      Arrow& compiled = arrows_[state(arrow.from)][input(arrow.input)];
      if (compiled.index == kRefused) {
        compiled = {static_cast<std::uint8_t>(i), state(arrow.to)};
      }
    }
  }

  [[nodiscard]] State state(std::string_view name) { return number(states_, name); }
  [[nodiscard]] Input input(std::string_view name) { return number(inputs_, name); }

  /// Takes the arrow; false if there is none.
  bool step(State& state, Input input) {
    const Arrow& arrow = arrows_[state][input];
    if (arrow.index == kRefused) return false;
    ++(*taken_)[arrow.index];
    state = arrow.to;
    return true;
  }

  [[nodiscard]] std::string refusal(State state, Input input) const {
    return std::string(table_->name()) + ": no arrow " + std::string(states_[state]) + " --" +
           std::string(inputs_[input]) + "-->";
  }

 private:
  static constexpr std::uint8_t kRefused = 255;
  static constexpr std::size_t kMost = 32;  ///< states of a diagram, and inputs
  struct Arrow {
    std::uint8_t index = kRefused;
    State to = 0;
  };

  /// An input or state that no arrow has gets a number too: nothing leaves it.
  static std::uint8_t number(std::vector<std::string_view>& all, std::string_view name) {
    const auto found = std::find(all.begin(), all.end(), name);
    const auto place = static_cast<std::size_t>(found - all.begin());
    if (found == all.end()) all.push_back(name);
    if (place >= kMost) throw std::logic_error("a diagram has more than 32 states or inputs");
    return static_cast<std::uint8_t>(place);
  }

  const TransitionTable* table_;
  std::vector<std::int64_t>* taken_;
  std::vector<std::string_view> states_, inputs_;
  std::array<std::array<Arrow, kMost>, kMost> arrows_{};
};

constexpr std::size_t kSteps = static_cast<std::size_t>(Step::cleaned_up) + 1;

/// The inputs of the lifecycle for each step, from "Extending" and from other states.
struct LifecycleInputs {
  explicit LifecycleInputs(CompiledTable& table) : extending(table.state("Extending")) {
    for (std::size_t step = 0; step < kSteps; ++step) {
      for (const bool from : {false, true}) {
        for (const auto name :
             model::inputs_of(static_cast<Step>(step), from ? "Extending" : "Waiting")) {
          all[step][from ? 1 : 0].push_back(table.input(name));
        }
      }
    }
  }
  [[nodiscard]] const std::vector<Input>& of(Step step, State state) const {
    return all[static_cast<std::size_t>(step)][state == extending ? 1 : 0];
  }

  State extending;
  std::array<std::array<std::vector<Input>, 2>, kSteps> all;
};

/// The ways through the flowchart that a run's events stand for.
struct ChartInputs {
  explicit ChartInputs(CompiledTable& table) {
    const auto way = [&](std::initializer_list<std::string_view> names) {
      std::vector<Input> inputs;
      for (const auto name : names) inputs.push_back(table.input(name));
      return inputs;
    };
    passed_on = way({"Passed On"});
    granted = way({"then", "then"});  // N, R, S
    ended = way({"Give Up"});
    won_too_late = way({"Won Too Late"});
    then = way({"then"});
    nothing = way({"Nothing To Hand Over"});
    lost_race = way({"then", "No", "then", "then", "then", "then", "then", "then", "No", "then"});
    refused = way({"then", "Yes", "No", "then"});
    unanswered = way({"No Reply"});
    was_free = way({"then", "No"});
    was_ours = way({"then", "Yes", "Ours"});
    was_given = way({"then", "Yes", "Handed Over"});
    was_expired = way({"then", "Yes", "Yes"});
    won = way({"then", "then", "then", "then", "then", "then", "Yes"});  // H to M, N
  }
  std::vector<Input> passed_on, granted, ended, won_too_late, then, nothing, lost_race, refused,
      unanswered, was_free, was_ours, was_given, was_expired, won;
};

struct DocumentInputs {
  explicit DocumentInputs(CompiledTable& t)
      : release(t.input("Release")),
        ttl(t.input("TTL Cleanup")),
        background(t.input("Background Task")),
        success(t.input("Success")),
        failure(t.input("Failure")),
        acquire(t.input("Acquire Attempt")),
        own_retry(t.input("Own Retry")),
        handed_over(t.input("Handed Over")),
        other(t.input("Other Process Acquires")),
        ran_out(t.input("Lease Ran Out")) {}
  Input release, ttl, background, success, failure, acquire, own_retry, handed_over, other, ran_out;
};

class Conformer final : public model::Inquiry<Conformance> {
 public:
  Conformer(const Digest& digest, const Tables& tables)
      : d_(digest),
        lifecycle_(tables.lifecycle, taken(tables.lifecycle)),
        document_(tables.document, taken(tables.document)),
        flowchart_(tables.flowchart, taken(tables.flowchart)),
        sessions_(digest.sessions.size(),
                  Session{lifecycle_.state(model::kOutside), flowchart_.state("A")}),
        attempts_(digest.facts.commands.size(), kNone) {
    out_.finding = model::finding(model::Check::arrows);
    note_documents();
  }

  void watch(Index from, Index to) override {
    for (Index i = from; i < to; ++i) visit(i, d_.fact(i));
  }

  Conformance result() override {
    note_unexecuted();
    for (const auto& changes : d_.truth) walk_document(changes);
    return std::move(out_);
  }

 private:
  struct Session {
    State life;
    State chart;
    bool won = false;  ///< an attempt won, without a grant so far
  };
  /// The document that a write found, and its owner, by the write's lockId.
  struct Found {
    Id owner = kNoText;  ///< empty: it has no owner
    bool known = false;
  };

  std::vector<std::int64_t>& taken(const TransitionTable& table) {
    return out_.taken[std::string(table.name())];
  }

  void take(CompiledTable& table, State& state, Input input, Index event) {
    ++out_.finding.checked;
    const State from = state;
    if (table.step(state, input)) return;
    violate(out_.finding, table.refusal(from, input), {event});
  }
  void live(State& life, Step step, Index i) {
    for (const Input input : steps_.of(step, life)) take(lifecycle_, life, input, i);
  }
  void live(Session& s, Step step, Index i) { live(s.life, step, i); }
  void chart(Session& s, const std::vector<Input>& way, Index i) {
    for (const Input input : way) take(flowchart_, s.chart, input, i);
  }
  Session& session(const Fact& e) { return sessions_[e.session]; }

  void visit(Index i, const Fact& e) {
    switch (e.kind) {
      case Kind::ask: return live(session(e), Step::created, i);
      case Kind::send: return sent(i, e);
      case Kind::reply: return replied(i, e);
      case Kind::granted:
        if (e.verb == Verb::pass_on) {
          passed_on(session(e), i);
        } else {
          live(session(e), Step::granted, i);
        }
        chart(session(e), ways_.granted, i);
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
        chart(session(e), ways_.ended, i);
        return;
      default: return;
    }
  }

  /// A driver's retry says that an attempt won but not when. Then the news of that write, from the
  /// change stream, grant the lock (see `core::read_answer`).
  void passed_on(Session& s, Index i) {
    if (s.won) won_too_late(s, i);
    live(s, Step::passed_on, i);
    chart(s, ways_.passed_on, i);
  }

  /// A win became no grant: the call asks again, hears of it, or ends.
  void won_too_late(Session& s, Index i) {
    live(s, Step::won_too_late, i);
    chart(s, ways_.won_too_late, i);
    s.won = false;
  }

  void sent(Index i, const Fact& e) {
    if (model::asks_for_lock(e)) {
      Session& s = session(e);
      attempts_[e.command] = i;
      if (s.won) won_too_late(s, i);
      live(s, Step::attempt_sent, i);
      if (s.chart == paused_) chart(s, ways_.then, i);
      chart(s, ways_.then, i);  // A or Q, B
    } else if (e.verb == Verb::extend) {
      live(session(e), Step::extension_sent, i);
    }
  }

  void replied(Index i, const Fact& e) {
    const Index sent = attempts_[e.command];
    if (sent == kNone) return;
    const Fact& attempt = d_.fact(sent);
    Session& s = session(attempt);
    if (s.chart != asking_) return;  // the call has ended; the answer is for the clean-up
    if (e.outcome == Outcome::done && e->matched == 1) {
      s.won = true;
      return chart_win(s, attempt, i);
    }
    if (e.outcome == Outcome::done && e.verb == Verb::hand_over) {
      live(s, Step::nothing_to_hand_over, i);
      return chart(s, ways_.nothing, i);
    }
    if (e.outcome == Outcome::done || e.outcome == Outcome::duplicate_key) {
      live(s, Step::attempt_refused, i);
      // The lock of a lost race was free when the attempt was sent.
      return chart(s, lost_race(attempt, e) ? ways_.lost_race : ways_.refused, i);
    }
    live(s, Step::attempt_unanswered, i);
    chart(s, ways_.unanswered, i);
  }

  /// Whether the release of this session gave its lock to another, as far as the session knew.
  bool handed_over(const Fact& released) const {
    const auto& s = d_.session_of(released);
    if (s.granted == kNone || released.outcome != Outcome::released) return false;
    const Id owner = d_.fact(s.granted).owner;
    return !d_.hand_overs.of(owner).empty() && d_.deletes.of(owner).empty();
  }

  /// Whether the holder in the refusal was granted while the attempt was under way.
  bool lost_race(const Fact& attempt, const Fact& reply) const {
    const Index winner = d_.writers[reply.lock_id].send;
    if (winner == kNone) return false;
    const Fact& send = d_.fact(winner);
    return send.verb == Verb::acquire && send.at_ns > attempt.at_ns && send.at_ns < reply.at_ns;
  }

  /// The document before a win shows the win's way through the chart.
  void chart_win(Session& s, const Fact& attempt, Index i) {
    const Found& stood = found_[attempt.lock_id];
    if (!stood.known) return;  // the history lacks that write
    const bool given = attempt.verb == Verb::hand_over && stood.owner == attempt.other_owner;
    const bool ours = stood.owner == d_.owner_of_lock_id(attempt);
    chart(s,
          stood.owner == kNoText ? ways_.was_free
          : ours                ? ways_.was_ours
          : given               ? ways_.was_given
                                : ways_.was_expired,
          i);
    chart(s, ways_.won, i);
  }

  void lost(Index i, const Fact& e) {
    Session& s = session(e);
    live(s, Step::lost, i);
    // The signal is the end of the diagram; a release may still follow.
    State signalled = s.life;
    live(signalled, Step::signalled, i);
  }

  void walk_document(const std::vector<Change>& changes) {
    State state = document_.state("NonExistent");
    const auto go = [&](Input input, Index i) { take(document_, state, input, i); };
    Id owner = kNoText;
    Index last_put = kNone;
    for (const Change& change : changes) {
      const Index standing = std::exchange(last_put, change.gone ? kNone : change.event);
      if (change.gone) {
        const bool released = !d_.deletes.of(owner).empty();
        end_tenure(state, {owner, standing, change.event},
                   released ? inputs_.release : inputs_.ttl);
        owner = kNoText;
        continue;
      }
      const Index writer = d_.writers[change.lock_id].send;
      // No path of the lock's own: another one begins.
      if (d_.by_administrator[change.lock_id]) {
        state = document_.state("NonExistent");
        owner = kNoText;
      }
      if (writer != kNone && d_.fact(writer).verb == Verb::extend) {
        go(inputs_.background, change.event);
        go(inputs_.success, change.event);
      } else if (owner == kNoText) {
        go(inputs_.acquire, change.event);
      } else if (change.owner == owner) {
        go(inputs_.own_retry, change.event);
      } else if (gave(owner, change, writer)) {
        go(inputs_.handed_over, change.event);
      } else {
        end_tenure(state, {owner, standing, change.event}, inputs_.other);
      }
      owner = change.owner;
    }
  }

  /// Whether this owner's release gave the lock to the writer of this change: by a hand-over, or to
  /// the first of the queue.
  bool gave(Id owner, const Change& change, Index writer) const {
    if (writer != kNone && d_.fact(writer).verb == Verb::hand_over &&
        d_.fact(writer).other_owner == owner) {
      return true;
    }
    return model::passed_on(d_, {owner, kNone, change.event, false, change.event});
  }

  struct End {
    Id owner;
    Index last_put, change;
  };

  /// Whether the lease of the last write can have run out before the change came. No process sees
  /// it run out, and a lock that is taken in mid-lease is no path.
  bool can_have_run_out(const End& end) const {
    const auto holder = end.last_put == kNone ? std::nullopt : model::writer_of(d_, end.last_put);
    if (!holder) return true;
    const auto next = model::writer_of(d_, end.change);
    const auto by = next ? model::executed_by(d_, *next, end.change) : d_.fact(end.change).at_ns;
    return by >= model::earliest_end(d_, *holder);
  }

  /// The end of a holder's time at the document: what expired first, if anything, then `how`.
  void end_tenure(State& state, const End& end, Input how) {
    const Index i = end.change;
    const auto go = [&](Input input) { take(document_, state, input, i); };
    const bool release = how == inputs_.release;
    const bool released_in_time = release && !lost_owners_[end.owner];
    if (!released_in_time && (release || can_have_run_out(end))) {
      if (unexecuted_[end.owner]) {
        go(inputs_.background);
        go(inputs_.failure);
      } else {
        go(inputs_.ran_out);
      }
    }
    go(how);
    if (how == inputs_.ttl) {
      // No client sees it, but the lifecycle diagram has an arrow for it.
      State unseen = lifecycle_.state("Waiting");
      live(unseen, Step::cleaned_up, i);
    }
  }

  void note_documents() {
    found_.resize(d_.facts.lock_ids.size());
    for (const auto& changes : d_.truth) {
      Id owner = kNoText;
      for (const Change& c : changes) {
        Found& before = found_[c.lock_id];
        if (!c.gone && !before.known) before = {owner, true};
        owner = c.owner;
      }
    }
  }

  /// Owners with a handle that was lost before it was released, and those with an extension that
  /// was sent and never executed.
  void note_unexecuted() {
    lost_owners_.resize(d_.facts.owners);
    unexecuted_.resize(d_.facts.owners);
    for (const model::SessionDigest& s : d_.sessions) {
      if (s.lost != kNone && s.granted != kNone) lost_owners_[d_.fact(s.granted).owner] = true;
    }
    for (Id lock_id = 0; lock_id < d_.writers.size(); ++lock_id) {
      const Index send = d_.writers[lock_id].send;
      const bool extension = send != kNone && d_.fact(send).verb == Verb::extend;
      if (extension && !found_[lock_id].known) {
        unexecuted_[d_.facts.owner_of_lock_id[lock_id]] = true;
      }
    }
  }

  const Digest& d_;
  Conformance out_;
  CompiledTable lifecycle_, document_, flowchart_;
  const LifecycleInputs steps_{lifecycle_};
  const ChartInputs ways_{flowchart_};
  const DocumentInputs inputs_{document_};
  const State paused_ = flowchart_.state("P"), asking_ = flowchart_.state("B");
  std::vector<Session> sessions_;
  std::vector<Index> attempts_;              ///< by command: the sending of an attempt
  std::vector<Found> found_;                 ///< by lockId
  std::vector<bool> lost_owners_, unexecuted_;  ///< by owner
};

}  // namespace

Conformance conform(const model::History& history, const Tables& tables) {
  return conform(model::digest(history), tables);
}

std::unique_ptr<model::Inquiry<Conformance>> conformance_inquiry(const Digest& digest,
                                                                 const Tables& tables) {
  return std::make_unique<Conformer>(digest, tables);
}

Conformance conform(const Digest& digest, const Tables& tables) {
  Conformer conformer(digest, tables);
  model::walk(digest, {&conformer});
  return conformer.result();
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
