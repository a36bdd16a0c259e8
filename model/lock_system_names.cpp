#include "model/lock_system.hpp"

namespace leasehold::model {

const std::vector<VariantInfo>& variants() {
  using enum Variant;
  static const std::vector<VariantInfo> all{
      {no_owner_check_on_release, "no-owner-check-on-release", "G6"},
      {no_owner_check_on_extension, "no-owner-check-on-extension", "G6 G2"},
      {no_check_of_the_winner, "no-check-of-the-winner", "G2 G4"},
      {deadline_from_the_reply, "deadline-from-the-reply", "G2"},
      {deadline_moved_by_an_unknown_extension, "deadline-moved-by-an-unknown-extension", "G2"},
      {late_extension_revives_a_lost_handle, "late-extension-revives-a-lost-handle", "G5"},
      {belief_until_the_release_is_answered, "belief-until-the-release-is-answered", "G2"},
      {beat_not_raised_by_a_retry, "beat-not-raised-by-a-retry", "G1 G2"},
      {beat_kept_by_an_extension, "beat-kept-by-an-extension", "G1 G2"},
      {beat_restarted_by_an_extension, "beat-restarted-by-an-extension", "G1 G2"},
      {observation_from_the_sending, "observation-from-the-sending", "G1 G2"},
      {observed_beat_not_compared, "observed-beat-not-compared", "G1 G2"},
      {observed_string_not_compared, "observed-string-not-compared", "G1 G2"},
      {owner_used_on_after_its_delete, "owner-used-on-after-its-delete", "G1 G2"},
      {owner_per_process, "owner-per-process", "G1 G2"},
      {older_own_write_lowers_expires_at, "older-own-write-lowers-expires-at", "G1 G2"},
      {margin_kept_by_the_waiter, "margin-kept-by-the-waiter", "G1 G2"},
      {margin_forgotten_by_an_extension, "margin-forgotten-by-an-extension", "G1 G2"},
      {extension_inserts_when_missing, "extension-inserts-when-missing", "G6"},
      {expiry_ignored, "expiry-ignored", "G1 G2"},
      {token_from_cluster_time, "token-from-cluster-time", "G4"},
      {token_counter_in_the_document, "token-counter-in-the-document", "G4"},
      {majority_not_awaited, "majority-not-awaited", "G1 G2 G4"},
      {no_drift_margin_of_the_holder, "no-drift-margin-of-the-holder", "G2"},
      {no_drift_margin_of_the_observer, "no-drift-margin-of-the-observer", "G1 G2"},
  };
  return all;
}

std::optional<Variant> variant_named(std::string_view name) {
  if (name == "none") return Variant::none;
  for (const auto& v : variants()) {
    if (v.name == name) return v.variant;
  }
  return std::nullopt;
}

Scope scope_for(Variant variant) {
  Scope scope;
  scope.variant = variant;
  if (variant == Variant::older_own_write_lowers_expires_at) {
    scope.messages = 2;
    scope.acquisitions = 1;
    scope.failovers = scope.crashes = scope.pauses = scope.ttl_passes = scope.losses = 0;
  }
  return scope;
}

std::string describe(const Scope& s) {
  const auto n = [](int count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  return n(s.clients, "client") + ", " + n(s.messages, "message") + " each in flight, " +
         n(s.acquisitions, "acquisition") + " each, time without end, " + std::to_string(s.losses) +
         " lost, " + n(s.failovers, "failover") + " with skew " + std::to_string(s.skew) +
         " of margin " + std::to_string(s.clock_margin) + ", " + n(s.crashes, "crash") + ", " +
         n(s.pauses, "pause") + ", " + std::to_string(s.ttl_passes) + " TTL" +
         (s.late_starts ? ", commands that wait in the server" : "");
}

const std::vector<std::string_view>& LockSystem::sometimes() {
  static const std::vector<std::string_view> names{
      "a second client holds after a first", "a holder is past its lease",
      "a lease was given after another's ran out unreleased", "a write was rolled back or unacked",
      "somebody observed a dead holder"};
  return names;
}

std::uint64_t LockSystem::reached(const State& state) const {
  const World w = unpack(state);
  std::uint64_t bits = 0;
  for (int i = 0; i < scope_.clients; ++i) {
    const Client& c = w.client[i];
    if (c.phase == kHeld && c.order < w.top_order) bits |= 1;
    if (c.phase == kHeld && w.now >= c.belief_end) bits |= 2;
    for (const Message& m : c.message) bits |= m.slot == kAcquire && m.seen_owner != 0 ? 16u : 0u;
  }
  if (w.lease_owner != 0 && w.document.owner == w.lease_owner && w.top_order > 1) bits |= 4;
  if (w.dirty != 0) bits |= 8;
  return bits;
}

std::vector<std::string> LockSystem::story(const std::vector<State>& path) const {
  std::vector<std::string> lines;
  World here;
  Out steps;
  int time = 0;
  for (std::size_t i = 1; i < path.size(); ++i) {
    steps.clear();
    collect(here, steps);
    for (const auto& [world, action] : steps) {
      if (!is_the_same(world, path[i])) continue;
      lines.push_back(tell(time, here, action, world));
      time += action.act == Act::tick ? 1 : 0;
      here = tidied(world);
      break;
    }
  }
  return lines;
}

std::string LockSystem::tell(int time, const World& w, Action action, const World& next) const {
  const std::string who(1, static_cast<char>('A' + action.client));
  const Message& m = w.client[action.client].message[action.slot];
  static constexpr const char* kSlots[] = {
      "",        "acquire",     "extension",    "delete",
      "\"won\"", "\"refused\"", "\"extended\"", "\"no match\""};
  const std::string at = "[" + std::to_string(time) + "] ";
  switch (action.act) {
    case Act::tick: return at + "time passes";
    case Act::commit: return at + "a majority has the last write";
    case Act::failover:
      return at + "another member becomes primary, its clock " + std::to_string(scope_.skew) +
             " ahead" + (w.dirty != 0 ? "; the last write is rolled back" : "");
    case Act::ttl_pass: return at + "the TTL monitor deletes the document";
    case Act::start:
      return at + who + "'s " + kSlots[m.slot] + " starts inside the server, and waits";
    case Act::execute:
      return at + who + "'s " + kSlots[m.slot] + " is executed" +
             (next.order == w.order ? "; nothing is written" : "");
    case Act::lose: return at + who + "'s " + kSlots[m.slot] + " is lost";
    case Act::deliver: return at + who + " is told " + kSlots[m.slot];
    case Act::ask: return at + who + " asks for the lock";
    case Act::attempt: return at + who + " sends an acquire";
    case Act::time_out: return at + who + " waits no longer for a reply";
    case Act::give_up: return at + who + " gives up";
    case Act::extend: return at + who + " sends an extension";
    case Act::release: return at + who + " releases: sends a delete";
    case Act::clean_up: return at + who + " cleans up: sends a delete";
    case Act::write: return at + who + " writes to the fenced resource";
    case Act::crash: return at + who + " crashes";
    case Act::pause: return at + who + " is paused";
    case Act::resume: return at + who + " goes on";
  }
  return at;
}

}  // namespace leasehold::model
