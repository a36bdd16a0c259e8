#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/verdict/checkers.hpp"

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
/// Exact: whole states are compared, never hashes alone. Not thread-safe.
namespace leasehold::model {

template <std::size_t Words>
using PackedState = std::array<std::uint64_t, Words>;

template <std::size_t Words>
std::uint64_t hash_of(const PackedState<Words>& state) {
  std::uint64_t h = 0x9E3779B97F4A7C15u;
  for (const std::uint64_t word : state) {
    h ^= word;
    h *= 0xFF51AFD7ED558CCDu;
    h ^= h >> 32;
  }
  return h * 0xC4CEB9FE1A85EC53u;
}

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
  std::uint64_t depth = 0;         ///< levels, the initial one included
  std::uint64_t reached = 0;       ///< `sometimes` bits of all states
  std::vector<std::string> story;  ///< of violated: a shortest counterexample
};

struct ExploreOptions {
  std::uint64_t max_states = 200'000'000;
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
      : model_(model), options_(std::move(options)) {}

  Exploration run() {
    model_.initial([this](const State& state) { take(state, kNone); });
    for (Index at = 0; at < states_.size() && !broken_;) {
      ++out_.depth;
      for (const std::uint64_t level_end = states_.size(); at < level_end && !broken_; ++at) {
        if (at % kPulse == 0 && !go_on()) return std::move(out_);
        model_.successors(State{states_[at]}, [&](const State& next, Action) {
          ++out_.transitions;
          if (!broken_) take(next, at);
        });
      }
    }
    conclude();
    return std::move(out_);
  }

  /// After a run: the states, in the order of their discovery.
  [[nodiscard]] std::uint64_t size() const { return states_.size(); }
  [[nodiscard]] const State& state(std::uint64_t i) const { return states_[i]; }
  /// The index of a state that was reached.
  [[nodiscard]] Index find(const State& state) const {
    return static_cast<Index>(table_[place_of(state, hash_of(state))]);
  }
  /// A shortest way from an initial state, in words.
  [[nodiscard]] std::vector<std::string> story_to(Index last) const {
    std::vector<State> path;
    for (Index i = last; i != kNone; i = parents_[i]) path.push_back(states_[i]);
    std::reverse(path.begin(), path.end());
    return model_.story(path);
  }

 private:
  static constexpr Index kNone = std::numeric_limits<Index>::max();
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static constexpr std::uint64_t kPulse = 1u << 16;

  /// The slot of this state, or the empty slot where it belongs. A slot is the index of a state,
  /// and above it half of its hash, so that a search compares no other states.
  [[nodiscard]] std::size_t place_of(const State& state, std::uint64_t hash) const {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash & mask;
    while (table_[at] != kEmpty &&
           ((table_[at] ^ hash) >> 32 != 0 || states_[static_cast<Index>(table_[at])] != state)) {
      at = (at + 1) & mask;
    }
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> before(2 * table_.size(), kEmpty);
    before.swap(table_);
    for (const auto slot : before) {
      if (slot == kEmpty) continue;
      const State& state = states_[static_cast<Index>(slot)];
      table_[place_of(state, hash_of(state))] = slot;
    }
  }

  void take(const State& state, Index parent) {
    if (states_.size() == kNone) throw std::length_error("too many states");
    const auto index = static_cast<Index>(states_.size());
    const auto hash = hash_of(state);
    const auto place = place_of(state, hash);
    if (table_[place] != kEmpty) return;
    table_[place] = (hash >> 32 << 32) | index;
    states_.push_back(state);
    parents_.push_back(parent);
    if (states_.size() * 2 > table_.size()) grow();
    const Judgement judged = model_.judge(state);
    out_.reached |= judged.reached;
    broken_ = judged.broken;
  }

  bool go_on() {
    out_.states = states_.size();
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
    out_.states = states_.size();
    out_.verdict = broken_ == nullptr ? Verdict::holds : Verdict::violated;
    out_.why = broken_ == nullptr ? "" : broken_;
    if (broken_ != nullptr) out_.story = story_to(static_cast<Index>(states_.size() - 1));
  }

  const Model& model_;
  const ExploreOptions options_;
  std::deque<State> states_;  ///< in the order of their discovery
  std::vector<Index> parents_;
  std::vector<std::uint64_t> table_ = std::vector<std::uint64_t>(1 << 16, kEmpty);
  const char* broken_ = nullptr;  ///< by the last of the states
  Exploration out_;
};

}  // namespace leasehold::model
