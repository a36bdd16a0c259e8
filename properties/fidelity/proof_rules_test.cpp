#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/document/lock_queue.hpp"
#include "core/document/lock_readers.hpp"
#include "core/time.hpp"
#include "model/proof/prove.hpp"
#include "mongo/commands.hpp"
#include "sim/plan/random.hpp"
#include "sim/virtual/commands/collection.hpp"

/// The proof is about rules. Here the production lock's own deadlines, and what its commands' bytes
/// do to a document, are put beside these rules, number by number.
namespace leasehold::properties {
namespace {

using namespace sim::simulated;
using model::proof::Answer;
using sim::Random;
using std::chrono::milliseconds;

constexpr const char* kName = "a lock";
constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr int kOwners = 3;
/// We are the first.
const core::Owner kOwner[kOwners] = {{0x1111, 0x2222}, {0x3333, 0x4444}, {0x5555, 0x6666}};

std::string number(std::int64_t value) {
  return value < 0 ? "(- " + std::to_string(-value) + ")" : std::to_string(value);
}

/// A lock document and a command, and what the one becomes by the other.
struct Case {
  /// What an owner stands or waits by; its command has the beat 100.
  [[nodiscard]] std::string lock_id(int owner, std::uint64_t beat = 1) const {
    return core::written_lock_id(kOwner[owner], lease[owner], beat, "host:1", room(owner));
  }
  [[nodiscard]] core::Room room(int owner) const {
    return reads[owner] ? core::kReaders : core::Room();
  }

  milliseconds lease[kOwners], margin;
  bool reads[kOwners] = {};
  std::optional<std::int64_t> dated[kOwners];  ///< its place in the queue
  Document before, after;
  core::Command command;
};

std::int64_t expires(const Document& d) { return d->find("expiresAt")->as<Date>()->ms; }
std::string holder(const Document& d) {
  return std::string(core::split_queue(*d->find("lockId")->as<std::string>()).lock_id);
}

std::int64_t drawn_date(Random& random) {
  return kNow + (random.chance(10) ? 0 : random.between(-60'000, 60'000));
}

Document document(const std::string& lock_id, std::int64_t expires) {
  Object d;
  d.set("_id", std::string(kName));
  d.set("lockId", lock_id);
  d.set("acquiredAt", Date{kNow - 5'000});
  d.set("expiresAt", Date{expires});
  d.set("fencingToken", std::int64_t{1});
  return std::make_shared<const Object>(d);
}

/// Several readers, or one holder, or one of other software; and some others that wait.
Document drawn_document(Case& c, Random& random) {
  std::string lock_id, queue;
  std::int64_t latest = drawn_date(random);
  const bool foreign = random.chance(10);
  const auto alone = random.chance(50) ? 0 : random.between(1, kOwners - 1);
  const bool shared = !foreign && c.reads[alone] && random.chance(60);
  milliseconds longest{};
  for (int o = 0; o < kOwners; ++o) {
    if (o == alone || (shared && c.reads[o] && random.chance(60))) {
      const auto until = o == alone ? latest : drawn_date(random);
      lock_id += fmt::format("|{}.{}.{}", until, kNow - 5'000, c.lock_id(o));
      latest = std::max(latest, until);
      longest = std::max(longest, c.lease[o]);
    } else if (!foreign && random.chance(50)) {
      const auto left = random.between(1, 60'000), stands = random.between(1, 60'000);
      queue += '~' + std::to_string(kNow + left) +
               core::entry_without_until(milliseconds(stands), c.lease[o] + c.margin, c.lock_id(o));
      c.dated[o] = kNow + left - stands;
    }
  }
  lock_id = foreign ? std::string(32, 'f')
            : shared
                ? fmt::format("{}{:09}.0.shared{}", core::kReadersOwner, longest.count(), lock_id)
                : c.lock_id(static_cast<int>(alone));
  return document(lock_id + queue, latest);
}

core::Command drawn_command(const Case& c, Random& random) {
  core::Command command;
  command.id = 1;
  command.timeout = milliseconds(5'000);
  const core::Owner ours = kOwner[0];
  const std::string id = c.lock_id(0, 100);
  switch (random.between(0, 10)) {
    case 0: {
      core::ExtendCommand extend;
      extend.statements.push_back({1, kName, ours, core::ServerInstant{kNow - 5'000}, id,
                                   c.lease[0], c.margin, FencingToken(1), c.room(0)});
      command.body = extend;
      break;
    }
    case 1: command.body = core::DeleteCommand{kName, ours, std::nullopt}; break;
    case 2:
      command.body = core::HandOverCommand{1, kName, kOwner[1], ours, id, c.lease[0], c.margin};
      break;
    case 3:
    case 4:
    case 5:
    case 6:
      command.body =
          core::PassOnCommand{kName, ours, std::nullopt, false,
                              c.reads[0] || random.chance(80) ? core::kReaders : core::Room()};
      break;
    default: {
      core::AcquireCommand acquire{1, kName, ours, id, std::nullopt, c.lease[0], c.margin};
      acquire.room = c.room(0);
      const std::string seen = c.before && random.chance(50) ? holder(c.before) : c.lock_id(1, 2);
      if (core::parse_lock_id(seen) && random.chance(60)) acquire.observed = seen;
      command.body = acquire;
    }
  }
  return command;
}

void execute(Case& c) {
  Collection collection;
  if (c.before) collection.apply({kName, c.before});
  const mongo::Bson bytes = mongo::build(c.command, "locks");
  const auto done = sim::simulated::execute(to_object(*bytes.get()), collection,
                                            {Date{kNow}, Timestamp{1'700'000'000, 1}});
  for (const auto& change : done.changes) collection.apply(change);
  c.after = collection.find(kName);
}

Case drawn(std::uint64_t seed) {
  Random random(seed);
  Case c;
  c.margin = milliseconds(random.between(2, 30'000));
  for (int o = 0; o < kOwners; ++o) {
    c.lease[o] = milliseconds(random.between(100, 60'000));
    c.reads[o] = random.chance(60);
  }
  if (random.chance(90)) c.before = drawn_document(c, random);
  c.command = drawn_command(c, random);
  execute(c);
  return c;
}

/// How an owner stands in a holder's part of a lockId, in a document that expires then.
std::optional<core::Reader> standing(std::string_view lock_id, std::int64_t expires, int owner) {
  auto all = core::readers_in(lock_id);
  if (all.empty()) all.push_back({core::ServerInstant{expires}, {}, 0, lock_id});
  for (const auto& one : all) {
    if (core::names_owner(one.lock_id, kOwner[owner])) return one;
  }
  return std::nullopt;
}

/// In the theory we are o1, who stands or waits by l1; the others likewise. l4 is by our command.
/// The document at this version: one that a release left free is as one that is gone.
std::string version(int at, const Document& d, const Case& c) {
  const std::string there = d && expires(d) != 0 ? holder(d) : "";
  const std::int64_t until = there.empty() ? 0 : expires(d);
  const auto parts = core::parse_lock_id(there);
  std::string text = fmt::format(
      "(= (@there {0}) {1}) (=> {1} (= (@expires {0}) {2})) (= (@ours {0}) {3}) (=> {3} (= (@named "
      "{0}) {4}))",
      at, !there.empty(), until, parts.has_value(), parts ? parts->lease_ms : 0);
  for (int o = 0; o < kOwners; ++o) {
    const auto own = standing(there, until, o);
    text += fmt::format(
        " (= (@in {0} o{1}) {2}) (=> {2} (= (@upto {0} o{1}) {3}))"
        " (=> {2} (= (@by {0} o{1}) l{4}))",
        at, o + 1, own.has_value(), own ? own->until.since_1970_ms : 0,
        own && own->lock_id == c.lock_id(0, 100) ? 4 : o + 1);
  }
  return text;
}

/// What does not change.
std::string constants(const Case& c) {
  std::string text = fmt::format(" (= margin {}) (= (owner l4) o1)", c.margin.count());
  for (int o = 0; o < kOwners; ++o) {
    text += fmt::format(
        " (= (lease o{0}) {1}) (= (reads o{0}) {2}) (= (owner l{0}) o{0}) (= (@enlisted l{0}) {3})"
        " (= (@dated l{0}) {4})",
        o + 1, c.lease[o].count(), c.reads[o], c.dated[o].has_value(), c.dated[o].value_or(0));
  }
  return text;
}

/// What an attempt presumes dead. Where it saw another lockId than there is, l4 stands for it.
std::string observed(const std::string& seen, const Case& c) {
  const auto parts = core::parse_lock_id(seen);
  std::string text = fmt::format(" (= (seen_named l4) {})", parts ? parts->lease_ms : 0);
  for (int o = 0; o < kOwners; ++o) {
    const auto own = standing(seen, 0, o);
    text += fmt::format(" (= (observes l4 o{0}) {1}) (= (observed l4 o{0}) l{2})", o + 1,
                        own.has_value(), own && own->lock_id == c.lock_id(o) ? o + 1 : 4);
  }
  return text;
}

/// What is known of the command: which steps it may be, and its parts.
std::pair<std::vector<std::string>, std::string> in_theory(const Case& c) {
  const auto& body = c.command.body;
  if (const auto* a = std::get_if<core::AcquireCommand>(&body)) {
    return {{"insert", "renew", "join", "take expired", "take observed"},
            " (= l l4) (not (extension l4)) (not (hand_over l4))" +
                observed(a->observed.value_or(""), c)};
  }
  if (std::holds_alternative<core::ExtendCommand>(body)) {
    return {{"renew"}, " (= l l4) (extension l4) (not (hand_over l4))"};
  }
  if (std::holds_alternative<core::HandOverCommand>(body)) {
    return {{"hand over", "renew"},
            " (= l l4) (hand_over l4) (not (extension l4)) (= (giver l4) o2)"};
  }
  return {{"delete", "pass on", "leave"}, " (= o o1) (@leaving o1)"};
}

/// The step of the proof that does what the command did; empty if none does.
std::string step_of(const Case& c) {
  const auto [steps, text] = in_theory(c);
  const std::string before = fmt::format("(and (= @last 1) (= r s) (= r {}) ", kNow) +
                             version(1, c.before, c) + constants(c) + text + ")";
  const std::string after = "(and (= @last 2) " + version(2, c.after, c) + ")";
  for (const auto& step : steps) {
    const auto script = model::proof::leads(model::proof::rules(), step, before, after);
    if (model::proof::ask(script, 10'000) == Answer::satisfiable) return step;
  }
  return "";
}

TEST(RulesOfTheProof, AreWhatTheCommandsBytesDo) {
  std::map<std::string, int> taken;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Case c = drawn(seed);
    if (version(1, c.before, c) == version(1, c.after, c)) continue;  // no holder changed
    const std::string step = step_of(c);
    EXPECT_FALSE(step.empty()) << "seed " << seed << ": no step of the proof does that";
    const bool of_readers = c.before && core::is_of_readers(holder(c.before));
    ++taken[step + (of_readers ? " of readers" : "")];
  }
  for (const char* step :
       {"insert", "renew", "take expired", "take observed", "hand over", "pass on", "leave",
        "delete", "renew of readers", "join of readers", "take expired of readers",
        "take observed of readers", "pass on of readers", "leave of readers"}) {
    EXPECT_GE(taken[step], 4) << step;
  }
}

/// Whether these local times can break the lemma's bound: 0 ns is the sending, or the sight.
bool within(const std::string& rule, const char* relation, std::int64_t local_ns,
            std::int64_t span_ns, int drift_ppm) {
  const std::string script = "(define-fun span () Real " + number(span_ns) +
                             ".0)\n(define-fun drift () Real (/ " + number(drift_ppm) +
                             ".0 1000000.0))\n(assert (not (" + relation + " " + number(local_ns) +
                             ".0 " + model::proof::rules().at(rule) + ")))\n";
  return model::proof::ask(script, 10'000) == Answer::unsatisfiable;
}

TEST(RulesOfTheProof, BoundTheLocalTimesOfTheCore) {
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    const core::Duration lease = milliseconds(random.between(100, 86'400'000));
    const int ppm = static_cast<int>(random.between(1, 50'000));
    const core::LocalInstant start{};
    const auto until = (core::lease_deadline(start, lease, ppm / 1e6) - start).count();
    const auto from = (core::sight_matures(start, lease, ppm / 1e6) - start).count();
    EXPECT_TRUE(within("holder_stops", "<=", until, lease.count(), ppm)) << ppm;
    EXPECT_TRUE(within("observer_waits", ">=", from, lease.count(), ppm)) << ppm;
  }
}

}  // namespace
}  // namespace leasehold::properties
