#include "model/spec/lock.hpp"

#include <algorithm>
#include <iterator>

#include "model/spec/lock_execution.hpp"
#include "model/spec/rules.hpp"

namespace leasehold::model {

using namespace lock_world;
using Act = LockAct;

namespace lock_world {

bool is_package(const Scope& scope, int client) {
  return scope.dotnet && client == scope.clients - 1;
}

bool is_older(const Scope& scope, int client) {
  return scope.older && client == scope.clients - 1;
}

bool is_reader(const Scope& scope, int client) { return client < scope.readers; }

void remove_place(World& w, Document& d, int place) {
  d.remove_place(place);
  if (&d != &w.document) return;
  if (place == 0) w.patience[0] = w.patience[1];
  w.patience[1] = 0;
}

const Rules& rules_for(const Scope& scope, int client) {
  static const Rules package = rules_of(Lock::distributed_lock);
  return is_package(scope, client) ? package : scope.rules;
}

bool tokens_are_orders(const Scope& scope) {
  return scope.rules.token == Rules::Token::operation_time && !scope.stale_primary;
}

}  // namespace lock_world

namespace {

/// A slot of this client without a message, or -1.
int free_slot(const Client& c, const Scope& scope) {
  for (int k = 0; k < scope.messages; ++k) {
    if (c.message[k].slot == kEmpty && c.awaited != k + 1) return k;
  }
  return -1;
}

/// An owner of this client that nothing names; 0 when all are in use.
Byte fresh_owner(const World& w, int client) {
  std::uint32_t used = 0;
  each_owner(w, [&](Byte owner) { used |= 1u << owner; });
  for (int g = 1; g <= kGenerations; ++g) {
    const int owner = client * kGenerations + g;
    if ((used >> owner & 1) == 0) return byte(owner);
  }
  return 0;
}

/// Whether held() of the client's handle is true.
bool is_held_by(const World& w, int i, const Scope& scope) {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope, i);
  const bool releasing = c.phase == kReleasing && rules.held_until_release_answered;
  return (c.phase == kHeld || releasing) && (!rules.has_deadline || c.lease > 0);
}

/// Whether it would leave something to clean up. Between two answered attempts it leaves nothing.
bool is_unsure(const Client& c) {
  return c.phase == kAttempting || c.doubtful != 0 || c.giver != 0;
}

/// What an old primary may answer to this request of a client that awaits a majority, first
/// nothing. No majority will ever have its writes, so clients learn of them only by a refusal.
/// Hence its writes, and when it finds a document expired, are left open. It shows the document of
/// its cut-off.
std::vector<Message> answers_by_stale(const World& w, const Message& m, const Rules& rules,
                                      const Scope& scope) {
  std::vector<Message> answers{{}};
  Message answer = m;
  answer.beat = 0;
  answer.committed = 1;
  if (m.is_acquire()) {
    refuse(answer, {}, rules, scope);
    answers.push_back(answer);
    refuse(answer, w.stale, rules, scope);
    if (!w.stale.is_held_by(m.owner) && answer.seen_owner != 0) answers.push_back(answer);
  } else if (m.slot == kExtend && !w.stale.is_held_by(m.owner)) {
    answer.slot = kNoMatch;
    answers.push_back(answer);
  }
  return answers;
}

/// What clients, time and the replica set do.
struct Turn : Execution {
  void take() {
    switch (action.act) {
      case Act::tick: return tick();
      case Act::commit: return commit();
      case Act::failover: return fail_over();
      case Act::step_down: w.stale_runs = 0; return;
      case Act::ttl_pass: return ttl_pass();
      case Act::start: m.token = next_order(w, scope); return;
      case Act::execute: return execute();
      case Act::execute_stale:
        if (!rules.majority) return execute();
        m = answers_by_stale(w, m, rules, scope)[action.choice];
        return;
      case Act::lose: m = {}; return;
      case Act::deliver: return deliver();
      case Act::attempt: return attempt();
      case Act::time_out: return time_out();
      case Act::give_up: return give_up();
      case Act::extend:
        took(Label::extension_sent);
        return send({.slot = kExtend, .owner = c.owner});
      case Act::release: return release();
      case Act::clean_up: return clean_up();
      case Act::crash: return crash();
      case Act::hand_over: return hand_over(w.client[action.waited]);
      case Act::hear: return hear();
      case Act::lose_notice: c.notice = {}; return;
      case Act::read_stream: c.counted = 0; return;
    }
  }

  // What a client does.

  void send(const Message& message) const {
    m = message;
    c.awaited = byte(action.slot + 1);
  }

  void attempt() const {
    const bool asks = c.phase == kIdle;
    took(asks ? Label::asks : Label::asks_again);
    if (asks) c.attempt_beat = 0;
    choose_owner(asks);
    c.phase = kAttempting;
    if (c.giver != 0) {  // sent again as a hand-over
      return send({.slot = kHandOver, .owner = c.owner, .seen_owner = c.giver});
    }
    Message request{.slot = c.enlisted != 0 ? kRenewal : kAcquire, .owner = c.owner};
    if (rules.beat == Rules::Beat::kept_by_retries) {
      if (c.attempt_beat == 0) c.attempt_beat = 7;
      request.beat = c.attempt_beat;
    }
    const int must_see =
        rules::observer_span(kLease - kDrift, rules.observer_keeps_drift_margin ? kDrift : 0);
    const bool short_lease = !rules.text_has_longest_lease && c.sight_owner != 0 &&
                             is_reader(scope, client_of(c.sight_owner));
    if (rules.observes && c.sight_owner != 0 &&
        rules::is_presumed_dead(0, must_see - (short_lease ? 1 : 0), int{c.sight_age})) {
      request.seen_owner = c.sight_owner;
      request.seen_beat = c.sight_beat;
    }
    send(request);
  }

  /// Chooses the owner of the attempt, and from when a grant to that owner counts.
  void choose_owner(bool asks) const {
    using Counts = Rules::GrantCounts;
    const bool per_process = rules.owner == Rules::Owner::per_process;
    const bool fresh =
        (asks && !per_process) || rules.owner == Rules::Owner::per_attempt || c.owner == 0;
    if (fresh) {
      c.owner = per_process ? byte(i * kGenerations + 1) : fresh_owner(w, i);
      c.enlisted = 0;
    }
    const bool newest = rules.grant_counts == Counts::from_newest_renewal;
    const bool first = rules.grant_counts == Counts::from_first_renewal && fresh;
    if (scope.queue > 0 && (newest || first)) c.counted = 0;
  }

  /// Nothing is left of what it held or asked for.
  static void end_holding(Client& c) {
    c.phase = kIdle;
    c.owner = c.lease = c.due = c.token = c.order = c.doubtful = c.attempt_beat = 0;
  }

  void release() const {
    took(!is_held_by(w, i, scope) ? Label::release_lost
         : c.awaited == 0         ? Label::release
                                  : Label::release_while_extending);
    send({.slot = kDelete, .owner = c.owner});
    if (rules.held_until_release_answered) {
      c.phase = kReleasing;
      return;
    }
    c.awaited = 0;
    if (!rules.passes_on_while_held) end_holding(c);
  }

  /// A release that gives the lock to another call of the process, in one command.
  void hand_over(Client& receiver) const {
    took(Label::hand_over);
    const int j = action.waited;
    const bool has_owner = receiver.phase == kWaiting && receiver.owner != 0;
    if (!has_owner) receiver.owner = fresh_owner(w, j);
    receiver.phase = kAttempting;
    receiver.giver = c.owner;
    receiver.awaited = byte(action.slot + 1);
    receiver.message[action.slot] = {
        .slot = kHandOver, .owner = receiver.owner, .seen_owner = receiver.giver};
    if (rules.hands_over_while_held) return;
    c.awaited = 0;
    end_holding(c);
  }

  void clean_up() const {
    m = {.slot = kDelete, .owner = c.to_delete};
    c.to_delete = 0;
    if (c.phase != kIdle) return;
    m.seen_owner = c.giver;
    c.giver = 0;
  }

  /// Its process starts anew; the messages that it sent are still on their way.
  void crash() const {
    Client anew;
    std::copy(std::begin(c.message), std::end(c.message), anew.message);
    c = anew;
  }

  /// No reply comes: the outcome is unknown.
  void time_out() const {
    if (c.phase == kAttempting) {
      took(Label::acquire_unknown);
      c.phase = kWaiting;
      c.doubtful = c.owner;
    } else {
      took(c.lease > 0 ? Label::extension_unknown : Label::extension_failed);
      if (rules.unknown_extension_moves_deadline) c.lease = kLease;
    }
    c.awaited = 0;
  }

  void give_up() const {
    took(c.phase == kWaiting ? Label::give_up_waiting : Label::give_up_attempting);
    if (is_unsure(c) && rules.cleans_up) c.to_delete = c.owner;
    c.phase = kIdle;
    c.awaited = c.owner = c.doubtful = c.attempt_beat = 0;
  }

  // What a client makes of an answer.

  void deliver() const {
    const Message reply = m;
    m = {};
    c.awaited = 0;
    switch (reply.slot) {
      case kWon: return won(reply, reply.age);
      case kRefused: return refused(reply);
      case kExtended: return extended(reply);
      case kNoMatch: return no_match();
      default: return end_holding(c);  // the answer to a release
    }
  }

  /// The reply shows a holder. Its age goes on if owner and beat are as before.
  void refused(const Message& reply) const {
    took(Label::refused);
    c.phase = kWaiting;
    if (reply.seen_owner == 0) return;
    if (c.sight_owner != reply.seen_owner || c.sight_beat != reply.seen_beat) {
      c.sight_owner = reply.seen_owner;
      c.sight_beat = reply.seen_beat;
      c.sight_age = rules.sight_counts_from_sending ? reply.age : Byte{0};
    }
    if (!rules.renewals_restore && scope.queue > 0) c.enlisted = 1;
  }

  /// An extension never revives a lost handle.
  void extended(const Message& reply) const {
    const int left = kLease - (rules.deadline_from_reply ? 0 : int{reply.age});
    if (c.lease > 0 || !rules.has_deadline) {
      took(Label::extended);
      c.lease = std::max(c.lease, byte(std::max(left, 0)));
      c.due = std::max(c.due, byte(std::max(kLease - int{reply.age}, 0)));
    } else if (rules.late_extension_revives && left > 0) {
      c.lease = byte(left);
      violate(kRevived);
    } else {
      took(Label::extension_failed);
    }
  }

  void no_match() const {
    if (c.phase == kAttempting) {  // nothing to hand over: it attempts for itself
      took(Label::nothing_to_hand_over);
      c.phase = kWaiting;
      c.giver = 0;
      return;
    }
    took(Label::extension_failed);
    c.lease = c.due = 0;
    if (rules.has_deadline) return;
    c.phase = kIdle;  // notified, and stops
    c.owner = c.token = c.order = 0;
  }

  /// `counted`: the age of what its deadline counts from.
  void won(const Message& grant, Byte counted) const {
    c.giver = 0;
    const int span =
        rules::holder_span(kLease + kDrift, rules.holder_keeps_drift_margin ? kDrift : 0);
    const int left = rules::deadline(rules.deadline_from_reply ? 0 : -int{counted}, span);
    c.doubtful = 0;
    if (left <= 0 && rules.has_deadline) {  // too late: given back, a fresh owner goes on
      took(Label::won_too_late);
      c.phase = kWaiting;
      if (c.to_delete == 0) c.to_delete = grant.owner;
      c.attempt_beat = 0;
      if (rules.fresh_owner_after_delete && rules.owner != Rules::Owner::per_process) c.owner = 0;
      return;
    }
    took(Label::won);
    c.phase = kHeld;
    c.lease = byte(std::clamp(left, 0, 3));
    c.due = byte(std::max(kLease - int{grant.age}, 0));
    if (is_package(scope, i)) return;  // its tokens are comparable only among our own clients
    c.token = grant.token;
    c.order = grant.order;
    show_to_the_resource();
  }

  /// The fenced resource sees each grant as soon as its holder does, and remembers the latest.
  void show_to_the_resource() const {
    const bool falls = (c.order > w.top_order && c.token <= w.top_token) ||
                       (c.order < w.top_order && c.token >= w.top_token);
    const bool numbered = rules.token != Rules::Token::none && !tokens_are_orders(scope);
    if (numbered && w.top_order != 0 && falls) violate(kToken);
    if (c.order <= w.top_order) return;
    w.top_order = c.order;
    w.top_token = numbered ? c.token : Byte{0};
    if (scope.readers == 0 || is_reader(scope, i)) return;
    w.wrote_order = w.top_order;
    w.wrote_token = w.top_token;
  }

  /// The notice of a grant. The deadline counts from the sending of the renewal that the granted
  /// entry names. A grant to a call that ended is given back.
  void hear() const {
    using Counts = Rules::GrantCounts;
    const Notice notice = c.notice;
    c.notice = {};
    if (c.phase == kHeld && c.owner == notice.owner) return;  // it knew by a renewal
    const bool accepts = c.waits() && c.owner == notice.owner;
    if (!accepts && !(rules.accepts_ended_owners && c.phase != kHeld)) {
      if (c.to_delete == 0) c.to_delete = notice.owner;
      return;
    }
    c.awaited = 0;
    c.owner = notice.owner;
    won({.slot = kWon,
         .owner = notice.owner,
         .token = notice.token,
         .order = notice.order,
         .age = notice.age},
        rules.grant_counts == Counts::from_its_renewal ? notice.age
        : rules.grant_counts == Counts::from_notice    ? Byte{0}
                                                       : c.counted);
  }

  // What time and the replica set do.

  void tick() const {
    for (const Client& one : w.client) {  // the leases that end by the holders' clocks
      if (one.phase != kHeld || one.lease != 1) continue;
      took(one.awaited == 0 ? Label::lease_ran_out : Label::extension_failed);
    }
    if (d.owner != 0 && d.until == kDue + 1) {
      took(is_extending(w, d.owner) ? Label::document_ran_out_extending : Label::document_ran_out);
    }
    const auto older = [](Byte& age) { age = std::min(byte(age + 1), byte(kOldest)); };
    const auto less = [](Byte& left) { left = byte(std::max(left - 1, 0)); };
    for (Document* doc : {&w.document, &w.committed, &w.stale}) {
      less(doc->until), less(doc->own_until), less(doc->other.until);
      for (Entry& entry : doc->waiting) {
        if (entry.owner != 0) less(entry.left), older(entry.age);
      }
    }
    older(w.since_failover);
    for (Client& one : w.client) {
      less(one.lease), less(one.due), older(one.counted);
      if (one.notice.owner != 0) older(one.notice.age);
      if (one.sight_owner != 0) older(one.sight_age);
      for (Message& message : one.message) {
        if (message.slot != kEmpty) older(message.age);
      }
    }
  }

  /// A majority has the last write: replies that waited for it may arrive.
  void commit() const {
    w.dirty = 0;
    for (Client& one : w.client) {
      for (Message& message : one.message) message.committed |= byte(message.is_reply());
      one.notice.committed = byte(one.notice.owner != 0);
    }
  }

  /// Another member becomes primary, with another clock. A write without a majority is rolled back;
  /// a client that awaits a majority gets no reply to it.
  void fail_over() const {
    w.second ^= 1;
    w.since_failover = 0;
    if (scope.stale_primary) {
      w.stale_runs = 1;
      w.stale = w.document;
    }
    w.stale_clock = w.clock;
    if (w.dirty != 0) {
      w.document = w.committed;
      w.clock = w.committed_clock;
    }
    w.dirty = 0;
    // The same dates, by a clock that is ahead or behind.
    const int moved = w.second != 0 ? -scope.skew : scope.skew;
    if (w.document.owner != 0) {
      for (Byte* until : {&w.document.until, &w.document.own_until, &w.document.other.until}) {
        if (*until != 0) *until = byte(std::max(*until + moved, 0));
      }
      for (Entry& entry : w.document.waiting) {
        if (entry.owner != 0) entry.left = byte(std::clamp(entry.left + moved, 0, kPlace + 1));
      }
    }
    for (int j = 0; j < scope.clients; ++j) {
      Notice& notice = w.client[j].notice;
      if (notice.committed == 0 && scope.rules.majority) notice = {};
      for (Message& message : w.client[j].message) {
        const bool answered = message.is_reply() && message.committed == 0;
        if (answered && rules_for(scope, j).majority) message = {};
      }
    }
  }

  void ttl_pass() const {
    took(Label::cleaned_by_ttl);
    const Document before = d;
    if (w.dirty == 0) w.committed_clock = w.clock;
    d = {};
    wrote(before);
  }
};

/// What may happen in one world.
struct Choices {
  const World& w;
  const Scope& scope;
  std::vector<LockAction>& out;

  void all() const {
    may(true, Act::tick);
    may(w.dirty != 0, Act::commit);
    may(scope.failovers, Act::failover);
    may(w.stale_runs != 0, Act::step_down);
    const bool expired = w.document.owner != 0 && w.document.until <= kDue;
    may(scope.ttl_passes && expired, Act::ttl_pass);
    for (int i = 0; i < scope.clients; ++i) {
      of_client(i);
      if (scope.queue > 0) of_stream(i);
      for (int k = 0; k < scope.messages; ++k) of_message(i, k);
    }
  }

  void may(bool is, Act act, int client = 0, int slot = 0, int waited = 0, int choice = 0) const {
    if (is) out.push_back({act, byte(client), byte(slot), byte(waited), byte(choice)});
  }

  void of_client(int i) const {
    const Client& c = w.client[i];
    const Rules& rules = rules_for(scope, i);
    const int k = free_slot(c, scope);
    const bool holds = c.phase == kHeld, held = holds && is_held_by(w, i, scope);
    may(scope.crashes && (holds || c.phase == kAttempting), Act::crash, i);
    may(c.to_delete != 0 && k >= 0, Act::clean_up, i, k);
    const bool cleans_up_first = c.phase == kIdle && c.giver != 0;
    const bool asks = (c.phase == kIdle || c.phase == kWaiting) && !cleans_up_first && k >= 0;
    may(asks && fresh_owner(w, i) != 0, Act::attempt, i, k);
    const bool awaits = c.phase == kAttempting || (holds && c.awaited != 0);
    may(scope.time_outs && awaits, Act::time_out, i);
    // It keeps one owner to clean up: a client that may leave another one deletes that one first.
    const bool leaves_two = is_unsure(c) && rules.cleans_up && c.to_delete != 0;
    may(scope.time_outs && c.waits() && !leaves_two, Act::give_up, i);
    may(held && k >= 0 && rules.extends && c.awaited == 0, Act::extend, i, k);
    may(holds && k >= 0, Act::release, i, k);
    const bool gives = scope.hand_overs && held && !is_reader(scope, i);
    for (int j = 0; gives && j < scope.clients; ++j) {
      const Client& to = w.client[j];
      const int free = free_slot(to, scope);
      const bool waits = to.phase == kIdle || to.phase == kWaiting;
      const bool has_owner = to.phase == kWaiting && to.owner != 0;
      const bool receives = j != i && !is_package(scope, j) && waits && free >= 0 && to.giver == 0;
      may(receives && (has_owner || fresh_owner(w, j) != 0), Act::hand_over, i, free, j);
    }
  }

  /// The steps of the change stream, which notifies a waiter of its grant.
  void of_stream(int i) const {
    const Client& c = w.client[i];
    const Rules& rules = rules_for(scope, i);
    const bool told = c.notice.owner != 0 && (c.notice.committed != 0 || !rules.majority);
    may(told, Act::hear, i);
    const bool reads_empty = rules.grant_counts == Rules::GrantCounts::from_last_read;
    // A client without the notice cannot tell whether it is lost; only an empty answer of the
    // stream shows that.
    const bool shows = !scope.losses_late || reads_empty;
    may(c.notice.owner != 0 && scope.losses && shows, Act::lose_notice, i);
    // An empty answer shows what a majority has, or what an old primary has.
    may(reads_empty && c.waits() && (!told || w.stale_runs != 0), Act::read_stream, i);
  }

  void of_message(int i, int k) const {
    const Client& c = w.client[i];
    const Message& m = c.message[k];
    const Rules& rules = rules_for(scope, i);
    if (m.slot == kEmpty) return;
    if (!m.is_reply()) of_request(i, k, m, rules);
    may(scope.losses && !(scope.losses_late && c.awaited == k + 1), Act::lose, i, k);
    may(m.is_reply() && (m.committed != 0 || !rules.majority), Act::deliver, i, k);
  }

  void of_request(int i, int k, const Message& m, const Rules& rules) const {
    // It cannot have waited inside this primary for longer than this primary exists.
    const bool reads_clock = m.slot != kDelete || scope.queue > 0 || scope.readers > 0;
    const int longest = scope.late_starts && reads_clock ? std::min(m.age, w.since_failover) : 0;
    for (int waited = 0; waited <= longest; ++waited) may(true, Act::execute, i, k, waited);
    const bool by_clients_clock =
        rules.lock != Lock::leasehold && rules.lock != Lock::distributed_lock;
    may(by_clients_clock && m.slot == kAcquire, Act::execute, i, k, 0, 1);
    if (w.stale_runs != 0) {
      const auto answers = rules.majority ? answers_by_stale(w, m, rules, scope).size() : 1;
      for (std::size_t n = 0; n < answers; ++n) {
        may(true, Act::execute_stale, i, k, 0, static_cast<int>(n));
      }
    }
    const bool starts = rules.token == Rules::Token::cluster_time && m.slot == kAcquire;
    may(starts && m.token == 0, Act::start, i, k);
  }
};

}  // namespace

void actions(const World& world, const Scope& scope, std::vector<LockAction>& out) {
  out.clear();
  Choices{world, scope, out}.all();
}

World step(World world, LockAction action, const Scope& scope, Labels& labels) {
  Turn{{world, scope, action, labels}}.take();
  return world;
}

bool resource_takes(const World& w, int client, const Scope& scope) {
  using enum Rules::Resource;
  const Client& c = w.client[client];
  const auto kept = scope.rules.resource;
  const bool orders = tokens_are_orders(scope);
  const Byte token = orders ? c.order : c.token, seen = orders ? w.top_order : w.top_token,
             wrote = orders ? w.wrote_order : w.wrote_token;
  if (is_reader(scope, client)) {
    return rules::accepts_read(token, kept == reads_are_writes ? seen : wrote);
  }
  return rules::accepts_write(token, kept == notes_no_reads ? wrote : seen);
}

const char* broken_in(const World& w, const Scope& scope) {
  if (w.violation != kNoViolation) return kBroken[w.violation].text;
  const auto looks_at = [&](Check guarantee) { return scope.guarantees.contains(guarantee); };
  int holders = 0, writers = 0;
  // The package's client promises nothing of its own handle.
  for (int i = 0; i < scope.clients - (scope.dotnet ? 1 : 0); ++i) {
    const Client& c = w.client[i];
    const bool holding = is_held_by(w, i, scope);
    const bool reads = is_reader(scope, i) && !scope.rules.readers_write;
    holders += holding ? 1 : 0;
    writers += holding && !reads ? 1 : 0;
    if (holding && c.due == 0 && looks_at(Check::G5)) return kBroken[kHeldTooLong].text;
    if (c.phase != kHeld || !looks_at(Check::G3)) continue;
    // A later grant that it excludes arrived: the holder may have used the resource, so this
    // client's operation has to be refused. If this client still holds, the grant is at fault.
    const bool takes = resource_takes(w, i, scope);
    const bool late = c.order < (is_reader(scope, i) ? w.wrote_order : w.top_order);
    if (late && takes) return kBroken[kFenceOrder].text;
    const bool refused = !takes && holding && c.lease > 0;
    if (refused && looks_at(Check::G1)) return kBroken[kFenceRefused].text;
  }
  const bool too_many = (holders > 1 && writers > 0) || holders > 2;
  return too_many && looks_at(Check::G2) ? "G2: held() was true for two clients at once" : nullptr;
}

std::uint64_t reached_in(const World& w, const Scope& scope) {
  std::uint64_t bits = 0;
  int readers = 0;
  const auto add = [&bits](std::uint64_t bit, bool is) { bits |= is ? bit : 0; };
  add(kWriteMayBeRolledBack, w.dirty != 0);
  add(kQueueHasAnEntry, w.document.waiting[0].owner != 0);
  for (int i = 0; i < scope.clients; ++i) {
    const Client& c = w.client[i];
    const bool holds = c.phase == kHeld;
    readers += holds && c.lease > 0 && is_reader(scope, i) ? 1 : 0;
    add(kSomebodyHolds, holds && c.lease > 0);
    add(kHolderPastItsLease, holds && c.lease == 0);
    add(kLaterGrantBeforeTheLeaseEnded, holds && c.order < w.top_order);
    for (const Message& m : c.message) {
      add(kDeadHolderObserved, m.slot == kAcquire && m.seen_owner != 0);
    }
    add(kWaiterNotified, c.notice.owner != 0 && c.notice.committed != 0);
  }
  add(kReadersShare, readers > 1);
  return bits;
}

}  // namespace leasehold::model
