#include "model/spec/exploration.hpp"

#include <algorithm>
#include <bit>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <cstring>
#include <stdexcept>

namespace leasehold::model {

using namespace lock_world;
using Act = LockAct;

namespace {

/// A canonical world with half a byte for each number, because memory bounds an exploration: of 16
/// numbers the first eight are the lower halves of eight bytes.
constexpr std::size_t kWords = (sizeof(World) + 15) / 16;
using HalfBytes = std::array<std::uint64_t, kWords>;
using Words = std::array<std::array<std::uint64_t, 2>, kWords>;

HalfBytes stored(const World& world) {
  Words words{};
  std::memcpy(&words, &world, sizeof world);
  HalfBytes state;
  for (std::size_t n = 0; n < kWords; ++n) state[n] = words[n][0] | words[n][1] << 4;
  return state;
}

World world_of(const HalfBytes& state) {
  constexpr std::uint64_t kLower = 0x0F0F0F0F0F0F0F0F;
  Words words;
  for (std::size_t n = 0; n < kWords; ++n) words[n] = {state[n] & kLower, state[n] >> 4 & kLower};
  std::array<Byte, sizeof(World)> bytes;
  std::memcpy(bytes.data(), &words, bytes.size());
  return std::bit_cast<World>(bytes);
}

/// The lock for an explorer.
struct LockModel {
  using State = HalfBytes;
  const Scope& scope;
  const bool judges = true;
  mutable Labels labels;  // of the steps so far
  mutable std::vector<LockAction> possible;

  [[nodiscard]] State initial() const { return stored(canonical({}, scope)); }
  void successors(const State& state, std::vector<State>& out) const {
    const World world = world_of(state);
    actions(world, scope, possible);
    for (const LockAction action : possible) {
      out.push_back(stored(canonical(step(world, action, scope, labels), scope)));
    }
  }
  [[nodiscard]] Judgement judge(const State& state) const {
    if (!judges) return {};
    const World world = world_of(state);
    return {.broken = broken_in(world, scope), .reached = reached_in(world, scope)};
  }
};

void require_small(const Scope& scope) {
  if (scope.clients * scope.messages > 4 || (scope.clients > 2 && scope.stale_primary)) {
    throw std::invalid_argument(
        "a scope has at most 4 messages, and 2 clients beside a stale primary");
  }
  if (scope.queue < 0 || scope.queue > kMaxPlaces) {
    throw std::invalid_argument("a queue has at most 2 places");
  }
  const int last = scope.dotnet || scope.older ? 1 : 0;
  if (scope.readers < 0 || scope.readers + last > scope.clients || (scope.dotnet && scope.older)) {
    throw std::invalid_argument("the last client reads, or is of two kinds");
  }
}

/// All replies come; else those that share a lock have too many states.
Scope three_that_share(Scope scope) {
  scope.clients = 3;
  scope.failovers = scope.crashes = scope.ttl_passes = scope.losses = scope.late_starts =
      scope.time_outs = false;
  return scope;
}

/// The steps of a path. Its worlds are canonical, with clients in any order: here they keep their
/// names.
std::vector<Taken> way_of(const std::vector<HalfBytes>& path, const Scope& scope) {
  std::vector<Taken> way;
  std::vector<LockAction> possible;
  Labels labels;
  World here = world_of(path.front());
  int tick = 0;
  for (std::size_t n = 1; n < path.size(); ++n) {
    actions(here, scope, possible);
    for (const LockAction action : possible) {
      const World to = step(here, action, scope, labels);
      Order order{}, back{};
      const World next = canonical(to, scope, &order);
      if (stored(next) != path[n]) continue;
      way.push_back({tick, here, action, to});
      tick += action.act == Act::tick ? 1 : 0;
      for (int i = 0; i < kMaxClients; ++i) {
        back[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
      }
      here = arranged(next, back);
      break;
    }
  }
  return way;
}

/// Keeps what was explored: of violated with the way to this state.
void conclude(LockExploration& found, const Explorer<LockModel>& explorer, const LockModel& model,
              std::size_t last) {
  found.labels = model.labels;
  if (found.verdict != Verdict::violated) return;
  found.way = way_of(explorer.path_to(last), model.scope);
  for (const Taken& step : found.way) {
    found.story.push_back("[" + std::to_string(step.tick) + "] " +
                          tell(model.scope, step.from, step.action, step.to));
  }
}

/// What a promise says of a world, and of steps once faults have stopped.
struct Calm {
  const Scope& scope;
  const Promise promise;

  /// A client waits and none holds; or no client stands behind the document.
  [[nodiscard]] bool is_pending(const World& w) const {
    bool waits = false, held = false, stood_behind = false;
    for (int i = 0; i < scope.clients; ++i) {
      const Client& c = w.client[i];
      waits |= c.waits();
      held |= c.phase == kHeld && c.lease > 0;
      stood_behind |= w.document.is_held_by(c.owner);
    }
    if (promise == Promise::passes_on) return waits && !held;
    return w.document.owner != 0 && !stood_behind;
  }

  /// For G7 the pending state itself ends; for G8 the document goes or gets another owner.
  [[nodiscard]] bool ends(const World& from, const World& to) const {
    return !is_pending(to) ||
           (promise == Promise::cleans_up && to.document.owner != from.document.owner);
  }

  /// Whether an awaited request or reply is on its way: it takes less than a tick.
  [[nodiscard]] bool awaits_something(const World& w) const {
    return std::any_of(w.client, w.client + scope.clients, [](const Client& c) {
      return c.notice.owner != 0 || (c.awaited != 0 && c.message[c.awaited - 1].slot != kEmpty);
    });
  }

  [[nodiscard]] bool may(const World& from, LockAction action) const {
    switch (action.act) {
      case Act::crash:
      case Act::lose:
      case Act::lose_notice:
      case Act::failover:
      case Act::execute_stale:
      case Act::give_up: return false;
      case Act::time_out: {  // only for messages that are lost already
        const Client& c = from.client[action.client];
        return c.message[c.awaited - 1].slot == kEmpty;
      }
      case Act::execute: return action.waited == 0;
      case Act::tick: return !awaits_something(from);
      default: return true;
    }
  }

  /// The bit of a kind of step that comes if it is possible all the time. An idle client need not
  /// ask.
  [[nodiscard]] static std::uint32_t kind(const World& from, LockAction action) {
    const bool asks = action.act == Act::attempt && from.client[action.client].phase == kIdle;
    switch (action.act) {
      case Act::tick:
      case Act::commit:
      case Act::execute:
      case Act::deliver:
      case Act::clean_up:
      case Act::release:
      case Act::ttl_pass:
      case Act::time_out:
      case Act::hear:
      case Act::attempt: return asks ? 0 : 1u << static_cast<unsigned>(action.act);
      default: return 0;
    }
  }
};

/// A set of pending states, each of which can be reached from each without an end.
struct Cycle {
  std::uint64_t states = 0;
  std::size_t first = 0;
  bool has_step = false;
  std::uint32_t always = ~0u, taken = 0;  ///< kinds possible in each state; kinds of its steps

  /// Time always goes on.
  [[nodiscard]] bool is_fair() const {
    const std::uint32_t needed = always | 1u << static_cast<unsigned>(Act::tick);
    return has_step && (needed & ~taken) == 0;
  }
};

}  // namespace

LockExploration explore(const Scope& scope, ExploreOptions options) {
  require_small(scope);
  const LockModel model{scope};
  Explorer<LockModel> explorer(model, std::move(options));
  LockExploration found{explorer.run()};
  conclude(found, explorer, model, explorer.size() - 1);
  return found;
}

Eventually explore(const Scope& scope, Promise promise, ExploreOptions options) {
  require_small(scope);
  const LockModel model{scope, false};
  Explorer<LockModel> explorer(model, std::move(options));
  Eventually found{{explorer.run()}};
  if (found.verdict != Verdict::holds) return found;
  const Calm calm{scope, promise};
  // Between pending states, without an end.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> steps;
  std::vector<std::uint32_t> kinds, possible(explorer.size(), 0);
  std::vector<LockAction> all;
  for (std::uint32_t i = 0; i < explorer.size(); ++i) {
    const World from = world_of(explorer.state(i));
    if (!calm.is_pending(from)) continue;
    ++found.pending_states;
    actions(from, scope, all);
    for (const LockAction action : all) {
      if (!calm.may(from, action)) continue;
      possible[i] |= Calm::kind(from, action);
      const World to = step(from, action, scope, model.labels);
      if (calm.ends(from, to)) continue;
      steps.emplace_back(i, explorer.find(stored(canonical(to, scope))));
      kinds.push_back(Calm::kind(from, action));
    }
  }
  const boost::compressed_sparse_row_graph<> graph(boost::edges_are_sorted, steps.begin(),
                                                   steps.end(), explorer.size());
  std::vector<std::uint32_t> component(explorer.size());
  std::vector<Cycle> cycles(boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(),
                                               boost::get(boost::vertex_index, graph))));
  for (std::size_t i = explorer.size(); i-- > 0;) {
    Cycle& cycle = cycles[component[i]];
    ++cycle.states;
    cycle.first = i;
    cycle.always &= possible[i];
  }
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const auto [from, to] = steps[n];
    if (component[from] != component[to]) continue;
    cycles[component[from]].has_step = true;
    cycles[component[from]].taken |= kinds[n];
  }
  const auto fair = std::ranges::find_if(cycles, [](const Cycle& c) { return c.is_fair(); });
  if (fair != cycles.end()) {
    found.verdict = Verdict::violated;
    found.cycle_states = fair->states;
    found.why = "faults have stopped, and " + std::to_string(fair->states) + " states form a cycle";
  }
  conclude(found, explorer, model, fair != cycles.end() ? fair->first : 0);
  return found;
}

const std::vector<NamedScope>& standard_scopes() {
  // The longest first, so that two cores end together.
  static const std::vector<NamedScope> all{
      {"mixed", {.stale_primary = true, .dotnet = true}, 23'980'473},
      {"three-clients", {.clients = 3, .failovers = false}, 23'882'852},
      {"two-messages",
       {.messages = 2,
        .failovers = false,
        .crashes = false,
        .ttl_passes = false,
        .losses = false,
        .late_starts = false},
       18'397'690},
      {"queue", {.failovers = false, .queue = 2}, 22'224'650},
      {"hand-over", {.hand_overs = true}, 16'301'760},
      {"two-clients", {}, 13'676'434},
      {"readers", three_that_share({.readers = 2}), 9'369'276},
      {"permits", three_that_share({.readers = 3, .permits = true}), 5'742'118},
      {"readers-mixed", three_that_share({.dotnet = true, .readers = 1}), 1'867'837},
      {"readers-turns",
       {.failovers = false, .losses = false, .time_outs = false, .readers = 1, .queue = 1},
       1'996'052},
      {"readers-failover", {.losses = false, .time_outs = false, .readers = 1}, 5'232'413}};
  return all;
}

const std::vector<NamedScope>& partial_scopes() {
  static const std::vector<NamedScope> all{
      {"stale-primary", {.stale_primary = true}},
      {"three-clients-failover", {.clients = 3, .losses_late = true}},
      {"two-messages-every-fault", {.messages = 2, .losses_late = true}},
      {"queue-three-clients", {.clients = 3, .failovers = false, .queue = 2}},
      {"queue-failover", {.queue = 1}},
      {"queue-stale-primary", {.stale_primary = true, .queue = 1}},
      // The third client is the package's; it takes over locks with a queue.
      {"queue-mixed", {.clients = 3, .failovers = false, .dotnet = true, .queue = 1}},
      {"readers-queue", {.clients = 3, .failovers = false, .readers = 2, .queue = 2}},
      {"readers-two-writers", {.clients = 3, .failovers = false, .readers = 1, .queue = 2}},
      {"readers-older",
       {.clients = 3, .failovers = false, .older = true, .readers = 2, .queue = 2}},
      {"permits-queue", three_that_share({.readers = 3, .permits = true, .queue = 1})}};
  return all;
}

const NamedScope* scope_named(std::string_view name) {
  for (const auto* scopes : {&standard_scopes(), &partial_scopes()}) {
    const auto found = std::ranges::find(*scopes, name, &NamedScope::name);
    if (found != scopes->end()) return &*found;
  }
  return nullptr;
}

std::map<Check, Verdict> verdicts(const Scope& scope, const Exploration& found) {
  constexpr CheckSet kTakesTwo{Check::G2, Check::G3};
  const bool alone = scope.clients - (scope.dotnet ? 1 : 0) < 2;
  std::map<Check, Verdict> all;
  for (const Check g : scope.guarantees) {
    const bool broken = found.verdict == Verdict::violated && found.why.starts_with(to_string(g));
    const bool tested = !alone || !kTakesTwo.contains(g);
    const bool holds = found.verdict == Verdict::holds && tested;
    all[g] = broken ? Verdict::violated : holds ? Verdict::holds : Verdict::unknown;
  }
  return all;
}

}  // namespace leasehold::model
