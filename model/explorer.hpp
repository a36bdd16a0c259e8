#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "model/checkers.hpp"
#include "model/crew.hpp"
#include "model/pile.hpp"
#include "model/state_shard.hpp"

/// Visits every state of a small system, breadth-first, so that a counterexample is a shortest one.
///
/// A model is a type with
///
///     using State = PackedState<W>;          // all of it in W words: equal states, equal words
///     using Action = small trivially copyable type;
///     void initial(Emit emit) const;                     // emit(state)
///     void successors(const State&, Emit emit) const;    // emit(next, action); self-loops count
///     Judgement judge(const State&) const;               // of one state
///     std::vector<std::string> story(path) const;        // states from an initial one, a line a
///     step
///
/// Where it takes less time to look at several states at once, a model has also
///
///     void successors(std::size_t count, Of of, Emit emit) const;  // of(i); emit(i, next, action)
///
/// With more than one thread, `successors` and `judge` are called by all of them at once.
///
/// Exact: whole states are compared, never hashes alone. What is found, the counterexample too,
/// does not depend on the number of threads. Not thread-safe itself.
namespace leasehold::model {

/// What a model says of one state.
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
  std::uint64_t depth = 0;         ///< levels, the initial one included
  std::uint64_t reached = 0;       ///< `sometimes` bits of all states
  std::uint64_t bytes = 0;         ///< held for states, parents and tables
  double cpu_seconds = 0;          ///< of all threads
  std::vector<std::string> story;  ///< of violated: a shortest counterexample
};

struct ExploreOptions {
  std::uint64_t max_states = 200'000'000;
  unsigned threads = 1;
  /// Of the tables together, at first: a power of two. They grow when they are
  /// half full, of states of one word three quarters.
  std::uint64_t slots = 1u << 16;
  std::function<bool()> stop;                        ///< asked every 2^16 states; may be empty
  std::function<void(const Exploration&)> progress;  ///< called likewise; may be empty
};

template <typename Model>
class Explorer {
 public:
  using State = typename Model::State;
  using Action = typename Model::Action;
  using Index = std::uint32_t;

  explicit Explorer(const Model& model, ExploreOptions options = {})
      : model_(model), options_(std::move(options)), crew_(std::max(options_.threads, 1u)) {
    parts_.reserve(kShards);
    const auto slots = std::bit_ceil(std::max<std::uint64_t>(options_.slots / kShards, 64));
    for (unsigned s = 0; s < kShards; ++s) parts_.emplace_back(slots);
  }

  Exploration run() {
    model_.initial([this](const State& state) {
      const auto h = hash_of(state);
      parts_[0].out[shard_of(h)].add() = {state, h, kNone};
    });
    take_in();
    std::uint64_t next_pulse = 0;
    while (violated() == nullptr && begin_level()) {
      while (violated() == nullptr && !level_is_done()) {
        if (expanded() >= next_pulse) {
          next_pulse = expanded() + kPulse;
          if (!go_on()) return finish();
        }
        expand();
        take_in();
      }
    }
    conclude();
    return finish();
  }

  /// After a run: the states, in an order that is always the same.
  [[nodiscard]] std::uint64_t size() const {
    return parts_.back().first + parts_.back().states.size();
  }
  [[nodiscard]] const State& state(std::uint64_t i) const {
    const Part& part = part_of(i);
    return part.states.state(i - part.first);
  }
  /// The index of a state that was reached.
  [[nodiscard]] Index find(const State& state) const {
    const auto h = hash_of(state);
    const Part& part = parts_[shard_of(h)];
    return static_cast<Index>(part.first + part.states.find(state, h));
  }
  /// A shortest way from an initial state, in words.
  [[nodiscard]] std::vector<std::string> story_to(Index last) const {
    return model_.story(path_to(last));
  }
  /// The same in states.
  [[nodiscard]] std::vector<State> path_to(Index last) const {
    const Part& part = part_of(last);
    return path_of(static_cast<unsigned>(&part - parts_.data()), last - part.first);
  }

 private:
  using Shard = StateShard<std::tuple_size_v<State>>;
  using Parent = typename Shard::Parent;
  /// More than there are threads, so that one which is held up holds up little. Always as many, and
  /// taken in order, so that what is found does not depend on the threads.
  static constexpr unsigned kShards = 8;
  static constexpr Parent kNone = std::numeric_limits<Parent>::max();
  static constexpr std::uint64_t kPulse = 1u << 16;
  static constexpr std::uint64_t kRound = 512;  ///< states of each shard between two meetings
  static constexpr std::size_t kAhead = 8;      ///< candidates whose memory is on its way

  struct Candidate {
    State state;
    std::uint64_t hash;
    Parent parent;
  };
  using Outbox = Pile<Candidate>;
  /// A shard, and what only the thread that works on it touches.
  struct Part {
    explicit Part(std::size_t slots) : states(slots) {}
    Shard states;
    std::array<Outbox, kShards> out;  ///< by the shard that they are for
    std::uint64_t expanded = 0, level_end = 0;
    std::uint64_t transitions = 0, reached = 0;
    const char* broken = nullptr;
    std::uint64_t broken_at = 0;
    std::uint64_t first = 0;  ///< after a run: the index of its first state
  };

  static unsigned shard_of(std::uint64_t hash) { return hash % kShards; }

  /// Each shard's next states are expanded; where the new ones belong is not touched yet.
  void expand() {
    crew_.each(kShards, [this](unsigned s) {
      Part& part = parts_[s];
      const std::uint64_t to = std::min(part.expanded + kRound, part.level_end);
      const auto emit = [&](std::uint64_t from, const State& next) {
        const auto h = hash_of(next);
        part.out[shard_of(h)].add() = {next, h, static_cast<Parent>(from * kShards + s)};
        ++part.transitions;
      };
      each_successor(part, to, emit);
      part.expanded = to;
    });
  }

  /// Calls emit(number, next) for the successors of those states that come next, up to `to`.
  template <typename Emit>
  void each_successor(const Part& part, std::uint64_t to, Emit emit) {
    const std::uint64_t first = part.expanded;
    const auto of = [&](std::uint64_t i) { return part.states.state(first + i); };
    const auto emit_from = [&](std::uint64_t i, const State& next, Action) {
      emit(first + i, next);
    };
    if constexpr (requires { model_.successors(to - first, of, emit_from); }) {
      model_.successors(to - first, of, emit_from);
    } else {
      for (std::uint64_t i = 0; i < to - first; ++i) {
        model_.successors(of(i), [&](const State& next, Action a) { emit_from(i, next, a); });
      }
    }
  }

  /// Each shard takes what was found for it, always in the same order.
  void take_in() {
    crew_.each(kShards, [this](unsigned s) {
      for (Part& from : parts_) {
        take_in(parts_[s], from.out[s]);
        from.out[s].clear();
      }
    });
  }

  void take_in(Part& part, const Outbox& found) {
    const std::size_t count = found.size();
    for (std::size_t i = 0; i < std::min(2 * kAhead, count); ++i) {
      __builtin_prefetch(part.states.slot_for(found[i].hash));
    }
    for (std::size_t i = 0; i < count && part.broken == nullptr; ++i) {
      if (i + 2 * kAhead < count) {
        __builtin_prefetch(part.states.slot_for(found[i + 2 * kAhead].hash));
      }
      if constexpr (!Shard::kInTable) {
        if (i + kAhead < count) __builtin_prefetch(part.states.state_for(found[i + kAhead].hash));
      }
      if (!part.states.insert(found[i].state, found[i].hash, found[i].parent)) continue;
      const Judgement judged = model_.judge(found[i].state);
      part.reached |= judged.reached;
      if (judged.broken == nullptr) continue;
      part.broken = judged.broken;
      part.broken_at = part.states.size() - 1;
    }
  }

  /// False if there is none.
  bool begin_level() {
    for (Part& part : parts_) part.level_end = part.states.size();
    if (level_is_done()) return false;
    ++out_.depth;
    return true;
  }
  [[nodiscard]] bool level_is_done() const {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.expanded == part.level_end; });
  }
  [[nodiscard]] std::uint64_t expanded() const {
    std::uint64_t all = 0;
    for (const Part& part : parts_) all += part.expanded;
    return all;
  }
  [[nodiscard]] const Part* violated() const {
    for (const Part& part : parts_) {
      if (part.broken != nullptr) return &part;
    }
    return nullptr;
  }

  bool go_on() {
    count();
    if (options_.progress) options_.progress(out_);
    if (options_.stop && options_.stop()) {
      out_.why = "interrupted";
      return false;
    }
    if (out_.states > options_.max_states) {
      out_.why = "more than " + std::to_string(options_.max_states) +
                 " states; broken in no behaviour of up to " + std::to_string(out_.depth - 1) +
                 " steps";
      return false;
    }
    return true;
  }

  void conclude() {
    out_.verdict = Verdict::holds;
    out_.why.clear();
    if (const Part* part = violated()) {
      const auto shard = static_cast<unsigned>(part - parts_.data());
      out_.verdict = Verdict::violated;
      out_.why = part->broken;
      out_.story = model_.story(path_of(shard, part->broken_at));
    }
  }

  void count() {
    out_.states = out_.transitions = out_.reached = out_.bytes = 0;
    for (Part& part : parts_) {
      part.first = out_.states;
      out_.states += part.states.size();
      out_.transitions += part.transitions;
      out_.reached |= part.reached;
      out_.bytes += part.states.bytes();
    }
    out_.cpu_seconds = crew_.cpu_seconds() - cpu_seconds_before_;
  }

  Exploration finish() {
    count();
    return std::move(out_);
  }

  [[nodiscard]] const Part& part_of(std::uint64_t i) const {
    const auto after = std::find_if(parts_.begin(), parts_.end(),
                                    [i](const Part& part) { return part.first > i; });
    auto at = std::prev(after);
    while (at->states.size() == 0) --at;
    return *at;
  }

  [[nodiscard]] std::vector<State> path_of(unsigned shard, std::uint64_t i) const {
    std::vector<State> path;
    for (;;) {
      path.push_back(parts_[shard].states.state(i));
      const Parent parent = parts_[shard].states.parent(i);
      if (parent == kNone) break;
      shard = parent % kShards;
      i = parent / kShards;
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  const Model& model_;
  const ExploreOptions options_;
  std::vector<Part> parts_;
  Crew crew_;
  double cpu_seconds_before_ = crew_.cpu_seconds();
  Exploration out_;
};

}  // namespace leasehold::model
