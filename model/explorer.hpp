#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "model/checkers.hpp"

/// Visits every state of a small system, breadth-first, so that a counterexample is a shortest one.
///
/// A model is a type with
///
///     using State = PackedState<W>;          // all of it in W words: equal states, equal words
///     using Action = small trivially copyable type;
///     void initial(Emit emit) const;                     // emit(state)
///     void successors(const State&, Emit emit) const;    // emit(next, action); self-loops count
///     const char* broken(const State&) const;            // the `always` that fails here, or null
///     std::uint64_t reached(const State&) const;         // the `sometimes` true here, as bits
///     std::vector<std::string> story(path) const;        // states from an initial one, a line a
///     step
///
/// Exact: whole states are compared, never hashes alone. Not thread-safe.
namespace leasehold::model {

template <std::size_t Words>
using PackedState = std::array<std::uint64_t, Words>;

/// How far an exploration has come, and what it found.
struct Exploration {
  Verdict verdict = Verdict::unknown;
  std::string why = "not finished";  ///< of violated: the property; of unknown: the reason
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t depth = 0;         ///< levels, the initial one included
  std::uint64_t reached = 0;       ///< `sometimes` bits of all states
  std::uint64_t bytes = 0;         ///< held for states, parents and table
  std::vector<std::string> story;  ///< of violated: a shortest counterexample
};

struct ExploreOptions {
  std::uint64_t max_states = 200'000'000;
  std::function<bool()> stop;                        ///< asked every 2^16 states; may be empty
  std::function<void(const Exploration&)> progress;  ///< called likewise; may be empty
};

/// An array in huge pages where the system has them: it is read at random, and most of that time is
/// spent on finding pages.
template <typename T>
class HugeArray {
 public:
  explicit HugeArray(std::size_t size)
      : memory_(static_cast<T*>(std::aligned_alloc(kPage, bytes_for(size)))) {
    if (memory_ == nullptr) throw std::bad_alloc();
    madvise(memory_.get(), bytes_for(size), MADV_HUGEPAGE);
  }
  T& operator[](std::size_t i) { return memory_.get()[i]; }
  const T& operator[](std::size_t i) const { return memory_.get()[i]; }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr std::size_t kPage = std::size_t{1} << 21;
  static std::size_t bytes_for(std::size_t size) {
    return (size * sizeof(T) + kPage - 1) / kPage * kPage;
  }
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> memory_;
};

/// Memory that grows by whole chunks: no copying, no peak while it grows.
template <typename T>
class Chunked {
 public:
  void push_back(const T& value) {
    if ((size_ & kMask) == 0) chunks_.emplace_back(kMask + 1);
    chunks_.back()[size_ & kMask] = value;
    ++size_;
  }
  const T& operator[](std::uint64_t i) const { return chunks_[i >> kShift][i & kMask]; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t bytes() const { return chunks_.size() * (kMask + 1) * sizeof(T); }

 private:
  static constexpr int kShift = 19;
  static constexpr std::uint64_t kMask = (1u << kShift) - 1;
  std::vector<HugeArray<T>> chunks_;
  std::uint64_t size_ = 0;
};

template <typename Model>
class Explorer {
 public:
  using State = typename Model::State;
  using Action = typename Model::Action;

  explicit Explorer(const Model& model, ExploreOptions options = {})
      : model_(model), options_(std::move(options)), table_(kFirstTable) {
    empty_table();
  }

  Exploration run() {
    model_.initial([this](const State& state) { insert(state, kEmpty); });
    std::uint64_t level_end = states_.size();
    out_.depth = 1;
    std::uint64_t next_pulse = 0;
    for (std::uint64_t i = 0; i < states_.size() && !broken_;) {
      if (i == level_end) {
        level_end = states_.size();
        ++out_.depth;
      }
      if (i >= next_pulse) {
        next_pulse = i + kPulse;
        if (!go_on()) return finish();
      }
      const std::uint64_t to = std::min(i + kBatch, level_end);
      expand(i, to);
      i = to;
    }
    if (!broken_) {
      out_.verdict = Verdict::holds;
      out_.why.clear();
    }
    return finish();
  }

 public:
  using Index = std::uint32_t;
  /// After a run: the states, in the order of their discovery.
  [[nodiscard]] std::uint64_t size() const { return states_.size(); }
  [[nodiscard]] const State& state(std::uint64_t i) const { return states_[i]; }
  /// The index of a state that was reached.
  [[nodiscard]] Index find(const State& state) const {
    std::size_t at = slot(hash(state));
    while (!same(states_[table_[at]], state)) at = (at + 1) & (table_size_ - 1);
    return table_[at];
  }
  /// A shortest way from an initial state, in words.
  [[nodiscard]] std::vector<std::string> story_to(Index last) const {
    std::vector<Index> path;
    for (Index i = last; i != kEmpty; i = parents_[i]) path.push_back(i);
    std::vector<State> states;
    for (std::size_t k = path.size(); k-- > 0;) states.push_back(states_[path[k]]);
    return model_.story(states);
  }

 private:
  static constexpr Index kEmpty = std::numeric_limits<Index>::max();
  static constexpr std::size_t kFirstTable = 1u << 16;
  static constexpr std::uint64_t kPulse = 1u << 16;
  static constexpr std::uint64_t kBatch = 16;

  /// Without a call, which costs more than the comparison.
  static bool same(const State& a, const State& b) {
    std::uint64_t differs = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differs |= a[i] ^ b[i];
    return differs == 0;
  }

  struct Candidate {
    State state;
    std::uint64_t hash;
    Index parent;
  };

  static std::uint64_t hash(const State& state) {
    std::uint64_t h = 0x9E3779B97F4A7C15u;
    for (const std::uint64_t word : state) {
      h ^= word;
      h *= 0xFF51AFD7ED558CCDu;
      h ^= h >> 32;
    }
    return h * 0xC4CEB9FE1A85EC53u;
  }

  /// The successors of some states are gathered first, then their slots and the states there are
  /// fetched, so that memory is waited for once and not once for each.
  void expand(std::uint64_t from, std::uint64_t to) {
    candidates_.clear();
    for (std::uint64_t i = from; i < to; ++i) {
      const State state = states_[i];
      model_.successors(state, [&](const State& next, Action) {
        const auto h = hash(next);
        __builtin_prefetch(&table_[slot(h)]);
        candidates_.push_back({next, h, static_cast<Index>(i)});
      });
    }
    for (const auto& candidate : candidates_) {
      const Index there = table_[slot(candidate.hash)];
      if (there != kEmpty) __builtin_prefetch(&states_[there]);
    }
    out_.transitions += candidates_.size();
    for (const auto& candidate : candidates_) {
      if (broken_) return;
      insert(candidate.state, candidate.parent, candidate.hash);
    }
  }

  [[nodiscard]] std::size_t slot(std::uint64_t h) const {
    return static_cast<std::size_t>(h >> (64 - std::countr_zero(table_size_)));
  }

  void insert(const State& state, Index parent) { insert(state, parent, hash(state)); }

  void insert(const State& state, Index parent, std::uint64_t h) {
    std::size_t at = slot(h);
    while (table_[at] != kEmpty) {
      if (same(states_[table_[at]], state)) return;
      at = (at + 1) & (table_size_ - 1);
    }
    const auto index = static_cast<Index>(states_.size());
    table_[at] = index;
    states_.push_back(state);
    parents_.push_back(parent);
    out_.reached |= model_.reached(state);
    if (const char* property = model_.broken(state)) {
      broken_ = true;
      out_.verdict = Verdict::violated;
      out_.why = property;
      out_.story = story_to(index);
    }
    if (states_.size() * 2 > table_size_) grow();
  }

  void empty_table() { std::fill_n(&table_[0], table_size_, kEmpty); }

  /// Slots are fetched some states ahead of their use.
  void grow() {
    table_size_ *= 2;
    table_ = HugeArray<Index>(table_size_);
    empty_table();
    constexpr std::uint64_t kAhead = 32;
    for (std::uint64_t i = 0; i < states_.size(); ++i) {
      if (i + kAhead < states_.size()) __builtin_prefetch(&table_[slot(hash(states_[i + kAhead]))]);
      std::size_t at = slot(hash(states_[i]));
      while (table_[at] != kEmpty) at = (at + 1) & (table_size_ - 1);
      table_[at] = static_cast<Index>(i);
    }
  }

  bool go_on() {
    out_.states = states_.size();
    if (options_.progress) options_.progress(out_);
    if (options_.stop && options_.stop()) {
      out_.why = "interrupted";
      return false;
    }
    if (states_.size() > options_.max_states) {
      out_.why = "more than " + std::to_string(options_.max_states) + " states";
      return false;
    }
    return true;
  }

  Exploration finish() {
    out_.states = states_.size();
    out_.bytes = states_.bytes() + parents_.bytes() + table_size_ * sizeof(Index);
    return std::move(out_);
  }

  const Model& model_;
  const ExploreOptions options_;
  std::size_t table_size_ = kFirstTable;
  HugeArray<Index> table_;  ///< open addressing, at most half full
  Chunked<State> states_;
  Chunked<Index> parents_;
  std::vector<Candidate> candidates_;
  bool broken_ = false;
  Exploration out_;
};

}  // namespace leasehold::model
