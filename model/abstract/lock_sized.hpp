#pragma once

#include <array>

#include "model/abstract/lock_world.hpp"

/// A scope with sizes that the compiler knows. It unrolls the loops over clients, messages and
/// places, because an exploration spends most of its time packing states and making them canonical.
/// Internal to lock_world.
namespace leasehold::model::lock_world {

template <int Clients, int Messages, int Queue>
struct Sized {
  static constexpr int clients = Clients, messages = Messages, queue = Queue;
  const Scope& all;
  const Rules& rules = all.rules;
  const bool orders = tokens_are_orders(all);
};

/// Calls `f` with the scope as a Sized. REQUIRES: LockSystem takes such a scope.
template <typename F>
decltype(auto) sized(const Scope& scope, F f) {
  const auto by_queue = [&]<int C, int M>() -> decltype(auto) {
    if (scope.queue == 0) return f(Sized<C, M, 0>{scope});
    if (scope.queue == 1) return f(Sized<C, M, 1>{scope});
    return f(Sized<C, M, 2>{scope});
  };
  if (scope.clients == 3) return by_queue.template operator()<3, 1>();
  if (scope.messages == 2) return by_queue.template operator()<2, 2>();
  return by_queue.template operator()<2, 1>();
}

/// Every place that names an owner, the documents first.
template <typename W, typename S, typename F>
void each_owner(W& w, const S&, F f) {
  f(w.document.owner), f(w.committed.owner), f(w.stale.owner);
  for (int p = 0; p < S::queue; ++p) {
    f(w.document.waiting[p].owner), f(w.committed.waiting[p].owner), f(w.stale.waiting[p].owner);
  }
  for (int i = 0; i < S::clients; ++i) {
    auto& c = w.client[i];
    f(c.owner), f(c.doubtful), f(c.to_delete), f(c.sight_owner), f(c.giver), f(c.notice.owner);
    for (int k = 0; k < S::messages; ++k) {
      f(c.message[k].owner), f(c.message[k].seen_owner);
    }
  }
}

}  // namespace leasehold::model::lock_world
