#include "model/queue/queue.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace leasehold::model {
namespace {

/// The change stream of one process.
struct Reader {
  std::vector<SendDigest> steps;  ///< in their order
  std::vector<Span> waits;
  MergedSpans listens;  ///< when a call of it was queued and knew that
  std::int64_t round_trip_ns = 0;  ///< the longest undisturbed one; 0: none
};

std::int64_t over_at(const Digest& d, const SessionDigest& s) {
  return std::min({d.finished_ns, d.process_of[s.process]->last_ns, d.time_of(s.granted),
                   d.time_of(s.ended)});
}

/// When the first of these commands was sent at or after `from`; kNever: none.
std::int64_t first_sent(const Digest& d, std::span<const SendDigest> all, std::int64_t from) {
  auto first = kNever;
  for (const SendDigest& one : all) {
    const auto at = d.fact(one.send).at_ns;
    if (at >= from) first = std::min(first, at);
  }
  return first;
}

/// When an answer said to a call that it left the queue there because it took the lock, also if no
/// majority had that yet; kNever: none did. The record may show it much later.
std::int64_t told_of_win(const Digest& d, Index left) {
  const SendDigest& entry = d.writer(left);
  if (entry.send == kNone) return kNever;
  for (const Index attempt : d.attempts[d.fact(entry.send).session]) {
    const Index reply = d.reply_to(attempt);
    const bool won = reply != kNone && d.at(reply).matched > 0;
    if (won && d.at(reply).order == d.at(left).order) return d.fact(reply).at_ns;
  }
  return kNever;
}

/// From when on a grant by this entry may be of no use, because its lease began with the sending of
/// the attempt that renewed it last. A call that is notified of such a grant gives it back, and is
/// there no more; it may be a while until it has a worker to say so.
std::int64_t useless_from(const Digest& d, Index place) {
  const SendDigest& sent = d.writer(place);
  if (sent.send == kNone) return kNever;
  const SessionDigest& s = d.session_of(d.fact(sent.send));
  if (s.ask == kNone) return kNever;
  auto lease = shortest_lease(s.asked);
  if (s.asked->max_holding_ms != 0) lease = std::min(lease, s.asked->max_holding_ms * kMs);
  // Its clock may be as fast as it is slow.
  return d.fact(sent.send).at_ns + lease - rules::drift_ns(lease / kMs, s.asked->max_drift_ppm);
}

/// A call that has been the first for longer may leave its stream unread, for so long at most.
constexpr std::int64_t kReadsAsFirst = 4'000 * kMs, kLongestUnread = 900 * kMs;

/// Shown as the first so long before, a call leaves its stream unread.
constexpr std::int64_t kTakenForFirst = 10'000 * kMs;

/// When calls were in this queue, knew of it and had not asked to leave, by id of the process.
void add_waits(const Digest& d, const std::vector<Index>& places, std::vector<Reader>& all) {
  std::unordered_map<Id, Span*> open;  // by owner
  std::vector<Id> queue;  // of owners
  // Until when each that came to be the first reads without a pause. It need not notice that its
  // place was lost and found again.
  std::unordered_map<Id, std::int64_t> reads;
  for (auto& reader : all) reader.waits.reserve(reader.waits.size() + places.size());
  for (const Index i : places) {
    const Fact& place = d.fact(i);
    const Id was_first = queue.empty() ? Id() : queue.front();
    std::erase(queue, place.owner);
    if (place->count > 0) {
      const auto at = std::min(static_cast<std::size_t>(place->count) - 1, queue.size());
      queue.insert(queue.begin() + static_cast<std::ptrdiff_t>(at), place.owner);
    }
    if (!queue.empty() && queue.front() != was_first) {
      const auto reads_until = reads.try_emplace(queue.front(), place.at_ns + kReadsAsFirst).first;
      const auto first = open.find(queue.front());
      if (first != open.end()) first->second->to = std::min(first->second->to, reads_until->second);
    }
    const auto before = open.extract(place.owner);
    if (!before.empty()) {
      auto& to = before.mapped()->to;
      to = std::min({to, place.at_ns, told_of_win(d, i), useless_from(d, i)});
    }
    const auto told = place->count == 0 ? kNever : told_at(d, i);
    if (told == kNever) continue;
    const SessionDigest& s = d.session_of(d.fact(d.writer(i).send));
    auto& waits = all[s.process].waits;
    const auto leaves = first_sent(d, d.deletes[place.owner], 0);
    const auto until = place.owner == queue.front() ? reads.at(place.owner) : kNever;
    waits.push_back({told, std::min({over_at(d, s), leaves, until})});
    open[place.owner] = &waits.back();
  }
}

/// By id of the process.
std::vector<Reader> readers(const Digest& d) {
  std::vector<Reader> all(d.facts.processes.size());
  for (const auto& places : d.places) add_waits(d, places, all);
  for (const Index i : d.all_sends) {
    const Fact& send = d.fact(i);
    Reader& reader = all[send.process];
    const Index reply = d.commands[send.command].reply;
    if (send.verb == Verb::stream) {
      reader.steps.push_back({i, reply});
      continue;
    }
    if (d.commands[send.command].send != i || reply == kNone) continue;
    const Span way{send.at_ns, d.fact(reply).at_ns};
    if (d.fact(reply).outcome != Outcome::done || d.disturbed(send.process, way)) continue;
    reader.round_trip_ns = std::max(reader.round_trip_ns, way.to - way.from);
  }
  for (Reader& reader : all) {
    std::erase_if(reader.waits, [](const Span& one) { return one.to <= one.from; });
    reader.listens = MergedSpans(std::move(reader.waits));
  }
  return all;
}

/// Whether a call listened then, and `before`.
bool listens(const Reader& reader, std::int64_t at, bool before = false) {
  const auto& all = reader.listens.all();
  const auto span = std::ranges::partition_point(all,
                                                 [at](const Span& one) { return one.to <= at; });
  return span != all.end() && (before ? span->from < at : span->from <= at);
}

/// How many steps were sent by then.
std::size_t steps_by(const Digest& d, const Reader& reader, std::int64_t at) {
  const auto later =
      std::ranges::partition_point(
          reader.steps, [&](const SendDigest& one) { return d.fact(one.send).at_ns <= at; });
  return static_cast<std::size_t>(later - reader.steps.begin());
}

/// Whether this step certainly waits for events. It opens no stream, because it follows an answer
/// at once. Neither it nor the step before closes one, because a call listened.
bool waits_for_news(const Digest& d, const Reader& reader, std::size_t step) {
  if (step == 0 || !d.done(reader.steps[step - 1].reply)) return false;
  const SendDigest& before = reader.steps[step - 1];
  const auto sent = d.fact(reader.steps[step].send).at_ns;
  return d.fact(before.reply).at_ns == sent && listens(reader, d.fact(before.send).at_ns) &&
         listens(reader, sent);
}

/// Whether a step that waits for events is in progress then.
bool reads(const Digest& d, const Reader& reader, std::int64_t at) {
  const auto sent = steps_by(d, reader, at);
  if (sent == 0 || !waits_for_news(d, reader, sent - 1)) return false;
  const SendDigest& step = reader.steps[sent - 1];
  if (step.reply == kNone) return true;
  return d.done(step.reply) && d.fact(step.reply).at_ns >= at;
}

/// A process reads on at once when its stream was answered.
void check_read_on(const Digest& d, Finding& f, const Reader& reader) {
  for (std::size_t i = 0; i < reader.steps.size(); ++i) {
    if (!d.done(reader.steps[i].reply)) continue;
    const auto heard = d.fact(reader.steps[i].reply).at_ns;
    if (!listens(reader, heard, true)) continue;
    ++f.counts["streams_read_on"];
    ++f.checked;
    const bool last = i + 1 == reader.steps.size();
    if (!last && d.fact(reader.steps[i + 1].send).at_ns <= heard) continue;
    // An old primary may have shown it as the first for longer than it has been.
    const Id process = d.fact(reader.steps[i].send).process;
    if (const Span* why = d.disturbed(process, {heard - kTakenForFirst, heard})) {
      excuse(f, why->why);
      continue;
    }
    violate(f,
            d.process_name(d.fact(reader.steps[i].send).process) +
                " did not read on in its stream although a call of it stood in a queue",
            {reader.steps[i].send, reader.steps[i].reply});
  }
}

/// A release has given the lock to a waiter in its queue, and was answered.
struct Passed {
  Index put = kNone;
  Id owner = kNoText;  ///< of the entry
  const SessionDigest& receiver;
  const Reader& reader;
  std::int64_t from, told;  ///< the earliest time of the write; when the releaser had the answer
};

/// When a step brought the event: the first that was answered with all up to this write, if its
/// stream was open before it; kNever: not for certain.
std::int64_t news_at(const Digest& d, const Passed& p) {
  const auto& steps = p.reader.steps;
  for (std::size_t i = std::max<std::size_t>(steps_by(d, p.reader, p.from), 1) - 1;
       i < steps.size() && d.done(steps[i].reply); ++i) {
    if (d.at(steps[i].reply).order < d.at(p.put).order) continue;
    return waits_for_news(d, p.reader, i) ? d.fact(steps[i].reply).at_ns : kNever;
  }
  return kNever;
}

/// When the receiver acted on the grant; kNever: not yet. None: an attempt of it was under way, and
/// its answer says more than the event.
std::optional<std::int64_t> acted(const Digest& d, const Passed& p) {
  const SessionDigest& s = p.receiver;
  auto happened = first_sent(d, d.deletes[p.owner], p.from);
  if (s.granted != kNone && d.fact(s.granted).owner == p.owner) {
    happened = std::min(happened, d.fact(s.granted).at_ns);
  }
  for (const Index attempt : d.attempts[s.id]) {
    const auto sent = d.fact(attempt).at_ns;
    const Index reply = d.reply_to(attempt);
    if (sent < p.from && (reply == kNone || d.fact(reply).at_ns >= p.from)) return std::nullopt;
    if (sent >= p.from) happened = std::min(happened, sent);
  }
  return happened;
}

/// For a receiver with a call that goes on.
void check_acted_on(const Digest& d, Finding& f, const Passed& p) {
  const SessionDigest& s = p.receiver;
  const auto lag = d.allowed.stream_lag_ns;
  // Until an event that lags has come, the call may have begun to leave its stream unread.
  const auto heard = p.told + lag + (lag > 0 ? kLongestUnread : 0);
  const auto latest = heard + 2 * p.reader.round_trip_ns + d.allowed.lateness_ns;
  if (p.reader.round_trip_ns == 0 || latest >= d.finished_ns || !reads(d, p.reader, p.told)) return;
  auto all = d.delays(s.process, Needs::servers).all();
  for (const Span& one : d.delays(s.process, Needs::worker).all()) all.push_back(one);
  for (const Span& one : d.process_of[s.process]->links.all()) all.push_back(one);
  const MergedSpans delays(std::move(all));
  const auto happened = acted(d, p);
  if (!happened) return;
  const auto until = std::min(d.time_of(s.ended), d.process_of[s.process]->alive_until);
  ++f.counts["queue_news"];
  check_bound(d, f, {p.from, latest, *happened, until, delays},
              subject(d, s.ask) + " was given the lock by its queue, and did not act on it for "
                  "more than " + ms(latest - p.from) + " although it read its stream",
              {p.put, s.granted, s.ended});
}

/// Whether a command of this session that asks for the lock is under way then.
bool asks(const Digest& d, const SessionDigest& s, std::int64_t at) {
  const auto& attempts = d.attempts[s.id];
  return std::ranges::any_of(attempts, [&](Index attempt) {
    const Index reply = d.reply_to(attempt);
    return d.fact(attempt).at_ns <= at && (reply == kNone || d.fact(reply).at_ns >= at);
  });
}

/// `at`, if a delete sent by then is under way or found this write of its owner. Else when the next
/// one was sent; kNever: none.
std::int64_t seen_to(const Digest& d, Index put, Id owner, std::int64_t at) {
  const auto& deletes = d.deletes[owner];
  const bool is_seen_to =
      std::ranges::any_of(deletes, [&](const SendDigest& one) {
        return d.fact(one.send).at_ns <= at &&
               (one.reply == kNone || d.fact(one.reply).at_ns >= at ||
                d.at(one.reply).order > d.at(put).order);
      });
  return is_seen_to ? at : first_sent(d, deletes, at);
}

/// For a receiver with a call that has ended: it sends a delete at the event. It need not if one
/// sees to the grant, or if an attempt is under way, which a delete follows. A delete from before
/// the grant is sent again later.
void check_given_back(const Digest& d, Finding& f, const Passed& p, std::int64_t news) {
  const Id process = p.receiver.process;
  const auto latest = news + d.allowed.lateness_ns;
  if (latest >= d.finished_ns) return;
  ++f.counts["given_back"];
  const auto happened = asks(d, p.receiver, news) ? news : seen_to(d, p.put, p.owner, news);
  check_bound(d, f,
              {news, latest, happened, sends_until(d, p.receiver.asked, news),
               d.delays(process, Needs::worker)},
              subject(d, p.receiver.ask) + " learned that the queue had given the lock to a call "
                  "that had ended, and did not give it back",
              {p.receiver.ended, p.put});
}

/// `again`: the owner had the lock before. A second grant to an ended call needs two of its
/// attempts on the way, and is left to the check of the waiting calls.
void check_passed(const Digest& d, Finding& f, Index put, Id lock_id,
                  const std::vector<Reader>& all, bool again) {
  const Index by = d.claim(put);
  const SendDigest& entry = d.writers[lock_id];
  if (by == kNone || d.fact(by).verb != Verb::pass_on || entry.send == kNone) return;
  const SessionDigest& s = d.session_of(d.fact(entry.send));
  if (s.ask == kNone) return;
  const Id owner = d.facts.owner_of_lock_id[lock_id];
  const Passed p{put, owner, s, all[s.process], executed_from(d, put), d.fact(by).at_ns};
  if (d.time_of(s.ended) > p.told) check_acted_on(d, f, p);
  // When a stream lags nobody may read it any more by the time of the event.
  if (s.ended == kNone || again || d.allowed.stream_lag_ns > 0) return;
  const auto news = news_at(d, p);
  if (news != kNever && d.fact(s.ended).at_ns < news) check_given_back(d, f, p, news);
}

/// Whether the answer to its last attempt showed its place. An attempt under way comes first.
bool knows_its_place(const Digest& d, const SessionDigest& s, const Stand& stand) {
  const auto& attempts = d.attempts[s.id];
  if (attempts.empty() || d.fact(attempts.back()).verb != Verb::acquire) return false;
  const Fact& send = d.fact(attempts.back());
  const Index reply = d.commands[send.command].reply;
  if (send.owner != d.fact(stand.joined).owner || reply == kNone) return false;
  const Fact& answer = d.fact(reply);
  return answer.at_ns <= d.fact(s.ended).at_ns && answer.outcome == Outcome::done &&
         answer->matched == 0 && answer->order >= d.at(stand.joined).order &&
         (stand.left == kNone || answer->order < d.at(stand.left).order);
}

}  // namespace

void check_left(const Digest& d, Finding& f, const Stand& stand) {
  const SendDigest& sent = d.writer(stand.joined);
  if (sent.send == kNone) return;
  const SessionDigest& s = d.session_of(d.fact(sent.send));
  if (s.ask == kNone || s.ended == kNone || !knows_its_place(d, s, stand)) return;
  const auto ended = d.fact(s.ended).at_ns;
  const auto latest = ended + d.allowed.lateness_ns;
  if (latest >= d.finished_ns) return;
  const auto left = seen_to(d, stand.joined, d.fact(stand.joined).owner, ended);
  ++f.counts["queue_left"];
  check_bound(d, f,
              {ended, latest, left, sends_until(d, s.asked, ended),
               d.delays(s.process, Needs::worker)},
              whose(d, stand.joined) + " ended its call, and stayed in the queue",
              {stand.joined, s.ended});
}

void check_queue_news(const Digest& d, Finding& f) {
  if (std::ranges::all_of(d.places, [](const auto& p) { return p.empty(); })) {
    return;
  }
  const auto all = readers(d);
  for (const Reader& reader : all) check_read_on(d, f, reader);
  std::set<Id> had;  // owners
  for (Id name = 0; name < d.places.size(); ++name) {
    if (d.places[name].empty()) continue;
    for (const Change& c : d.truth[name]) {
      c.each_written([&](Id owner, Id lock_id) {
        check_passed(d, f, c.event, lock_id, all, !had.insert(owner).second);
      });
    }
  }
}

}  // namespace leasehold::model
