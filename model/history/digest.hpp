#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/containers/spans.hpp"
#include "model/history/history.hpp"
#include "model/history/room.hpp"

/// A history, put in order for the checkers, with numbers for texts: the checkers compare them
/// often, and have a place for each in a vector. Pure; knows no guarantee.
namespace leasehold::model {

using Id = std::uint32_t;  ///< of a text, a session or a command; each sort has numbers of its own
inline constexpr Id kNoText = 0;  ///< of texts: the empty one

enum class Verb : std::uint8_t {
  none,
  acquire,
  extend,
  hand_over,
  pass_on,
  look,
  remove,  ///< "delete"
  stream,
  index,
  other
};
inline constexpr std::size_t kVerbs = static_cast<std::size_t>(Verb::other) + 1;

/// The outcomes that checkers distinguish.
enum class Outcome : std::uint8_t {
  none,
  done,
  unknown,
  failed_before,
  duplicate_key,
  yes,
  no,
  accepted,
  refused,
  released,
  not_owner,
  deadline,
  max_holding,
  timed_out,
  granted,
  other
};

inline const Event kNoEvent{};

/// One event: `e->order` is its own field, `e.owner` the number of a text in it. What its kind
/// lacks is 0.
struct Fact {
  const Event* event = &kNoEvent;
  std::int64_t at_ns = 0;
  Id process = kNoText;      ///< in the order of their names
  Id session = 0;            ///< in the order of process and number
  Id name = kNoText;         ///< in the order of the names
  Id owner = kNoText;        ///< of a document: that of its lockId
  Id other_owner = kNoText;  ///< of a hand-over: the giver; else an owner deleted as well
  Id lock_id = kNoText;      ///< of a reply: the one that it shows
  Id observed = kNoText;     ///< of an attempt: the lockId of the holder that it presumes dead
  Id command = 0;            ///< of a write to the resource: its number
  Id claimed_by = 0;         ///< of a change of a document, filled in by the digest
  std::uint32_t version = 0;  ///< of such a change: its place among those of its lock, from 1 on
  Kind kind = Kind::run;
  Verb verb = Verb::none;
  Outcome outcome = Outcome::none;

  const Event* operator->() const { return event; }
};

/// One of those that share a lock, readers or permits, as a version of its document has it.
struct ReaderEntry {
  Id owner = kNoText, lock_id = kNoText;    ///< its own
  std::int64_t until_ms = 0, since_ms = 0;  ///< it is over then; it was admitted then
  std::int64_t slot = 0;                    ///< the number of a permit
  bool written = false;                     ///< by this version: it came, or was renewed
  /// If it joined others by its own command: the place of one that stood in the queue before it,
  /// and that it may not pass; kNone: none did.
  std::uint32_t passed = std::numeric_limits<std::uint32_t>::max();
};

/// A number that is counted in each process, such as that of a session.
struct Numbered {
  Id process = kNoText;
  std::int64_t number = 0;

  auto operator<=>(const Numbered&) const = default;
};

/// The texts are the history's.
struct Facts {
  std::vector<Fact> all;                      ///< by the place of the event in the history
  std::vector<std::string_view> processes;    ///< sorted
  std::vector<std::string_view> names;        ///< sorted
  std::vector<std::string_view> lock_ids;     ///< by id
  std::vector<Id> owner_of_lock_id{kNoText};  ///< by id
  std::vector<std::vector<ReaderEntry>> readers{{}};  ///< by lockId, if it is that of several
  std::size_t owners = 1;                     ///< how many, the empty one included
  std::vector<Numbered> sessions;             ///< sorted
  std::vector<Numbered> commands;             ///< by id
  std::size_t writes = 0;                     ///< to the resource: how many numbers
};

[[nodiscard]] constexpr bool asks_for_lock(const Fact& e) {
  return e.verb == Verb::acquire || e.verb == Verb::hand_over;
}
/// Whether owners leave the lock by it: a delete, or a release that passes it on.
[[nodiscard]] constexpr bool leaves_lock(const Fact& e) {
  return e.verb == Verb::remove || e.verb == Verb::pass_on;
}

using Index = std::uint32_t;  ///< of an event in the history
inline constexpr Index kNone = std::numeric_limits<Index>::max();

/// The bounds of a run, as its `run` event says. The defaults are for a live run that does not say
/// them.
struct Allowances {
  std::int64_t lateness_ns = 400 * kMs;      ///< of a process that runs
  std::int64_t ttl_period_ns = 1'000 * kMs;  ///< of the TTL monitor
  std::int64_t truth_lag_ns = 1'000 * kMs;   ///< from a commit to the harness's reading of it
  /// For how long after a fault servers and clients may not know of it.
  std::int64_t fault_echo_ns = 3'000 * kMs;
  /// A real process reports a stall when it is over, and a killed one never does: back to its last
  /// word it may have stood still for so long before its death.
  std::int64_t unreported_ns = 3'000 * kMs;
  std::int64_t stream_lag_ns = 0;  ///< of change streams

  /// The time from the expiry of a document until the harness reads its deletion: the monitor
  /// sleeps, then works about as long as the harness takes to read, and the harness reads.
  [[nodiscard]] std::int64_t ttl_seen_ns() const { return ttl_period_ns + 2 * truth_lag_ns; }
};

/// What `held()` answered the user of one handle.
struct Answers {
  std::int64_t yes = 0, no = 0;        ///< how often
  std::int64_t first_ns = kNever;      ///< when it was first asked: its user had it then
  std::int64_t first_yes_ns = kNever;  ///< by then it had said yes
  std::int64_t last_yes_ns = -1;       ///< then or later it was asked, and said yes
  std::int64_t first_no_ns = kNever;   ///< by then it had said no
  Index first = kNone, last = kNone, denied = kNone;  ///< the events that say so

  [[nodiscard]] bool any() const { return yes + no > 0; }
  /// Whether it certainly said yes after a no.
  [[nodiscard]] bool revived() const { return last_yes_ns > first_no_ns; }
  /// When held() was certainly true: its answers change only once, from yes to no.
  [[nodiscard]] std::optional<Span> held() const {
    if (first_yes_ns > last_yes_ns) return std::nullopt;
    return Span{first_yes_ns, last_yes_ns};
  }
};

/// One acquire call: the indices of its events, or kNone.
struct SessionDigest {
  Index ask = kNone, granted = kNone, lost = kNone, release = kNone, released = kNone,
        ended = kNone, notified = kNone;
  Id id = 0;
  Id process = kNoText;
  /// From then on its user holds no more, by what the handle and its user said: it is past its
  /// deadline, was notified, released or killed. No verdict rests on it.
  std::int64_t over_ns = kNever;
  Answers answers;  ///< what `held()` said
  Fact asked;       ///< that of `ask`, if it is known
  Index shares = kNone;  ///< the grant of the reader of its process whose entry it shares
  bool leaves_it_to_others = false;  ///< it released that while others still had it
  /// If the lock is known by its answers: the grant by which another had it, because that call
  /// began after its own grant.
  Index taken = kNone;
};

/// One call for several locks at once: the events of each.
struct AllCall {
  std::vector<Index> asked, ended;
};

/// What something waits for: its process and the machine, a worker of the process as well, or an
/// answer of the servers.
enum class Needs : std::uint8_t { process, worker, servers };

/// A user's call of one function of the public interface.
struct UsersCall {
  Index called = kNone, returned = kNone;
};

struct ProcessDigest {
  Index start = kNone, crash = kNone;
  std::int64_t last_ns = 0;            ///< its last own event
  std::int64_t lock_ran_until_ns = 0;  ///< the last event that shows that its lock still ran
  std::int64_t timeout_ms = 0;         ///< the longest of its acquire calls' operation timeouts
  bool reads = false;                  ///< some of its calls do
  std::int64_t rate_ppm = 0;           ///< how much its clock runs fast; 0: not known
  std::vector<Span> away;              ///< paused or stalled
  std::int64_t alive_until = kNever;   ///< until it was killed
  std::vector<Span> suspended;         ///< its clock stood still, too; sorted by their begin
  /// A process that has ended by itself owes nothing after its last event.
  [[nodiscard]] std::int64_t runs_until() const { return crash == kNone ? last_ns : alive_until; }
  /// When time stood still for what needs this, by `Needs`; each holds the one before but for
  /// congestion.
  std::array<MergedSpans, 3> delays;
  MergedSpans links;                   ///< when faults disturbed its own links
  MergedSpans kept;                    ///< its commands: by servers, links or the lack of a worker
  std::array<std::int64_t, kVerbs> sent{};   ///< commands by kind, as the core sent them
  std::map<std::string, std::int64_t> wire;  ///< commands by name, as the driver sent them
};

/// A command that one `send` event started.
struct SendDigest {
  Index send = kNone, reply = kNone;
};

/// A command with all its statements, which are few and side by side; the last of its replies.
struct CommandDigest : SendDigest {
  Index last = kNone;
  std::int64_t statements = 0;
};

/// One change of a lock document, in the server's order.
struct Change {
  Index event = kNone;
  bool gone = false;
  Id owner = kNoText;    ///< of a put
  Id lock_id = kNoText;  ///< of a put
  // If readers hold it, `owner` and `lock_id` are of the first entry that this version wrote, if it
  // wrote one.
  Id text = kNoText;  ///< of a put: the whole lockId
  std::vector<ReaderEntry> readers = {};  ///< empty: a writer holds it

  /// The entry of this reader; null: none.
  [[nodiscard]] const ReaderEntry* reader(Id of) const {
    const auto found = std::ranges::find(readers, of, &ReaderEntry::owner);
    return found == readers.end() ? nullptr : &*found;
  }
  /// Whether readers hold it by a text of theirs. One alone may stand there by its own lockId.
  [[nodiscard]] bool is_of_several() const {
    return !readers.empty() && readers.front().lock_id != text;
  }
  [[nodiscard]] bool held_by(Id one) const {
    return !gone && (readers.empty() ? owner == one : reader(one) != nullptr);
  }
  /// Calls `use` with the owner and the lockId of what this version wrote.
  template <typename Use>
  void each_written(Use use) const {
    if (readers.empty() && !gone) use(owner, lock_id);
    for (const ReaderEntry& r : readers) {
      if (r.written) use(r.owner, r.lock_id);
    }
  }
  /// Whether this version wrote that.
  [[nodiscard]] bool wrote(Id one) const {
    bool did = false;
    each_written([&](Id, Id id) { did = did || id == one; });
    return did;
  }
};

/// A document's last state under one owner, and the change that ended it.
struct Tenure {
  Id owner = kNoText;
  Index last_put = kNone;
  Index next = kNone;  ///< the next change: another's put or the deletion; kNone: none
  bool next_gone = false;
  /// The next put of another, deletion or not; if it `left`, of a writer, or the one that gave its
  /// permit to another.
  Index next_put = kNone;
  Index first_put = kNone;
  bool shared = false;   ///< it is a reader's
  Id lock_id = kNoText;  ///< of a reader's: that of its entry in `last_put`
  bool left = false;    ///< its entry went, and other readers still hold the lock
  // If the lock is known by its answers, and there is a next change:
  bool decided = false;   ///< the holder had its grant by then, and no older command of it was left
  bool given_up = false;  ///< perhaps by the holder itself
  bool acquired = false;  ///< perhaps by another's acquire
};

/// Where a lockId was written first.
struct Written {
  Id name = kNoText;          ///< of the lock
  std::uint32_t version = 0;  ///< of its document: 1 is the first; 0: it was never written
};

template <typename Value>
using Lists = std::vector<std::vector<Value>>;

struct Promises;

struct Digest {
  const History* history = nullptr;
  Facts facts;
  bool of_a_document = false;  ///< the lock is a published one, which promises less
  /// What the author of a lock promises that is known by its worker's answers, and perhaps by its
  /// documents (model/workers); else null. The call and the answer then count as the command that
  /// won, and its answer.
  const Promises* promises = nullptr;
  bool dates_hold = false;  ///< of such documents: no clock was moved
  bool disks_lost = false;  ///< a member lost its disks, and so perhaps such documents
  std::vector<SessionDigest> sessions;  ///< by process and number, in their order: by id
  std::map<std::string, ProcessDigest> processes;
  std::vector<ProcessDigest*> process_of;            ///< by id; null: none of its own
  Lists<Change> truth;  ///< by id of the lock's name
  /// By the same id, in the server's order. A put of the same owner after a deletion (an attempt
  /// that executed late) starts another.
  Lists<Tenure> tenures;
  std::vector<AllCall> all_calls;  ///< in the order of their begin
  std::vector<UsersCall> users_calls;  ///< in the order of their begin
  std::vector<Index> remaining;        ///< the answers of `held()` with one of `remaining()`
  std::vector<bool> is_joint;  ///< by id of the name: calls wanted it and others at once
  /// By id of the name: the entries that joined its queue or left it, in the server's order.
  Lists<Index> places;
  std::vector<Index> stored;                         ///< accepted writes, in the server's order
  std::vector<Index> writes;                         ///< as their processes saw them
  std::vector<SendDigest> writers;                   ///< by lockId: the send of that write
  std::vector<Index> first_writers;                  ///< by lockId: if several, the first
  std::vector<Written> written;                      ///< by lockId
  std::vector<CommandDigest> commands;               ///< by number
  std::vector<Index> all_sends, all_replies;         ///< in their order
  /// Replies that show their own owner in the document, but do not say that it won.
  std::vector<Index> unrecognised;
  std::vector<Index> faults;
  std::vector<bool> by_administrator;  ///< by lockId: no client of the lock wrote it
  Lists<SendDigest> deletes;     ///< by owner; and releases that pass the lock on
  Lists<SendDigest> hand_overs;  ///< by the owner that gives
  // By session:
  Lists<Index> extended;
  Lists<Index> attempts;    ///< and hand-overs to it: the sendings, answered or not
  Lists<Index> extensions;  ///< the sendings
  /// When servers were disturbed: by a fault or its echo, or because the set had no majority.
  MergedSpans disturbances;
  MergedSpans servers;          ///< and when the machine or a member did not run
  /// When no TTL monitor may have run: from then on until the end of its next pass.
  MergedSpans ttl_away;
  MergedSpans clocks_moved;     ///< when a server's clock was
  bool oplog_read = true;       ///< to its end: a change that it lacks did not happen
  Allowances allowed;
  std::int64_t healed_ns = kNever;
  std::int64_t finished_ns = kNever;

  [[nodiscard]] const Event& at(Index i) const { return (*history)[i]; }
  [[nodiscard]] const Fact& fact(Index i) const { return facts.all[i]; }
  /// When it happened; kNever: there was no such event.
  [[nodiscard]] std::int64_t time_of(Index i) const { return i == kNone ? kNever : fact(i).at_ns; }
  [[nodiscard]] std::string process_name(Id id) const {
    return std::string(facts.processes[id]);
  }
  [[nodiscard]] std::string name(Id id) const { return std::string(facts.names[id]); }
  /// The reply to a delete, or to a release that passes on, which says that it made this change;
  /// or kNone.
  [[nodiscard]] Index claim(Index change) const { return fact(change).claimed_by; }
  /// The last reply to the command of this sending; kNone: none.
  [[nodiscard]] Index reply_to(Index send) const {
    return send == kNone ? kNone : commands[fact(send).command].reply;
  }
  [[nodiscard]] rules::Room room(Id lock_id) const {
    return rules::room_of(facts.lock_ids[lock_id]);
  }
  [[nodiscard]] const Fact& asked(const AllCall& call) const { return fact(call.asked.front()); }
  /// What this put or deletion made of the document.
  [[nodiscard]] const Change& change(Index i) const {
    return truth[fact(i).name][fact(i).version - 1];
  }
  /// Who may have had the lock before this change.
  [[nodiscard]] const Change& change_before(Index i) const {
    static const Change none{.gone = true};
    return fact(i).version < 2 ? none : truth[fact(i).name][fact(i).version - 2];
  }
  [[nodiscard]] const SessionDigest& session_of(const Fact& e) const {
    return sessions[e.session];
  }
  /// The send of the write with the lockId of this put, grant or extension.
  [[nodiscard]] const SendDigest& writer(Index i) const { return writers[fact(i).lock_id]; }
  [[nodiscard]] Id owner_of_lock_id(const Fact& e) const {
    return facts.owner_of_lock_id[e.lock_id];
  }
  /// Whether this reply came, and says that its command was executed.
  [[nodiscard]] bool done(Index reply) const {
    return reply != kNone && fact(reply).outcome == Outcome::done;
  }
  /// The commands by which this owner left, or was to leave, the lock, from the first on: an owner
  /// that hands it over deletes later.
  [[nodiscard]] std::vector<SendDigest> farewells(Id owner) const {
    auto all = hand_overs[owner];
    all.insert(all.end(), deletes[owner].begin(), deletes[owner].end());
    return all;
  }
  /// The changes of this lock's document up to that place in the oplog.
  [[nodiscard]] std::span<const Change> changes_by(Id lock, std::int64_t order) const {
    const auto later = std::ranges::partition_point(
        truth[lock], [&](const Change& c) { return at(c.event).order <= order; });
    return {truth[lock].begin(), later};
  }
  /// Whether the outcome of this command is unknown.
  [[nodiscard]] bool unanswered(const SendDigest& command) const {
    return command.reply == kNone || fact(command.reply).outcome == Outcome::unknown;
  }
  [[nodiscard]] const MergedSpans& delays(Id process, Needs needs) const {
    return process_of[process]->delays[static_cast<std::size_t>(needs)];
  }
  /// What disturbed the servers, or the links of this process, at any time of the span; null:
  /// nothing.
  [[nodiscard]] const Span* disturbed(Id process, Span span) const {
    const Span* found = disturbances.first_in(span);
    return found != nullptr ? found : process_of[process]->links.first_in(span);
  }
  /// Whether something measured explains that a command of this process ended then in vain.
  [[nodiscard]] bool explained(const ProcessDigest& p, std::int64_t end_ns) const;
  /// Whether the process was neither paused nor stalled, and lived, at all times of the span.
  [[nodiscard]] bool ran_throughout(Id process, Span span) const {
    return process_of[process]->alive_until >= span.to &&
           !delays(process, Needs::process).meet(span);
  }
};

/// `history` must outlive what these two return.
[[nodiscard]] Facts facts(const History& history);
[[nodiscard]] Digest digest(const History& history);

}  // namespace leasehold::model
