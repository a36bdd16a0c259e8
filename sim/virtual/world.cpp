#include "sim/virtual/world.hpp"

#include <algorithm>
#include <utility>

#include "protocols/recipe.hpp"

namespace leasehold::sim::virt {
namespace {

using model::Event;
using model::Kind;

constexpr std::int64_t kStartUp = 1'000 * kMs;    ///< histories do not begin at zero
constexpr std::int64_t kLongest = 120'000 * kMs;  ///< after the healing
constexpr std::int64_t kSettle = 8'000 * kMs;     ///< for the TTL monitor and late clean-ups
constexpr std::int64_t kComesBack_ms = 50;        ///< a crashed process starts anew

Spoil spoil_of(const std::string& lock) {
  if (lock == "leasehold" || protocols::recipe_named(lock) != nullptr) return Spoil::none;
  if (lock == "canary") return Spoil::deletes_without_owner;
  if (lock == "canary-extend") return Spoil::extends_without_owner;
  if (lock == "canary-clock") return Spoil::reads_the_real_clock;
  throw std::runtime_error("lock is '" + lock + "': no such lock");
}

/// An entity whose lock fields are null is free (document-level); any other document is a lock.
bool is_held(const Object& document) {
  const Value* lock_id = document.find("LockId");
  return lock_id == nullptr || !lock_id->is<Null>();
}

class World {
 public:
  explicit World(const Plan& plan)
      : plan_(plan),
        random_(plan.seed),
        servers_(queue_, random_, {.ttl_period_ns = plan.ttl_period_ms * kMs},
                 [this](const Entry& entry) { committed(entry); }) {}

  VirtualRun go() {
    Event begin = event(Kind::run);
    begin.detail = plan_.lock + " virtual";
    begin.lock_id = std::to_string(plan_.seed);
    emit(begin);
    queue_.at(kStartUp, [this] { start(); });
    while (!finished_ && queue_.step()) {
    }
    out_.elapsed_ns = queue_.now();
    out_.events = queue_.ran();
    count_servers();
    return std::move(out_);
  }

 private:
  Event event(Kind kind, const std::string& process = "") const {
    Event e;
    e.at_ns = queue_.now();
    e.kind = kind;
    e.process = process;
    return e;
  }
  void emit(const Event& e) { out_.history.push_back(e); }

  void start() {
    for (std::size_t i = 0; i < plan_.processes.size(); ++i) {
      add_process("p" + std::to_string(i), plan_.processes[i], false);
    }
    if (!plan_.processes.empty()) add_process("grave", plan_.processes[0], true);
    for (const FaultPlan& fault : plan_.faults) {
      queue_.after(fault.at_ms * kMs, [this, fault] { inject(fault); });
    }
    queue_.after(plan_.faulty_ms * kMs / 2, [this] { bury(); });
    queue_.after(plan_.faulty_ms * kMs, [this] { heal(); });
  }

  void add_process(const std::string& name, const ProcessPlan& plan, bool grave) {
    processes_.push_back(std::make_unique<Process>(
        Process::World{queue_, servers_, random_, [this](const Event& e) { emit(e); }, out_.bitten,
                       plan_, spoil_of(plan_.lock)},
        name, plan, grave));
    processes_.back()->start();
  }

  /// What a majority has is the truth.
  void committed(const Entry& entry) {
    if (entry.change.id.empty()) return;  // a term's first entry
    const bool held = entry.change.after && is_held(*entry.change.after);
    Event e = event(entry.fenced ? Kind::stored : held ? Kind::put : Kind::gone);
    e.name = entry.change.id;
    e.order = entry.order();
    if (entry.fenced) {
      e.process = entry.fenced->process;
      e.command = entry.fenced->number;
      e.owner = entry.fenced->owner;
      e.token = entry.fenced->token;
    } else if (held) {
      e.lock_id =
          !entry.tag.empty() ? entry.tag : *entry.change.after->find("lockId")->as<std::string>();
    }
    emit(e);
  }

  /// Whom a fault befalls: mostly one that holds a lock if there is any, else any that runs; every
  /// fourth time one that waits for a reply.
  Process* victim(std::int64_t pick) {
    std::vector<Process*> holders, asking, all;
    for (const auto& p : processes_) {
      if (p->crashed() || p->paused() || p->is_grave()) continue;
      all.push_back(p.get());
      if (p->holds()) holders.push_back(p.get());
      if (p->awaits_a_reply() && !p->holds()) asking.push_back(p.get());
    }
    const auto& preferred = pick % 4 == 3 ? asking : holders;
    const auto& from = preferred.empty() ? all : preferred;
    return from.empty() ? nullptr : from[static_cast<std::size_t>(pick) % from.size()];
  }

  void crash(Process& p) {
    p.crash();
    emit(event(Kind::crash, p.name()));
    ++out_.bitten["crash"];
  }

  void bury() {
    for (const auto& p : processes_) {
      if (p->is_grave() && p->holds()) {
        crash(*p);
        return;
      }
    }
  }

  void note(const FaultPlan& fault) {
    Event e = event(Kind::fault);
    e.detail = to_string(fault.kind);
    emit(e);
  }

  /// Runs `undo` after this time, or when all is healed.
  void undo_later(std::int64_t after_ms, std::function<void()> undo) {
    const auto number = healers_.size();
    healers_.push_back(std::move(undo));
    queue_.after(after_ms * kMs, [this, number] { undo_now(number); });
  }
  void undo_now(std::size_t number) {
    const auto undo = std::exchange(healers_[number], nullptr);
    if (undo) undo();
  }

  void for_a_while(const FaultPlan& fault, const std::function<void()>& begin,
                   std::function<void()> end) {
    note(fault);
    begin();
    undo_later(fault.for_ms, [this, fault, end = std::move(end)] {
      end();
      note(fault);
    });
  }

  void inject(const FaultPlan& fault) {
    using K = FaultPlan::Kind;
    if (healed_) return;
    switch (fault.kind) {
      case K::crash: {
        Process* p = victim(fault.pick);
        if (p == nullptr) return;
        crash(*p);
        const auto reborn = p->name() + "'";
        const auto plan = p->plan();
        queue_.after(kComesBack_ms * kMs, [this, reborn, plan] {
          if (!healed_) add_process(reborn, plan, false);
        });
        return;
      }
      case K::pause: return pause(fault);
      case K::wall_clock: return move_wall_clock(fault);
      case K::step_up:
      case K::step_down:
      case K::kill_member:
      case K::stop_member:
      case K::split_members:
      case K::clock_jump:
      case K::ttl_off:
      case K::slow_majority:
      case K::errors: return inject_into_servers(fault);
      default: return inject_into_link(fault);
    }
  }

  void pause(const FaultPlan& fault) {
    Process* p = victim(fault.pick);
    if (p == nullptr) return;
    p->pause();
    emit(event(Kind::pause, p->name()));
    ++out_.bitten["pause"];
    undo_later(fault.for_ms, [this, p] {
      if (p->crashed()) return;
      emit(event(Kind::resume, p->name()));
      p->resume();
    });
  }

  void move_wall_clock(const FaultPlan& fault) {
    Process* p = victim(fault.pick);
    if (p == nullptr) return;
    for_a_while(
        fault, [this, p, fault] { p->wall_offset_ms = fault.amount, bite("wall-clock"); },
        [p] { p->wall_offset_ms = 0; });
  }

  static int member_of(const FaultPlan& fault) {
    return static_cast<int>(fault.pick / 2 % ReplicaSet::kMembers);
  }

  void inject_into_servers(const FaultPlan& fault) {
    using K = FaultPlan::Kind;
    const int primary = servers_.primary();
    const bool hits_primary = fault.pick % 2 == 0 && primary >= 0;
    const int member = hits_primary ? primary : member_of(fault);
    switch (fault.kind) {
      case K::step_up:
        note(fault);
        servers_.step_up((std::max(primary, 0) + 1 + static_cast<int>(fault.pick % 2)) %
                         ReplicaSet::kMembers);
        if (servers_.primary() != primary) bite("step-up");
        return;
      case K::step_down:
        note(fault);
        if (primary >= 0) ++out_.bitten["step-down"];
        return servers_.step_down_primary();
      case K::kill_member:
        if (dead_member_) return;  // a majority stays
        return for_a_while(
            fault,
            [this, member] { servers_.kill(member), dead_member_ = true, bite("kill-member"); },
            [this, member] { servers_.restart(member), dead_member_ = false; });
      case K::stop_member:
        if (dead_member_) return;
        return for_a_while(
            fault,
            [this, member] { servers_.stop(member), dead_member_ = true, bite("stop-member"); },
            [this, member] { servers_.go_on(member), dead_member_ = false; });
      case K::split_members:
        return for_a_while(
            fault, [this, member] { split(member, false), bite("split-members"); },
            [this, member] { split(member, true); });
      case K::clock_jump: {
        const auto half = plan_.clock_margin_ms / 2;
        const auto to = std::clamp<std::int64_t>(fault.amount, -half, half);
        note(fault);
        if (to != clock_offsets_[static_cast<std::size_t>(member)]) bite("clock-jump");
        servers_.move_clock(member, to - clock_offsets_[static_cast<std::size_t>(member)]);
        clock_offsets_[static_cast<std::size_t>(member)] = to;
        return;
      }
      case K::ttl_off:
        return for_a_while(
            fault, [this] { set_ttl(false), bite("ttl-off"); }, [this] { set_ttl(true); });
      case K::slow_majority:
        return for_a_while(
            fault, [this, fault] { slow(fault.amount), bite("slow-majority"); },
            [this] { slow(0); });
      case K::errors: {
        constexpr int kCodes[] = {91, 11600, 11602, 189, 262};
        note(fault);
        return servers_.fail_next(static_cast<int>(fault.amount),
                                  kCodes[static_cast<std::size_t>(fault.pick / 2) % 5],
                                  fault.pick % 2 != 0);
      }
      default: return;
    }
  }

  void inject_into_link(const FaultPlan& fault) {
    using K = FaultPlan::Kind;
    Process* p = victim(fault.pick);
    if (p == nullptr) return;
    const auto primary = static_cast<std::size_t>(std::max(servers_.primary(), 0));
    for_a_while(
        fault,
        [p, primary, &fault] {
          LinkFaults& link = p->link;
          switch (fault.kind) {
            case K::cut_link: link.cut[primary] = true; break;
            case K::slow_link: link.slower_ms = fault.amount; break;
            case K::lost_replies: link.replies_lost = true; break;
            case K::late_requests: link.late_ms = fault.amount; break;
            default: link.inside_ms = fault.amount; break;
          }
        },
        [p] { p->link = {}; });
  }

  void bite(const char* fault) { ++out_.bitten[fault]; }
  void split(int member, bool up) {
    for (int other = 0; other < ReplicaSet::kMembers; ++other) {
      if (other != member) servers_.set_link(member, other, up);
    }
  }
  void set_ttl(bool on) {
    for (int m = 0; m < ReplicaSet::kMembers; ++m) servers_.set_ttl(m, on);
  }
  void slow(std::int64_t by_ms) {
    for (int m = 0; m < ReplicaSet::kMembers; ++m) servers_.set_replication_delay(m, by_ms * kMs);
  }

  void heal() {
    healed_ = true;
    for (std::size_t i = 0; i < healers_.size(); ++i) undo_now(i);
    servers_.fail_next(0, 0, false);
    // A majority and a primary are there again before the healed phase is measured.
    queue_.after(3'000 * kMs, [this] {
      emit(event(Kind::heal));
      for (const auto& p : processes_) {
        if (!p->crashed()) p->heal();
      }
      healed_at_ = queue_.now();
      watch();
    });
  }

  void watch() {
    const bool all = std::all_of(processes_.begin(), processes_.end(),
                                 [](const auto& p) { return p->done() || p->is_grave(); });
    if (!all && queue_.now() - healed_at_ < kLongest) {
      queue_.after(20 * kMs, [this] { watch(); });
      return;
    }
    queue_.after(kSettle, [this] {
      emit(event(Kind::finish));
      finished_ = true;
    });
  }

  void count_servers() {
    const auto count = [this](const char* what, std::int64_t n) {
      if (n > 0) out_.bitten[what] = n;
    };
    count("elections", servers_.elections());
    count("rolled-back", servers_.rolled_back());
    count("ttl-deletions", servers_.ttl_deletions());
    count("errors", servers_.injected_errors());
    count("wtimeouts", servers_.waited_for_majority_in_vain());
  }

  const Plan& plan_;
  VirtualRun out_;
  EventQueue queue_;
  Random random_;
  ReplicaSet servers_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::function<void()>> healers_;
  std::array<std::int64_t, ReplicaSet::kMembers> clock_offsets_{};
  std::int64_t healed_at_ = 0;
  bool dead_member_ = false, healed_ = false, finished_ = false;
};

}  // namespace

const std::vector<std::string>& locks() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"leasehold"};
    for (const auto* recipe : protocols::recipes()) all.emplace_back(recipe->name);
    all.insert(all.end(), {"canary", "canary-extend", "canary-clock"});
    return all;
  }();
  return names;
}

VirtualRun run(const Plan& plan) {
  World world(plan);
  return world.go();
}

std::uint64_t hash(const model::History& history) {
  std::uint64_t h = 14695981039346656037u;
  for (const auto& e : history) {
    for (const char c : model::to_json(e)) {
      h ^= static_cast<unsigned char>(c);
      h *= 1099511628211u;
    }
  }
  return h;
}

std::string first_difference(const model::History& a, const model::History& b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
    const auto text = [i](const model::History& h) {
      return i < h.size() ? model::to_json(h[i]) : std::string("it ends");
    };
    return "line " + std::to_string(i + 1) + ": " + text(a) + " against " + text(b);
  }
  return "";
}

}  // namespace leasehold::sim::virt
