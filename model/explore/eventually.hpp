#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/explore/explorer.hpp"

/// "What is pending comes to an end, once faults have stopped": looks among all reached states for
/// a cycle without a fault on which it never does. Such a cycle counts only if it is fair: each
/// kind of step that is possible all the way round is taken on it.
///
/// Beyond what Explorer asks, a model has
///
///     static constexpr int kFairKinds = ...;
///     static constexpr std::uint32_t kGoesOn = ...;  // bits of kinds that every cycle takes: time
///     bool pending(const State&) const;
///     /// Steps without a fault: emit(next, kind or -1, whether the step ends what was pending).
///     void calm_successors(const State&, Emit emit) const;
///
/// Clients may be sorted: pending and kinds must not tell them apart.
namespace leasehold::model {

struct Eventually {
  bool holds = true;
  std::uint64_t pending_states = 0;
  std::uint64_t cycle_states = 0;  ///< of a violation: how many states the fair cycle runs through
  std::vector<std::string> story;  ///< of a violation: the shortest way to the cycle
};

template <typename Model>
class EventuallySearch {
 public:
  /// `explorer` has finished its run.
  EventuallySearch(const Model& model, const Explorer<Model>& explorer)
      : model_(model), explorer_(explorer), order_(explorer.size(), 0), low_(explorer.size(), 0) {}

  Eventually run() {
    for (std::uint64_t i = 0; i < explorer_.size() && out_.holds; ++i) {
      if (!model_.pending(explorer_.state(i))) continue;
      ++out_.pending_states;
      if (order_[i] == 0) search(static_cast<Index>(i));
    }
    return std::move(out_);
  }

 private:
  using Index = typename Explorer<Model>::Index;
  static constexpr Index kDone = ~Index{0};  ///< as a low link: its component is known

  struct Frame {
    Index node;
    std::size_t first, next;  ///< of its successors, in edges_
  };

  /// Tarjan's strongly connected components, without recursion.
  void search(Index root) {
    open(root);
    while (!frames_.empty() && out_.holds) {
      Frame& frame = frames_.back();
      if (frame.next < edges_.size()) {
        const Index to = edges_[frame.next++];
        if (order_[to] == 0) {
          open(to);
        } else if (low_[to] != kDone) {
          low_[frame.node] = std::min(low_[frame.node], order_[to]);
        }
        continue;
      }
      const Frame closed = frame;
      edges_.resize(closed.first);
      frames_.pop_back();
      if (!frames_.empty()) {
        low_[frames_.back().node] = std::min(low_[frames_.back().node], low_[closed.node]);
      }
      if (low_[closed.node] == order_[closed.node]) close(closed.node);
    }
  }

  void open(Index node) {
    order_[node] = low_[node] = ++visited_;
    path_.push_back(node);
    const std::size_t first = edges_.size();
    model_.calm_successors(explorer_.state(node), [&](const auto& next, int, bool ends) {
      if (!ends && model_.pending(next)) edges_.push_back(explorer_.find(next));
    });
    frames_.push_back({node, first, first});
  }

  /// The component of this node is complete: is it a fair cycle?
  void close(Index node) {
    std::vector<Index> component;
    do {
      component.push_back(path_.back());
      path_.pop_back();
      low_[component.back()] = kDone;
    } while (component.back() != node);
    std::sort(component.begin(), component.end());
    bool has_edge = false;
    std::uint32_t always = (1u << Model::kFairKinds) - 1, taken = 0;
    for (const Index i : component) {
      std::uint32_t possible = 0;
      model_.calm_successors(explorer_.state(i), [&](const auto& next, int kind, bool ends) {
        const std::uint32_t bit = kind < 0 ? 0u : 1u << kind;
        possible |= bit;
        if (ends || !model_.pending(next)) return;
        if (!std::binary_search(component.begin(), component.end(), explorer_.find(next))) return;
        has_edge = true;
        taken |= bit;
      });
      always &= possible;
    }
    if (!has_edge || ((always | Model::kGoesOn) & ~taken) != 0) return;
    out_.holds = false;
    out_.cycle_states = component.size();
    out_.story = explorer_.story_to(component.front());
  }

  const Model& model_;
  const Explorer<Model>& explorer_;
  std::vector<Index> order_, low_;
  std::vector<Index> path_, edges_;
  std::vector<Frame> frames_;
  Index visited_ = 0;
  Eventually out_;
};

}  // namespace leasehold::model
