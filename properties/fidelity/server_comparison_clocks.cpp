#include "properties/fidelity/server_comparison_requests.hpp"

// Clocks that jump, and the TTL monitor.
namespace leasehold::properties {
namespace {

void clock_jumps_during_a_held_command(Stage& s) {
  begin(s);
  const auto before = s.cluster.wall_ms(0);
  s.cluster.hold_next_inside(600);
  const auto held = s.send(0, acquire("l", kA));
  s.cluster.pass(200);
  s.cluster.move_clock(0, -30'000);
  const auto answer = s.note("held", held);
  s.note("$$NOW", apart(date_in(answer, "acquiredAt"), before));
  const auto after = s.ask("the next", 0, acquire("m", kA));
  s.note("$$NOW of the next", apart(date_in(after, "acquiredAt"), before));
}

/// maxTimeMS is of the wall clock too.
void clock_jumps_past_the_time_of_a_held_command(Stage& s) {
  begin(s);
  s.cluster.hold_next_inside(800);
  const auto held = s.send(0, acquire("l", kA));
  s.cluster.pass(200);
  s.cluster.move_clock(0, 30'000);
  s.note("held", held);
}

void clock_of_a_stopped_member_jumps(Stage& s) {
  begin(s);
  const auto before = s.cluster.wall_ms(0);
  s.cluster.stop(0);
  const auto waits = s.send(0, acquire("l", kA));
  s.cluster.move_clock(0, 30'000);
  s.cluster.go_on(0);
  const auto answer = s.note("once it goes on", waits);
  s.note("$$NOW", apart(date_in(answer, "acquiredAt"), before));
}

/// Operation times never go back.
void clock_goes_back(Stage& s) {
  begin(s);
  s.cluster.move_clock(0, 60'000);
  s.ask("ahead", 0, acquire("l", kA));
  s.cluster.move_clock(0, 0);
  const auto now = s.cluster.wall_ms(0);
  const auto answer = s.ask("back", 0, acquire("m", kA));
  s.note("$$NOW", apart(date_in(answer, "acquiredAt"), now));
}

void a_clock_that_goes_back_stretches_wtimeout(Stage& s) {
  begin(s);
  s.cluster.hold_replication(true);
  const auto waits = s.send(0, put("l", std::int32_t{1}, std::string("majority"), 600));
  s.cluster.pass(200);
  s.cluster.move_clock(0, -1'500);
  s.note("when it would have ended", waits, 1'000);
  s.note("by its own clock", waits);
}

void a_secondary_that_jumps_stands_for_election(Stage& s) {
  begin(s);
  s.cluster.move_clock(1, 3 * Cluster::kElectionTimeout_ms);
  s.cluster.pass(Cluster::kElectionTimeout_ms / 2);
  s.note("primary", std::to_string(s.cluster.primary()));
  s.ask("the old one", 0, acquire("l", kA));
}

void a_secondary_that_jumps_back_does_not(Stage& s) {
  begin(s);
  s.cluster.move_clock(1, -30'000);
  s.cluster.pass(Cluster::kElectionTimeout_ms / 2);
  s.note("primary", std::to_string(s.cluster.primary()));
}

void a_primary_that_jumps(Stage& s) {
  begin(s);
  s.cluster.move_clock(0, 3 * Cluster::kElectionTimeout_ms);
  s.cluster.pass(1'000);
  s.ask("at once", 0, look("l"));
}
void a_secondary_that_was_stopped_may_stand(Stage& s) {
  begin(s);
  s.cluster.stop(1);
  s.cluster.pass(2 * Cluster::kElectionTimeout_ms);
  s.cluster.go_on(1);
  s.cluster.pass(1'000);
  s.note("primary", std::to_string(s.cluster.primary()));
}
// The TTL monitor.

void ttl_deletes_what_is_expired(Stage& s) {
  begin(s);
  s.ask("index", 0, ttl_index());
  s.cluster.catch_up();
  const auto expires = [](const Value& value) {
    return make({{"$set", make({{"expiresAt", value}})}});
  };
  const auto now = s.cluster.wall_ms(0);
  const std::vector<std::pair<const char*, Value>> documents{
      {"past", Date{now - 5'000}},
      {"future", Date{now + 600'000}},
      {"text", std::string("2001-01-01")},
      {"number", std::int64_t{5}},
      {"null", sim::simulated::Null{}},
      {"dates", list({Date{now + 600'000}, Date{now - 5'000}})},
      {"later-dates", list({Date{now + 600'000}, Date{now + 700'000}})},
      {"texts", list({std::string("a")})}};
  s.cluster.set_ttl(false);
  s.cluster.pass(1'200);
  for (const auto& [name, value] : documents) {
    Request request = put(name, std::int32_t{1});
    request.bytes.set("update", expires(value));
    s.ask(name, 0, request);
  }
  s.cluster.pass(2'500);
  for (const auto& [name, value] : documents) s.ask(std::string("off: ") + name, 0, look(name));
  s.cluster.set_ttl(true);
  s.cluster.pass(4'000);
  for (const auto& [name, value] : documents) s.ask(std::string("on: ") + name, 0, look(name));
}

void ttl_goes_by_the_primarys_clock(Stage& s) {
  begin(s);
  s.ask("index", 0, ttl_index());
  s.cluster.catch_up();
  s.ask("held for a minute", 0, acquire("l", kA));
  s.cluster.move_clock(0, 120'000);
  s.cluster.pass(4'000);
  s.ask("gone", s.cluster.primary(), look("l"));
}

}  // namespace

const std::vector<Script>& clock_scripts() {
  static const std::vector<Script> all{
      {"clock_jumps_during_a_held_command", clock_jumps_during_a_held_command},
      {"clock_jumps_past_the_time_of_a_held_command", clock_jumps_past_the_time_of_a_held_command},
      {"clock_of_a_stopped_member_jumps", clock_of_a_stopped_member_jumps},
      {"clock_goes_back", clock_goes_back},
      {"a_clock_that_goes_back_stretches_wtimeout", a_clock_that_goes_back_stretches_wtimeout},
      {"a_secondary_that_jumps_stands_for_election", a_secondary_that_jumps_stands_for_election},
      {"a_secondary_that_jumps_back_does_not", a_secondary_that_jumps_back_does_not},
      {"a_primary_that_jumps", a_primary_that_jumps},
      {"a_secondary_that_was_stopped_may_stand", a_secondary_that_was_stopped_may_stand},
      {"ttl_deletes_what_is_expired", ttl_deletes_what_is_expired},
      {"ttl_goes_by_the_primarys_clock", ttl_goes_by_the_primarys_clock}};
  return all;
}

}  // namespace leasehold::properties
