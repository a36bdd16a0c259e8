#include "properties/fidelity/server_comparison_requests.hpp"

// Commands during a change of primary.
namespace leasehold::properties {
namespace {

// What every command answers.

void ordinary_life(Stage& s) {
  begin(s);
  const auto won = s.ask("acquire", 0, acquire("l", kA));
  s.ask("refused", 0, acquire("l", kB));
  s.ask("again", 0, acquire("l", kA));
  s.ask("extend", 0, extend("l", kA, date_in(won, "acquiredAt")));
  s.ask("extend another's", 0, extend("l", kB, date_in(won, "acquiredAt")));
  s.ask("look", 0, look("l"));
  s.ask("hand over", 0, hand_over("l", kA, kB));
  s.ask("hand over what is not there", 0, hand_over("m", kA, kB));
  s.ask("release another's", 0, release("l", kA));
  s.ask("release", 0, release("l", kB));
  s.ask("look again", 0, look("l"));
}

/// Without a transaction number the server cannot recognise a command, whatever the driver does.
void sent_twice_is_executed_twice(Stage& s) {
  begin(s);
  const auto same = acquire("l", kA);
  s.ask("once", 0, same);
  s.ask("twice", 0, same);
  s.ask("release", 0, release("l", kA));
  s.ask("release twice", 0, release("l", kA));
}

void raced_upserts(Stage& s) {
  begin(s);
  constexpr int kRacers = 12;
  std::vector<Call> calls;
  for (int i = 0; i < kRacers; ++i) {
    calls.push_back(s.send(0, acquire("l", {7, static_cast<std::uint64_t>(i)})));
  }
  int won = 0, refused = 0, other = 0;
  for (int i = 0; i < kRacers; ++i) {
    const auto answer = s.cluster.await(calls[static_cast<std::size_t>(i)], 10'000);
    const auto* value = answer.reply.find("value");
    const auto* document = value == nullptr ? nullptr : value->as<Object>();
    const auto mine = lock_id({7, static_cast<std::uint64_t>(i)});
    if (document == nullptr) {
      ++other;
    } else {
      *document->find("lockId")->as<std::string>() == mine ? ++won : ++refused;
    }
  }
  s.note("racers", std::to_string(won) + " won, " + std::to_string(refused) + " refused, " +
                       std::to_string(other) + " had an error");
}

void duplicate_keys(Stage& s) {
  begin(s);
  s.ask("held", 0, acquire("l", kA));
  s.ask("_id taken, filter does not match", 0, upsert_under("l", "x"));
}

void a_secondary_takes_nothing(Stage& s) {
  begin(s);
  s.ask("acquire", 1, acquire("l", kA));
  s.ask("extend", 1, extend("l", kA, {}));
  s.ask("release", 1, release("l", kA));
  s.ask("look", 1, look("l"));
  s.ask("open a stream", 1, stream(core::StreamCommand::Step::open));
  s.ask("insert in a transaction", 1, insert_in_transaction('a', "r"));
}

// A majority that cannot be reached.

void isolated_primary_and_a_real_write(Stage& s) {
  begin(s);
  s.cluster.isolate(0, true);
  s.ask("acquire", 0, acquire("l", kA, milliseconds(500)));
}

void isolated_primary_and_a_no_op(Stage& s) {
  begin(s);
  s.ask("held", 0, acquire("l", kA));
  s.cluster.isolate(0, true);
  s.ask("nothing new: a refusal", 0, acquire("l", kB, milliseconds(500)));
  s.ask("a write of another", 0, put("foreign", std::int32_t{1}, std::int32_t{1}));
  s.ask("refusal beside it", 0, acquire("l", kB, milliseconds(500)));
  s.ask("no document beside it", 0, release("none", kB, milliseconds(500)));
}

void held_replication(Stage& s) {
  begin(s);
  s.cluster.hold_replication(true);
  s.ask("acquire", 0, acquire("l", kA, milliseconds(500)));
  s.ask("refused", 0, acquire("l", kB, milliseconds(500)));
  const auto waits = s.send(0, acquire("m", kA));
  s.cluster.pass(300);
  s.cluster.hold_replication(false);
  s.note("waited until it was let go", waits);
}

void time_is_up_while_it_waits_for_a_majority(Stage& s) {
  begin(s);
  s.cluster.hold_replication(true);
  Request request = put("l", std::int32_t{1}, std::string("majority"), 5'000);
  request.bytes.set("maxTimeMS", std::int32_t{300});
  s.ask("max time before the write concern's", 0, request);
}

void time_is_up_inside(Stage& s) {
  begin(s);
  s.cluster.hold_next_inside(1'500);
  const auto held = s.send(0, acquire("l", kA, milliseconds(500)));
  s.note("held", held);
  s.cluster.pass(1'500);
  s.ask("look", 0, look("l"));
}

void held_inside(Stage& s) {
  begin(s);
  s.cluster.hold_next_inside(500);
  const auto held = s.send(0, acquire("l", kA));
  s.cluster.pass(100);
  s.ask("a read passes it", 0, look("l"));
  s.note("held", held);
}

// Elections.

void step_down_while_a_write_waits(Stage& s) {
  begin(s);
  s.cluster.hold_replication(true);
  const auto acquires = s.send(0, acquire("l", kA));
  const auto releases = s.send(0, release("warm", kA));
  s.cluster.pass(200);
  s.cluster.step_down();
  s.note("the acquire", acquires);
  s.note("the release", releases);
  s.ask("the next", 0, acquire("m", kA));
}

void step_down_while_it_is_held_inside(Stage& s) {
  begin(s);
  s.cluster.hold_next_inside(1'200, Cluster::Hold::fail_point);
  const auto held = s.send(0, acquire("l", kA));
  s.cluster.pass(200);
  s.cluster.step_down();
  s.note("held", held);
}

void another_steps_up_while_a_write_waits(Stage& s) {
  begin(s);
  s.cluster.hold_replication(true);
  const auto waits = s.send(0, acquire("l", kA));
  s.cluster.pass(200);
  s.cluster.step_up(1);
  s.note("the acquire", waits);
  s.cluster.hold_replication(false);
  s.cluster.catch_up();
  s.ask("rolled back", 1, look("l"));
  s.ask("taken by another", 1, acquire("l", kB));
  s.ask("the old primary", 0, acquire("l", kB));
}

void a_write_survives_a_clean_failover(Stage& s) {
  begin(s);
  s.ask("acquire", 0, acquire("l", kA));
  s.cluster.step_up(1);
  s.ask("look", 1, look("l"));
  s.ask("refused", 1, acquire("l", kB));
  s.ask("release", 1, release("l", kA));
}

void isolated_primary_leaves_its_office(Stage& s) {
  begin(s);
  s.cluster.isolate(0, true);
  s.ask("write for one", 0, put("l", std::int32_t{1}, std::int32_t{1}));
  const auto waits = s.send(0, acquire("m", kA, milliseconds(9'000)));
  s.note("while it is deposed", waits);
  s.ask("afterwards", 0, acquire("m", kA));
  const int next = s.cluster.primary();
  s.ask("its successor", next, acquire("m", kB));
  s.cluster.isolate(0, false);
  s.cluster.catch_up();
  s.ask("rolled back", next, look("l"));
}

void two_primaries(Stage& s) {
  begin(s);
  s.cluster.isolate(0, true);
  s.cluster.step_up(1);
  s.leave_out_times();
  s.ask("old, for one", 0, put("l", std::int32_t{1}, std::int32_t{1}));
  s.ask("new, for one", 1, put("l", std::int32_t{2}, std::int32_t{1}));
  s.ask("old, for a majority", 0, acquire("m", kA, milliseconds(300)));
  s.ask("new, for a majority", 1, acquire("m", kB));
  s.cluster.isolate(0, false);
  s.cluster.catch_up();
  s.ask("what is left", 1, look("m"));
}

// Members that stop or die.

void zombies_of_a_short_stop(Stage& s) {
  begin(s);
  s.cluster.stop(0);
  const auto waits = s.send(0, acquire("l", kA));
  s.note("while it is stopped", waits, 300);
  s.cluster.go_on(0);
  s.note("once it goes on", waits);
}

/// Commands that no client waits for any more are executed.
void zombies_of_closed_connections(Stage& s) {
  begin(s);
  s.cluster.stop(0);
  const auto closed = s.send(0, acquire("l", kA));
  s.cluster.pass(200);
  s.cluster.hang_up(closed);
  s.cluster.pass(200);
  s.cluster.go_on(0);
  s.cluster.pass(700);
  s.ask("what it wrote", 0, look("l"));
}

void zombies_of_a_deposed_primary(Stage& s) {
  begin(s);
  s.cluster.stop(0);
  const auto acquires = s.send(0, acquire("l", kA));
  s.cluster.step_up(1);
  s.leave_out_times();
  s.ask("its successor", 1, acquire("l", kB));
  s.cluster.go_on(0);
  s.note("once it goes on", acquires);
  s.cluster.catch_up();
  s.ask("what is left", 1, look("l"));
}

void killed_while_a_write_waits(Stage& s) {
  begin(s);
  s.cluster.hold_replication(true);
  const auto waits = s.send(0, acquire("l", kA));
  s.cluster.pass(200);
  s.cluster.kill(0);
  s.note("the acquire", waits);
  s.ask("the next", 0, acquire("l", kA));
}

}  // namespace

const std::vector<Script>& failover_scripts() {
  static const std::vector<Script> all{
      {"ordinary_life", ordinary_life},
      {"sent_twice_is_executed_twice", sent_twice_is_executed_twice},
      {"raced_upserts", raced_upserts},
      {"duplicate_keys", duplicate_keys},
      {"a_secondary_takes_nothing", a_secondary_takes_nothing},
      {"isolated_primary_and_a_real_write", isolated_primary_and_a_real_write},
      {"isolated_primary_and_a_no_op", isolated_primary_and_a_no_op},
      {"held_replication", held_replication},
      {"time_is_up_while_it_waits_for_a_majority", time_is_up_while_it_waits_for_a_majority},
      {"time_is_up_inside", time_is_up_inside},
      {"held_inside", held_inside},
      {"step_down_while_a_write_waits", step_down_while_a_write_waits},
      {"step_down_while_it_is_held_inside", step_down_while_it_is_held_inside},
      {"another_steps_up_while_a_write_waits", another_steps_up_while_a_write_waits},
      {"a_write_survives_a_clean_failover", a_write_survives_a_clean_failover},
      {"isolated_primary_leaves_its_office", isolated_primary_leaves_its_office},
      {"two_primaries", two_primaries},
      {"zombies_of_a_short_stop", zombies_of_a_short_stop},
      {"zombies_of_closed_connections", zombies_of_closed_connections},
      {"zombies_of_a_deposed_primary", zombies_of_a_deposed_primary},
      {"killed_while_a_write_waits", killed_while_a_write_waits}};
  return all;
}

}  // namespace leasehold::properties
