#include <gtest/gtest.h>

#include <map>

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
const core::Owner kOurs{0x1111, 0x2222}, kOther{0x3333, 0x4444};

std::string lock_id(core::Owner owner, std::int64_t beat) {
  return core::format_lock_id({owner, 3000, static_cast<std::uint64_t>(beat), "host:1"});
}

std::string number(std::int64_t value) {
  return value < 0 ? "(- " + std::to_string(-value) + ")" : std::to_string(value);
}

/// A lock document and a command, and what the one becomes by the other.
struct Case {
  Document before, after;
  core::Command command;
  bool wrote = false;
};

Document document(core::Owner owner, std::int64_t beat, bool foreign, std::int64_t expires) {
  Object d;
  d.set("_id", std::string(kName));
  d.set("lockId", foreign ? std::string(32, 'f') : lock_id(owner, beat));
  d.set("acquiredAt", Date{kNow - 5'000});
  d.set("expiresAt", Date{expires});
  d.set("fencingToken", std::int64_t{1});
  return std::make_shared<const Object>(d);
}

core::Command drawn_command(Random& random) {
  const milliseconds lease(random.between(100, 60'000)), margin(random.between(2, 30'000));
  core::Command command;
  command.id = 1;
  command.timeout = milliseconds(5'000);
  const std::string id = lock_id(kOurs, 100);
  switch (random.between(0, 4)) {
    case 0: {
      core::ExtendCommand extend;
      extend.statements.push_back(
          {1, kName, kOurs, core::ServerInstant{kNow - 5'000}, id, lease, margin, FencingToken(1)});
      command.body = extend;
      break;
    }
    case 1: command.body = core::DeleteCommand{kName, kOurs, std::nullopt}; break;
    case 2: command.body = core::HandOverCommand{1, kName, kOther, kOurs, id, lease, margin}; break;
    default: {
      core::AcquireCommand acquire{1, kName, kOurs, id, std::nullopt, lease, margin};
      if (random.chance(50)) acquire.observed = lock_id(kOther, random.between(1, 3));
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
  c.wrote = !done.changes.empty();
  for (const auto& change : done.changes) collection.apply(change);
  c.after = collection.find(kName);
}

Case drawn(std::uint64_t seed) {
  Random random(seed);
  Case c;
  const core::Owner owner = random.chance(40) ? kOurs : kOther;
  const std::int64_t left = random.chance(10) ? 0 : random.between(-60'000, 60'000);
  if (random.chance(85)) {
    c.before = document(owner, random.between(1, 3), random.chance(15), kNow + left);
  }
  c.command = drawn_command(random);
  execute(c);
  return c;
}

std::int64_t expires(const Document& d) { return d->find("expiresAt")->as<Date>()->ms; }
std::string holder(const Document& d) { return *d->find("lockId")->as<std::string>(); }
std::optional<core::Owner> owner(const Document& d) {
  const auto id = holder(d);
  const auto parts = core::parse_lock_id(id);
  return parts ? std::optional(parts->owner) : std::nullopt;
}

/// The document at this version, in the words of the theory. o1 is our owner, o2 the other; l1 our
/// command's lockId, l2 what stood there before.
std::string version(const std::string& at, const Document& d) {
  if (!d) return "(not (@there " + at + ")) (not (@ours " + at + "))";
  const auto who = owner(d);
  const bool by_command = holder(d) == lock_id(kOurs, 100);
  return "(@there " + at + ") (= (@expires " + at + ") " + number(expires(d)) + ") " +
         (who ? "(@ours " + at + ") (= (@holds " + at + ") " + (by_command ? "l1" : "l2") + ")"
              : "(not (@ours " + at + "))");
}

/// What is known of the command: which steps it may be, and its parts.
struct InTheory {
  std::vector<std::string> steps;
  std::string text;
};

std::string dates(milliseconds lease, milliseconds margin) {
  return " (= (lease o1) " + number(lease.count()) + ") (= margin " + number(margin.count()) +
         ") (= l l1) (= r s) (= r " + number(kNow) + ")";
}

InTheory in_theory(const core::Command& command, const Document& before) {
  if (const auto* a = std::get_if<core::AcquireCommand>(&command.body)) {
    std::string text = "(not (extension l1)) (not (hand_over l1))" + dates(a->lease, a->margin);
    const bool same = a->observed && before && holder(before) == *a->observed;
    text += a->observed ? " (observes l1)" : " (not (observes l1))";
    text += std::string(" (= (observed l1) ") + (same ? "l2)" : "l3)");
    return {{"insert", "renew", "take expired", "take observed"}, text};
  }
  if (const auto* e = std::get_if<core::ExtendCommand>(&command.body)) {
    const auto& statement = e->statements.front();
    return {{"renew"},
            "(extension l1) (not (hand_over l1))" + dates(statement.lease, statement.margin)};
  }
  if (const auto* h = std::get_if<core::HandOverCommand>(&command.body)) {
    return {{"hand over", "renew"},
            "(hand_over l1) (not (extension l1)) (= (giver l1) o2)" + dates(h->lease, h->margin)};
  }
  return {{"delete"}, "(= o o1) (@leaving o1)"};
}

/// The step of the proof that does what the command did; empty if none does.
std::string step_of(const Case& c) {
  const auto [steps, text] = in_theory(c.command, c.before);
  std::string before = "(and (= @last 1) (= (owner l1) o1) " + version("1", c.before) + " " + text;
  if (c.before && owner(c.before)) {
    before += std::string(" (= (owner l2) ") + (owner(c.before) == kOurs ? "o1)" : "o2)");
  }
  const std::string after = "(and (= @last 2) " + version("2", c.after) + ")";
  for (const auto& step : steps) {
    const auto script = model::proof::leads(model::proof::rules(), step, before + ")", after);
    if (model::proof::ask(script, 10'000) == Answer::satisfiable) return step;
  }
  return "";
}

TEST(RulesOfTheProof, AreWhatTheCommandsBytesDo) {
  std::map<std::string, int> taken;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Case c = drawn(seed);
    if (!c.wrote) continue;
    const std::string step = step_of(c);
    EXPECT_FALSE(step.empty()) << "seed " << seed << ": no step of the proof does that";
    ++taken[step];
  }
  for (const char* step :
       {"insert", "renew", "take expired", "take observed", "hand over", "delete"}) {
    EXPECT_GE(taken[step], 10) << step;
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
