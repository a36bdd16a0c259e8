#pragma once

#include <string>
#include <vector>

#include "model/explorer.hpp"

namespace leasehold::bench {

/// A lease protocol small enough to be written for any model checker, so that explorers can be
/// compared on it: one document, N clients, a clock, a fenced resource. Leases last 3 ticks.
struct SmallProtocol {
  using State = model::PackedState<1>;
  using Action = const char*;
  enum Bug { kNone, kTakesTooEarly, kAcceptsEveryToken };

  int clients = 3;
  int last_tick = 10;
  int last_token = 8;
  Bug bug = kNone;

  static constexpr int kLease = 3;
  enum Phase { kIdle, kWaiting, kHeld, kPaused, kCrashed };

  struct Client {
    int phase = kIdle, token = 0, deadline = 0;
  };
  /// A state with room to work in; `pack` makes it one word.
  struct Open {
    int now = 0, owner = 0, expiry = 0, token = 0, greatest = 0, latest = 0;
    Client client[4];
  };

  static State pack(const Open& o, int clients) {
    std::uint64_t word = 0;
    const auto put = [&word](int value, int bits) {
      word = word << bits | static_cast<std::uint64_t>(value);
    };
    put(o.now, 4), put(o.owner, 3), put(o.expiry, 4);
    put(o.token, 4), put(o.greatest, 4), put(o.latest, 4);
    for (int i = 0; i < clients; ++i) {
      put(o.client[i].phase, 3), put(o.client[i].token, clients > 3 ? 3 : 4);
      put(o.client[i].deadline, 4);
    }
    return {word};
  }

  static Open unpack(State state, int clients) {
    std::uint64_t word = state[0];
    const auto get = [&word](int bits) {
      const auto value = static_cast<int>(word & ((1u << bits) - 1));
      word >>= bits;
      return value;
    };
    Open o;
    for (int i = clients - 1; i >= 0; --i) {
      o.client[i].deadline = get(4);
      o.client[i].token = get(clients > 3 ? 3 : 4);
      o.client[i].phase = get(3);
    }
    o.latest = get(4), o.greatest = get(4), o.token = get(4);
    o.expiry = get(4), o.owner = get(3), o.now = get(4);
    return o;
  }

  template <typename Emit>
  void initial(Emit emit) const {
    emit(pack(Open{}, clients));
  }

  template <typename Emit>
  void successors(const State& state, Emit emit) const {
    const Open o = unpack(state, clients);
    const auto go = [&](const char* action, auto change) {
      Open next = o;
      change(next);
      emit(pack(next, clients), action);
    };
    if (o.now < last_tick) go("tick", [](Open& n) { ++n.now; });
    if (o.owner != 0 && o.expiry <= o.now) go("ttl", [](Open& n) { n.owner = n.expiry = 0; });
    for (int i = 0; i < clients; ++i) client_steps(o, i, go);
  }

  const char* broken(const State& state) const {
    const Open o = unpack(state, clients);
    int holders = 0;
    for (int i = 0; i < clients; ++i) {
      const Client& c = o.client[i];
      holders += (c.phase == kHeld || c.phase == kPaused) && c.deadline > o.now ? 1 : 0;
    }
    if (holders > 1) return "mutex";
    return o.latest < o.greatest ? "fence" : nullptr;
  }

  static std::uint64_t reached(const State&) { return 0; }
  [[nodiscard]] std::vector<std::string> story(const std::vector<State>& path) const {
    std::vector<std::string> lines;
    for (std::size_t i = 1; i < path.size(); ++i) {
      std::string line;
      successors(path[i - 1], [&](const State& next, Action action) {
        if (line.empty() && next == path[i]) line = action;
      });
      lines.push_back(line);
    }
    return lines;
  }

 private:
  void accept(Open& n, int token) const {
    if (bug == kAcceptsEveryToken) {
      n.latest = token;
      n.greatest = n.greatest > token ? n.greatest : token;
    } else if (token >= n.greatest) {
      n.greatest = n.latest = token;
    }
  }

  template <typename Go>
  void client_steps(const Open& o, int i, Go go) const {
    const Client& c = o.client[i];
    const int me = i + 1;
    const bool over = o.expiry <= o.now + (bug == kTakesTooEarly ? 1 : 0);
    const bool asks = c.phase == kIdle || c.phase == kWaiting;
    if (asks && (o.owner == 0 || over) && o.token < last_token) {
      go("acquire", [&](Open& n) {
        n.owner = me, n.expiry = o.now + kLease, ++n.token;
        n.client[i] = {kHeld, n.token, n.expiry};
      });
    }
    if (c.phase == kIdle && o.owner != 0 && o.expiry > o.now) {
      go("block", [&](Open& n) { n.client[i].phase = kWaiting; });
    }
    if (c.phase == kWaiting) go("giveup", [&](Open& n) { n.client[i].phase = kIdle; });
    if (c.phase == kHeld) {
      go("extend", [&](Open& n) {
        if (o.owner == me && o.expiry > o.now) {
          n.expiry = n.client[i].deadline = o.now + kLease;
        } else {
          n.client[i] = {};
        }
      });
      go("release", [&](Open& n) {
        if (o.owner == me) n.owner = n.expiry = 0;
        n.client[i] = {};
      });
      go("crash", [&](Open& n) { n.client[i] = {kCrashed, 0, 0}; });
      go("pause", [&](Open& n) { n.client[i].phase = kPaused; });
      if (c.deadline > o.now) {
        go("write", [&](Open& n) { accept(n, c.token); });
      } else {
        go("latewrite", [&](Open& n) {
          accept(n, c.token);
          n.client[i] = {};
        });
      }
    }
    if (c.phase == kCrashed) go("restart", [&](Open& n) { n.client[i].phase = kIdle; });
    if (c.phase == kPaused) go("resume", [&](Open& n) { n.client[i].phase = kHeld; });
  }
};

}  // namespace leasehold::bench
