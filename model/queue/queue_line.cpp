#include "model/queue/queue.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace leasehold::model {
namespace {

/// No entry is valid for longer, whatever a server's clock said.
constexpr std::int64_t kLongestEntry_ms = std::int64_t{48} * 3'600'000;
/// A process knows of a queue for at least this long after a reply showed it.
constexpr std::int64_t kKnown_ns = 5'000 * kMs;
/// The first pass-on in each such period leaves the lock to the calls that poll.
constexpr std::int64_t kTurn_ms = 1'000;
/// After a holding of at least so long one in four does, by the last digit of the next owner.
constexpr std::int64_t kLongHolding_ms = 250;
constexpr char kOneInFour = '4';

std::string process_at(const Digest& d, Index place) {
  const SendDigest& sent = d.writer(place);
  return sent.send == kNone ? "somebody" : d.process_name(d.fact(sent.send).process);
}

/// One version of the document.
struct Write {
  Index before = kNone;  ///< the put that it follows; kNone: the lock was free, or it is unknown
  Index put = kNone, gone = kNone;  ///< what became of the lock, if anything did
  const Change* now = nullptr;      ///< the same; null: nothing did
  std::span<const Index> places;    ///< the entries that joined or left the queue by it
};

/// What each write of a lock's document may do to its queue. This is certain whatever fails: the
/// queue is one document, and its versions are in the oplog.
///
/// - An entry that joins is last, and the queue gives the lock to the first entry: all earlier
///   entries leave by that write, and the served entry is still valid.
/// - No write removes another owner's entry that is valid by the date of the write, unless that
///   owner had asked to leave. A process that has seen the queue in the last five seconds does not
///   delete a document with an entry in its queue.
/// - The lock is passed on in the second of the server's clock in which it was given. Later it is
///   offered, which is the turn of the calls that poll: always if it was given less than 250
///   ms ago, else if the owner that is next ends in a hexadecimal digit below 4.
///
/// Only processes with an entry in this queue are checked, because versions of the lock from before
/// the queue overwrite it. It goes through the writes of one lock, in their order.
class Line {
 public:
  Line(const Digest& d, Finding& f, Id name)
      : d_(d), f_(f), changes_(d.truth[name]), places_(d.places[name]) {
    for (const Index i : places_) {
      const SendDigest& sent = d.writer(i);
      if (d.at(i).count > 0 && sent.send != kNone) queues_.push_back(process_of(sent));
    }
    std::ranges::sort(queues_);
  }

  /// Returns all entries that ever were there.
  std::vector<Stand> run() {
    for (std::size_t place = 0; place < places_.size() || next_ < changes_.size();) {
      const auto order = std::min(place < places_.size() ? order_of(places_[place]) : kNever,
                                  next_ < changes_.size() ? order_of_next() : kNever);
      Write write;
      if (next_ > 0 && !changes_[next_ - 1].gone) write.before = changes_[next_ - 1].event;
      if (next_ < changes_.size() && order_of_next() == order) {
        write.now = &changes_[next_];
        (write.now->gone ? write.gone : write.put) = write.now->event;
        ++next_;
      }
      const std::size_t from = place;
      while (place < places_.size() && order_of(places_[place]) == order) ++place;
      write.places = std::span(places_).subspan(from, place - from);
      see(write);
    }
    for (const auto& [owner, stand] : standing_) end(stand, false);
    return std::move(all_);
  }

 private:
  [[nodiscard]] std::int64_t order_of(Index i) const { return d_.at(i).order; }
  [[nodiscard]] std::int64_t order_of_next() const { return order_of(changes_[next_].event); }
  [[nodiscard]] Id process_of(const SendDigest& sent) const { return d_.fact(sent.send).process; }
  [[nodiscard]] bool joins(Index i) const { return d_.at(i).count > 0; }
  /// The queue gave the lock if the put has the entry's own lockId. With another lockId of the same
  /// owner the owner took it.
  [[nodiscard]] bool served(const Write& w, Index i) const {
    return w.put != kNone && !joins(i) && w.now->wrote(d_.fact(i).lock_id);
  }
  [[nodiscard]] Verb claimed(Index change) const {
    const Index by = change == kNone ? kNone : d_.claim(change);
    return by == kNone ? Verb::none : d_.fact(by).verb;
  }

  void see(const Write& w) {
    const auto found = std::ranges::find_if(w.places, [&](Index i) { return served(w, i); });
    const bool passed = found != w.places.end();
    if (passed && standing_.contains(d_.fact(*found).owner)) check_turn(w, *found);
    if (w.put != kNone) check_readers(w, passed);
    check_kept(w, passed);
    check_joined(w);
    for (const Index i : w.places) {
      const Id owner = d_.fact(i).owner;
      if (joins(i)) {
        standing_[owner] = {i, kNone, passes_, ++entries_};
        know(i);
        continue;
      }
      const auto stood = standing_.find(owner);
      if (stood == standing_.end()) continue;  // the form says so
      stood->second.left = i;
      end(stood->second, served(w, i));
      standing_.erase(stood);
    }
    if (passed) ++passes_;
    if (!w.places.empty()) {
      whole_ = static_cast<std::int64_t>(standing_.size()) == d_.at(w.places.front()).matched;
    }
    count_kept(w, passed);
  }

  void end(const Stand& s, bool served) {
    all_.push_back(s);
    const auto turns = passes_ - s.passes;
    ++f_.checked;
    // There is an order to keep only if another entry was in the queue and one was served.
    const bool in_company = d_.at(s.joined).count > 1 || entries_ > s.entries;
    if (in_company && (served || turns > 0)) ++f_.counts["queue_turns"];
  }

  /// A reply shows the queue to the process of a call that joins.
  void know(Index joined) {
    const auto at = told_at(d_, joined);
    if (at == kNever) return;
    auto& shown = shown_[process_of(d_.writer(joined))];
    shown.insert(std::ranges::upper_bound(shown, at), at);
  }

  [[nodiscard]] bool leaves_by(const Write& w, Id owner) const {
    return std::ranges::any_of(w.places,
                               [&](Index i) { return !joins(i) && d_.fact(i).owner == owner; });
  }

  /// Checks the order of the queue by the document before and after.
  void check_turn(const Write& w, Index served) {
    ++f_.checked;
    const Fact& receiver = d_.fact(standing_.at(d_.fact(served).owner).joined);
    const Stand* passed_over = nullptr;
    for (const auto& [owner, stand] : standing_) {
      const Fact& other = d_.fact(stand.joined);
      const bool before = std::pair(other->order, other->count) <
                          std::pair(receiver->order, receiver->count);
      if (!before || leaves_by(w, owner)) continue;
      if (passed_over == nullptr || stand.joined < passed_over->joined) passed_over = &stand;
    }
    if (whole_ && passed_over != nullptr) {
      violate(f_,
              whose(d_, passed_over->joined) + " stood in the queue, which served " +
                  process_at(d_, served) + " before it",
              {passed_over->joined, served, w.put});
    }
    const auto given = date_of(w, true);
    if (given != kNever && d_.at(served).expires_at_ms < given) {
      violate(f_, whose(d_, served) + " was given the lock by an entry that was over",
              {served, w.put});
    }
    if (w.now->readers.empty()) check_others_turn(w);
  }

  /// A release that admits a reader admits all that wait, and a reader that comes by itself passes
  /// no writer that waits before it.
  void check_readers(const Write& w, bool passed) {
    const auto& now = w.now->readers;
    for (const ReaderEntry& r : now) {
      f_.checked += r.written ? 1 : 0;
      if (r.passed == kNone) continue;
      violate(f_, whose(d_, r.passed) + " waited, and another joined those that had it",
              {r.passed, d_.writers[r.lock_id].send, w.put});
    }
    // A release that knows of no readers gives the lock to one, which has no entry of its own.
    if (!passed || now.empty() || now.front().lock_id == w.now->text) return;
    ++f_.counts["batches"];
    for (const auto& [owner, stand] : standing_) {
      const Fact& place = d_.fact(stand.joined);
      const auto room = d_.room(w.now->text);
      const bool over = rules::is_expired(place->expires_at_ms, date_of(w, true));
      if (over || now.size() >= most_in(room)) continue;
      if (!rules::admits(false, room, d_.room(place.lock_id))) continue;
      if (w.now->held_by(owner) || leaves_by(w, owner)) continue;
      violate(f_, whose(d_, stand.joined) + " waited for it, and a release admitted others alone",
              {stand.joined, w.put});
    }
  }

  /// Whether all dates of this time are of one clock, which ran.
  [[nodiscard]] bool same_clock(Span span) const {
    return !d_.clocks_moved.meet(span) && !d_.disturbances.meet(span);
  }

  /// Whether the clock of the pass-on dated the lock: the pass-on began after the attempt that left
  /// the entry was answered, on the same primary.
  [[nodiscard]] bool dated_by_itself(Index put) const {
    const SendDigest& entry = d_.writer(put);
    if (d_.claim(put) == kNone || entry.send == kNone || d_.unanswered(entry)) return false;
    const Id giver = d_.fact(d_.claim(put)).owner;
    for (const SendDigest& one : d_.deletes[giver]) {
      if (one.reply != d_.claim(put)) continue;
      return d_.fact(entry.reply).at_ns <= d_.fact(one.send).at_ns &&
             same_clock({d_.fact(entry.send).at_ns, d_.fact(one.reply).at_ns});
    }
    return false;
  }

  void check_others_turn(const Write& w) {
    if (w.before == kNone || !dated_by_itself(w.put)) return;
    const auto before = d_.at(w.before).acquired_at_ms;
    const auto after = d_.at(w.put).acquired_at_ms;
    if (before == 0 || after == 0) return;
    ++f_.checked;
    if (before / kTurn_ms == after / kTurn_ms) return;
    const bool was_long = after - before >= kLongHolding_ms;
    const std::string next = owner_of(d_.at(w.put).lock_id);
    if (was_long && (next.empty() || next.back() >= kOneInFour)) return;
    violate(f_,
            "lock '" + d_.name(d_.fact(w.put).name) +
                "' was passed on in another second than it was given in: calls that poll had no "
                "turn",
            {w.before, w.put});
  }

  /// A date that the server's clock had not passed when the command of this put began, and when it
  /// was sent; kNever: not known.
  [[nodiscard]] std::int64_t own_date(Index put) const {
    const auto writer = writer_of(d_, put);
    const auto expires = d_.at(put).expires_at_ms;
    if (!writer || expires == 0) return kNever;
    const ReaderEntry* entry = d_.change(put).reader(d_.fact(put).owner);
    return (entry == nullptr ? expires : entry->until_ms) - writer->ask()->expiry_ms -
           writer->ask()->clock_margin_ms;
  }

  /// The same for a write without a date: that of the next put by its own writer, if it was sent
  /// later and by the same clock.
  [[nodiscard]] std::int64_t later_date(const Write& w) const {
    const auto at = d_.fact(w.places.front()).at_ns;
    for (std::size_t i = next_; i < changes_.size(); ++i) {
      const Index put = changes_[i].event;
      if (changes_[i].gone || claimed(put) != Verb::none) continue;
      const SendDigest& sent = d_.writer(put);
      const bool same =
          sent.send != kNone && d_.fact(sent.send).at_ns >= at &&
          same_clock({at - d_.allowed.truth_lag_ns, d_.fact(put).at_ns});
      return same ? own_date(put) : kNever;
    }
    return kNever;
  }

  /// The date of a write; kNever: this write is not checked.
  [[nodiscard]] std::int64_t date_of(const Write& w, bool passed) const {
    if (passed) {
      const ReaderEntry* entry = w.now->reader(w.now->owner);
      const auto given = entry == nullptr ? d_.at(w.put).acquired_at_ms : entry->since_ms;
      return given == 0 ? kNever : given;
    }
    if (w.put != kNone) {
      const SendDigest& sent = d_.writer(w.put);
      const bool asked =
          sent.send != kNone && std::ranges::binary_search(queues_, process_of(sent));
      return asked ? own_date(w.put) : kNever;
    }
    if (w.gone != kNone && claimed(w.gone) != Verb::pass_on) return kNever;
    // The TTL monitor deletes the document of a free lock, with all entries of its queue.
    if (w.gone == kNone && w.before == kNone) return kNever;
    auto date = later_date(w);
    for (const Index i : w.places) {
      if (joins(i)) date = std::min(date, d_.at(i).expires_at_ms);
    }
    return date;
  }

  [[nodiscard]] bool asked_to_leave(Index left) const {
    const auto& own = d_.deletes[d_.fact(left).owner];
    return std::ranges::any_of(
        own, [&](const SendDigest& one) { return d_.fact(one.send).at_ns <= d_.fact(left).at_ns; });
  }

  void check_kept(const Write& w, bool passed) {
    if (w.places.empty()) return;
    const auto date = date_of(w, passed);
    const bool knew = w.gone != kNone && claimed(w.gone) == Verb::remove && knew_of_queue(w);
    for (const Index i : w.places) {
      if (joins(i) || served(w, i) || !standing_.contains(d_.fact(i).owner)) continue;
      if (w.put != kNone && w.now->held_by(d_.fact(i).owner)) continue;
      if (asked_to_leave(i)) continue;
      if (knew) {
        violate(f_, whose(d_, i) + " stood in the queue, and a delete took it along", {i, w.gone});
      }
      const auto until = d_.at(i).expires_at_ms;
      if (until <= date || until - date >= kLongestEntry_ms) continue;
      violate(f_,
              whose(d_, i) + " stood in the queue, and " +
                  (passed ? "a release left it out" : "a write of another took it out"),
              {i, w.put, w.gone});
    }
  }

  /// Whether its process knew of the queue when it decided how to leave.
  [[nodiscard]] bool knew_of_queue(const Write& w) const {
    const Fact& reply = d_.fact(d_.claim(w.gone));
    const auto shown = shown_.find(reply.process);
    if (shown == shown_.end() || w.before == kNone || reply.other_owner != kNoText) return false;
    auto decided = kNever;
    std::int64_t sent = 0;
    for (const SendDigest& one : d_.deletes[reply.owner]) {
      decided = std::min(decided, d_.fact(one.send).at_ns);
      if (one.reply == d_.claim(w.gone)) sent = d_.fact(one.send).at_ns;
    }
    const auto holder = writer_of(d_, w.before);
    if (!holder || d_.fact(w.before).owner != reply.owner) return false;
    const SessionDigest& s = *holder->session;
    decided = std::min({decided, d_.time_of(s.release), d_.time_of(s.ended), d_.time_of(s.lost)});
    const auto after = std::ranges::upper_bound(shown->second, decided);
    return after != shown->second.begin() && *std::prev(after) >= sent - kKnown_ns;
  }

  void check_joined(const Write& w) {
    const auto joined = std::ranges::count_if(w.places, [&](Index i) { return joins(i); });
    for (const Index i : w.places) {
      if (!joins(i)) continue;
      ++f_.checked;
      if (d_.at(i).count > d_.at(i).matched - joined) continue;
      violate(f_, whose(d_, i) + " joined the queue before entries that stood there", {i});
    }
  }

  void count_kept(const Write& w, bool passed) {
    if (standing_.empty()) return;
    if (w.gone != kNone && claimed(w.gone) == Verb::pass_on) ++f_.counts["queue_offers"];
    if (w.put == kNone) return;
    const auto kept = static_cast<std::int64_t>(standing_.size());
    const SendDigest& sent = d_.writer(w.put);
    const bool extension = !passed && sent.send != kNone && d_.fact(sent.send).verb == Verb::extend;
    f_.checked += kept;
    f_.counts[extension ? "places_kept_by_extensions" : "places_kept_by_grants"] += kept;
  }

  const Digest& d_;
  Finding& f_;
  const std::span<const Change> changes_;
  const std::vector<Index>& places_;
  std::vector<Id> queues_;  ///< the processes that are known to queue, sorted
  std::size_t next_ = 0;    ///< of the changes
  std::unordered_map<Id, Stand> standing_;  ///< by owner
  /// By process: when a reply showed it the queue, sorted.
  std::unordered_map<Id, std::vector<std::int64_t>> shown_;
  bool whole_ = true;  ///< `standing_` has as many entries as the last event says
  std::int64_t passes_ = 0, entries_ = 0;
  std::vector<Stand> all_;
};

/// The put of this write; kNone: it gave the lock to no call.
Index put_at(const Digest& d, Id name, std::int64_t order) {
  const auto changes = d.changes_by(name, order);
  const bool there = !changes.empty() && d.at(changes.back().event).order == order;
  return there && !changes.back().gone ? changes.back().event : kNone;
}

/// The first release of this tenure that was executed after its last write, and said so.
Index released_by(const Digest& d, const Tenure& t) {
  Index first = kNone;
  for (const SendDigest& one : d.farewells(t.owner)) {
    if (!d.done(one.reply) || d.at(one.reply).order < d.at(t.last_put).order) continue;
    if (first == kNone || d.fact(one.send).at_ns < d.fact(first).at_ns) first = one.send;
  }
  return first;
}

/// How long a holding lasted: from when its holder knew of it, had its process not stood still,
/// until its release, at most until the end of the lease of its last write. A holder that never
/// knew of it kept it for that lease.
std::int64_t holding(const Digest& d, const Tenure& t) {
  const auto holder = writer_of(d, t);
  const auto put = executed_from(d, t.first_put);
  if (!holder) return (t.next == kNone ? d.finished_ns : d.fact(t.next).at_ns) - put;
  const Fact& ask = holder->ask();
  const auto lease_over =
      executed_by(d, *holder, t.last_put) + ask->expiry_ms * kMs + drift_of(ask);
  const Index granted = holder->session->granted;
  if (granted == kNone || d.fact(granted).owner != t.owner) return lease_over - put;
  const auto told = d.fact(granted).at_ns;
  const auto still = in_common(d.delays(ask.process, Needs::process).all(), {put, told});
  const auto from = std::max(put, told - still);
  const Index released = released_by(d, t);
  const auto to = released == kNone ? lease_over : d.fact(released).at_ns;
  return std::max<std::int64_t>(std::min(to, lease_over) - from, 0);
}

/// The holdings of one lock, one after the other. Those of readers that share it are one, also
/// where one write admitted several. Those of permits last no longer together than from the first
/// to the last, but each has a turn of its own.
struct Holdings {
  std::vector<std::int64_t> orders;  ///< of their first writes
  std::vector<std::ptrdiff_t> firsts;  ///< of those that shared it without a gap, the first
  std::vector<std::int64_t> sums{0};  ///< of so many from the first on
};

Holdings holdings(const Digest& d, Id name) {
  Holdings all;
  std::int64_t begin = 0, end = 0;  // of those that share it
  Index write = kNone;              // that admitted the one before
  for (const Tenure& t : d.tenures[name]) {
    const auto lasts = holding(d, t), from = executed_from(d, t.first_put);
    const bool shared = t.shared && (std::exchange(write, t.first_put) == t.first_put ||
                                     !d.change_before(t.first_put).readers.empty());
    end = shared ? std::max(end, from + lasts) : from + lasts;
    if (!shared) begin = from;
    if (!shared || d.room(t.lock_id) > 0) {
      const auto place = std::ssize(all.orders);
      all.firsts.push_back(shared ? all.firsts.back() : place);
      all.orders.push_back(d.at(t.first_put).order);
      all.sums.push_back(all.sums.back());
    }
    const auto before = all.sums[static_cast<std::size_t>(all.firsts.back())];
    all.sums.back() = std::max(all.sums.back(), before + end - begin);
  }
  return all;
}

/// The longest time from a holder's release until the next holder knows of its grant.
std::int64_t longest_way(const Digest& d, const Waiters& waiters) {
  std::int64_t longest = 0;
  for (const Waiter& call : waiters.calls) {
    const Fact& ask = call.session->asked;
    const auto release = by_our_clock(d, ask, ask->operation_timeout_ms * kMs);
    longest = std::max(longest, release + call.attempts_ns);
  }
  return longest;
}

/// How long the entry may wait: the holding when it joins, and all others until its own.
std::int64_t cycles(const Digest& d, const Stand& s, const Holdings& all, std::int64_t way) {
  const auto left = s.left == kNone ? kNever : d.at(s.left).order;
  const auto after = [&](std::int64_t order) {
    return std::ranges::upper_bound(all.orders, order) - all.orders.begin();
  };
  const auto last = after(d.at(s.joined).order) - 1;
  const auto from = last < 0 ? 0 : all.firsts[static_cast<std::size_t>(last)];
  const auto to = after(left - 1);
  return *(all.sums.begin() + to) - *(all.sums.begin() + from) + (to - from + 1) * way;
}

const Waiter& waiter_of(const Waiters& waiters, const SessionDigest& s) {
  return *std::ranges::partition_point(waiters.calls,
                                       [&](const Waiter& w) { return w.session->id < s.id; });
}

/// Until when the entry certainly was there, or had the lock by its place.
std::int64_t stood_until(const Digest& d, const Stand& s, const Waiter& call) {
  const Index put = s.left == kNone ? kNone : put_at(d, d.fact(s.left).name, d.at(s.left).order);
  const bool got_it = put != kNone && d.change(put).held_by(d.fact(s.left).owner);
  if (s.left == kNone || got_it) return call.lives_until;
  return std::min(call.lives_until, d.fact(s.left).at_ns - d.allowed.truth_lag_ns);
}

void check_served_in_turn(const Digest& d, Finding& f, const Stand& s, const Waiters& waiters,
                          const Holdings& all, std::int64_t way) {
  const SendDigest& sent = d.writer(s.joined);
  if (sent.send == kNone || d.session_of(d.fact(sent.send)).ask == kNone) return;
  if (s.left == kNone && !d.oplog_read) return excuse(f, Excuse::unread_oplog);
  const SessionDigest& session = d.session_of(d.fact(sent.send));
  const Waiter& call = waiter_of(waiters, session);
  const bool own = session.granted != kNone &&
                   d.fact(session.granted).owner == d.fact(s.joined).owner;
  const auto served = own ? d.fact(session.granted).at_ns : kNever;
  auto from = d.fact(s.joined).at_ns;
  if (!d.unanswered(sent)) from = std::min(from, d.fact(sent.reply).at_ns);
  const auto bound = cycles(d, s, all, way);
  const auto until = stood_until(d, s, call);
  // Most leave sooner; a call that lost its place may be served by another one later.
  if (served > from + bound && until <= from + bound) return;
  ++f.counts["queue_waits"];
  const auto delays = served > from + bound
                          ? waiters.delays_with(waiters.delays.at(session.process))
                          : MergedSpans();
  check_bound(d, f, {from, from + bound, served, until, delays},
              whose(d, s.joined) + " stood in the queue, and was not served in the " + ms(bound) +
                  " of the turns before it",
              {s.joined, s.left, session.granted, session.ended});
}

/// A call that waits to write stands in the queue once readers have refused it twice in a row: one
/// that polls would never come between readers that overlap. Others in the queue may fill it.
/// A process of which no call reads may be of a release that knows of no readers. A call whose
/// attempt was never answered may have the lock by it: it keeps its owner, and polls.
void check_place_taken(const Digest& d, Finding& f, const SessionDigest& s,
                       const std::vector<Stand>& stands) {
  bool before = false, may_own = false;
  for (const Index attempt : d.attempts[s.id]) {
    const Index reply = d.reply_to(attempt);
    may_own |= d.unanswered({attempt, reply});
    const bool by_readers = reply != kNone && refused(d, {attempt, reply}) &&
                            !d.facts.readers[d.fact(reply).lock_id].empty();
    if (!std::exchange(before, by_readers) || !by_readers || may_own) continue;
    if (d.disturbed(s.process, {s.asked.at_ns, d.fact(reply).at_ns}) != nullptr) continue;
    ++f.checked;
    const auto order = d.at(reply).order;
    const bool stood = std::ranges::any_of(stands, [&](const Stand& one) {
      return d.at(one.joined).order <= order && (one.left == kNone || d.at(one.left).order > order);
    });
    if (stood) continue;
    violate(f, subject(d, s.ask) + " waits to write, was refused by readers and took no place",
            {s.ask, attempt, reply});
  }
}

}  // namespace

std::int64_t told_at(const Digest& d, Index joined) {
  const SendDigest& sent = d.writer(joined);
  const bool told = refused(d, sent) && d.at(sent.reply).order >= d.at(joined).order;
  return told ? d.fact(sent.reply).at_ns : kNever;
}

std::string whose(const Digest& d, Index place) {
  return "lock '" + d.name(d.fact(place).name) + "': " + process_at(d, place);
}

void check_queue_turns(const Digest& d, Finding& f, const std::vector<Waiters>& waiters) {
  for (Id name = 0; name < d.places.size(); ++name) {
    const auto stands = Line(d, f, name).run();
    for (const Waiter& call : waiters[name].calls) {
      const SessionDigest& s = *call.session;
      const bool reads = s.asked->shared || s.asked->single_attempt;
      if (!reads && d.process_of[s.process]->reads) check_place_taken(d, f, s, stands);
    }
    if (d.places[name].empty()) continue;
    const auto all = holdings(d, name);
    const auto way = longest_way(d, waiters[name]);
    for (const Stand& s : stands) {
      check_served_in_turn(d, f, s, waiters[name], all, way);
      check_left(d, f, s);
    }
  }
  check_queue_news(d, f);
}

}  // namespace leasehold::model
