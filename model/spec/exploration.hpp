#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/spec/lock.hpp"

/// An explorer, and what of the abstract lock is explored by it, and was found.
namespace leasehold::model {

/// The judgement of a model on one state.
struct Judgement {
  const char* broken = nullptr;  ///< the `always` that fails here
  std::uint64_t reached = 0;     ///< the `sometimes` true here, as bits
};

/// How far an exploration has come, and what it found.
struct Exploration {
  Verdict verdict = Verdict::unknown;
  std::string why = "not finished";  ///< of violated: the property; of unknown: the reason
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t depth = 0;    ///< levels, the initial one included
  std::uint64_t reached = 0;  ///< `sometimes` bits of all states
};

struct ExploreOptions {
  std::uint64_t max_states = 30'000'000;
  std::function<bool(const Exploration&)> goes_on;  ///< asked every 2^16 states; may be empty
};

/// Visits every state of a small system, breadth-first, so that a counterexample is a shortest one.
///
/// A model is a type with
///
///     using State = ...;  // with == by its bytes
///     State initial() const;
///     void successors(const State&, std::vector<State>& out) const;  // self-loops count
///     Judgement judge(const State&) const;                           // of one state
///
/// Exact: whole states are compared, never hashes alone. Not thread-safe.
template <typename Model>
class Explorer {
 public:
  using State = typename Model::State;
  using Index = std::uint32_t;

  explicit Explorer(const Model& model, ExploreOptions options = {})
      : model_(model), options_(std::move(options)) {}

  Exploration run() {
    take(model_.initial(), 0);
    std::vector<State> next;
    for (Index at = 0; at < size() && !broken_;) {
      ++out_.depth;
      for (const std::size_t level_end = size(); at < level_end && !broken_; ++at) {
        if (at % kPulse == 0 && !go_on()) return out_;
        next.clear();
        model_.successors(state(at), next);
        for (const State& to : next) {
          ++out_.transitions;
          if (!broken_) take(to, at);
        }
      }
    }
    out_.states = size();
    out_.verdict = broken_ == nullptr ? Verdict::holds : Verdict::violated;
    out_.why = broken_ == nullptr ? "" : broken_;
    return out_;
  }

  /// After a run: the states, in the order of their discovery.
  [[nodiscard]] std::size_t size() const { return found_.size(); }
  [[nodiscard]] const State& state(std::size_t i) const { return found_[i]->first; }
  /// The index of a state that was reached.
  [[nodiscard]] Index find(const State& state) const { return visited_.find(state)->second.index; }
  /// A shortest way from the initial state to this one.
  [[nodiscard]] std::vector<State> path_to(std::size_t last) const {
    std::vector<State> path{state(last)};
    for (; last != 0; path.push_back(state(last))) last = found_[last]->second.parent;
    std::ranges::reverse(path);
    return path;
  }

 private:
  static constexpr Index kPulse = 1u << 16;
  static_assert(std::has_unique_object_representations_v<State>);

  struct Hash {
    std::size_t operator()(const State& state) const {
      const std::string_view bytes(reinterpret_cast<const char*>(&state), sizeof state);
      return std::hash<std::string_view>()(bytes);
    }
  };
  struct Visit {
    Index index, parent;
  };

  void take(const State& state, Index parent) {
    const auto [place, is_new] =
        visited_.try_emplace(state, Visit{static_cast<Index>(size()), parent});
    if (!is_new) return;
    found_.push_back(&*place);
    const Judgement judged = model_.judge(state);
    out_.reached |= judged.reached;
    broken_ = judged.broken;
  }

  bool go_on() {
    out_.states = size();
    if (options_.goes_on && !options_.goes_on(out_)) {
      out_.why = "interrupted";
      return false;
    }
    if (out_.states <= options_.max_states) return true;
    out_.why = "more than " + std::to_string(options_.max_states) +
               " states; broken in no behaviour of up to " + std::to_string(out_.depth - 1) +
               " steps";
    return false;
  }

  const Model& model_;
  const ExploreOptions options_;
  std::unordered_map<State, Visit, Hash> visited_;
  std::vector<const std::pair<const State, Visit>*> found_;  ///< in the order of their discovery
  const char* broken_ = nullptr;                             ///< by the last of the states
  Exploration out_;
};

/// One step of a path, so many ticks after its begin.
struct Taken {
  int tick;
  lock_world::World from;
  LockAction action;
  lock_world::World to;
};

struct LockExploration : Exploration {
  std::vector<Taken> way;          ///< of violated: a shortest counterexample
  std::vector<std::string> story;  ///< the same in words
  Labels labels;                   ///< of all steps
};

/// Visits every world of the scope. Throws std::invalid_argument for one that is too large.
[[nodiscard]] LockExploration explore(const Scope& scope, ExploreOptions options = {});

/// The liveness promises. They apply once faults have stopped: there is no crash, loss or failover
/// any more, no client gives up, and awaited steps take less than a tick.
enum class Promise {
  passes_on,  ///< G7: while a client waits and none holds, a client gets the lock
  cleans_up,  ///< G8: a document that no client stands behind goes, or another's takes its place
};

struct Eventually : LockExploration {
  std::uint64_t pending_states = 0;
  std::uint64_t cycle_states = 0;  ///< of violated: how many states the cycle runs through
};

/// Looks among all reached worlds for a cycle without a fault on which what is promised never
/// comes. Such a cycle counts only if it is fair: each kind of step that is possible all the way
/// round is taken on it. The story leads to the cycle. REQUIRES: not `losses_late`.
[[nodiscard]] Eventually explore(const Scope& scope, Promise promise, ExploreOptions options = {});

struct NamedScope {
  std::string_view name;
  Scope scope;
  std::uint64_t states = 0;  ///< of the production lock, pinned; 0: not counted
};
/// The scopes in which the lock is explored completely. Each has something that the others lack.
[[nodiscard]] const std::vector<NamedScope>& standard_scopes();
/// Scopes that are too large for that: explored up to a limit.
[[nodiscard]] const std::vector<NamedScope>& partial_scopes();
/// A scope of either kind by its name; null: none has this name.
[[nodiscard]] const NamedScope* scope_named(std::string_view name);

/// The verdict of an exploration on each guarantee that it checked, G1 to G7. The first violation
/// ends it and leaves the others unknown. Guarantees that need two clients of ours are unknown in a
/// scope with one.
[[nodiscard]] std::map<Check, Verdict> verdicts(const Scope& scope, const Exploration& found);

}  // namespace leasehold::model
