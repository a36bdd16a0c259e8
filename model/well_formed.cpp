#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

constexpr std::int64_t kSlackMs = 500;            ///< scheduling, on a busy machine
constexpr std::int64_t kStreamTimeoutMs = 3'000;  ///< a step of a change stream takes at most
constexpr std::int64_t kIndexTimeoutMs = 10'000;  ///< the making of the TTL index takes at most

/// The times of all writes. They come in their order, or nearly.
class Orders {
 public:
  /// False if it is there already.
  bool insert(std::int64_t order) {
    if (!ascending_.empty() && order <= ascending_.back()) {
      return !contains(order) && late_.insert(order).second;
    }
    ascending_.push_back(order);
    return true;
  }
  [[nodiscard]] bool contains(std::int64_t order) const {
    return std::binary_search(ascending_.begin(), ascending_.end(), order) ||
           (!late_.empty() && late_.contains(order));
  }

 private:
  std::vector<std::int64_t> ascending_;
  std::unordered_set<std::int64_t> late_;
};

/// Walks the history once, then asks what is missing.
class FormChecker {
 public:
  explicit FormChecker(const Digest& d)
      : d_(d),
        commands_(d.facts.commands.size()),
        lives_(d.sessions.size()),
        processes_(d.process_of.size()),
        released_(d.facts.owners),
        written_to_(d.facts.writes, kNone) {}

  Finding check() {
    for (Index i = 0; i < d_.facts.all.size(); ++i) visit(i, d_.fact(i));
    f_.checked = static_cast<std::int64_t>(d_.facts.all.size());
    if (runs_ != 1 || finishes_ != 1 || heals_ != 1) {
      broken("there is not exactly one run, one heal and one finish", {});
    }
    check_sessions();
    check_commands();
    check_truth();
    check_places();
    check_writes();
    return std::move(f_);
  }

 private:
  struct Command {
    Index send = kNone, reply = kNone;
    Index last = kNone;  ///< the last of its statements, which are few and side by side
    std::int64_t statements = 0;
  };

  struct Life {
    bool asked = false, attempting = false, granted = false, lost = false, notified = false,
         release = false, released = false, ended = false;
    Index first_answers = kNone, newest_answers = kNone;  ///< the newest by their times
  };

  void broken(const std::string& why, std::vector<Index> events) {
    violate(f_, why, std::move(events));
    f_.verdict = Verdict::unknown;  // nobody broke a promise; nobody can tell
  }

  void visit(Index i, const Fact& e) {
    if (e.stray) name_stray_fields(i);
    if (e.kind == Kind::exit) broken(describe_exit(d_.at(i)), {i});
    if ((i == 0) != (e.kind == Kind::run)) broken("run is not the first line", {i});
    if (i > 0 && e.at_ns < d_.fact(i - 1).at_ns) broken("time runs backwards", {i - 1, i});
    if (e.process != kNoText && e.kind != Kind::stored) visit_process(i, e);
    switch (e.kind) {
      case Kind::run: ++runs_; break;
      case Kind::finish: ++finishes_; break;
      case Kind::heal: ++heals_; break;
      case Kind::send: visit_send(i, e); break;
      case Kind::reply: visit_reply(i, e); break;
      case Kind::put:
      case Kind::gone:
      case Kind::stored:
        if (!orders_.insert(e.order)) broken("two writes of one time", {i});
        break;
      case Kind::write:
        if (written_to_[e.command] != kNone) broken("a write appears twice", {i});
        written_to_[e.command] = i;
        break;
      default: break;
    }
    visit_session(i, e);
  }

  void visit_send(Index i, const Fact& e) {
    Command& c = commands_[e.command];
    if (c.send != kNone && (e.verb != Verb::extend || d_.fact(c.send).at_ns != e.at_ns)) {
      broken("a command was sent twice", {c.send, i});
    }
    for (Index s = c.send; c.statements > 0 && s <= c.last; ++s) {
      const Fact& other = d_.fact(s);
      const bool same = other.kind == Kind::send && other.command == e.command;
      if (same && other.session == e.session) broken("a statement appears twice", {s, i});
    }
    if (c.send == kNone) c.send = i;
    c.last = i;
    ++c.statements;
  }

  void visit_reply(Index i, const Fact& e) {
    Command& c = commands_[e.command];
    if (c.send == kNone) broken("a reply without a command", {i});
    if (c.reply != kNone) broken("a second reply to a command", {c.reply, i});
    c.reply = i;
    if (c.send != kNone) lives_[d_.fact(c.send).session].attempting = false;
  }

  void name_stray_fields(Index i) {
    const Event& e = d_.at(i);
    const auto stray = fields_set(e).without(about(e.kind).fields);
    for (const auto& row : kAboutFields) {
      if (!stray.contains(row.field)) continue;
      broken(std::string(to_string(e.kind)) + " has no field '" + row.name + "'", {i});
    }
  }

  void visit_process(Index i, const Fact& e) {
    if (e.kind == Kind::exit) return;
    const bool harness = e.kind == Kind::crash || e.kind == Kind::pause || e.kind == Kind::resume;
    auto& [started, crashed, paused] = processes_[e.process];
    if (e.kind == Kind::start) {
      if (started) broken("a process started twice", {i});
      started = true;
    } else if (!started) {
      broken("an event of a process that has not started", {i});
    }
    if (crashed && (harness || e.at_ns > d_.fact(d_.process_of[e.process]->crash).at_ns)) {
      broken("an event after the crash", {i});
    }
    if (e.kind == Kind::crash) crashed = true;
    if (e.kind == Kind::pause || e.kind == Kind::resume) {
      if (paused != (e.kind == Kind::resume)) broken("pause and resume do not alternate", {i});
      paused = e.kind == Kind::pause;
    }
  }

  void visit_session(Index i, const Fact& e) {
    if (!about(e.kind).fields.contains(Field::session)) return;
    if (e.kind == Kind::send && d_.facts.sessions[e.session].number == 0) return;
    const auto require = [&](bool rule, const char* what) {
      if (!rule) broken(what, {i});
    };
    Life& s = lives_[e.session];
    require((e.kind == Kind::ask) != s.asked, "an acquire call is asked for once, and first");
    switch (e.kind) {
      case Kind::ask: s.asked = true; break;
      case Kind::send:
        require(asks_for_lock(e) ? !s.granted && !s.ended : s.granted && !s.released,
                "a command that its session could not send");
        require(!s.attempting, "an attempt before the one before was answered");
        if (e.verb == Verb::hand_over) {
          require(released_[e.other_owner], "a hand-over by who still holds");
        }
        s.attempting = asks_for_lock(e);
        break;
      case Kind::granted:
        require(!s.granted && !s.ended && won(e), "a grant that nothing won");
        s.granted = true;
        break;
      case Kind::extended:
        require(s.granted && !s.lost && !s.release && sent_extension(e), "a stray extension");
        break;
      case Kind::lost:
        require(s.granted && !s.lost && !s.released, "a stray loss");
        s.lost = true;
        break;
      case Kind::held:
        require(s.granted && may_answer(e, d_.at(i).count),
                "an answer that held() cannot have given");
        require(is_new(s, i), "answers appear twice");
        break;
      case Kind::notified:
        require(s.granted && !s.notified, "a stray signal of a loss");
        s.notified = true;
        break;
      case Kind::release:
        require(s.granted && !s.release, "a stray release");
        s.release = true;
        released_[owner_of_grant(e)] = true;
        break;
      case Kind::released:
        require(s.release && !s.released, "a release answered but not asked for");
        require(e.outcome == Outcome::unknown || deleted(e), "a release answered by nobody");
        s.released = true;
        break;
      case Kind::ended:
        require(!s.granted && !s.ended, "a stray end");
        s.ended = true;
        break;
      case Kind::write: require(s.granted, "a write of no holder"); break;
      default: break;
    }
  }

  /// Asked of a handle that was there, and so often that its times can be those of the answers.
  bool may_answer(const Fact& held, std::int64_t count) const {
    const auto granted = d_.fact(d_.session_of(held).granted).at_ns;
    const bool yes = held.outcome == Outcome::yes;
    const auto asked = yes ? held.last_asked_ns : held.first_asked_ns;
    const auto answered = held.first_answered_ns;
    if ((!yes && held.outcome != Outcome::no) || count < 1 || asked < granted) return false;
    if (asked > held.at_ns || answered > held.at_ns) return false;
    if (!yes) return asked <= answered;
    return asked <= answered || count > 1;  // one question cannot span time
  }

  /// Whether no answers of these times were reported before. Most come in the order of their times.
  bool is_new(Life& s, Index i) {
    const auto times = [this](Index held) {
      const Fact& e = d_.fact(held);
      return std::tie(e.first_asked_ns, e.first_answered_ns, e.last_asked_ns);
    };
    if (s.first_answers == kNone) s.first_answers = s.newest_answers = i;
    if (s.newest_answers == i) return true;
    if (times(s.newest_answers) < times(i)) {
      s.newest_answers = i;
      return true;
    }
    for (Index before = s.first_answers; before < i; ++before) {
      const Fact& e = d_.fact(before);
      const bool same = e.kind == Kind::held && e.session == d_.fact(i).session;
      if (same && times(before) == times(i)) return false;
    }
    return true;
  }

  /// By a release of another process, which followed an attempt that had been refused or not
  /// answered: only the server's truth shows that.
  bool passed_on(const Fact& granted, const SendDigest& attempt) const {
    if (d_.fact(attempt.send).at_ns != granted.sent_ns) return false;
    const auto truth = d_.changes_of(granted.name);
    auto change = std::partition_point(truth.begin(), truth.end(), [&](const Change& c) {
      return d_.fact(c.event).order < granted.token;
    });
    for (; change != truth.end() && d_.fact(change->event).order == granted.token; ++change) {
      if (!change->gone && change->lock_id == granted.lock_id) return true;
    }
    return false;
  }

  bool won(const Fact& granted) const {
    const SendDigest& sent = d_.writers[granted.lock_id];
    if (sent.send == kNone) return false;
    if (granted.verb == Verb::pass_on) return passed_on(granted, sent);
    if (sent.reply == kNone) return false;
    const Fact& reply = d_.fact(sent.reply);
    return d_.fact(sent.send).at_ns == granted.sent_ns && reply.outcome == Outcome::done &&
           reply.matched == 1 && reply.at_ns <= granted.at_ns &&
           (d_.of_a_document || reply.order == granted.token);
  }

  bool sent_extension(const Fact& extended) const {
    const SendDigest& sent = d_.writers[extended.lock_id];
    return sent.send != kNone && sent.reply != kNone &&
           d_.fact(sent.send).at_ns == extended.sent_ns;
  }

  Id owner_of_grant(const Fact& e) const {
    const Index granted = d_.session_of(e).granted;
    return granted == kNone ? kNoText : d_.fact(granted).owner;
  }

  /// Whether a delete or a hand-over for this session's owner was acknowledged.
  bool deleted(const Fact& released) const {
    const Id owner = owner_of_grant(released);
    for (const auto* by_owner : {&d_.deletes, &d_.hand_overs}) {
      for (const SendDigest& s : by_owner->of(owner)) {
        if (s.reply != kNone && d_.fact(s.reply).outcome == Outcome::done) return true;
      }
    }
    return false;
  }

  /// Whether the process lived and ran for `span` ns and more after the event, so that what must
  /// follow it must have followed.
  bool goes_on(const Fact& e, std::int64_t span) const {
    const Span rest{e.at_ns, e.at_ns + span};
    const ProcessDigest* process = d_.process_of[e.process];
    return process != nullptr && rest.to < process->lock_ran_until_ns &&
           d_.ran_throughout(e.process, rest);
  }

  void check_sessions() {
    for (const auto& [key, s] : d_.sessions) {
      if (s.ask == kNone) continue;  // said already
      const Asked& ask = s.asked;
      const auto longest = !ask.single_attempt && ask.give_up_ns == 0
                               ? kNever
                               : std::max<std::int64_t>(ask.give_up_ns - ask.at_ns, 0) +
                                     (ask.operation_timeout_ms + kSlackMs) * kMs;
      if (s.granted == kNone && s.ended == kNone && longest != kNever &&
          goes_on(d_.fact(s.ask), longest)) {
        broken("an acquire call that never ended", {s.ask});
      }
      if (s.release != kNone && s.released == kNone &&
          goes_on(d_.fact(s.release), (ask.operation_timeout_ms + kSlackMs) * kMs)) {
        broken("a release that was never answered", {s.release});
      }
    }
  }

  void check_commands() {
    std::vector<bool> written(d_.facts.lock_ids.size());
    for (const auto& [name, changes] : d_.truth) {
      for (const Change& c : changes) {
        if (!c.gone) written[c.lock_id] = true;
      }
    }
    // Most histories are whole: the order in which they are not, of process and number, is made
    // when it is needed.
    std::vector<Broken> all;
    for (const Command& c : commands_) check_command(c, written, all);
    std::stable_sort(all.begin(), all.end(), [this](const Broken& a, const Broken& b) {
      const auto key = [this](const Broken& one) {
        const Numbered& command = d_.facts.commands[d_.fact(one.events.front()).command];
        return std::pair(command.process, command.number);
      };
      return key(a) < key(b);
    });
    for (Broken& one : all) broken(one.why, std::move(one.events));
  }

  struct Broken {
    const char* why;
    std::vector<Index> events;  ///< the first one is of the command
  };

  void check_command(const Command& c, const std::vector<bool>& written,
                     std::vector<Broken>& all) const {
    if (c.send == kNone) return;
    const Fact& send = d_.fact(c.send);
    if (c.reply == kNone) {
      const auto timeout = send.verb == Verb::index    ? kIndexTimeoutMs
                           : send.verb == Verb::stream ? kStreamTimeoutMs
                                                       : d_.process_of[send.process]->timeout_ms;
      if (goes_on(send, (timeout + kSlackMs) * kMs)) {
        all.push_back({"a command without a reply", {c.send}});
      }
      return;
    }
    const Fact& reply = d_.fact(c.reply);
    if (reply.outcome != Outcome::done) return;
    if (send.verb == Verb::remove && reply.matched > 0 && !orders_.contains(reply.order)) {
      all.push_back({"a deletion that the server does not know", {c.reply}});
    }
    if ((!asks_for_lock(send) && send.verb != Verb::extend) || reply.matched != c.statements) {
      return;
    }
    for (Index s = c.send; s <= c.last; ++s) {
      const Fact& statement = d_.fact(s);
      if (statement.kind != Kind::send || statement.command != send.command) continue;
      if (!written[statement.lock_id]) {
        all.push_back({"an acknowledged write that the server does not know", {s, c.reply}});
      }
      check_consequence(s, reply, all);
    }
  }

  /// A win must be granted or given back; an extension must move the deadline of who still holds.
  void check_consequence(Index statement, const Fact& reply, std::vector<Broken>& all) const {
    const Fact& send = d_.fact(statement);
    const SessionDigest& s = d_.session_of(send);
    if (asks_for_lock(send)) {
      if (d_.of_a_document) return;  // their texts forget a win that comes after the end of a call
      // By another attempt, if the answer to this one was that of a second sending.
      const Id owner = d_.owner_of_lock_id(send);
      const bool granted =
          s.granted != kNone && d_.owner_of_lock_id(d_.fact(s.granted)) == owner;
      const bool given_back = !d_.deletes.of(owner).empty();
      if (!granted && !given_back && goes_on(reply, 1'000 * kMs)) {
        all.push_back({"a win that came to nothing", {statement}});
      }
      return;
    }
    for (const Index e : d_.extended.of(s.id)) {
      if (d_.fact(e).sent_ns == send.at_ns) return;
    }
    for (const Index end : {s.lost, s.release}) {
      if (end != kNone && d_.fact(end).at_ns <= reply.at_ns + d_.allowed.lateness_ns) return;
    }
    if (goes_on(reply, 1'000 * kMs)) {
      all.push_back({"an extension that came to nothing", {statement}});
    }
  }

  void check_truth() {
    for (const auto& [name, changes] : d_.truth) {
      bool there = false;
      for (const Change& c : changes) {
        if (c.gone && !there) broken("a deletion of what is not there", {c.event});
        if (!c.gone && d_.writers[c.lock_id].send == kNone) {
          broken("a write that nobody sent", {c.event});
        }
        there = !c.gone;
      }
    }
  }

  /// An entry joins a queue before it leaves it, and once; the server says how many stand then.
  void check_places() {
    for (const auto& places : d_.places) {
      std::unordered_set<Id> standing;
      for (std::size_t i = 0; i < places.size(); ++i) {
        const Fact& e = d_.fact(places[i]);
        const bool fits =
            e.place > 0 ? standing.insert(e.owner).second : standing.erase(e.owner) > 0;
        if (!fits) broken("an entry joins a queue twice, or leaves one unseen", {places[i]});
        const bool last = i + 1 == places.size() || d_.fact(places[i + 1]).order != e.order;
        if (last && static_cast<std::int64_t>(standing.size()) != e.matched) {
          broken("a queue of another length", {places[i]});
        }
      }
    }
  }

  void check_writes() {
    std::vector<bool> stored(d_.facts.writes);
    for (const Index i : d_.stored) stored[d_.fact(i).command] = true;
    for (const Index i : d_.writes) {
      const Fact& w = d_.fact(i);
      if (w.outcome == Outcome::accepted && !stored[w.command]) {
        broken("an accepted write that the server does not know", {i});
      }
    }
    for (const Index i : d_.stored) {
      const Fact& s = d_.fact(i);
      const ProcessDigest* process = d_.process_of[s.process];
      const bool alive = process != nullptr && process->crash == kNone;
      if (alive && written_to_[s.command] == kNone) {
        broken("a stored write that its process does not know", {i});
      }
    }
  }

  struct ProcessLife {
    bool started = false, crashed = false, paused = false;
  };

  const Digest& d_;
  Finding f_ = finding(Guarantee::form);
  int runs_ = 0, finishes_ = 0, heals_ = 0;
  std::vector<Command> commands_;
  std::vector<Life> lives_;
  std::vector<ProcessLife> processes_;
  Orders orders_;
  std::vector<bool> released_;     ///< by owner: its handle was asked to release
  std::vector<Index> written_to_;  ///< by number of a write to the resource
};

}  // namespace

Finding check_form(const Digest& d) { return FormChecker(d).check(); }

}  // namespace leasehold::model
