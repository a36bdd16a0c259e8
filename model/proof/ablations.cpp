#include "model/proof/theory.hpp"

/// Changes of the design that the proof must notice, and changes that it must not.
namespace leasehold::model::proof {

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
