#pragma once

#include <string>
#include <vector>

#include "model/explorer.hpp"

namespace leasehold::bench {

/// A lease protocol small enough to be written for any model checker, so that explorers can be
/// compared on it: one document, N clients, a clock, a fenced resource. Leases last 3 ticks.
///
/// As in the verifier that Spin makes, a step changes the state's bytes, here bits, where they are.
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

  /// A part of the word: where, and how many bits.
  struct Field {
    int at, bits;
  };
  static constexpr Field kNow{60, 4}, kOwner{57, 3}, kExpiry{53, 4};
  static constexpr Field kToken{49, 4}, kGreatest{45, 4}, kLatest{41, 4};

  /// A state, whose parts are read and changed.
  struct Word {
    std::uint64_t bits = 0;

    [[nodiscard]] int operator[](Field f) const {
      return static_cast<int>(bits >> f.at & ((1u << f.bits) - 1));
    }
    Word& set(Field f, int value) {
      const std::uint64_t mask = ((std::uint64_t{1} << f.bits) - 1) << f.at;
      bits = (bits & ~mask) | static_cast<std::uint64_t>(value) << f.at;
      return *this;
    }
  };
  /// The parts of one client.
  struct Client {
    int at, width;
    [[nodiscard]] Field phase() const { return {at, 3}; }
    [[nodiscard]] Field deadline() const { return {at + 3, 4}; }
    [[nodiscard]] Field token() const { return {at + 7, width - 7}; }
    [[nodiscard]] Field all() const { return {at, width}; }
  };
  [[nodiscard]] Client client(int i) const {
    const int width = clients > 3 ? 10 : 11;
    return {i * width, width};
  }

  template <typename Emit>
  void initial(Emit emit) const {
    emit(State{0});
  }

  template <typename Emit>
  void successors(const State& state, Emit emit) const {
    const Word w{state[0]};
    const int now = w[kNow];
    const auto go = [&](const char* action, Word next) { emit(State{next.bits}, action); };
    if (now < last_tick) go("tick", Word(w).set(kNow, now + 1));
    if (w[kOwner] != 0 && w[kExpiry] <= now) go("ttl", freed(w));
    for (int i = 0; i < clients; ++i) client_steps(w, i, go);
  }

  [[nodiscard]] model::Judgement judge(const State& state) const {
    const Word w{state[0]};
    int holders = 0;
    for (int i = 0; i < clients; ++i) {
      const int phase = w[client(i).phase()];
      const bool holds = phase == kHeld || phase == kPaused;
      holders += holds && w[client(i).deadline()] > w[kNow] ? 1 : 0;
    }
    if (holders > 1) return {.broken = "mutex"};
    return {.broken = w[kLatest] < w[kGreatest] ? "fence" : nullptr};
  }

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
  static Word freed(Word w) { return w.set(kOwner, 0).set(kExpiry, 0); }

  [[nodiscard]] Word accepted(Word w, int token) const {
    const int greatest = w[kGreatest];
    if (token < greatest && bug != kAcceptsEveryToken) return w;
    return w.set(kLatest, token).set(kGreatest, token > greatest ? token : greatest);
  }

  template <typename Go>
  void client_steps(Word w, int i, Go go) const {
    const Client c = client(i);
    const int phase = w[c.phase()], now = w[kNow], owner = w[kOwner], expiry = w[kExpiry];
    if (phase == kHeld) return holder_steps(w, c, i + 1, go);
    if (phase == kCrashed) return go("restart", Word(w).set(c.phase(), kIdle));
    if (phase == kPaused) return go("resume", Word(w).set(c.phase(), kHeld));
    const bool over = expiry <= now + (bug == kTakesTooEarly ? 1 : 0);
    const int token = w[kToken] + 1;
    if ((owner == 0 || over) && token <= last_token) {
      Word next = Word(w).set(c.phase(), kHeld);
      next.set(kOwner, i + 1).set(kExpiry, now + kLease).set(kToken, token);
      go("acquire", next.set(c.token(), token).set(c.deadline(), now + kLease));
    }
    if (phase == kWaiting) return go("giveup", Word(w).set(c.phase(), kIdle));
    if (owner != 0 && expiry > now) go("block", Word(w).set(c.phase(), kWaiting));
  }

  template <typename Go>
  void holder_steps(Word w, Client c, int me, Go go) const {
    const int now = w[kNow], token = w[c.token()];
    const bool owns = w[kOwner] == me;
    const Word ended = Word(w).set(c.all(), kIdle);
    const bool extends = owns && w[kExpiry] > now;
    go("extend", extends ? Word(w).set(kExpiry, now + kLease).set(c.deadline(), now + kLease)
                         : ended);
    go("release", owns ? freed(ended) : ended);
    go("crash", Word(w).set(c.all(), kCrashed));
    go("pause", Word(w).set(c.phase(), kPaused));
    if (w[c.deadline()] > now) {
      go("write", accepted(w, token));
    } else {
      go("latewrite", accepted(w, token).set(c.all(), kIdle));
    }
  }
};

}  // namespace leasehold::bench
