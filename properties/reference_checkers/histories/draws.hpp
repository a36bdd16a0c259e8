#pragma once

#include <initializer_list>
#include <random>
#include <vector>

#include "model/history/history.hpp"

namespace leasehold::properties {

/// What is drawn for a generated history: the same of the same seed.
class Draws {
 public:
  explicit Draws(std::seed_seq& seed) : random_(seed) {}

  int from(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return from(1, n) == 1; }
  template <typename T>
  T any_of(std::initializer_list<T> all) {
    return *(all.begin() + from(0, static_cast<int>(all.size()) - 1));
  }
  /// One of the events that are wanted; null: there is none.
  template <typename Wanted>
  model::Event* pick(model::History& h, const Wanted& wanted) {
    std::vector<model::Event*> found;
    for (model::Event& e : h) {
      if (wanted(e)) found.push_back(&e);
    }
    if (found.empty()) return nullptr;
    return found[static_cast<std::size_t>(from(0, static_cast<int>(found.size()) - 1))];
  }
  model::Event* pick(model::History& h, model::Kind kind) {
    return pick(h, [&](const model::Event& e) { return e.kind == kind; });
  }

 private:
  std::mt19937 random_;
};

}  // namespace leasehold::properties
