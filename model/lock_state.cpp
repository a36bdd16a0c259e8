#include <array>
#include <stdexcept>

#include "model/lock_lanes.hpp"
#include "model/lock_sized.hpp"

/// A world as the words of a state, and back.
namespace leasehold::model::lock_world {
namespace {

template <typename D, typename S, typename F>
void queue_fields(D& d, const S&, F& f) {
  for (int p = 0; p < S::queue; ++p) {
    auto& entry = d.waiting[p];
    f(entry.owner, 5);
    f.when(entry.owner != 0, [&] { f(entry.beat, 3), f(entry.left, 2), f(entry.age, 2); });
  }
  f.part();
}

template <typename C, typename S, typename F>
void waiter_fields(C& c, const S& scope, F& f) {
  f(c.notice.owner, 5);
  f.when(c.notice.owner != 0, [&] {
    f(c.notice.age, 2), f(c.notice.order, 4), f(c.notice.committed, 1);
    if (!scope.orders) f(c.notice.token, 4);
  });
  if (scope.rules.grant_counts != Rules::GrantCounts::from_its_renewal) f(c.counted, 2);
  if (!scope.rules.renewals_restore) f(c.enlisted, 1);
  f.part();
}

template <typename M, typename S, typename F>
void message_fields(M& m, const S& scope, F& f) {
  f(m.slot, 4);
  f.when(m.slot != byte(kEmpty), [&] {
    f(m.owner, 5), f(m.age, 2), f(m.committed, 1);
    const auto of_a_win = [&] {
      f(m.order, 4);
      if (!scope.orders) f(m.token, 4);
    };
    f.either(m.slot == byte(kWon), of_a_win, [&] { f(m.seen_owner, 5), f(m.seen_beat, 3); });
    if (scope.rules.beat == Rules::Beat::kept_by_retries) f(m.beat, 3);
    if (scope.rules.token == Rules::Token::cluster_time) {
      f.when(m.slot != byte(kWon), [&] { f(m.token, 4); });
    }
  });
}

/// With a queue there is room only for what a client in its phase can have. The package's client
/// observes, fences and cleans up nothing.
template <typename C, typename S, typename F>
void client_fields(C& c, const S& scope, bool package, F& f) {
  const bool terse = S::queue > 0;
  const bool ours = !terse || !package;
  f(c.phase, 3), f(c.owner, 5), f(c.awaited, 2);
  const auto of_a_holder = [&] {
    f(c.lease, 2), f(c.due, 2), f(c.order, 4);
    if (!scope.orders) f(c.token, 4);
  };
  if (terse) {
    f.either(c.phase >= byte(kHeld), of_a_holder,
             [&] { f.when(c.phase != byte(kIdle), [&] { f(c.doubtful, 5); }); });
  } else {
    of_a_holder();
    f(c.doubtful, 5);
  }
  if (ours) f(c.sight_owner, 5), f(c.sight_beat, 3), f(c.sight_age, 2), f(c.to_delete, 5);
  if (scope.all.hand_overs) f(c.giver, 5);
  if (scope.rules.beat == Rules::Beat::kept_by_retries) f(c.attempt_beat, 3);
  f.part();
  if (S::queue > 0 && ours) waiter_fields(c, scope, f);
  for (int k = 0; k < S::messages; ++k) message_fields(c.message[k], scope, f);
  f.part();
}

/// Calls f(field, bits) for all that a state consists of, always in the same order, and f.part()
/// after at most 64 bits.
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
  if (S::queue == 0) document(w.committed);
  if (S::queue > 0) f.when(w.dirty != 0, [&] { document(w.committed); });
  if (scope.all.stale_primary) document(w.stale);
  f.part();
  if (S::queue > 0) {
    queue_fields(w.document, scope, f);
    f.when(w.dirty != 0, [&] { queue_fields(w.committed, scope, f); });
    if (scope.all.stale_primary && !scope.rules.majority) queue_fields(w.stale, scope, f);
  }
  for (int i = 0; i < S::clients; ++i) {
    client_fields(w.client[i], scope, is_package(scope.all, i), f);
  }
}

/// Writes the states of all lanes. What all of them have is at the same place of a piece in each;
/// after what only some have, another piece begins.
class StateWriter {
 public:
  [[gnu::always_inline]] void operator()(Lanes value, int bits) {
    if (is_ragged_ || at_ + bits > kPiece) begin_piece();
    value &= on_;
    Lanes* byte = &pieces_[count_ - 1][static_cast<std::size_t>(at_ / 8)];
    const int beyond = at_ % 8 + bits - 8;  // bits that the byte has no room for
    at_ += bits;
    if (beyond <= 0) {
      *byte |= shifted_up(value, -beyond);
      return;
    }
    const Lanes low = value & all((1 << beyond) - 1);
    byte[0] |= shifted_down(value ^ low, beyond);
    byte[1] |= shifted_up(low, 8 - beyond);
  }
  template <typename Body>
  void when(Lanes condition, Body body) {
    measure();
    const Lanes before = on_;
    on_ &= condition;
    body();
    measure();
    on_ = before;
    is_ragged_ = true;
  }
  /// Both are twelve bits at most, and at the same place.
  template <typename Body, typename Other>
  void either(Lanes condition, Body body, Other other) {
    if (is_ragged_ || at_ > kPiece - 12) begin_piece();
    const int start = at_;
    when(condition, body);
    at_ = measured_ = start;
    is_ragged_ = false;
    when(~condition, other);
  }
  void part() {}

  Several<State> states() {
    measure();
    std::array<Several<std::uint64_t>, kWords> words{};
    Several<unsigned> at{};
    for (std::size_t p = 0; p < count_; p += 2) {
      Square rows;
      std::memcpy(&rows, &pieces_[p], sizeof(rows));
      rows = transposed(rows);
      append(rows, 0, lengths_[p], words, at);
      if (p + 1 < count_) append(rows, 1, lengths_[p + 1], words, at);
    }
    Several<State> states;
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (at[i] > 64 * states[i].size()) {
        throw std::length_error("a state does not fit");
      }
      for (std::size_t word = 0; word < states[i].size(); ++word) states[i][word] = words[word][i];
    }
    return states;
  }

 private:
  static constexpr int kPiece = 64;  ///< bits, of the first ones first
  static constexpr std::size_t kPieces = 32, kWords = 8;  // twice what a state has

  void begin_piece() {
    measure();
    if (count_ == kPieces) throw std::length_error("a state has too many pieces");
    pieces_[count_] = {};
    lengths_[count_] = Lanes{};
    ++count_;
    at_ = measured_ = 0;
    is_ragged_ = false;
  }
  /// What was written since counts for those that have it.
  void measure() {
    if (at_ != measured_) lengths_[count_ - 1] += on_ & all(at_ - measured_);
    measured_ = at_;
  }
  /// Of each row the first or the second half.
  static void append(const Square& rows, std::size_t half, Lanes lengths,
                     std::array<Several<std::uint64_t>, kWords>& words, Several<unsigned>& at) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      std::array<std::uint64_t, 2> pieces;
      std::memcpy(&pieces, &rows[i], sizeof(pieces));
      const std::uint64_t piece = __builtin_bswap64(pieces[half]);
      const unsigned word = at[i] / 64;
      words[word][i] |= piece >> at[i] % 64;
      words[word + 1][i] |= piece << 1 << (63 - at[i] % 64);
      at[i] += static_cast<unsigned>(lengths[i]);
    }
  }

  std::array<std::array<Lanes, kPiece / 8>, kPieces> pieces_;
  std::array<Lanes, kPieces> lengths_;  ///< of the pieces, in bits
  std::size_t count_ = 0;
  Lanes on_ = all(-1);  ///< the lanes that have what is written now
  int at_ = 0;          ///< bits of the piece that are written
  int measured_ = 0;    ///< of these, those that are in its length
  bool is_ragged_ = true;
};

class StateReader {
 public:
  explicit StateReader(const State& state) : state_(state), part_(state[0]) {}

  void operator()(Byte& value, int bits) {
    value = static_cast<Byte>(part_ >> (64 - bits));
    part_ <<= bits;
    at_ += static_cast<std::size_t>(bits);
  }
  template <typename Body>
  void when(bool condition, Body body) {
    if (condition) body();
  }
  template <typename Body, typename Other>
  void either(bool condition, Body body, Other other) {
    if (condition) return body();
    other();
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

World unpack(const State& state, const Scope& scope) {
  World world;
  StateReader reader(state);
  sized(scope, [&](const auto& s) { each_field(world, s, reader); });
  return world;
}

Several<State> states_of(const Several<const World*>& worlds, const Scope& scope) {
  thread_local Worlds w;  // not made anew each time, which takes as long as a rule
  StateWriter writer;
  sized(scope, [&](const auto& s) {
    put_side_by_side(worlds, s, w);
    make_canonical(w, scope);
    each_field(w, s, writer);
  });
  return writer.states();
}

State state_of(const World& world, const Scope& scope) {
  Several<const World*> worlds;
  worlds.fill(&world);
  return states_of(worlds, scope).front();
}

World tidied(const World& world, const Scope& scope) {
  Several<const World*> worlds;
  worlds.fill(&world);
  Worlds w;
  sized(scope, [&](const auto& s) { put_side_by_side(worlds, s, w); });
  tidy(w, scope);
  return world_in(w, 0);
}

State named_state_of(const World& world, const Scope& scope) {
  Several<const World*> worlds;
  worlds.fill(&world);
  Worlds w;
  StateWriter writer;
  sized(scope, [&](const auto& s) {
    put_side_by_side(worlds, s, w);
    tidy(w, scope);
    each_field(w, s, writer);
  });
  return writer.states().front();
}

}  // namespace leasehold::model::lock_world
