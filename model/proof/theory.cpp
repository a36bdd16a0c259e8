#include "model/proof/theory.hpp"

#include "model/spec/rules.hpp"

namespace leasehold::model::proof {

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

}  // namespace

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

}  // namespace leasehold::model::proof
