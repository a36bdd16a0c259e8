#include "model/spec/lock_rules.hpp"

#include <algorithm>

namespace leasehold::model {

using enum Check;

Rules rules_of(Lock lock) {
  Rules r;
  r.lock = lock;
  if (lock == Lock::leasehold) return r;
  r.observes = false;
  r.margin = Rules::Margin::none;
  r.owner = Rules::Owner::per_attempt;
  r.never_lowers_expiry = false;
  r.has_deadline = r.cleans_up = false;
  r.token = lock == Lock::distributed_lock ? Rules::Token::counter : Rules::Token::none;
  r.extends = lock == Lock::distributed_lock;
  if (lock == Lock::document_level) r.expiry = Rules::Expiry::client_clock;
  if (lock == Lock::insert_unique || lock == Lock::set_on_insert) {
    r.expiry = Rules::Expiry::ttl_monitor;
    r.release_checks_owner = false;
  }
  return r;
}

namespace {
template <auto rule, auto value>
void becomes(Rules& r) {
  r.*rule = value;
}
}  // namespace

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all{
      {"no-owner-check-on-release", {G6}, becomes<&Rules::release_checks_owner, false>},
      {"no-owner-check-on-extension", {G6}, becomes<&Rules::extension_checks_owner, false>},
      {"no-check-of-the-winner", {G2, G3, G4}, becomes<&Rules::checks_the_winner, false>},
      {"deadline-from-the-reply", {G1, G2, G5}, becomes<&Rules::deadline_from_reply, true>},
      {"deadline-moved-by-an-unknown-extension", {G1, G2, G5},
       becomes<&Rules::unknown_extension_moves_deadline, true>},
      {"late-extension-revives-a-lost-handle", {G5}, becomes<&Rules::late_extension_revives, true>},
      {"no-deadline-of-its-own", {G2, G5}, becomes<&Rules::has_deadline, false>},
      {"held-until-the-release-is-answered", {G2},
       becomes<&Rules::held_until_release_answered, true>},
      {"new-owner-per-retry", {G7}, becomes<&Rules::owner, Rules::Owner::per_attempt>},
      {"owner-per-process", {G1, G2}, becomes<&Rules::owner, Rules::Owner::per_process>},
      {"owner-used-on-after-its-delete", {G1, G2},
       becomes<&Rules::fresh_owner_after_delete, false>},
      {"beat-not-raised-by-a-retry", {G1, G2}, becomes<&Rules::beat, Rules::Beat::kept_by_retries>},
      {"beat-kept-by-an-extension", {G1, G2},
       becomes<&Rules::beat, Rules::Beat::kept_by_extensions>},
      {"beat-restarted-by-an-extension", {G1, G2},
       becomes<&Rules::beat, Rules::Beat::restarted_by_extensions>},
      {"beat-counted-in-the-document", {G1, G2},
       becomes<&Rules::beat, Rules::Beat::counted_in_document>},
      {"observation-from-the-sending", {G1, G2}, becomes<&Rules::sight_counts_from_sending, true>},
      {"observed-beat-not-compared", {G1, G2}, becomes<&Rules::compares_seen_beat, false>},
      {"observed-string-not-compared", {G1, G2},
       [](Rules& r) { r.compares_seen_owner = r.compares_seen_beat = false; }},
      {"observation-of-a-foreign-lock-id", {G1}, becomes<&Rules::observes_foreign, true>},
      {"older-own-write-lowers-expires-at", {G1, G2}, becomes<&Rules::never_lowers_expiry, false>},
      {"margin-kept-by-the-waiter", {G1, G2}, becomes<&Rules::margin, Rules::Margin::by_waiter>},
      {"margin-forgotten-by-an-extension", {G1, G2},
       becomes<&Rules::margin, Rules::Margin::not_in_extensions>},
      {"no-margin", {G1, G2}, becomes<&Rules::margin, Rules::Margin::none>},
      {"extension-inserts-when-missing", {G6}, becomes<&Rules::extension_inserts, true>},
      {"expiry-ignored", {G1, G2}, becomes<&Rules::ignores_expiry, true>},
      {"token-from-cluster-time", {G4}, becomes<&Rules::token, Rules::Token::cluster_time>},
      {"token-counter-in-the-document", {G4}, becomes<&Rules::token, Rules::Token::counter>},
      {"no-token", {G3}, becomes<&Rules::token, Rules::Token::none>},
      {"majority-not-awaited", {G1, G2, G4}, becomes<&Rules::majority, false>},
      {"no-drift-margin-of-the-holder", {G1, G2, G5},
       becomes<&Rules::holder_keeps_drift_margin, false>},
      {"no-drift-margin-of-the-observer", {G1, G2},
       becomes<&Rules::observer_keeps_drift_margin, false>},
      {"hand-over-while-the-old-handle-holds", {G1, G2},
       becomes<&Rules::hands_over_while_held, true>},
      {"hand-over-without-owners", {G1, G2, G6}, becomes<&Rules::hand_over_checks_owners, false>},
      {"hand-over-inserts-when-missing", {G6}, becomes<&Rules::hand_over_inserts, true>},
      {"pass-on-while-the-giver-holds", {G1, G2}, becomes<&Rules::passes_on_while_held, true>},
      {"grant-dated-by-the-release-alone", {G1, G2}, becomes<&Rules::grant_dated_by_entry, false>},
      {"grant-counted-from-the-notice", {G1, G2, G5},
       becomes<&Rules::grant_counts, Rules::GrantCounts::from_notice>},
      {"grant-counted-from-the-last-read-of-the-stream", {G1, G2, G5},
       becomes<&Rules::grant_counts, Rules::GrantCounts::from_last_read>},
      {"grant-counted-from-a-newer-renewal", {G1, G2, G5},
       becomes<&Rules::grant_counts, Rules::GrantCounts::from_newest_renewal>},
      {"ended-owners-entry-accepted", {G1, G2, G3}, becomes<&Rules::accepts_ended_owners, true>},
      {"lost-place-not-taken-anew", {G7}, becomes<&Rules::renewals_restore, false>},
      {"readers-dated-without-the-margin", {G1, G2},
       becomes<&Rules::margin, Rules::Margin::not_of_readers>},
      {"readers-dated-by-the-first", {G1, G2}, becomes<&Rules::expires_with_the_latest, false>},
      {"readers-text-of-the-first-alone", {G1, G2}, becomes<&Rules::text_has_all_readers, false>},
      {"readers-text-with-a-shorter-lease", {G1, G2},
       becomes<&Rules::text_has_longest_lease, false>},
      {"reader-passes-a-waiting-writer", {G7}, becomes<&Rules::joins_past_writers, true>},
      {"reader-drops-others-too-early", {G6}, becomes<&Rules::drops_readers_early, true>},
      {"reader-counted-twice-by-a-retry", {G7}, becomes<&Rules::recognises_own_entry, false>},
      {"reader-frees-the-lock-of-others", {G6}, becomes<&Rules::leave_frees_others, true>},
      {"readers-admitted-beside-a-writer", {G1},
       becomes<&Rules::leave_admits_beside_writers, true>},
      {"readers-admitted-one-by-one", {G7}, becomes<&Rules::admits_all_readers, false>},
      {"readers-places-stay-when-granted", {G7}, becomes<&Rules::granted_entry_leaves, false>},
      {"readers-and-older-writers-confused", {G1}, becomes<&Rules::reads_places_of_writers, true>},
      {"readers-write", {G2}, becomes<&Rules::readers_write, true>},
      {"reader-not-noted-by-the-resource", {G3},
       becomes<&Rules::resource, Rules::Resource::notes_no_reads>},
      {"reader-is-a-writer-to-the-resource", {G3},
       becomes<&Rules::resource, Rules::Resource::reads_are_writes>},
  };
  return all;
}

const std::vector<Variant>& harmless_variants() {
  static const std::vector<Variant> all{
      {"grant-counted-from-the-first-renewal", {},
       becomes<&Rules::grant_counts, Rules::GrantCounts::from_first_renewal>,
       "an earlier sending makes an earlier deadline; a call that waited for a lease is granted "
       "nothing"},
      {"granted-entry-stays", {}, becomes<&Rules::granted_entry_leaves, false>,
       "its owner has ended before it can be granted again, so the grant is given back"},
  };
  return all;
}

const Variant* variant_named(std::string_view name) {
  for (const auto* all : {&variants(), &harmless_variants()}) {
    const auto found = std::ranges::find(*all, name, &Variant::name);
    if (found != all->end()) return &*found;
  }
  return nullptr;
}

const std::vector<KnownFault>& known_faults() {
  static const std::vector<KnownFault> all{
      {Lock::distributed_lock, G1, "a successor whose clock is ahead gives a held lease away"},
      {Lock::distributed_lock, G2, "no local deadline while an extension hangs"},
      {Lock::distributed_lock, G4, "the token restarts after a release"},
      {Lock::distributed_lock, G7, "an orphan after a lost reply refuses its own retry"},
      {Lock::document_level, G1, "expiry by the clock of the client that asks"},
      {Lock::document_level, G2, "a holder past its lease does not notice"},
      {Lock::document_level, G3, "no token: the resource accepts the late write"},
      {Lock::insert_unique, G1, "a client's slow clock lets the TTL monitor free a held lock"},
      {Lock::insert_unique, G2, "a holder past its lease does not notice"},
      {Lock::insert_unique, G3, "no token: the resource accepts the late write"},
      {Lock::insert_unique, G6, "a late release frees the next holder's lock"},
      {Lock::insert_unique, G7, "an orphan after a lost reply refuses its own retry"},
      {Lock::set_on_insert, G1, "a client's slow clock lets the TTL monitor free a held lock"},
      {Lock::set_on_insert, G2, "a holder past its lease does not notice"},
      {Lock::set_on_insert, G3, "no token: the resource accepts the late write"},
      {Lock::set_on_insert, G6, "a late release frees the next holder's lock"},
      {Lock::set_on_insert, G7, "an orphan after a lost reply refuses its own retry"},
  };
  return all;
}

}  // namespace leasehold::model
