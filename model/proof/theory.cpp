#include "model/proof/prove.hpp"

#include "model/spec/rules.hpp"

namespace leasehold::model::proof {
namespace {

/// A number of SMT-LIB, so that the rules of the lock write their own terms.
struct Term {
  std::string text;
};
Term term(const char* name, const Term& a, const Term& b) {
  return {"(" + std::string(name) + " " + a.text + " " + b.text + ")"};
}
Term operator+(const Term& a, const Term& b) { return term("+", a, b); }
Term operator-(const Term& a, const Term& b) { return term("-", a, b); }
Term operator<=(const Term& a, const Term& b) { return term("<=", a, b); }

const Term kSpan{"span"}, kDrift{"(* span drift)"}, kNow{"@now"};

/// Lease of the version at u may still be counted on.
constexpr const char* kLive =
    "(and (not (@ended (owner (@holds u))))"
    "     (< @now (+ (@sent_at (@holds u)) (lease (owner (@holds u))))))";

std::string held(const std::string& l) {
  return "(and (@granted " + l + ") (not (@ended (owner " + l + "))) (< @now (@until " + l + ")))";
}

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

const std::string& constants() {
  static const std::string text = R"(
(declare-fun owner (Id) Owner)         ; the call that a lockId is of
(declare-fun lease (Owner) Real)       ; how long its lease is
(declare-fun extension (Id) Bool)      ; the command only prolongs
(declare-fun hand_over (Id) Bool)      ; the command takes the place of its giver
(declare-fun giver (Id) Owner)
(declare-fun observes (Id) Bool)       ; the command presumes the holder of lockId (observed l) dead
(declare-fun observed (Id) Id)
(declare-fun observer (Id) Observer)   ; the process that saw it
(declare-const margin Real)            ; any two readings of server clocks differ by no more
(assert (>= margin 0))
(define-fun near ((reading Real) (time Real) (by Real)) Bool
  (and (<= (- time by) reading) (<= reading (+ time by))))
(define-fun later ((p Real) (q Real)) Real (ite (> p q) p q))
)";
  return text;
}

const std::vector<Part>& parts() {
  static const std::vector<Part> all{
      {"now", {}, "Real", "0.0"},
      // The document's history: versions 0 to last, of which a majority has those to committed.
      {"last", {}, "Int", "0"},
      {"committed", {}, "Int", "0"},
      {"there", {"Int"}, "Bool", "false"},
      {"ours", {"Int"}, "Bool", "false"},  // false: by another client, such as the .NET package
      {"holds", {"Int"}, "Id", ""},        // its lockId
      {"expires", {"Int"}, "Real", "0.0"},
      {"place", {"Int"}, "Int", "0"},  // in the oplog
      {"answered", {"Int"}, "Int", "0"},  // the newest time in the replies to its command
      {"time", {}, "Int", "0"},           // cluster time of the shard that has the document
      // Commands; each has a lockId of its own.
      {"sent", {"Id"}, "Bool", "false"},
      {"sent_at", {"Id"}, "Real", "0.0"},
      {"executed", {"Id"}, "Bool", "false"},
      {"enlisted", {"Id"}, "Bool", "false"},  // it was refused and left an entry
      {"dated", {"Id"}, "Real", "0.0"},       // by the reading of the clock in that entry
      {"granted", {"Id"}, "Bool", "false"},   // its client knows that a majority has its write
      {"granted_by", {"Id"}, "Int", "0"},     // as this version
      {"token", {"Id"}, "Int", "0"},
      {"until", {"Id"}, "Real", "0.0"},  // held() by it
      // Calls.
      {"ended", {"Owner"}, "Bool", "false"},  // no call counts on it any more
      {"leaving",
       {"Owner"},
       "Bool",
       "false"},  // a release of it was sent: delete, hand-over, pass-on
      {"seen", {"Observer", "Id"}, "Bool", "false"},
      {"seen_at", {"Observer", "Id"}, "Real", "0.0"},
  };
  return all;
}

const Rules& rules() {
  using namespace model::rules;
  static const Rules all{
      // Clocks
      {"server_clock", "(near r s (/ margin 2))"},
      {"router_clock", "(near r s (/ margin 2))"},
      {"ttl_clock", "(near r @now (/ margin 2))"},
      {"foreign_clock", "(near r s (/ margin 2))"},
      // What a command writes
      {"date", "(+ r (lease (owner l)) margin)"},
      {"own_date", "(later {date} (@expires @last))"},
      {"hand_over_date", "{date}"},
      {"grant_date", "(+ (later r (@dated l)) (lease (owner l)) margin)"},
      {"next_place", "(> t @time)"},
      {"next_answered", "(ite (> u t) u t)"},
      {"heard_goes_along", "(> t u)"},
      {"time_moves_along", "(<= @time h)"},
      {"reply_time", "(@answered k)"},
      // When it matches
      {"once", "(not (@executed l))"},
      {"expired", is_expired(Term{"(@expires @last)"}, Term{"r"}).text},
      {"its_own", "(and (@ours @last) (= (owner (@holds @last)) (owner l)))"},
      {"acquires", "(and (not (extension l)) (not (hand_over l)))"},
      {"inserts", "{acquires}"},
      {"as_observed", "(= (@holds @last) (observed l))"},
      {"observed_is_ours", "(@ours @last)"},
      {"from_its_giver", "(and (@ours @last) (= (owner (@holds @last)) (giver l)))"},
      {"holder_leaves", "(and (@ours @last) (= (owner (@holds @last)) o) (@leaving o))"},
      // What a client does
      {"new_lock_id", "(not (@sent l))"},
      {"seen_long_enough", is_presumed_dead(Term{"(@seen_at (observer l) (observed l))"},
                                            Term{"(lease (owner (observed l)))"}, kNow)
                               .text},
      {"sight", "@now"},
      {"giver_has_ended", "(@ended (giver l))"},
      {"leaver_has_ended", "(@ended o)"},
      {"ended_when_used_on", "(@ended a)"},
      {"ended_when_granted", "(@ended a)"},
      {"acknowledged", "(<= k @committed)"},
      {"old_primary_grants", "(@granted a)"},
      {"deadline", deadline(Term{"(@sent_at l)"}, Term{"(lease (owner l))"}).text},
      {"kept_by_a_majority", "(<= @committed k)"},
      // On a local clock
      {"holder_stops", holder_span(kSpan, kDrift).text},
      {"observer_waits", observer_span(kSpan, kDrift).text},
  };
  return all;
}

const std::vector<Claim>& invariants() {
  static const std::vector<Claim> all{
      {"prefix",
       "what a majority has is a prefix of the versions",
       {},
       "(and (<= 0 @committed) (<= @committed @last))"},
      {"lease", "leases have a length", {{"o", "Owner"}}, "(< 0 (lease o))"},
      {"sent",
       "a command is executed after it was sent, and sent before now",
       {{"l", "Id"}},
       "(and (=> (@executed l) (@sent l)) (=> (@sent l) (<= (@sent_at l) @now)))"},
      {"version",
       "a version of ours is there, and names an executed command",
       {{"v", "Int"}},
       "(=> (and (<= 0 v) (<= v @last) (@ours v))"
       "    (and (@there v) (@sent (@holds v)) (@executed (@holds v))))"},
      {"order",
       "places in the oplog rise from version to version",
       {{"u", "Int"}, {"v", "Int"}},
       "(=> (and (<= 0 u) (< u v) (<= v @last)) (< (@place u) (@place v)))"},
      {"time",
       "the shard's cluster time is no earlier than what was written last, there or elsewhere",
       {},
       "(<= (@place @last) @time)"},
      {"answered",
       "the newest time in the replies to a command is that of its write",
       {{"v", "Int"}},
       "(=> (and (<= 0 v) (<= v @last)) (= (@answered v) (@place v)))"},
      {"granted",
       "a grant is a write that a majority has, and its token that write's place",
       {{"l", "Id"}},
       "(=> (@granted l) (and (<= 0 (@granted_by l)) (<= (@granted_by l) @committed)"
       "    (@ours (@granted_by l)) (= (@holds (@granted_by l)) l)"
       "    (= (@token l) (@place (@granted_by l)))))"},
      {"deadline",
       "a deadline is no later than a lease after the sending of its own command",
       {{"l", "Id"}},
       "(=> (@granted l) (<= (@until l) (+ (@sent_at l) (lease (owner l)))))"},
      {"stands",
       "a lease that may be counted on stands at every later version, for half a margin longer",
       {{"u", "Int"}, {"v", "Int"}},
       std::string("(=> (and (<= 0 u) (<= u v) (<= v @last) (@ours u) ") + kLive +
           ")"
           "    (and (@ours v) (= (owner (@holds v)) (owner (@holds u)))"
           "         (>= (@expires v) (+ (@sent_at (@holds u)) (lease (owner (@holds u)))"
           "                             (/ margin 2)))))"},
      {"sight",
       "what was seen had been executed",
       {{"x", "Observer"}, {"l", "Id"}},
       "(=> (@seen x l) (and (@executed l) (<= (@sent_at l) (@seen_at x l))"
       "                     (<= (@seen_at x l) @now)))"},
      {"unchanged",
       "no command of a lease that may be counted on was sent after its present lockId was seen",
       {{"x", "Observer"}, {"u", "Int"}, {"v", "Int"}},
       std::string("(=> (and (<= 0 u) (<= u v) (<= v @last) (@ours u) (@ours v)"
                   "         (@seen x (@holds v)) ") +
           kLive + ") (<= (@sent_at (@holds u)) (@seen_at x (@holds v))))"},
      {"observed",
       "an observer that presumes a holder dead saw its lockId a full lease before",
       {{"l", "Id"}},
       "(=> (and (@sent l) (observes l))"
       "    (and (@seen (observer l) (observed l))"
       "         (<= (+ (@seen_at (observer l) (observed l)) (lease (owner (observed l))))"
       "             (@sent_at l))))"},
      {"leaving",
       "a release is sent only of an owner that has ended",
       {{"o", "Owner"}},
       "(=> (@leaving o) (@ended o))"},
      {"giver",
       "a hand-over is sent only from an owner that leaves",
       {{"l", "Id"}},
       "(=> (and (@sent l) (hand_over l)) (@leaving (giver l)))"},
      {"entry",
       "an entry is dated no earlier than its renewal was sent, by clocks within a margin",
       {{"l", "Id"}},
       "(=> (@enlisted l)"
       "    (and (@executed l) (>= (@dated l) (- (@sent_at l) (/ margin 2)))))"},
  };
  return all;
}

const std::vector<Claim>& guarantees() {
  static const std::vector<Claim> all{
      {"G1",
       "while a lease is counted on, the document is its holder's and expired by no clock",
       {{"l", "Id"}},
       "(=> " + held("l") +
           " (and (@ours @last) (= (owner (@holds @last)) (owner l))"
           "      (>= (@expires @last) (+ (@until l) (/ margin 2)))))"},
      {"G2",
       "held() is never true for two owners at once",
       {{"l", "Id"}, {"m", "Id"}},
       "(=> (and " + held("l") + " " + held("m") + ") (= (owner l) (owner m)))"},
      {"G3",
       "no other was granted it with a higher token while a holder's held() is true",
       {{"l", "Id"}, {"m", "Id"}},
       "(=> (and " + held("l") +
           " (@granted m) (not (= (owner l) (owner m)))) (< (@token m) (@token l)))"},
      {"G4",
       "tokens rise in the order of the grants",
       {{"l", "Id"}, {"m", "Id"}},
       "(=> (and (@granted l) (@granted m) (< (@granted_by l) (@granted_by m)))"
       "    (< (@token l) (@token m)))"},
  };
  return all;
}

const std::vector<Situation>& situations() {
  static const Variables two{{"l", "Id"}, {"m", "Id"}};
  static const std::string both = "(@granted m) (not (= (owner l) (owner m)))";
  static const std::vector<Situation> all{
      {"a holder's held() is true",
       {"send", "insert", "majority", "acknowledge"},
       {"", "", {{"l", "Id"}}, held("l")}},
      {"it still is after an extension and a failover",
       {"send", "insert", "majority", "acknowledge", "time", "send", "renew", "rollback", "time"},
       {"", "", {{"l", "Id"}}, held("l")}},
      {"it still is after the document moved, and an extension there",
       {"send", "insert", "majority", "acknowledge", "move", "send", "renew", "majority", "time"},
       {"", "", {{"l", "Id"}}, held("l")}},
      {"a lock is passed on, and held",
       {"send", "insert", "majority", "acknowledge", "send", "enlist", "end", "release", "pass on",
        "majority", "acknowledge"},
       {"", "", two, "(and " + held("l") + " " + both + ")"}},
      {"a dead holder's lock is held by another",
       {"send", "insert", "majority", "acknowledge", "sight", "time", "send", "take observed",
        "majority", "acknowledge"},
       {"", "", two, "(and " + held("l") + " " + both + ")"}},
      {"a grant was rolled back, and the entry is granted again",
       {"send", "insert", "send", "enlist", "end", "release", "majority", "pass on", "rollback",
        "pass on", "majority", "acknowledge"},
       {"", "", {{"l", "Id"}}, "(and (@enlisted l) " + held("l") + ")"}},
  };
  return all;
}

const std::vector<Claim>& drift_lemmas() {
  static const Variables clocks{
      {"span", "Real"}, {"drift", "Real"}, {"local", "Real"}, {"real", "Real"}};
  static const std::string within =
      "(<= 0 drift) (< drift 1) (< 0 span) (<= 0 real)"
      " (<= (* real (- 1 drift)) local) (<= local (* real (+ 1 drift)))";
  static const std::vector<Claim> all{
      {"drift / holder",
       "what is less than its deadline on the holder's clock is less than a lease", clocks,
       "(=> (and " + within + " (< local {holder_stops})) (< real span))"},
      {"drift / observer", "what is long enough on an observer's clock is at least a lease", clocks,
       "(=> (and " + within + " (>= local {observer_waits})) (>= real span))"},
  };
  return all;
}

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

const std::vector<Ablation>& ablations() {
  static const std::vector<Ablation> all{
      {"margin not written", "date", "(+ r (lease (owner l)))", "stands / insert"},
      {"half of the margin written", "date", "(+ r (lease (owner l)) (/ margin 2))",
       "stands / take expired"},
      {"clocks twice the margin apart", "server_clock", "(near r s margin)", "stands / insert"},
      {"router's clock off by the margin", "router_clock", "(near r s margin)", "stands / insert"},
      {"TTL monitor's clock off by the margin", "ttl_clock", "(near r @now margin)",
       "stands / TTL"},
      {"foreign client's clock off by the margin", "foreign_clock", "(near r s margin)",
       "stands / foreign take"},
      {"older own write lowers expiresAt", "own_date", "{date}", "stands / renew"},
      {"margin forgotten by an extension", "own_date",
       "(ite (extension l) (+ r (lease (owner l))) (later {date} (@expires @last)))",
       "stands / renew"},
      {"hand-over keeps the old expiresAt", "hand_over_date", "(@expires @last)",
       "stands / hand over"},
      {"grant dated by the release alone", "grant_date", "{date}", "stands / pass on"},
      {"grant dated by the entry without margin", "grant_date", "(+ (@dated l) (lease (owner l)))",
       "stands / pass on"},
      {"token need not rise", "next_place", "(>= t (@place @last))", "order / insert"},
      {"token read before the write", "next_place", "true", "order / renew"},
      {"shard that the document moves to has heard of no write", "time_moves_along", "true",
       "time / move"},
      {"router answers with a time that it did not send along", "heard_goes_along", "true",
       "answered / insert"},
      {"token from the cluster time", "reply_time", "@time", "granted / acknowledge"},
      {"command executed twice", "once", "true", "unchanged / renew"},
      {"lockId of an earlier command sent again", "new_lock_id", "true", "stands / send"},
      {"expiry ignored", "expired", "true", "stands / take expired"},
      {"extension without owner", "its_own", "(@ours @last)", "G6 / renew"},
      {"extension inserts when missing", "inserts", "(not (hand_over l))", "G6 / insert"},
      {"hand-over inserts when missing", "inserts", "(not (extension l))", "G6 / insert"},
      {"observed compares the owner alone", "as_observed",
       "(= (owner (@holds @last)) (owner (observed l)))", "stands / take observed"},
      {"observed lockId not compared", "as_observed", "true", "stands / take observed"},
      {"foreign lockId observed", "observed_is_ours", "true", "foreign / take observed"},
      {"half a lease observed", "seen_long_enough",
       "(<= (+ (@seen_at (observer l) (observed l)) (/ (lease (owner (observed l))) 2)) @now)",
       "observed / send"},
      {"sight counted from the sending of the read", "sight", "q", "unchanged / sight"},
      {"hand-over without its giver", "from_its_giver", "(@ours @last)", "G6 / hand over"},
      {"hand-over while the giver holds", "giver_has_ended", "true", "leaving / send"},
      {"delete without owner", "holder_leaves", "(and (@ours @last) (@leaving o))", "G6 / delete"},
      {"passed on while the giver holds", "leaver_has_ended", "true", "leaving / release"},
      {"passed on without holding", "holder_leaves", "(and (@ours @last) (@leaving o))",
       "stands / pass on"},
      {"owner used on after its delete", "ended_when_used_on",
       "(and (@ended a) (not (= a (owner l))))", "leaving / send"},
      {"ended owner's entry accepted", "ended_when_granted",
       "(and (@ended a) (not (= a (owner l))))", "leaving / acknowledge"},
      {"acknowledged without a majority", "acknowledged", "true", "granted / acknowledge"},
      {"old primary's answer accepted", "old_primary_grants", "(or (= a l) (@granted a))",
       "granted / old primary"},
      {"majority loses its data", "kept_by_a_majority", "true", "prefix / rollback"},
      {"deadline one per cent late", "deadline", "(+ (@sent_at l) (* 1.01 (lease (owner l))))",
       "deadline / acknowledge"},
      {"deadline from the reply, or the notice", "deadline", "(+ @now (lease (owner l)))",
       "deadline / acknowledge"},
      {"deadline from the last read of the stream", "deadline", "(+ q (lease (owner l)))",
       "deadline / acknowledge"},
      {"deadline from a newer renewal", "deadline",
       "(+ (later (@sent_at m) (@sent_at l)) (lease (owner l)))", "deadline / acknowledge"},
      {"no drift margin of the holder", "holder_stops", "span", "drift / holder"},
      {"no drift margin of the observer", "observer_waits", "span", "drift / observer"},
  };
  return all;
}

const std::vector<Ablation>& harmless_changes() {
  static const std::vector<Ablation> all{
      {"deadline from an older renewal", "deadline",
       "(+ (ite (< (@sent_at m) (@sent_at l)) (@sent_at m) (@sent_at l)) (lease (owner l)))", ""},
      {"grant dated by the entry alone", "grant_date", "(+ (@dated l) (lease (owner l)) margin)",
       ""},
  };
  return all;
}

}  // namespace leasehold::model::proof
