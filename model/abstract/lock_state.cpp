#include <stdexcept>

#include "model/abstract/lock_sized.hpp"

/// Packs a world into the words of a state, and back.
namespace leasehold::model::lock_world {
namespace {

template <typename D, typename S, typename F>
void queue_fields(D& d, const S&, F& f) {
  for (int p = 0; p < S::queue; ++p) {
    auto& entry = d.waiting[p];
    f(entry.owner, 5);
    if (entry.owner != 0) f(entry.beat, 3), f(entry.left, 2), f(entry.age, 2);
  }
  f.part();
}

template <typename C, typename S, typename F>
void waiter_fields(C& c, const S& scope, F& f) {
  f(c.notice.owner, 5);
  if (c.notice.owner != 0) {
    f(c.notice.age, 2), f(c.notice.order, 4), f(c.notice.committed, 1);
    if (!scope.orders) f(c.notice.token, 4);
  }
  if (scope.rules.grant_counts != Rules::GrantCounts::from_its_renewal) f(c.counted, 2);
  if (!scope.rules.renewals_restore) f(c.enlisted, 1);
  f.part();
}

template <typename M, typename S, typename F>
void message_fields(M& m, const S& scope, F& f) {
  f(m.slot, 4);
  if (m.slot == kEmpty) return;
  f(m.owner, 5), f(m.age, 2), f(m.committed, 1);
  if (m.slot == kWon) {
    f(m.order, 4);
    if (!scope.orders) f(m.token, 4);
  } else {
    f(m.seen_owner, 5), f(m.seen_beat, 3);
  }
  if (scope.rules.beat == Rules::Beat::kept_by_retries) f(m.beat, 3);
  if (scope.rules.token == Rules::Token::cluster_time && m.slot != kWon) f(m.token, 4);
}

/// With a queue there is room only for the fields that a client in its phase can have. The
/// package's client observes, fences and cleans up nothing.
template <typename C, typename S, typename F>
void client_fields(C& c, const S& scope, bool package, F& f) {
  const bool terse = S::queue > 0;
  const bool ours = !terse || !package;
  f(c.phase, 3), f(c.owner, 5), f(c.awaited, 2);
  if (!terse || c.phase >= kHeld) {
    f(c.lease, 2), f(c.due, 2), f(c.order, 4);
    if (!scope.orders) f(c.token, 4);
  }
  if (!terse || c.waits()) f(c.doubtful, 5);
  if (ours) f(c.sight_owner, 5), f(c.sight_beat, 3), f(c.sight_age, 2), f(c.to_delete, 5);
  if (scope.all.hand_overs) f(c.giver, 5);
  if (scope.rules.beat == Rules::Beat::kept_by_retries) f(c.attempt_beat, 3);
  f.part();
  if (S::queue > 0 && ours) waiter_fields(c, scope, f);
  for (int k = 0; k < S::messages; ++k) message_fields(c.message[k], scope, f);
  f.part();
}

/// Calls f(field, bits) for each field of a state, always in the same order, and f.part() after at
/// most 64 bits.
template <typename W, typename S, typename F>
void each_field(W& w, const S& scope, F& f) {
  f(w.second, 1), f(w.since_failover, 2), f(w.dirty, 1), f(w.stale_runs, 1);
  f(w.top_order, 4), f(w.violation, 4);
  if (!scope.orders) f(w.top_token, 4);
  if (scope.all.stale_primary) f(w.clock, 4), f(w.committed_clock, 4), f(w.stale_clock, 4);
  f.part();
  const bool counts = S::queue == 0 || scope.rules.token == Rules::Token::counter;
  const auto document = [&](auto& d) {
    f(d.owner, 5), f(d.beat, 3), f(d.until, 4);
    if (counts) f(d.counter, 3);
  };
  document(w.document);
  if (S::queue == 0 || w.dirty != 0) document(w.committed);
  if (scope.all.stale_primary) document(w.stale);
  f.part();
  if (S::queue > 0) {
    queue_fields(w.document, scope, f);
    if (w.dirty != 0) queue_fields(w.committed, scope, f);
    if (scope.all.stale_primary && !scope.rules.majority) queue_fields(w.stale, scope, f);
  }
  for (int i = 0; i < S::clients; ++i) {
    client_fields(w.client[i], scope, is_package(scope.all, i), f);
  }
}

class StateWriter {
 public:
  void operator()(Byte value, int bits) {
    part_ = part_ << bits | value;
    bits_ += bits;
  }
  void part() {
    if (bits_ == 0) return;
    const int beyond = at_ + bits_ - 64;  // bits that do not fit into the word
    if (beyond <= 0) {
      state_[word_] |= part_ << -beyond;
      at_ += bits_;
    } else {
      state_[word_] |= part_ >> beyond;
      if (++word_ == state_.size()) throw std::length_error("a state does not fit");
      state_[word_] = part_ << (64 - beyond);
      at_ = beyond;
    }
    part_ = 0;
    bits_ = 0;
  }
  [[nodiscard]] const State& state() const { return state_; }

 private:
  State state_{};
  std::size_t word_ = 0;
  int at_ = 0;  ///< bits of the word that are written
  std::uint64_t part_ = 0;
  int bits_ = 0;  ///< of the part
};

class StateReader {
 public:
  explicit StateReader(const State& state) : state_(state), part_(state[0]) {}

  void operator()(Byte& value, int bits) {
    value = static_cast<Byte>(part_ >> (64 - bits));
    part_ <<= bits;
    at_ += static_cast<std::size_t>(bits);
  }
  void part() {
    const std::size_t word = at_ / 64, read = at_ % 64;
    part_ = word < state_.size() ? state_[word] << read : 0;
    if (read != 0 && word + 1 < state_.size()) part_ |= state_[word + 1] >> (64 - read);
  }

 private:
  const State& state_;
  std::uint64_t part_;
  std::size_t at_ = 0;
};

}  // namespace

State pack(const World& world, const Scope& scope) {
  StateWriter writer;
  sized(scope, [&](const auto& s) { each_field(world, s, writer); });
  return writer.state();
}

World unpack(const State& state, const Scope& scope) {
  World world;
  StateReader reader(state);
  sized(scope, [&](const auto& s) { each_field(world, s, reader); });
  return world;
}

}  // namespace leasehold::model::lock_world
