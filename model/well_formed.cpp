#include <algorithm>
#include <array>
#include <set>

#include "model/finding.hpp"

namespace leasehold::model {
namespace {

constexpr std::int64_t kSlackMs = 500;            ///< scheduling, on a busy machine
constexpr std::int64_t kStreamTimeoutMs = 3'000;  ///< a step of a change stream takes at most
constexpr std::int64_t kIndexTimeoutMs = 10'000;  ///< the making of the TTL index takes at most

/// Walks the history once, then asks what is missing.
class FormChecker {
 public:
  explicit FormChecker(const Digest& d) : d_(d) {}

  Finding check() {
    for (Index i = 0; i < d_.history->size(); ++i) {
      ++f_.checked;
      visit(i, d_.at(i));
    }
    if (counts_[Kind::run] != 1 || counts_[Kind::finish] != 1 || counts_[Kind::heal] != 1) {
      broken("there is not exactly one run, one heal and one finish", {});
    }
    check_sessions();
    check_commands();
    check_truth();
    check_writes();
    return std::move(f_);
  }

 private:
  using Key = std::pair<std::string, std::int64_t>;
  struct Command {
    Index send = kNone, reply = kNone;
    std::vector<Index> statements;
  };

  void broken(const std::string& why, std::vector<Index> events) {
    violate(f_, why, std::move(events));
    f_.verdict = Verdict::unknown;  // nobody broke a promise; nobody can tell
  }

  void visit(Index i, const Event& e) {
    ++counts_[e.kind];
    check_fields(i, e);
    if (e.kind == Kind::exit) broken(describe_exit(e), {i});
    if ((i == 0) != (e.kind == Kind::run)) broken("run is not the first line", {i});
    if (i > 0 && e.at_ns < d_.at(i - 1).at_ns) broken("time runs backwards", {i - 1, i});
    if (!e.process.empty() && e.kind != Kind::stored) visit_process(i, e);
    if (e.kind == Kind::send) {
      Command& c = commands_[{e.process, e.command}];
      if (c.send != kNone && (e.verb != "extend" || d_.at(c.send).at_ns != e.at_ns)) {
        broken("a command was sent twice", {c.send, i});
      }
      for (const Index s : c.statements) {
        if (d_.at(s).session == e.session) broken("a statement appears twice", {s, i});
      }
      if (c.send == kNone) c.send = i;
      c.statements.push_back(i);
    } else if (e.kind == Kind::reply) {
      Command& c = commands_[{e.process, e.command}];
      if (c.send == kNone) broken("a reply without a command", {i});
      if (c.reply != kNone) broken("a second reply to a command", {c.reply, i});
      c.reply = i;
      if (c.send != kNone) lives_[{e.process, d_.at(c.send).session}].attempting = false;
    } else if (e.kind == Kind::put || e.kind == Kind::gone || e.kind == Kind::stored) {
      if (!orders_.insert(e.order).second) broken("two writes of one time", {i});
    } else if (e.kind == Kind::write) {
      if (!write_ids_.insert({e.process, e.write_number}).second)
        broken("a write appears twice", {i});
    }
    visit_session(i, e);
  }

  void check_fields(Index i, const Event& e) {
    const auto stray = fields_set(e).without(about(e.kind).fields);
    if (stray.empty()) return;
    for (const auto& row : kAboutFields) {
      if (!stray.contains(row.field)) continue;
      broken(std::string(to_string(e.kind)) + " has no field '" + row.name + "'", {i});
    }
  }

  void visit_process(Index i, const Event& e) {
    if (e.kind == Kind::exit) return;
    const bool harness = e.kind == Kind::crash || e.kind == Kind::pause || e.kind == Kind::resume;
    auto& [started, crashed, paused] = processes_[e.process];
    if (e.kind == Kind::start) {
      if (started) broken("a process started twice", {i});
      started = true;
    } else if (!started) {
      broken("an event of a process that has not started", {i});
    }
    if (crashed && (harness || e.at_ns > d_.at(d_.processes.at(e.process).crash).at_ns)) {
      broken("an event after the crash", {i});
    }
    if (e.kind == Kind::crash) crashed = true;
    if (e.kind == Kind::pause || e.kind == Kind::resume) {
      if (paused != (e.kind == Kind::resume)) broken("pause and resume do not alternate", {i});
      paused = e.kind == Kind::pause;
    }
  }

  void visit_session(Index i, const Event& e) {
    const bool of_session =
        e.kind == Kind::ask || e.kind == Kind::granted || e.kind == Kind::extended ||
        e.kind == Kind::lost || e.kind == Kind::held || e.kind == Kind::notified ||
        e.kind == Kind::release || e.kind == Kind::released || e.kind == Kind::ended ||
        e.kind == Kind::write || (e.kind == Kind::send && e.session != 0);
    if (!of_session) return;
    const auto require = [&](bool rule, const char* what) {
      if (!rule) broken(what, {i});
    };
    Life& s = lives_[{e.process, e.session}];
    require((e.kind == Kind::ask) != s.asked, "an acquire call is asked for once, and first");
    switch (e.kind) {
      case Kind::ask: s.asked = true; break;
      case Kind::send:
        require(asks_for_lock(e) ? !s.granted && !s.ended : s.granted && !s.released,
                "a command that its session could not send");
        require(!s.attempting, "an attempt before the one before was answered");
        if (e.verb == "hand-over") {
          require(released_.contains(e.giver), "a hand-over by who still holds");
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
        require(s.granted && may_answer(e), "an answer that held() cannot have given");
        require(s.answers.insert({e.first_asked_ns, e.first_answered_ns, e.last_asked_ns}).second,
                "answers appear twice");
        break;
      case Kind::notified:
        require(s.granted && !s.notified, "a stray signal of a loss");
        s.notified = true;
        break;
      case Kind::release:
        require(s.granted && !s.release, "a stray release");
        s.release = true;
        released_.insert(owner_of_grant(e));
        break;
      case Kind::released:
        require(s.release && !s.released, "a release answered but not asked for");
        require(e.outcome == "unknown" || deleted(e), "a release answered by nobody");
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
  bool may_answer(const Event& held) const {
    const auto session = d_.sessions.find({held.process, held.session});
    const auto granted = d_.at(session->second.granted).at_ns;
    const bool yes = held.outcome == "yes";
    const auto asked = yes ? held.last_asked_ns : held.first_asked_ns;
    const auto answered = held.first_answered_ns;
    if ((!yes && held.outcome != "no") || held.count < 1 || asked < granted) return false;
    if (asked > held.at_ns || answered > held.at_ns) return false;
    if (!yes) return asked <= answered;
    return asked <= answered || held.count > 1;  // one question cannot span time
  }

  /// By a release of another process, which followed an attempt that had been refused or not
  /// answered: only the server's truth shows that.
  bool passed_on(const Event& granted, const SendDigest& attempt) const {
    const auto truth = d_.truth.find(granted.name);
    if (truth == d_.truth.end() || d_.at(attempt.send).at_ns != granted.sent_ns) return false;
    return std::any_of(truth->second.begin(), truth->second.end(), [&](const Change& c) {
      const Event& put = d_.at(c.event);
      return !c.gone && put.lock_id == granted.lock_id && put.order == granted.token;
    });
  }

  bool won(const Event& granted) const {
    const auto sent = d_.writers.find(granted.lock_id);
    if (sent == d_.writers.end() || sent->second.send == kNone) return false;
    if (granted.verb == "pass-on") return passed_on(granted, sent->second);
    if (sent->second.reply == kNone) return false;
    const Event& reply = d_.at(sent->second.reply);
    return d_.at(sent->second.send).at_ns == granted.sent_ns && reply.outcome == "done" &&
           reply.matched == 1 && reply.at_ns <= granted.at_ns &&
           (d_.of_a_document || reply.order == granted.token);
  }

  bool sent_extension(const Event& extended) const {
    const auto sent = d_.writers.find(extended.lock_id);
    return sent != d_.writers.end() && sent->second.reply != kNone &&
           d_.at(sent->second.send).at_ns == extended.sent_ns;
  }

  std::string owner_of_grant(const Event& e) const {
    const auto session = d_.sessions.find({e.process, e.session});
    const bool known = session != d_.sessions.end() && session->second.granted != kNone;
    return known ? d_.at(session->second.granted).owner : "";
  }

  /// Whether a delete or a hand-over for this session's owner was acknowledged.
  bool deleted(const Event& released) const {
    const auto owner = owner_of_grant(released);
    for (const auto* by_owner : {&d_.deletes, &d_.hand_overs}) {
      const auto sent = by_owner->find(owner);
      if (sent == by_owner->end()) continue;
      for (const SendDigest& s : sent->second) {
        if (s.reply != kNone && d_.at(s.reply).outcome == "done") return true;
      }
    }
    return false;
  }

  /// Whether the process lived and ran for `span` ns and more after the event, so that what must
  /// follow it must have followed.
  bool goes_on(const Event& e, std::int64_t span) const {
    const Span rest{e.at_ns, e.at_ns + span};
    const auto process = d_.processes.find(e.process);
    return process != d_.processes.end() && rest.to < process->second.lock_ran_until_ns &&
           d_.ran_throughout(e.process, rest);
  }

  void check_sessions() {
    for (const auto& [key, s] : d_.sessions) {
      if (s.ask == kNone) continue;  // said already
      const Event& ask = d_.at(s.ask);
      const auto longest = !ask.single_attempt && ask.give_up_ns == 0
                               ? kNever
                               : std::max<std::int64_t>(ask.give_up_ns - ask.at_ns, 0) +
                                     (ask.operation_timeout_ms + kSlackMs) * kMs;
      if (s.granted == kNone && s.ended == kNone && longest != kNever && goes_on(ask, longest)) {
        broken("an acquire call that never ended", {s.ask});
      }
      if (s.release != kNone && s.released == kNone &&
          goes_on(d_.at(s.release), (ask.operation_timeout_ms + kSlackMs) * kMs)) {
        broken("a release that was never answered", {s.release});
      }
    }
  }

  void check_commands() {
    std::set<std::string> written;
    for (const auto& [name, changes] : d_.truth) {
      for (const Change& c : changes) {
        if (!c.gone) written.insert(d_.at(c.event).lock_id);
      }
    }
    for (const auto& [key, c] : commands_) {
      if (c.send == kNone) continue;
      const Event& send = d_.at(c.send);
      if (c.reply == kNone) {
        const auto timeout = send.verb == "index"    ? kIndexTimeoutMs
                             : send.verb == "stream" ? kStreamTimeoutMs
                                                     : d_.processes.at(send.process).timeout_ms;
        if (goes_on(send, (timeout + kSlackMs) * kMs)) {
          broken("a command without a reply", {c.send});
        }
        continue;
      }
      const Event& reply = d_.at(c.reply);
      if (reply.outcome != "done") continue;
      const bool all = reply.matched == static_cast<std::int64_t>(c.statements.size());
      if (send.verb == "delete" && reply.matched > 0 && !orders_.contains(reply.order)) {
        broken("a deletion that the server does not know", {c.reply});
      }
      if ((!asks_for_lock(send) && send.verb != "extend") || !all) continue;
      for (const Index s : c.statements) {
        if (!written.contains(d_.at(s).lock_id)) {
          broken("an acknowledged write that the server does not know", {s, c.reply});
        }
        check_consequence(s, reply);
      }
    }
  }

  /// A win must be granted or given back; an extension must move the deadline of who still holds.
  void check_consequence(Index statement, const Event& reply) {
    const Event& send = d_.at(statement);
    const auto found = d_.sessions.find({send.process, send.session});
    if (found == d_.sessions.end()) return;
    const SessionDigest& s = found->second;
    if (asks_for_lock(send)) {
      if (d_.of_a_document) return;  // their texts forget a win that comes after the end of a call
      // By another attempt, if the answer to this one was that of a second sending.
      const std::string owner = owner_of(send.lock_id);
      const bool granted = s.granted != kNone && owner_of(d_.at(s.granted).lock_id) == owner;
      const bool given_back = d_.deletes.contains(owner);
      if (!granted && !given_back && goes_on(reply, 1'000 * kMs)) {
        broken("a win that came to nothing", {statement});
      }
      return;
    }
    for (const Index e : s.extended) {
      if (d_.at(e).sent_ns == send.at_ns) return;
    }
    for (const Index end : {s.lost, s.release}) {
      if (end != kNone && d_.at(end).at_ns <= reply.at_ns + d_.allowed.lateness_ns) return;
    }
    if (goes_on(reply, 1'000 * kMs)) broken("an extension that came to nothing", {statement});
  }

  void check_truth() {
    for (const auto& [name, changes] : d_.truth) {
      bool there = false;
      for (const Change& c : changes) {
        if (c.gone && !there) broken("a deletion of what is not there", {c.event});
        if (!c.gone && !d_.writers.contains(d_.at(c.event).lock_id)) {
          broken("a write that nobody sent", {c.event});
        }
        there = !c.gone;
      }
    }
  }

  void check_writes() {
    std::set<Key> stored;
    for (const Index i : d_.stored) stored.insert({d_.at(i).process, d_.at(i).write_number});
    std::set<Key> known;
    for (const Index i : d_.writes) {
      const Event& w = d_.at(i);
      known.insert({w.process, w.write_number});
      if (w.outcome == "accepted" && !stored.contains({w.process, w.write_number})) {
        broken("an accepted write that the server does not know", {i});
      }
    }
    for (const Index i : d_.stored) {
      const Event& s = d_.at(i);
      const auto process = d_.processes.find(s.process);
      const bool alive = process != d_.processes.end() && process->second.crash == kNone;
      if (alive && !known.contains({s.process, s.write_number})) {
        broken("a stored write that its process does not know", {i});
      }
    }
  }

  struct Life {
    bool asked = false, attempting = false, granted = false, lost = false, notified = false,
         release = false, released = false, ended = false;
    std::set<std::array<std::int64_t, 3>> answers;  ///< their times
  };
  struct ProcessLife {
    bool started = false, crashed = false, paused = false;
  };

  const Digest& d_;
  Finding f_ = finding(Guarantee::form);
  std::map<Kind, int> counts_;
  std::map<Key, Command> commands_;
  std::map<Key, Life> lives_;
  std::map<std::string, ProcessLife> processes_;
  std::set<std::int64_t> orders_;
  std::set<std::string> released_;  ///< owners whose handle was asked to release
  std::set<Key> write_ids_;
};

}  // namespace

Finding check_form(const Digest& d) { return FormChecker(d).check(); }

}  // namespace leasehold::model
