#include "model/history/digest.hpp"

#include <algorithm>
#include <deque>
#include <tuple>

#include "model/history/history.hpp"

namespace leasehold::model {
namespace {

class Builder {
 public:
  explicit Builder(const History& history) {
    out_.history = &history;
    out_.facts = model::facts(history);
    const Facts& all = out_.facts;
    out_.sessions.resize(all.sessions.size());
    for (Id i = 0; i < all.sessions.size(); ++i) {
      out_.sessions[i].id = i;
      out_.sessions[i].process = all.sessions[i].process;
    }
    out_.process_of.resize(all.processes.size());
    out_.truth.resize(all.names.size());
    out_.places.resize(all.names.size());
    out_.is_joint.resize(all.names.size());
    out_.writers.resize(all.lock_ids.size());
    out_.by_administrator.resize(all.lock_ids.size());
    out_.first_writers.resize(all.lock_ids.size(), kNone);
    out_.written.resize(all.lock_ids.size());
    out_.commands.resize(all.commands.size());
    for (auto* by_owner : {&out_.deletes, &out_.hand_overs}) by_owner->resize(all.owners);
    for (auto* by_session : {&out_.extended, &out_.attempts, &out_.extensions}) {
      by_session->resize(all.sessions.size());
    }
    delayed_.resize(all.processes.size());
  }

  [[nodiscard]] const Fact& fact(Index i) const { return out_.fact(i); }

  void add(Index i, const Fact& e) {
    const bool own = e.process != kNoText && e.kind != Kind::stored && e.kind != Kind::crash &&
                     e.kind != Kind::exit && e.kind != Kind::slow;
    if (own) saw(process(e), e);
    switch (e.kind) {
      case Kind::start:
        process(e).start = i;
        process(e).rate_ppm = e->clock_drift_ppm;
        delayed_[e.process].workers = e->workers;
        break;
      case Kind::crash: process(e).crash = i; break;
      case Kind::exit:
        if (e.process != kNoText) process(e).crash = i;
        break;
      case Kind::pause: paused_[e.process] = e.at_ns; break;
      case Kind::resume: end_pause(e); break;
      case Kind::stall: add_stall(e); break;
      case Kind::congestion: break;
      case Kind::slow:
        if (e.process == kNoText) break;
        delayed_[e.process].slow.push_back({e->from_ns, e.at_ns, Excuse::slow});
        break;
      case Kind::no_majority:
        disturbed_.push_back({e->from_ns, e.at_ns, Excuse::disturbance});
        break;
      case Kind::wire: process(e).wire[e->verb] += e->count; break;
      case Kind::fault:
        out_.faults.push_back(i);
        if (e.lock_id != kNoText) out_.by_administrator[e.lock_id] = true;
        add_fault(*e.event);
        break;
      case Kind::heal: out_.healed_ns = e.at_ns; break;
      case Kind::finish: out_.finished_ns = e.at_ns; break;
      case Kind::ask:
        session(e).ask = i;
        session(e).asked = e;
        process(e).reads |= e->shared;
        process(e).timeout_ms = std::max(process(e).timeout_ms, e->operation_timeout_ms);
        break;
      case Kind::send: add_send(i, e); break;
      case Kind::reply: add_reply(i, e); break;
      case Kind::granted: session(e).granted = i; break;
      case Kind::extended: out_.extended[e.session].push_back(i); break;
      case Kind::lost: session(e).lost = i; break;
      case Kind::held:
        add_answer(i, e, session(e).answers);
        if (e->deadline_ns != 0) out_.remaining.push_back(i);
        break;
      case Kind::notified: session(e).notified = i; break;
      case Kind::release: session(e).release = i; break;
      case Kind::released: session(e).released = i; break;
      case Kind::ended: session(e).ended = i; break;
      case Kind::all: {
        if (e.process == kNoText || e.name == kNoText) break;
        const auto [call, is_new] =
            calls_.emplace(std::tuple(Kind::all, e.process, e->call), out_.all_calls.size());
        if (is_new) out_.all_calls.emplace_back();
        out_.all_calls[call->second].asked.push_back(i);
        out_.is_joint[e.name] = true;
        break;
      }
      case Kind::all_end:
        if (auto* call = began(out_.all_calls, Kind::all, e)) call->ended.push_back(i);
        break;
      case Kind::call:
        calls_[{Kind::call, e.process, e->call}] = out_.users_calls.size();
        out_.users_calls.push_back({i});
        break;
      case Kind::returned:
        if (auto* call = began(out_.users_calls, Kind::call, e)) call->returned = i;
        break;
      case Kind::write: out_.writes.push_back(i); break;
      case Kind::put: out_.truth[e.name].push_back({i, false, e.owner, e.lock_id}); break;
      case Kind::gone: out_.truth[e.name].push_back({i, true}); break;
      case Kind::place: out_.places[e.name].push_back(i); break;
      case Kind::stored: out_.stored.push_back(i); break;
      case Kind::protocol: process(e).crash = i; break;  // the harness ends it for that
      case Kind::reread:
        if (e->outcome == "unread") out_.oplog_read = false;
        break;
      case Kind::run: begin(*e.event); break;
    }
  }

  Digest finish() {
    // A record that was cut says nothing of what came after its last event.
    if (out_.finished_ns == kNever && !out_.history->empty()) {
      out_.finished_ns = out_.history->back().at_ns;
    }
    sort_by_order(out_.stored);
    for (auto& places : out_.places) sort_by_order(places);
    set_claims();
    set_sharers();
    const auto answer = [this](SendDigest& sent) { sent.reply = out_.reply_to(sent.send); };
    for (auto* by_owner : {&out_.deletes, &out_.hand_overs}) {
      for (auto& sent : *by_owner) std::ranges::for_each(sent, answer);
    }
    std::ranges::for_each(out_.writers, answer);
    for (SessionDigest& session : out_.sessions) set_over(session);
    set_delays();
    return std::move(out_);
  }

 private:
  ProcessDigest& process_of(Id id) {
    auto& known = out_.process_of[id];
    if (known == nullptr) known = &out_.processes[std::string(out_.facts.processes[id])];
    return *known;
  }
  ProcessDigest& process(const Fact& e) { return process_of(e.process); }
  SessionDigest& session(const Fact& e) { return out_.sessions[e.session]; }
  void sort_by_order(std::vector<Index>& all) const {
    std::ranges::stable_sort(all, {}, [this](Index i) { return out_.at(i).order; });
  }

  /// Puts the changes in the server's order, with the reply that claims each: by its time, and by
  /// the lock of the command that it answers.
  void set_claims() {
    const Change none;
    for (Claim& claim : claims_) {
      const Index send = out_.commands[fact(claim.reply).command].send;
      if (send != kNone) claim.write.first = fact(send).name;
    }
    std::ranges::stable_sort(claims_, {}, &Claim::write);
    for (auto& changes : out_.truth) {
      std::ranges::stable_sort(changes, {}, [this](const Change& c) {
        return out_.at(c.event).order;
      });
      std::uint32_t version = 0;
      for (Change& c : changes) {
        Fact& change = out_.facts.all[c.event];
        change.version = ++version;
        const auto note_written = [&](Id, Id lock_id) {
          if (out_.written[lock_id].version == 0) out_.written[lock_id] = {change.name, version};
        };
        set_readers(c, version == 1 ? none : *std::prev(&c));
        if (!c.readers.empty()) note_written(kNoText, c.text);
        c.each_written(note_written);
        // If several replies claim one time, the last of them.
        const std::pair own(change.name, change->order);
        const auto after = std::ranges::upper_bound(claims_, own, {}, &Claim::write);
        const bool claimed = after != claims_.begin() && std::prev(after)->write == own;
        change.claimed_by = claimed ? std::prev(after)->reply : kNone;
      }
      set_passed(out_.places[out_.tenures.size()], changes);
      out_.tenures.push_back(tenures(changes));
    }
  }

  /// Who the readers of this version are, and which of them wrote it.
  void set_readers(Change& c, const Change& before) {
    c.text = c.lock_id;
    Fact& put = out_.facts.all[c.event];
    if (out_.of_a_document || c.gone || out_.room(c.text) == 0) return;
    c.readers = out_.facts.readers[c.text];
    if (c.readers.empty()) {
      c.readers = {{c.owner, c.lock_id, put->expires_at_ms, put->acquired_at_ms}};
    }
    for (ReaderEntry& r : c.readers) {
      const ReaderEntry* stood = before.reader(r.owner);
      r.written = stood == nullptr || std::tie(stood->lock_id, stood->until_ms, stood->since_ms) !=
                                          std::tie(r.lock_id, r.until_ms, r.since_ms);
    }
    const auto writer = std::ranges::find(c.readers, true, &ReaderEntry::written);
    if (writer == c.readers.end()) return;
    put.lock_id = c.lock_id = writer->lock_id;
    put.owner = c.owner = writer->owner;
  }

  /// Readers of one process may share an entry: the first of them was granted it.
  void set_sharers() {
    std::map<Id, std::vector<SessionDigest*>> all;
    for (SessionDigest& s : out_.sessions) {
      if (s.granted == kNone || !fact(s.granted)->shared) continue;
      const Id owner = fact(s.granted).owner;
      if (owner != kNoText) all[owner].push_back(&s);  // a worker names none
    }
    for (auto& [owner, sharers] : all) {
      const auto first = (*std::ranges::min_element(sharers, {}, &SessionDigest::granted))->granted;
      for (SessionDigest* s : sharers) {
        if (s->granted != first) s->shares = first;
        // A call that has not released yet has kNone, which is later.
        s->leaves_it_to_others = std::ranges::any_of(sharers, [&](const SessionDigest* other) {
          return other->release > s->release;
        });
      }
    }
  }

  /// Notes which joined others although one waited that they may not pass. What is known of an
  /// entry of the queue is until when it was good at first, and when it leaves at last: a renewal
  /// shortens it where a server's clock went back.
  void set_passed(const std::vector<Index>& places, std::vector<Change>& changes) {
    const auto order_of = [this](Index i) { return out_.at(i).order; };
    const auto owner_of = [this](Index i) { return fact(i).owner; };
    std::vector<Index> standing;
    auto place = places.begin();
    for (Change& c : changes) {
      if (c.readers.size() < 2) continue;
      const auto order = order_of(c.event);
      for (; place != places.end() && order_of(*place) < order; ++place) {
        std::erase_if(standing, [&](Index i) { return owner_of(i) == owner_of(*place); });
        const auto at = std::min<std::int64_t>(out_.at(*place).count - 1, std::ssize(standing));
        if (at >= 0) standing.insert(standing.begin() + at, *place);
      }
      const auto served = std::ranges::equal_range(place, places.end(), order, {}, order_of);
      for (ReaderEntry& r : c.readers) {
        const bool admitted = std::ranges::any_of(
            served, [&](Index i) { return fact(i).lock_id == r.lock_id; });
        if (admitted || out_.change_before(c.event).held_by(r.owner)) continue;
        const auto own = std::ranges::find(standing, r.owner, owner_of);
        const auto passed = std::find_if(standing.begin(), own, [&](Index i) {
          return !rules::may_pass(out_.room(r.lock_id), out_.room(fact(i).lock_id)) &&
                 out_.at(i).expires_at_ms > r.since_ms &&
                 std::ranges::none_of(served, [&](Index left) {
                   const bool its = owner_of(left) == owner_of(i);
                   return its && out_.at(left).expires_at_ms <= r.since_ms;
                 });
        });
        if (passed != own) r.passed = *passed;
      }
    }
  }

  [[nodiscard]] std::vector<Tenure> tenures(const std::vector<Change>& changes) const {
    std::vector<Tenure> out;
    std::vector<std::size_t> held, over;  // places of tenures: those that go on, and have no next
    const auto goes_on = [&](Id owner) {
      return std::ranges::find(held, owner, [&](std::size_t i) { return out[i].owner; });
    };
    for (const Change& c : changes) {
      const bool gives_permit =
          !c.gone && out_.room(c.text) > 0 && std::ranges::any_of(c.readers, [&](const auto& r) {
            return r.written && goes_on(r.owner) == held.end();
          });
      std::erase_if(held, [&](std::size_t i) {
        if (c.held_by(out[i].owner)) return false;
        out[i].next = c.event;
        out[i].next_gone = c.gone;
        out[i].left = out[i].shared && !c.readers.empty();
        if (out[i].left && gives_permit) {
          out[i].next_put = c.event;
        } else {
          over.push_back(i);
        }
        return true;
      });
      if (c.gone) continue;
      std::erase_if(over, [&](std::size_t i) {
        if (out[i].left && !c.readers.empty()) return false;
        out[i].next_put = c.event;
        return true;
      });
      c.each_written([&](Id owner, Id lock_id) {
        const auto known = goes_on(owner);
        const auto place = known == held.end() ? out.size() : *known;
        if (known == held.end()) {
          held.push_back(place);
          out.push_back({.owner = owner, .first_put = c.event, .shared = !c.readers.empty()});
        }
        out[place].last_put = c.event;
        out[place].lock_id = lock_id;
      });
    }
    return out;
  }

  /// A process reports stalls and counts commands even after its lock is gone.
  static void saw(ProcessDigest& p, const Fact& e) {
    p.last_ns = std::max(p.last_ns, e.at_ns);
    if (e.kind == Kind::wire || e.kind == Kind::stall) return;
    p.lock_ran_until_ns = std::max(p.lock_ran_until_ns, e.at_ns);
  }

  void begin(const Event& e) {
    const auto lock = lock_named(e.lock);
    out_.of_a_document = lock && *lock != Lock::leasehold;
    if (e.ttl_period_ms != 0) {
      out_.allowed = {e.lateness_ns, e.ttl_period_ms * kMs, e.truth_lag_ns, e.fault_echo_ms * kMs,
                      e.live ? out_.allowed.unreported_ns : 0, e.stream_lag_ms * kMs};
    }
  }

  static void add_answer(Index i, const Fact& e, Answers& a) {
    const bool yes = e.outcome == Outcome::yes;
    const auto first_asked = yes ? e->last_asked_ns : e->first_asked_ns;
    a.first_ns = std::min({a.first_ns, first_asked, e->first_answered_ns});
    if (!yes) {
      a.no += e->count;
      if (e->first_answered_ns >= a.first_no_ns) return;
      a.first_no_ns = e->first_answered_ns;
      a.denied = i;
      return;
    }
    a.yes += e->count;
    if (e->first_answered_ns < a.first_yes_ns) {
      a.first_yes_ns = e->first_answered_ns;
      a.first = i;
    }
    if (e->last_asked_ns > a.last_yes_ns) {
      a.last_yes_ns = e->last_asked_ns;
      a.last = i;
    }
  }

  void add_stall(const Fact& e) {
    const Span stall{e->from_ns, e.at_ns};
    if (e.process != kNoText) {
      delayed_[e.process].away.push_back({stall.from, stall.to, Excuse::pause});
    } else {
      (e->victim == kMachine ? machine_stalls_ : stalls_).push_back(stall);
    }
  }

  void end_pause(const Fact& e) {
    const auto began = paused_.find(e.process);
    if (began == paused_.end()) return;
    delayed_[e.process].away.push_back({began->second, e.at_ns, Excuse::pause});
    if (e->suspended) process(e).suspended.push_back({began->second, e.at_ns});
    paused_.erase(began);
  }

  /// What a fault may disturb; null: no command. The links of a process are nobody else's; a
  /// monitor that is away delays deletions only; a clock delays nothing.
  std::vector<Span>* disturbed_by(const Event& e) {
    const auto is = [&](auto... kinds) { return ((e.fault == kinds) || ...); };
    if (e.fault.starts_with("clock")) return &clocks_moved_;
    if (is("drop-index", "change-index", "ttl-off")) return &ttl_away_;
    if (is("delete-document", "force-release")) return nullptr;
    const auto& names = out_.facts.processes;  // sorted
    const auto process = std::ranges::lower_bound(names, e.victim);
    const bool found = process != names.end() && !e.victim.empty() && *process == e.victim;
    return found ? &delayed_[static_cast<std::size_t>(process - names.begin())].links : &disturbed_;
  }

  /// A lasting fault disturbs until it ends. Two faults of one kind on one victim each have their
  /// own end.
  void add_fault(const Event& e) {
    auto* const spans = disturbed_by(e);
    if (spans == nullptr) return;
    // A clock that jumped stays so.
    const bool of_clock = spans == &clocks_moved_;
    const auto over = of_clock && !e.ends ? kNever : e.at_ns + out_.allowed.fault_echo_ns;
    auto& begun = lasting_[{e.fault, e.victim}];
    if (e.ends && !begun.empty()) {
      (*spans)[begun.front()].to = over;
      begun.pop_front();
      return;
    }
    if (e.begins) begun.push_back(spans->size());
    spans->push_back({e.at_ns, e.begins ? kNever : over, Excuse::disturbance});
  }

  void add_send(Index i, const Fact& e) {
    out_.all_sends.push_back(i);
    CommandDigest& command = out_.commands[e.command];
    if (command.statements++ == 0) {
      command.send = i;
      ++process(e).sent[static_cast<std::size_t>(e.verb)];
    }
    command.last = i;
    if (asks_for_lock(e)) out_.attempts[e.session].push_back(i);
    if (e.verb == Verb::extend) out_.extensions[e.session].push_back(i);
    if (e.verb == Verb::hand_over) out_.hand_overs[e.other_owner].push_back({i});
    if (e.lock_id != kNoText) {
      out_.writers[e.lock_id].send = i;
      out_.first_writers[e.lock_id] = std::min(out_.first_writers[e.lock_id], i);
    }
    if (!leaves_lock(e)) return;
    out_.deletes[e.owner].push_back({i});
    if (e.other_owner != kNoText) out_.deletes[e.other_owner].push_back({i});
  }

  /// The call that this event ends; null: none began so.
  template <typename Call>
  Call* began(std::vector<Call>& all, Kind how, const Fact& e) {
    const auto call = calls_.find({how, e.process, e->call});
    return call == calls_.end() ? nullptr : &all[call->second];
  }

  void add_reply(Index i, const Fact& e) {
    out_.commands[e.command].reply = i;
    out_.all_replies.push_back(i);
    if (asks_for_lock(e) && e.outcome == Outcome::done && e->matched != 1 &&
        e.owner != kNoText && out_.owner_of_lock_id(e) == e.owner) {
      out_.unrecognised.push_back(i);
    }
    if (leaves_lock(e) && e->matched > 0 && e.outcome == Outcome::done) {
      claims_.push_back({{kNoText, e->order}, i});
    }
  }

  void set_over(SessionDigest& s) {
    if (s.granted == kNone) return;
    auto deadline = out_.fact(s.granted)->deadline_ns;
    for (const Index e : out_.extended[s.id]) {
      deadline = std::max(deadline, out_.fact(e)->deadline_ns);
    }
    s.over_ns = std::min({deadline, s.answers.first_no_ns, out_.time_of(s.notified),
                          out_.time_of(s.release), out_.time_of(process_of(s.process).crash)});
  }

  /// What is known of one process's delays, before they are put together.
  struct Delayed {
    std::vector<Span> away, slow, links;
    std::int64_t workers = 0;
  };

  /// From the sending to the reply. A change stream and the creation of the index take no worker,
  /// but whether they are answered counts like any other's.
  struct Command {
    Index send, reply;
    std::int64_t from, to;
    bool heard, takes_worker;
  };

  static std::vector<Span> all_of(std::initializer_list<const std::vector<Span>*> lists,
                                  const Span& life = {}) {
    std::vector<Span> all;
    for (const auto* list : lists) all.insert(all.end(), list->begin(), list->end());
    std::erase_if(all, [&](const Span& one) { return !one.meets(life); });
    return all;
  }

  void set_delays() {
    for (const auto& [id, from] : paused_) {
      delayed_[id].away.push_back({from, kNever, Excuse::pause});
    }
    std::ranges::copy(disturbed_, std::back_inserter(ttl_away_));
    for (Span& away : ttl_away_) {
      if (away.to != kNever) away.to += out_.allowed.ttl_seen_ns();
    }
    std::ranges::copy(machine_stalls_, std::back_inserter(stalls_));
    for (ProcessDigest* p : out_.process_of) {
      if (p != nullptr && p->crash != kNone) p->alive_until = fact(p->crash).at_ns;
    }
    const auto commands = commands_by_process();
    for (Id id = 0; id < out_.process_of.size(); ++id) {
      if (out_.process_of[id] != nullptr) set_delays(id, *out_.process_of[id], commands[id]);
    }
    out_.disturbances = MergedSpans(all_of({&disturbed_}));
    out_.servers = MergedSpans(all_of({&disturbed_, &stalls_}));
    out_.ttl_away = MergedSpans(all_of({&ttl_away_, &stalls_}));
    out_.clocks_moved = MergedSpans(std::move(clocks_moved_));
  }

  void set_delays(Id id, ProcessDigest& p, const std::vector<Command>& commands) {
    Delayed& own = delayed_[id];
    p.away = own.away;
    Span life{p.start == kNone ? 0 : fact(p.start).at_ns, out_.history->back().at_ns + 1};
    if (p.crash != kNone) {
      const auto died = life.to = p.alive_until;
      p.lock_ran_until_ns = std::max(p.lock_ran_until_ns, died);
      const auto unheard = std::max(p.last_ns, died - out_.allowed.unreported_ns);
      if (unheard < died) own.away.push_back({unheard, died, Excuse::pause});
    }
    const auto process = all_of({&own.away, &machine_stalls_}, life);
    const auto servers = all_of({&own.away, &stalls_, &disturbed_, &own.slow}, life);
    p.links = MergedSpans(own.links);
    p.delays[static_cast<std::size_t>(Needs::servers)] = MergedSpans(servers);
    const auto congested = congestion(id, p, commands);
    p.kept = MergedSpans(all_of({&own.slow, &congested}));
    p.delays[static_cast<std::size_t>(Needs::worker)] = MergedSpans(all_of({&process, &congested}));
    p.delays[static_cast<std::size_t>(Needs::process)] = MergedSpans(process);
  }

  std::vector<std::vector<Command>> commands_by_process() {
    std::vector<std::vector<Command>> all(out_.process_of.size());
    for (const CommandDigest& command : out_.commands) {
      if (command.send == kNone) continue;
      const Fact& send = fact(command.send);
      if (delayed_[send.process].workers == 0) continue;
      const Index reply = command.reply;
      const auto died = std::min(process(send).alive_until, out_.history->back().at_ns);
      const auto to = reply == kNone ? died : fact(reply).at_ns;
      const bool heard = reply != kNone && fact(reply).outcome != Outcome::unknown;
      const bool takes_worker = send.verb != Verb::stream && send.verb != Verb::index;
      all[send.process].push_back({command.send, reply, send.at_ns, to, heard, takes_worker});
    }
    return all;
  }

  /// When all workers of this process were taken. If as many commands in a row as there are workers
  /// had no answer, one asks at a time. A command that hangs, and nothing explains it, takes no
  /// worker: its process should have given it up.
  std::vector<Span> congestion(Id id, const ProcessDigest& p,
                               const std::vector<Command>& commands) {
    struct Step {
      Index place;  // much may happen at one time
      std::int64_t at;
      int change;
      bool ends, heard;
    };
    std::vector<Step> steps;
    for (const auto& [send, reply, from, to, heard, takes_worker] : commands) {
      if (!heard && takes_worker && !out_.explained(p, to)) continue;
      if (takes_worker) steps.push_back({send, from, 1, false, heard});
      steps.push_back({reply, to, takes_worker ? -1 : 0, true, heard});
    }
    std::ranges::stable_sort(steps, {}, &Step::place);
    std::vector<Span> congested;
    std::int64_t under_way = 0, unheard = 0;
    const auto workers = delayed_[id].workers;
    bool taken = false;
    for (const Step& step : steps) {
      under_way += step.change;
      if (step.ends) unheard = step.heard ? 0 : std::min(unheard + 1, workers);
      const bool now = under_way >= (unheard < workers ? workers : 1);
      if (now && !taken) congested.push_back({step.at, kNever, Excuse::congestion});
      if (!now && taken) congested.back().to = step.at;
      taken = now;
    }
    if (taken) congested.back().to = out_.history->back().at_ns;
    return congested;
  }

  struct Claim {
    std::pair<Id, std::int64_t> write;  ///< by its lock and order
    Index reply;
  };

  Digest out_;
  std::map<Id, std::int64_t> paused_;
  std::vector<Delayed> delayed_;  ///< by process
  std::vector<Span> disturbed_, ttl_away_, clocks_moved_;
  /// By kind and victim: the places in their list of those that have not ended, oldest first.
  std::map<std::pair<std::string, std::string>, std::deque<std::size_t>> lasting_;
  /// By how they begin, process and number: the places of calls among those of their kind.
  std::map<std::tuple<Kind, Id, std::int64_t>, std::size_t> calls_;
  std::vector<Claim> claims_;
  std::vector<Span> stalls_, machine_stalls_;  ///< first those of members, then all
};

}  // namespace

bool Digest::explained(const ProcessDigest& p, std::int64_t end_ns) const {
  const Span before{end_ns - allowed.lateness_ns - 1, end_ns + 1};
  return p.delays[static_cast<std::size_t>(Needs::servers)].meet(before) || p.links.meet(before);
}

Digest digest(const History& history) {
  Builder builder(history);
  for (Index i = 0; i < history.size(); ++i) builder.add(i, builder.fact(i));
  return builder.finish();
}

}  // namespace leasehold::model
