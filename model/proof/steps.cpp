#include "model/proof/theory.hpp"

/// The steps of the theory.
namespace leasehold::model::proof {
namespace {

using Changes = std::map<std::string, std::string>;

/// The document's next version.
Changes version(const std::string& there, const std::string& ours, const std::string& holds,
                const std::string& expires, const std::string& answered = "t") {
  const auto next = [](const std::string& value, const std::string& part) {
    return "(ite (= a (+ @last 1)) " + value + " (@" + part + " a))";
  };
  return {{"last", "(+ @last 1)"},
          {"there", next(there, "there")},
          {"ours", next(ours, "ours")},
          {"holds", next(holds, "holds")},
          {"expires", next(expires, "expires")},
          {"place", next("t", "place")},
          {"answered", next(answered, "answered")},
          {"time", "t"}};
}

Changes taken(const std::string& expires) {
  Changes all = version("true", "true", "l", expires, "{next_answered}");
  all["executed"] = "(or (= a l) (@executed a))";
  return all;
}

Changes gone() { return version("false", "false", "(@holds @last)", "(@expires @last)"); }

Changes with(Changes changes, const Changes& more) {
  changes.insert(more.begin(), more.end());
  return changes;
}

/// A command of our lock on the primary: it started at s, when the clock showed r. If it is routed,
/// that is a router's clock, and shards that do not have the document any more may have replied to
/// it first, with times up to u.
const Variables kExecution{{"l", "Id"},  {"s", "Real"}, {"r", "Real"},
                           {"t", "Int"}, {"u", "Int"},  {"routed", "Bool"}};
const std::string kClock = "(ite routed {router_clock} {server_clock})";
std::string executes(const std::string& more) {
  return "(and (@sent l) {once} (<= (@sent_at l) s) (<= s @now) " + kClock +
         " {next_place} {heard_goes_along} " + more + ")";
}

Claim own_lock(const std::string& owner) {
  return {"G6",
          "it touches its owner's lock alone",
          {},
          "(and (@ours @last) (= (owner (@holds @last)) " + owner + "))"};
}
Claim left_lock(const std::string& owner) {
  return {"G6",
          "it ends the lock of an owner that asked for it",
          {},
          "(and (@ours @last) (= (owner (@holds @last)) " + owner + ") (@leaving " + owner + "))"};
}
const Claim kOnlyAcquires{"G6", "an acquire alone makes a lock", {}, "{acquires}"};
const Claim kForeign{"foreign",
                     "another client's lock is not taken before it expired",
                     {},
                     "(=> (not (@ours @last)) (>= r (@expires @last)))"};

}  // namespace

const std::vector<Step>& steps() {
  static const std::vector<Step> all{
      // Clients take these.
      {"send",
       {{"l", "Id"}},
       "(and {new_lock_id} (=> (hand_over l) {giver_has_ended})"
       "     (=> (observes l) (and (@seen (observer l) (observed l)) {seen_long_enough})))",
       {{"sent", "(or (= a l) (@sent a))"},
        {"sent_at", "(ite (= a l) @now (@sent_at a))"},
        {"leaving", "(or (@leaving a) (and (hand_over l) (= a (giver l))))"},
        {"ended", "{ended_when_used_on}"}},
       {},
       {}},
      // The reply, or the event of a grant. It may know another command of its own, m, and a time q
      // at which it read the change stream; neither matters.
      {"acknowledge",
       {{"l", "Id"}, {"k", "Int"}, {"m", "Id"}, {"q", "Real"}},
       "(and (<= 0 k) (<= k @last) (@ours k) (= (@holds k) l) {acknowledged} (not (@granted l))"
       "     (@sent m) (= (owner m) (owner l)) (<= q @now))",
       {{"granted", "(or (= a l) (@granted a))"},
        {"granted_by", "(ite (= a l) k (@granted_by a))"},
        {"token", "(ite (= a l) {reply_time} (@token a))"},
        {"until", "(ite (= a l) {deadline} (@until a))"},
        {"ended", "{ended_when_granted}"}},
       {},
       {"send", "insert", "majority"}},
      {"end", {{"o", "Owner"}}, "true", {{"ended", "(or (= a o) (@ended a))"}}, {}, {}},
      {"release",
       {{"o", "Owner"}},
       "{leaver_has_ended}",
       {{"leaving", "(or (= a o) (@leaving a))"}},
       {},
       {"end"}},
      {"sight",
       {{"x", "Observer"}, {"l", "Id"}, {"q", "Real"}},
       "(and (@executed l) (not (@seen x l)) (<= q @now))",
       {{"seen", "(or (and (= a x) (= b l)) (@seen a b))"},
        {"seen_at", "(ite (and (= a x) (= b l)) {sight} (@seen_at a b))"}},
       {},
       {"send", "insert"}},
      // A primary executes these for commands.
      {"insert",
       kExecution,
       executes("(not (@there @last)) {inserts}"),
       taken("{date}"),
       {kOnlyAcquires},
       {"send"}},
      {"renew",
       kExecution,
       executes("{its_own}"),
       taken("{own_date}"),
       {own_lock("(owner l)")},
       {"send", "insert", "send"}},
      {"take expired",
       kExecution,
       executes("(@there @last) {acquires} {expired}"),
       taken("{date}"),
       {kForeign},
       {"send", "insert", "time", "send"}},
      {"take observed",
       kExecution,
       executes("(@there @last) {acquires} (observes l) {observed_is_ours} {as_observed}"),
       taken("{date}"),
       {kForeign},
       {"send", "insert", "sight", "time", "send"}},
      {"hand over",
       kExecution,
       executes("(hand_over l) {from_its_giver}"),
       taken("{hand_over_date}"),
       {left_lock("(giver l)")},
       {"send", "insert", "end", "send"}},
      {"enlist",
       kExecution,
       executes("(@there @last) (@ours @last) {acquires}"),
       with(version("true", "true", "(@holds @last)", "(@expires @last)", "{next_answered}"),
            {{"executed", "(or (= a l) (@executed a))"},
             {"enlisted", "(or (= a l) (@enlisted a))"},
             {"dated", "(ite (= a l) r (@dated a))"}}),
       {},
       {"send", "insert", "send"}},
      // The queue is a hint: any entry that ever existed, even one that was rolled back, may be
      // granted any number of times. The release may have started before its renewal.
      {"pass on",
       {{"o", "Owner"},
        {"l", "Id"},
        {"s", "Real"},
        {"r", "Real"},
        {"t", "Int"},
        {"routed", "Bool"}},
       "(and {holder_leaves} (@enlisted l) (<= s @now) " + kClock + " {next_place})",
       version("true", "true", "l", "{grant_date}"),
       {left_lock("o")},
       {"send", "insert", "send", "enlist", "end", "release"}},
      {"delete",
       {{"o", "Owner"}, {"t", "Int"}},
       "(and {holder_leaves} {next_place})",
       gone(),
       {left_lock("o")},
       {"send", "insert", "end", "release"}},
      // It does not know of its successor, and no majority will have its writes.
      {"old primary",
       {{"l", "Id"}},
       "(and (@sent l) {once})",
       {{"executed", "(or (= a l) (@executed a))"}, {"granted", "{old_primary_grants}"}},
       {},
       {"send"}},
      // Others take these.
      {"foreign take",
       {{"s", "Real"}, {"r", "Real"}, {"t", "Int"}, {"e", "Real"}},
       "(and (<= s @now) {foreign_clock} {next_place}"
       "     (or (not (@there @last)) (not (@ours @last)) {expired}))",
       version("true", "false", "(@holds @last)", "e"),
       {},
       {}},
      {"foreign delete",
       {{"t", "Int"}},
       "(and (@there @last) (not (@ours @last)) {next_place})",
       gone(),
       {},
       {"foreign take"}},
      {"TTL",
       {{"r", "Real"}, {"t", "Int"}},
       "(and (@there @last) {ttl_clock} {expired} {next_place})",
       gone(),
       {},
       {"send", "insert", "time"}},
      {"majority",
       {{"k", "Int"}},
       "(and (< @committed k) (<= k @last))",
       {{"committed", "k"}},
       {},
       {"send", "insert"}},
      {"rollback",
       {{"k", "Int"}},
       "(and (<= 0 k) {kept_by_a_majority} (< k @last))",
       {{"last", "k"}},
       {},
       {"send", "insert"}},
      // To another shard, which knows of all that was written before; or the shard learns of
      // writes elsewhere.
      {"move", {{"h", "Int"}}, "{time_moves_along}", {{"time", "h"}}, {}, {}},
      {"time", {{"q", "Real"}}, "(< @now q)", {{"now", "q"}}, {}, {}},
  };
  return all;
}

}  // namespace leasehold::model::proof
