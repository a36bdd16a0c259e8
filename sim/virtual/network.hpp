#pragma once

#include <time.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "mongo/commands.hpp"
#include "mongo/replies.hpp"
#include "runtime/threads/workers.hpp"
#include "sim/candidate.hpp"
#include "sim/faults/cluster_control.hpp"
#include "sim/record/recorder.hpp"
#include "sim/virtual/machine.hpp"
#include "sim/virtual/servers/shards.hpp"
#include "sim/world.hpp"

namespace leasehold::sim::simulated {

/// What disturbs the links between one process and the members, and how often it did.
struct LinkFaults {
  // By member, as the links of a real process. What is held or reset here is lost.
  PerMember<LinkRule> rules{};
  PerMember<std::int64_t> touched{};
  std::multiset<std::int64_t> inside_ms{};  ///< waits of commands inside the server: the longest
  std::int64_t waited_inside = 0;
};

/// A process's network to the replica set, as its driver has it: finds the primary, sends commands
/// as the adapter's bytes, loses and delays them, and lets the adapter's own code read the replies.
///
/// All that a mongoc client does and a lock may notice is here: it sends to the primary that it
/// knows until that one fails it, and a lost answer is an unknown outcome.
///
/// INVARIANT: each command that is carried ends at most once, by its answer or by `interrupt`.
class Network {
 public:
  struct World {
    Machine& machine;
    EventQueue& queue;
    Shards& servers;
    Recorder& recorder;
    Changes changes;
    std::uint64_t seed;
    bool stray_commands;  ///< else it goes to the primary that it knows until that one fails it
    std::string process = {};
    std::function<void(model::Event&&)> emit = [](model::Event&&) {};
    std::int64_t slowest_way_ns = 400 * kGrain;  ///< of a message, undisturbed
    std::int64_t stream_behind_ns = 0;  ///< how far news come behind the majority commit
    std::function<void(const std::string& command)> on_wire = [](const std::string&) {};
  };

  explicit Network(const World& world) : world_(world), random_(world.seed) {}
  /// Commands that hang to the end own their carriers, which own them.
  /// To let go of one may destroy others: so the set is asked anew each time.
  ~Network() {
    while (!carriers_.empty()) {
      const auto hung = carriers_.extract(carriers_.begin());
      hung.value()->forget();
    }
  }

  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// The parts of production, but for those that touch the machine: carriers, clock, executor and
  /// entropy. So nothing of the runtime is simulated.
  [[nodiscard]] runtime::DriverParts driver_parts(std::unique_ptr<core::Provider> provider,
                                                  int workers, std::uint64_t seed) {
    // The machine is made before and ends after what is made of them.
    const std::shared_ptr<void> nobody;
    Machine& machine = world_.machine;
    return {.carriers = [this] { return std::make_unique<SimulatedCarrier>(*this); },
            .clock = std::shared_ptr<const runtime::Clock>(nobody, &machine.clock),
            .executor = std::shared_ptr<runtime::Executor>(nobody, &machine),
            .entropy = std::make_unique<Random>(seed),
            .provider = std::move(provider),
            .workers = workers,
            .on_warning = [](const std::string&) {}};
  }
  /// A write to the fenced resource; `on_outcome` gets its outcome, if the network lets it. As a
  /// resource in the same set would be used: a write on a connection of its own, with a majority
  /// awaited.
  void fenced_write(std::shared_ptr<const FencedWrite> write,
                    std::function<void(const char* outcome)> on_outcome) {
    // The resource's user has a connection of its own. Without a primary it sends nothing, and its
    // own time-out is the outcome.
    const int member =
        known_primary_ < 0 ? world_.servers.serving().primary_for(reachable()) : known_primary_;
    if (member < 0 || !reachable()[member]) return;
    auto answered = [this, member, on_outcome = std::move(on_outcome)](ServerAnswer answer,
                                                                       const Object& reply) {
      if (rule(member).hold_replies || rule(member).refuse) return;
      // Without a majority's word the write may be rolled back, or not: it proves nothing.
      const bool clear = answer == ServerAnswer::reply && reply.find("ok"_key)->truth() &&
                         reply.find("writeConcernError"_key) == nullptr;
      const char* outcome = !clear                                ? "unknown"
                            : reply.find("n"_key)->integer() == 1 ? "accepted"
                                                                  : "refused";
      world_.machine.later(latency(member, rule(member).delay_replies),
                           [on_outcome, outcome] { on_outcome(outcome); });
    };
    world_.queue.after(latency(member, rule(member).delay_requests),
                       [this, member, write = std::move(write), answered = std::move(answered)] {
                         world_.servers.fenced_write(member, write, answered);
                       });
  }
  [[nodiscard]] bool awaits_a_reply() const { return under_way_ > 0; }
  /// Before the process is killed: what hangs now has hung until then.
  /// In the order of their sending: that of the carriers differs from run to run.
  void note_what_hangs() {
    std::map<core::CommandId, Sent> hang;
    for (const auto* carrier : carriers_) {
      const Sent& sent = carrier->sent();
      if (sent && sent->wanted) hang[sent->command.id] = sent;
    }
    for (const auto& [id, sent] : hang) note_slow(*sent);
  }

  /// What the core sent that is rare: tickets, for a place in a full queue, and batches of
  /// extensions of fifty locks or more.
  [[nodiscard]] const FaultCounts& sent() const { return sent_; }

  LinkFaults link;

 private:
  static constexpr std::int64_t kSelection = 2'000 * kMs;  ///< server selection gives up after this
  static constexpr std::int64_t kLookAgain = 50 * kMs;     ///< and asks the members that often
  /// For so long after it has learned of another primary, one in so many of its commands goes to
  /// the old one.
  static constexpr std::int64_t kWorkersHear = 1'000 * kMs;
  static constexpr int kGoToTheOldPercent = 10;
  static constexpr int kHearsOfAnElectionPercent = 50;
  static constexpr std::int64_t kSlowFrom = 100 * kMs;  ///< what is answered sooner is not noted

  /// What the oplog's entry of this command is known by, where the document itself does not say.
  static std::string tag_of(const core::Command& command) {
    const auto* plain = std::get_if<core::RawCommand>(&command.body);
    return plain == nullptr ? "" : plain->lock_id;
  }

  /// What must never enter a virtual run: planted, so that a test sees it found out.
  /// On the grain and in the usual range of a latency, so nothing but its source is wrong.
  static std::int64_t leaked_time() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_nsec / 100 % 300 + 50) * kGrain;
  }

  /// Shared, because a command on its way is handed from event to event.
  struct Underway {
    core::Command command;
    std::function<void(ServerAnswer, const Object&)> answered;
    // False once it is answered or cut off: what still comes for it is dropped.
    bool wanted = true;
    std::int64_t sent_ns = 0;
    int member = -1;       // -1: it finds no primary
    bool arrived = false;  // its answer, or its end is noted
  };
  using Sent = std::shared_ptr<Underway>;

  /// A connection: one command at a time. What it hangs on may be cut; an answer that comes after
  /// that is dropped.
  class SimulatedCarrier final : public runtime::Carrier {
   public:
    explicit SimulatedCarrier(Network& network) : network_(network) {
      network_.carriers_.insert(this);
    }
    ~SimulatedCarrier() override { network_.carriers_.erase(this); }

    /// The command is kept: it may be on its way longer than the core remembers it.
    void carry(core::Command command, std::function<void(core::Reply)> done) override {
      ++network_.under_way_;
      done_ = std::move(done);
      sent_ = std::make_shared<Underway>();
      sent_->command = std::move(command);
      sent_->sent_ns = network_.world_.queue.now();
      auto* acquire = std::get_if<core::AcquireCommand>(&sent_->command.body);
      if (acquire != nullptr) {
        acquire->queue_room = network_.world_.changes.queue_room;
        if (acquire->ticket) ++network_.sent_["tickets"];
      }
      const auto* extend = std::get_if<core::ExtendCommand>(&sent_->command.body);
      const bool large = extend != nullptr && extend->statements.size() >= 50;
      if (large) ++network_.sent_["batches-of-fifty"];
      sent_->answered = [this](ServerAnswer answer, const Object& reply) {
        auto read = network_.read(sent_->command, answer, reply);
        if (network_.world_.changes.old_release) hide_queue(read);
        finish(std::move(read));
      };
      network_.send(sent_, 0);
    }

    /// Drops the callback: what was to be reported owns this carrier, and ends with it.
    [[nodiscard]] const Sent& sent() const { return sent_; }
    void forget() { const auto done = std::exchange(done_, nullptr); }

    void interrupt(core::CommandId command) noexcept override {
      if (!sent_ || !sent_->wanted || sent_->command.id != command) return;
      // The answer, if it comes, finds that it is not wanted. The request goes on, because it
      // cannot be called back.
      sent_->wanted = false;
      network_.note_slow(*sent_);
      network_.known_primary_ = -1;  // the present one is asked for
      // Not from here: the contract of a carrier. An empty reply is an unknown outcome.
      network_.world_.machine.later(0, [this] { finish({}); });
    }

   private:
    void finish(core::Reply reply) {
      --network_.under_way_;
      sent_->wanted = false;
      // Out of this first: `done` may carry the next command on this carrier, or destroy it.
      const auto done = std::move(done_);
      done_ = nullptr;
      done(std::move(reply));
    }

    Network& network_;
    std::function<void(core::Reply)> done_;
    Sent sent_;
  };

  /// `tries` counts the times that no primary was found.
  /// As the driver does it: to the primary that it knows of, else it looks for one for a while.
  void send(const Sent& sent, int tries) {
    if (!sent->wanted) return;
    // By the next step of a stream the driver has learned of an election: it goes to the new
    // primary, which does not know the cursor. A command of the lock goes to the primary that is
    // known, right or wrong: the answer "not primary" is part of what is tested.
    const bool of_stream = std::holds_alternative<core::StreamCommand>(sent->command.body);
    if (of_stream && world_.servers.is_sharded()) {
      // As the adapter refuses it, without sending it.
      return answer_later(sent, 0, ServerAnswer::reply,
                          error_reply(kCommandNotSupported, "through a router"));
    }
    if (of_stream) look_for_a_primary();
    const int member = of_stream ? known_primary_ : primary_of_a_worker();
    if (member >= 0) return deliver(sent, member);
    // Server selection: nothing is sent meanwhile, so the end of it is certainly not executed.
    if (tries * kLookAgain < kSelection) {
      return world_.machine.later(kLookAgain, [this, sent, tries] { send(sent, tries + 1); });
    }
    answer_later(sent, 0, ServerAnswer::refused, {});  // not within `carry`, as any answer
  }

  /// The rules of the link are looked at when the request leaves; what changes while it is on its
  /// way concerns the reply.
  void deliver(const Sent& sent, int member) {
    const auto json = changed(sent->command, kCollection, world_.changes);
    const auto bytes =
        json.is_null() ? mongo::build(sent->command, kCollection) : mongo::from_json(json);
    auto object = std::make_shared<const Object>(to_object(*bytes.get()));
    sent->member = member;
    // Counted when it is sent, whether it arrives or not: G9 is about what the driver sends.
    const std::string& name = object->fields[0].first.text();
    world_.recorder.wire(name);
    world_.on_wire(name);
    if (rule(member).hold_requests) return touch(member);  // the core's own timer ends the wait
    if (rule(member).refuse) {
      touch(member);
      const std::int64_t way = latency(member, rule(member).delay_replies);
      return answer_later(sent, way, ServerAnswer::refused, {});
    }
    const std::int64_t way = latency(member, rule(member).delay_requests);
    std::int64_t inside = 0;
    if (!link.inside_ms.empty()) {
      ++link.waited_inside;
      inside = *link.inside_ms.rbegin() * kMs;
    }
    auto answered = [this, sent, member](ServerAnswer answer, Object reply) {
      // Looked at now, so a fault that began after the request hits it too: executed, but
      // unanswered.
      if (rule(member).hold_replies) return touch(member);
      // The connection was reset before the answer: executed, and the caller learns of a broken
      // one.
      const bool reset = rule(member).refuse;
      const bool news = std::holds_alternative<core::StreamCommand>(sent->command.body);
      const std::int64_t way_back = latency(member, rule(member).delay_replies);
      answer_later(sent, way_back + (news ? world_.stream_behind_ns : 0),
                   reset ? ServerAnswer::broken : answer, std::move(reply));
    };
    // The queue delivers, not the machine: what is on its way arrives also if the process is killed
    // or stopped meanwhile. That is how a lock gets a late write of a dead process.
    world_.queue.after(way, [this, sent, object, member, inside, answered = std::move(answered)] {
      world_.servers.command(member, {object, tag_of(sent->command), inside}, answered);
    });
  }

  /// That servers or links gave no answer to this command until now. A step of a stream waits for
  /// events, which is no delay.
  void note_slow(Underway& sent) {
    const bool waits = std::holds_alternative<core::StreamCommand>(sent.command.body);
    if (std::exchange(sent.arrived, true) || waits) return;
    if (world_.queue.now() - sent.sent_ns < kSlowFrom) return;
    world_.emit({.at_ns = world_.queue.now(),
                 .kind = model::Kind::slow,
                 .process = world_.process,
                 .victim = sent.member >= 0 ? member_name(sent.member) : "",
                 .from_ns = sent.sent_ns});
  }

  /// By then it may be answered or cut off, and is not wanted. The answer may reach a process that
  /// is stopped: that is no delay of servers or links.
  void answer_later(const Sent& sent, std::int64_t span_ns, ServerAnswer answer,
                    Object reply) {
    if (world_.queue.now() + span_ns - sent->sent_ns >= kSlowFrom) {
      world_.queue.after(span_ns, [this, sent] { note_slow(*sent); });
    }
    // Through the machine: a paused process reads it when it goes on, a killed one never.
    world_.machine.later(span_ns, [sent, answer, reply = std::move(reply)] {
      if (sent->wanted) sent->answered(answer, reply);
    });
  }
  /// By the adapter's own code.
  [[nodiscard]] core::Reply read(const core::Command& command, ServerAnswer answer,
                                 const Object& reply) {
    if (answer == ServerAnswer::reply) {
      // A driver takes a server that says so for unknown and looks for the primary again; so it
      // does when a state change interrupts a write concern.
      const Value* code = reply.find("code"_key);
      if (code != nullptr && code->integer() == kNotWritablePrimary) known_primary_ = -1;
      if (reply.find("writeConcernError"_key) != nullptr) known_primary_ = -1;
      return mongo::read_reply(command, *Bytes(reply).get());
    }
    known_primary_ = -1;
    return {.outcome = answer == ServerAnswer::refused ? core::Outcome::not_executed
                                                             : core::Outcome::unknown,
            .message = "no connection"};
  }
  /// What its driver can ask. A link that only delays or loses replies still tells which is
  /// primary.
  [[nodiscard]] PerMember<bool> reachable() const {
    PerMember<bool> members{};
    for (int m = 0; m < kMembers; ++m) {
      members[m] = !link.rules[m].hold_requests && !link.rules[m].refuse;
    }
    return members;
  }

  /// Without time for it: a driver's own heartbeats have seen the members lately.
  void look_for_a_primary() {
    known_primary_ = world_.servers.serving().primary_for(reachable());
    if (known_primary_ < 0 || known_primary_ == last_known_) return;
    before_ = std::exchange(last_known_, known_primary_);
    changed_ns_ = world_.queue.now();
  }

  /// Where a command of the lock goes to. Its driver learns of an election sooner or later; by then
  /// a worker may have sent to the old primary, which answers until it knows of it, too.
  [[nodiscard]] int primary_of_a_worker() {
    if (!world_.stray_commands) {
      if (known_primary_ < 0) look_for_a_primary();
      return known_primary_;
    }
    const auto elections = world_.servers.sum(&ReplicaSet::elections);
    if (known_primary_ >= 0 && elections != elections_heard_ &&
        random_.chance(kHearsOfAnElectionPercent)) {
      elections_heard_ = elections;
      known_primary_ = -1;
    }
    if (known_primary_ < 0) look_for_a_primary();
    // Drawn only then, so that in quiet times no seed depends on it.
    const bool recent = changed_ns_ > 0 && world_.queue.now() - changed_ns_ < kWorkersHear;
    const bool old = known_primary_ >= 0 && recent && random_.chance(kGoToTheOldPercent);
    return old ? before_ : known_primary_;
  }

  // One way, in ns. Drawn for each message, so two on their way may overtake one another.
  /// As on one machine or in one rack, so that a fault's delay stands out.
  [[nodiscard]] std::int64_t latency(int member, std::chrono::milliseconds delay) {
    if (delay.count() > 0) touch(member);
    if (world_.changes.sabotage == Sabotage::reads_the_real_clock) return leaked_time();
    return random_.between(50, world_.slowest_way_ns / kGrain) * kGrain + delay.count() * kMs;
  }
  [[nodiscard]] const LinkRule& rule(int member) const { return link.rules[member]; }
  void touch(int member) { ++link.touched[member]; }

  // All processes share what this refers to, except the machine, the recorder and the seed.
  const World world_;
  Random random_;
  // -1: none is known. It may be wrong until a member says so, as a driver's is between two
  // heartbeats. Member 0 begins as primary.
  int known_primary_ = 0;
  // The primary that it knew before, and since when it knows another: until its last worker has
  // learned of that, a command may still go to the old one.
  int last_known_ = 0, before_ = 0;
  std::int64_t changed_ns_ = 0;
  std::int64_t elections_heard_ = 0;
  // Commands of the core; writes to the fence are not counted.
  int under_way_ = 0;
  FaultCounts sent_;
  // Ordered by address, which differs from run to run. Only the destructor goes through it, when
  // nothing is recorded any more.
  std::set<SimulatedCarrier*> carriers_;
};

}  // namespace leasehold::sim::simulated
