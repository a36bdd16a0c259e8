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
Term operator||(const Term& a, const Term& b) { return term("or", a, b); }
Term operator!(const Term& a) { return {"(not " + a.text + ")"}; }

const Term kSpan{"span"}, kDrift{"(* span drift)"}, kNow{"@now"};

/// The lease of owner o in the version at u may still be counted on.
constexpr const char* kLive =
    "(and (<= 0 u) (<= u @last) (@in u o) (not (@ended o))"
    "     (< @now (+ (@sent_at (@by u o)) (lease o))))";

std::string held(const std::string& l) {
  return "(and (@granted " + l + ") (not (@ended (owner " + l + "))) (< @now (@until " + l + ")))";
}

/// Whether two owners may not hold the lock at once.
std::string excludes(const std::string& o, const std::string& p) {
  return "(and (not (= " + o + " " + p + ")) " +
         model::rules::excludes(Term{"(reads " + o + ")"}, Term{"(reads " + p + ")"}).text + ")";
}

const std::string kExcluded = excludes("(owner l)", "(owner m)");

using Changes = std::map<std::string, std::string>;

/// Who holds the lock in a version: each owner b with `in`, by this command, until then.
struct Holders {
  std::string in, by, upto;
  std::string expires = "e", named = "n";
};
const Holders kSame{"(@in @last b)", "(@by @last b)", "(@upto @last b)", "(@expires @last)",
                    "(@named @last)"};
const Holders kNobody{"false", kSame.by, kSame.upto, kSame.expires, kSame.named};

Holders alone(const std::string& date) {
  return {"(= b (owner l))", "l", date, date, "(lease (owner l))"};
}

/// The command's owner, and the others that are not over.
const Holders kBeside{"(or (= b (owner l)) (and (@in @last b) (not {over})))",
                      "(ite (= b (owner l)) l (@by @last b))", "{until}"};
/// The others, and whom a release admits, each by an entry of the queue.
const std::string kStays = "(and (@in @last b) (not (= b o)) (not {over}))";
const Holders kLeft{"(or " + kStays + " (batch b))", "(ite (batch b) (entry b) (@by @last b))",
                    "{left_until}"};

/// What a text says of them all: this of the latest date, and the longest lease.
std::string said_of(const Holders& holders, const std::string& latest) {
  return "(=> " + holders.in + " (and " + latest + " {longest}))";
}

/// The document's next version.
Changes version(const std::string& there, const std::string& ours, const Holders& holders,
                const std::string& answered = "t") {
  const auto next = [](const std::string& value, const std::string& before) {
    return "(ite (= a (+ @last 1)) " + value + " (@" + before + "))";
  };
  return {{"last", "(+ @last 1)"},
          {"there", next(there, "there a")},
          {"ours", next(ours, "ours a")},
          {"in", next(holders.in, "in a b")},
          {"by", next(holders.by, "by a b")},
          {"upto", next(holders.upto, "upto a b")},
          {"named", next(holders.named, "named a")},
          {"expires", next(holders.expires, "expires a")},
          {"place", next("t", "place a")},
          {"answered", next(answered, "answered a")},
          {"time", "t"}};
}

Changes taken(const Holders& holders) {
  Changes all = version("true", "true", holders, "{next_answered}");
  all["executed"] = "(or (= a l) (@executed a))";
  return all;
}

Changes gone() { return version("false", "false", kNobody); }

Changes with(Changes changes, const Changes& more) {
  changes.insert(more.begin(), more.end());
  return changes;
}

/// A command of our lock on the primary: it started at s, when the clock showed r. If it is routed,
/// that is a router's clock, and shards that do not have the document any more may have replied to
/// it first, with times up to u. For several holders it writes the date e, and names the lease n.
const Variables kExecution{{"l", "Id"},  {"s", "Real"},      {"r", "Real"}, {"t", "Int"},
                           {"u", "Int"}, {"routed", "Bool"}, {"e", "Real"}, {"n", "Real"}};
/// A release of owner o, likewise. It grants the lock by l, or admits a batch by their entries.
const Variables kRelease{{"o", "Owner"},         {"l", "Id"},   {"s", "Real"},
                         {"r", "Real"},          {"t", "Int"},  {"routed", "Bool"},
                         {"e", "Real"},          {"n", "Real"}, {"batch", "(Owner) Bool"},
                         {"entry", "(Owner) Id"}};
const std::string kClock = "(ite routed {router_clock} {server_clock})";
std::string executes(const std::string& more) {
  return "(and (@sent l) {once} (<= (@sent_at l) s) (<= s @now) " + kClock +
         " {next_place} {heard_goes_along} " + more + ")";
}
const std::string kReleases = "(@ours @last) (@leaving o) (<= s @now) " + kClock + " {next_place}";

/// A command of owner o makes these the holders.
Claim spares(const std::string& o, const Holders& next) {
  return {"G6",
          "it leaves others as they are, but for readers that are over",
          {{"b", "Owner"}},
          "(=> (@in @last b) (or (= b " + o + ") (and (reads b) (<= (@upto @last b) r)) (and " +
              next.in + " (= " + next.by + " (@by @last b)) (= " + next.upto +
              " (@upto @last b)))))"};
}
const Claim kOwn{"G6", "it prolongs its owner's lock alone", {}, "(@in @last (owner l))"};
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
(declare-fun reads (Owner) Bool)       ; it shares the lock with others that read
(declare-fun observes (Id Owner) Bool) ; the command presumes all dead that it saw in a text: them,
(declare-fun observed (Id Owner) Id)   ; each by this command,
(declare-fun seen_named (Id) Real)     ; with this as their longest lease
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
      {"in", {"Int", "Owner"}, "Bool", "false"},  // who holds it,
      {"by", {"Int", "Owner"}, "Id", ""},         // by which command,
      {"upto", {"Int", "Owner"}, "Real", "0.0"},  // and until when
      {"named", {"Int"}, "Real", "0.0"},          // the lease that its lockId names
      {"expires", {"Int"}, "Real", "0.0"},
      {"place", {"Int"}, "Int", "0"},     // in the oplog
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
      // A resource, to which readers read and others write.
      {"used", {"Id"}, "Bool", "false"},  // by the token of this grant
      {"highest", {}, "Int", "0"},        // of the tokens
      {"wrote", {}, "Int", "0"},          // of those of writes
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
      {"own_date", "(later {date} (@upto @last (owner l)))"},
      {"until", "(ite (= b (owner l)) (ite {its_own} {own_date} {date}) (@upto @last b))"},
      {"hand_over_date", "{date}"},
      {"grant_date", "(+ (later r (@dated l)) (lease (owner l)) margin)"},
      {"batch_date", "(+ (later r (@dated (entry b))) (lease b) margin)"},
      {"left_until", "(ite (batch b) {batch_date} (@upto @last b))"},
      {"renewal_ends", "(<= {until} e)"},
      {"join_ends", "(<= {until} e)"},
      {"leave_ends", "(<= {left_until} e)"},
      {"longest", "(<= (lease b) n)"},
      {"next_place", "(> t @time)"},
      {"next_answered", "(ite (> u t) u t)"},
      {"heard_goes_along", "(> t u)"},
      {"time_moves_along", "(<= @time h)"},
      {"reply_time", "(@answered k)"},
      // When it matches
      {"once", "(not (@executed l))"},
      {"expired", is_expired(Term{"(@expires @last)"}, Term{"r"}).text},
      {"over", "(and (reads b) " + is_expired(Term{"(@upto @last b)"}, Term{"r"}).text + ")"},
      {"its_own", "(@in @last (owner l))"},
      {"acquires", "(and (not (extension l)) (not (hand_over l)))"},
      {"inserts", "{acquires}"},
      {"joins_readers", "(=> (@in @last b) (not " + excludes("b", "(owner l)") + "))"},
      {"stays_beside", "(reads b)"},
      {"admits", "(and (reads b) (not (@in @last b)))"},
      {"as_observed", "(=> (@in @last b) (and (observes l b) (= (@by @last b) (observed l b))))"},
      {"lease_as_observed", "(= (@named @last) (seen_named l))"},
      {"observed_is_ours", "(@ours @last)"},
      {"from_its_giver", "(and (@in @last (giver l)) (=> (@in @last b) (= b (giver l))))"},
      {"holders_leave", "(=> (@in @last b) (or (= b o) {over}))"},
      // What a client does
      {"new_lock_id", "(not (@sent l))"},
      {"seen_long_enough", is_presumed_dead(Term{"(@seen_at (observer l) (observed l b))"},
                                            Term{"(seen_named l)"}, kNow)
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
      {"accepts_read", accepts_read(Term{"(@token l)"}, Term{"@wrote"}).text},
      {"accepts_write", accepts_write(Term{"(@token l)"}, Term{"@highest"}).text},
      {"noted", "(ite (< @highest (@token l)) (@token l) @highest)"},
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
       "a version with a holder is there, ours, and names an executed command of it",
       {{"v", "Int"}, {"o", "Owner"}},
       "(=> (and (<= 0 v) (<= v @last) (@in v o))"
       "    (and (@there v) (@ours v) (@sent (@by v o)) (@executed (@by v o))"
       "         (= (owner (@by v o)) o)))"},
      {"sharing",
       "all of several holders read",
       {{"v", "Int"}, {"o", "Owner"}, {"p", "Owner"}},
       "(=> (and (<= 0 v) (<= v @last) (@in v o) (@in v p)) (not " + excludes("o", "p") + "))"},
      {"text",
       "a version has the latest date of its holders, and names their longest lease",
       {{"v", "Int"}, {"o", "Owner"}},
       "(=> (and (<= 0 v) (<= v @last) (@in v o))"
       "    (and (<= (@upto v o) (@expires v)) (<= (lease o) (@named v))))"},
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
       "    (@in (@granted_by l) (owner l)) (= (@by (@granted_by l) (owner l)) l)"
       "    (= (@token l) (@place (@granted_by l)))))"},
      {"deadline",
       "a deadline is no later than a lease after the sending of its own command",
       {{"l", "Id"}},
       "(=> (@granted l) (<= (@until l) (+ (@sent_at l) (lease (owner l)))))"},
      {"stands",
       "a lease that may be counted on stands at every later version, for half a margin longer",
       {{"u", "Int"}, {"v", "Int"}, {"o", "Owner"}},
       std::string("(=> (and (<= u v) (<= v @last) ") + kLive +
           ")"
           "    (and (@in v o)"
           "         (>= (@upto v o) (+ (@sent_at (@by u o)) (lease o) (/ margin 2)))))"},
      {"sight",
       "what was seen had been executed",
       {{"x", "Observer"}, {"l", "Id"}},
       "(=> (@seen x l) (and (@executed l) (<= (@sent_at l) (@seen_at x l))"
       "                     (<= (@seen_at x l) @now)))"},
      {"unchanged",
       "no command of a lease that may be counted on was sent after its present lockId was seen",
       {{"x", "Observer"}, {"u", "Int"}, {"v", "Int"}, {"o", "Owner"}},
       std::string("(=> (and (<= u v) (<= v @last) (@in v o) (@seen x (@by v o)) ") + kLive +
           ") (<= (@sent_at (@by u o)) (@seen_at x (@by v o))))"},
      {"observed",
       "an observer that presumes holders dead saw each lockId for the lease that the text names",
       {{"l", "Id"}, {"b", "Owner"}},
       "(=> (and (@sent l) (observes l b))"
       "    (and (@seen (observer l) (observed l b))"
       "         (<= (+ (@seen_at (observer l) (observed l b)) (seen_named l)) (@sent_at l))))"},
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
      {"resource",
       "a resource keeps the highest token of what it accepted, and of the writes",
       {{"l", "Id"}},
       "(=> (@used l) (and (@granted l) (<= (@token l) @highest)"
       "                   (or (reads (owner l)) (<= (@token l) @wrote))))"},
  };
  return all;
}

const std::vector<Claim>& guarantees() {
  static const std::vector<Claim> all{
      {"G1",
       "while a lease is counted on, its owner is a holder, expired by no clock",
       {{"l", "Id"}},
       "(=> " + held("l") +
           " (and (@in @last (owner l)) (>= (@upto @last (owner l)) (+ (@until l) (/ margin 2)))"
           "      (>= (@expires @last) (+ (@until l) (/ margin 2)))))"},
      {"G2",
       "held() is never true for two owners at once that exclude each other",
       {{"l", "Id"}, {"m", "Id"}},
       "(=> (and " + held("l") + " " + held("m") + ") (not " + kExcluded + "))"},
      {"G3",
       "no other that it excludes was granted it with a higher token while held() is true",
       {{"l", "Id"}, {"m", "Id"}},
       "(=> (and " + held("l") + " (@granted m) " + kExcluded + ") (< (@token m) (@token l)))"},
      {"G4",
       "tokens rise in the order of the grants, of which only readers' may be one write",
       {{"l", "Id"}, {"m", "Id"}},
       "(=> (and (@granted l) (@granted m) (<= (@granted_by l) (@granted_by m))"
       "         (or " +
           kExcluded + " (< (@granted_by l) (@granted_by m)))) (< (@token l) (@token m)))"},
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
      {"two readers hold it",
       {"send", "insert", "send", "join", "majority", "acknowledge", "acknowledge"},
       {"", "", two, "(and " + held("l") + " " + held("m") + " (not (= (owner l) (owner m))))"}},
      {"a batch of readers holds it after a writer",
       {"send", "insert", "send", "enlist", "send", "enlist", "end", "release", "leave", "majority",
        "acknowledge", "acknowledge"},
       {"",
        "",
        {{"l", "Id"}, {"m", "Id"}, {"o", "Owner"}},
        "(and " + held("l") + " " + held("m") + " (not (= l m)) (@in 1 o) (not (reads o)))"}},
      {"dead readers' lock is held by a writer",
       {"send", "insert", "send", "join", "sight", "sight", "time", "send", "take observed",
        "majority", "acknowledge"},
       {"", "", {{"l", "Id"}}, "(and " + held("l") + " (not (reads (owner l))))"}},
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
       "(and {new_lock_id} (=> (hand_over l) {giver_has_ended}))",
       {{"sent", "(or (= a l) (@sent a))"},
        {"sent_at", "(ite (= a l) @now (@sent_at a))"},
        {"leaving", "(or (@leaving a) (and (hand_over l) (= a (giver l))))"},
        {"ended", "{ended_when_used_on}"}},
       {},
       {},
       "(=> (observes l b) (and (@seen (observer l) (observed l b)) {seen_long_enough}))"},
      // The reply, or the event of a grant. It may know another command of its own, m, and a time q
      // at which it read the change stream; neither matters.
      {"acknowledge",
       {{"l", "Id"}, {"k", "Int"}, {"m", "Id"}, {"q", "Real"}},
       "(and (<= 0 k) (<= k @last) (@in k (owner l)) (= (@by k (owner l)) l) {acknowledged}"
       "     (not (@granted l)) (@sent m) (= (owner m) (owner l)) (<= q @now))",
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
       taken(alone("{date}")),
       {kOnlyAcquires},
       {"send"}},
      {"renew",
       kExecution,
       executes("{its_own}"),
       taken(kBeside),
       {kOwn, spares("(owner l)", kBeside)},
       {"send", "insert", "send"},
       said_of(kBeside, "{renewal_ends}")},
      {"join",
       kExecution,
       executes("(@ours @last) {acquires} (not {its_own})"),
       taken(kBeside),
       {kOnlyAcquires, spares("(owner l)", kBeside)},
       {"send", "insert", "send"},
       "(and {joins_readers} " + said_of(kBeside, "{join_ends}") + ")"},
      {"take expired",
       kExecution,
       executes("(@there @last) {acquires} {expired}"),
       taken(alone("{date}")),
       {kForeign},
       {"send", "insert", "time", "send"}},
      {"take observed",
       kExecution,
       executes("(@there @last) {acquires} {observed_is_ours} {lease_as_observed}"),
       taken(alone("{date}")),
       {kForeign},
       {"send", "insert", "sight", "time", "send"},
       "{as_observed}"},
      {"hand over",
       kExecution,
       executes("(hand_over l)"),
       taken(alone("{hand_over_date}")),
       {spares("(giver l)", kNobody)},
       {"send", "insert", "end", "send"},
       "{from_its_giver}"},
      {"enlist",
       kExecution,
       executes("(@there @last) (@ours @last) {acquires}"),
       with(version("true", "true", kSame, "{next_answered}"),
            {{"executed", "(or (= a l) (@executed a))"},
             {"enlisted", "(or (= a l) (@enlisted a))"},
             {"dated", "(ite (= a l) r (@dated a))"}}),
       {},
       {"send", "insert", "send"}},
      // The queue is a hint: any entry that ever existed, even one that was rolled back, may be
      // granted any number of times. The release may have started before its renewal.
      {"pass on",
       kRelease,
       "(and (@enlisted l) " + kReleases + ")",
       version("true", "true", alone("{grant_date}")),
       {spares("o", kNobody)},
       {"send", "insert", "send", "enlist", "end", "release"},
       "{holders_leave}"},
      {"leave",
       kRelease,
       "(and " + kReleases + ")",
       version("true", "true", kLeft),
       {spares("o", kLeft)},
       {"send", "insert", "end", "release"},
       "(and (=> (batch b) (and {admits} (@enlisted (entry b)) (= (owner (entry b)) b)))"
       "     (=> " +
           kStays + " {stays_beside}) " + said_of(kLeft, "{leave_ends}") + ")"},
      {"delete",
       kRelease,
       "(and " + kReleases + ")",
       gone(),
       {spares("o", kNobody)},
       {"send", "insert", "end", "release"},
       "{holders_leave}"},
      // It does not know of its successor, and no majority will have its writes.
      {"old primary",
       {{"l", "Id"}},
       "(and (@sent l) {once})",
       {{"executed", "(or (= a l) (@executed a))"}, {"granted", "{old_primary_grants}"}},
       {},
       {"send"}},
      // A resource is used, at any time after the grant.
      {"use",
       {{"l", "Id"}},
       "(and (@granted l) (ite (reads (owner l)) {accepts_read} {accepts_write}))",
       {{"used", "(or (= a l) (@used a))"},
        {"highest", "{noted}"},
        {"wrote", "(ite (reads (owner l)) @wrote (@token l))"}},
       {{"G3",
         "of two that exclude each other the one with the lower token was first",
         {{"m", "Id"}},
         "(=> (and (@used m) " + kExcluded + ") (<= (@token m) (@token l)))"}},
       {"send", "insert", "majority", "acknowledge"}},
      // Others take these.
      {"foreign take",
       {{"s", "Real"}, {"r", "Real"}, {"t", "Int"}, {"e", "Real"}, {"n", "Real"}},
       "(and (<= s @now) {foreign_clock} {next_place}"
       "     (or (not (@there @last)) (not (@ours @last)) {expired}))",
       version("true", "false", {"false", kSame.by, kSame.upto}),
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
