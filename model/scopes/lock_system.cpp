#include "model/scopes/lock_system.hpp"

#include <algorithm>
#include <stdexcept>

#include "model/abstract/lock_questions.hpp"

namespace leasehold::model {

using namespace lock_world;

namespace {

int free_slot(const Client& c, const Scope& scope) {
  for (int k = 0; k < scope.messages; ++k) {
    if (c.message[k].slot == kEmpty && c.awaited != k + 1) return k;
  }
  return -1;
}

/// One more step: the world as it is, with this change.
template <typename Change>
void add(LockSteps& out, const World& w, LockAction action, Change change) {
  change(out.emplace_back(w, action).first);
}

}  // namespace

LockSystem::LockSystem(const Scope& scope) : scope_(scope) {
  if (scope.clients * scope.messages > 4 || (scope.clients > 2 && scope.stale_primary)) {
    throw std::invalid_argument(
        "a scope has at most 4 messages, and 2 clients beside a stale primary");
  }
  if (scope.queue < 0 || scope.queue > kMaxPlaces) {
    throw std::invalid_argument("a queue has at most 2 places");
  }
}

void LockSystem::steps(const World& w, Out& out) const {
  world_steps(w, out);
  for (int i = 0; i < scope_.clients; ++i) {
    client_steps(w, i, out);
    if (scope_.queue > 0) queue_steps(w, i, out);
    for (int k = 0; k < scope_.messages; ++k) message_steps(w, i, k, out);
  }
}

/// The steps of time, and those of the servers that no message begins.
void LockSystem::world_steps(const World& w, Out& out) const {
  const auto go = [&](Act act, auto change) { add(out, w, {act, 0, 0, 0}, change); };
  go(Act::tick, [this](World& n) {
    clients_.run_out(n);
    server_.run_out(n);
    age(n, scope_);
  });
  if (w.dirty != 0) go(Act::commit, [](World& n) { LockServer::commit(n); });
  if (scope_.failovers) go(Act::failover, [this](World& n) { server_.fail_over(n); });
  if (w.stale_runs != 0) go(Act::step_down, [](World& n) { n.stale_runs = 0; });
  if (scope_.ttl_passes && w.document.owner != 0 && w.document.until <= kDue) {
    go(Act::ttl_pass, [this](World& n) { server_.ttl_pass(n); });
  }
}

void LockSystem::client_steps(const World& w, int i, Out& out) const {
  const Client& c = w.client[i];
  const int k = free_slot(c, scope_);
  const auto go = [&](Act act, auto change) {
    add(out, w, {act, byte(i), 0, 0}, [&](World& n) { change(n.client[i]); });
  };
  if (scope_.crashes && (c.phase == kHeld || c.phase == kAttempting)) {
    go(Act::crash, [](Client& n) { LockClients::crash(n); });
  }
  if (c.to_delete != 0 && k >= 0) {
    go(Act::clean_up, [k](Client& n) { LockClients::clean_up(n, k); });
  }
  caller_steps(w, i, k, out);
  if (c.phase != kHeld) return;
  holder_steps(w, i, k, out);
  if (scope_.hand_overs && is_held_by(w, i, scope_)) hand_over_steps(w, i, out);
}

/// The steps of a call that asks, and of an extension without an answer.
void LockSystem::caller_steps(const World& w, int i, int k, Out& out) const {
  const Client& c = w.client[i];
  const auto go = [&](Act act, auto change) { add(out, w, {act, byte(i), 0, 0}, change); };
  const bool cleans_up_first = c.phase == kIdle && c.giver != 0;
  if ((c.phase == kIdle || c.phase == kWaiting) && !cleans_up_first && k >= 0 &&
      fresh_owner(w, i, scope_) != 0) {
    go(Act::attempt, [&](World& n) { clients_.attempt(n, i, k); });
  }
  if (c.phase == kAttempting || (c.phase == kHeld && c.awaited != 0)) {
    go(Act::time_out, [&](World& n) { clients_.time_out(n, i); });
  }
  if (c.phase != kAttempting && c.phase != kWaiting) return;
  // It keeps one owner to clean up: a client that may leave another one deletes that one first.
  const bool leaves_one = LockClients::is_unsure(c) && rules_for(scope_, i).cleans_up;
  if (leaves_one && c.to_delete != 0) return;
  go(Act::give_up, [&](World& n) { clients_.give_up(n, i); });
}

void LockSystem::holder_steps(const World& w, int i, int k, Out& out) const {
  if (k < 0) return;
  const auto go = [&](Act act, auto change) { add(out, w, {act, byte(i), byte(k), 0}, change); };
  const bool may_extend = rules_for(scope_, i).extends && w.client[i].awaited == 0;
  if (may_extend && is_held_by(w, i, scope_)) {
    go(Act::extend, [&](World& n) { clients_.extend(n, i, k); });
  }
  go(Act::release, [&](World& n) { clients_.release(n, i, k); });
}

/// A release that gives the lock to another call of the process, in one command.
void LockSystem::hand_over_steps(const World& w, int i, Out& out) const {
  for (int j = 0; j < scope_.clients; ++j) {
    const Client& to = w.client[j];
    const int k = free_slot(to, scope_);
    const bool waits = to.phase == kIdle || to.phase == kWaiting;
    const bool has_owner = to.phase == kWaiting && to.owner != 0;
    if (j == i || is_package(scope_, j) || !waits || k < 0 || to.giver != 0) continue;
    if (!has_owner && fresh_owner(w, j, scope_) == 0) continue;
    add(out, w, {Act::hand_over, byte(i), byte(k), byte(j)},
        [&](World& n) { clients_.hand_over(n, i, j, k); });
  }
}

/// The steps of the change stream, which notifies a waiter of its grant.
void LockSystem::queue_steps(const World& w, int i, Out& out) const {
  const Client& c = w.client[i];
  const Rules& rules = rules_for(scope_, i);
  const auto go = [&](Act act, auto change) { add(out, w, {act, byte(i), 0, 0}, change); };
  const bool told = c.notice.owner != 0 && (c.notice.committed != 0 || !rules.majority);
  if (told) go(Act::hear, [&](World& n) { clients_.hear(n, i); });
  const bool reads_empty = rules.grant_counts == Rules::GrantCounts::from_last_read;
  // A client without the notice cannot tell whether it is lost; only an empty answer of the stream
  // shows that.
  const bool shows = !scope_.losses_late || reads_empty;
  if (c.notice.owner != 0 && scope_.losses && shows) {
    go(Act::lose_notice, [&](World& n) { n.client[i].notice = {}; });
  }
  // An empty answer shows what a majority has, or what an old primary has.
  const bool reads = reads_empty && c.waits();
  if (reads && (!told || w.stale_runs != 0)) {
    go(Act::read_stream, [&](World& n) { n.client[i].counted = 0; });
  }
}

void LockSystem::message_steps(const World& w, int i, int k, Out& out) const {
  const Client& c = w.client[i];
  const Message& m = c.message[k];
  if (m.slot == kEmpty) return;
  const auto go = [&](Act act, auto change) { add(out, w, {act, byte(i), byte(k), 0}, change); };
  if (!is_reply(m.slot)) request_steps(w, i, k, out);
  const bool awaited = c.awaited == k + 1;
  if (scope_.losses && !(scope_.losses_late && awaited)) {
    go(Act::lose, [&](World& n) { n.client[i].message[k] = {}; });
  }
  if (is_reply(m.slot) && (m.committed != 0 || !rules_for(scope_, i).majority)) {
    go(Act::deliver, [&](World& n) { clients_.deliver(n, i, k); });
  }
}

void LockSystem::request_steps(const World& w, int i, int k, Out& out) const {
  const Message& m = w.client[i].message[k];
  const Rules& rules = rules_for(scope_, i);
  const auto execute = [&](int waited, bool clock_off) {
    add(out, w, {Act::execute, byte(i), byte(k), byte(waited)}, [&](World& n) {
      server_.execute(n, i, k, {.waited = waited, .clock_off = clock_off});
    });
  };
  // It cannot have waited inside this primary for longer than this primary exists.
  const bool reads_clock = m.slot != kDelete || scope_.queue > 0;
  const int longest = std::min(m.age, w.since_failover);
  for (int waited = 0; waited <= (scope_.late_starts && reads_clock ? longest : 0); ++waited) {
    execute(waited, false);
  }
  const bool by_clients_clock =
      rules.lock != Lock::leasehold && rules.lock != Lock::distributed_lock;
  if (by_clients_clock && m.slot == kAcquire) execute(0, true);
  if (w.stale_runs != 0) stale_steps(w, i, k, out);
  if (rules.token == Rules::Token::cluster_time && m.slot == kAcquire && m.token == 0) {
    add(out, w, {Act::start, byte(i), byte(k), 0},
        [&](World& n) { n.client[i].message[k].token = next_order(n, scope_); });
  }
}

/// How the old primary executes a request that reaches it.
void LockSystem::stale_steps(const World& w, int i, int k, Out& out) const {
  const Rules& rules = rules_for(scope_, i);
  const LockAction action{Act::execute_stale, byte(i), byte(k), 0};
  if (!rules.majority) {
    return add(out, w, action, [&](World& n) { server_.execute(n, i, k, {.stale = true}); });
  }
  std::vector<Message> answers{{}};
  server_.answers_by_stale(w, rules, w.client[i].message[k], answers);
  for (const Message& answer : answers) {
    add(out, w, action, [&](World& n) { n.client[i].message[k] = answer; });
  }
}

Judgement LockSystem::judge(const State& state) const {
  const World w = unpack(state, scope_);
  return {.broken = broken_in(w, scope_), .reached = reached_in(w, scope_)};
}

std::vector<LockSystem::Taken> LockSystem::way(const std::vector<State>& path) const {
  std::vector<Taken> way;
  World here;
  Out next;
  int time = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    next.clear();
    steps(here, next);
    for (const auto& [world, action] : next) {
      if (!is_the_same(world, path[i], scope_)) continue;
      way.push_back({time, here, action, world});
      time += action.act == Act::tick ? 1 : 0;
      here = tidied(world, scope_);
      break;
    }
  }
  return way;
}

std::vector<std::string> LockSystem::story(const std::vector<State>& path) const {
  std::vector<std::string> lines;
  for (const Taken& step : way(path)) {
    lines.push_back("[" + std::to_string(step.tick) + "] " +
                    tell(scope_, step.from, step.action, step.to));
  }
  return lines;
}

}  // namespace leasehold::model
