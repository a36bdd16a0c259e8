#include "properties/fidelity/server_comparison_requests.hpp"

// Change streams and transactions.
namespace leasehold::properties {
namespace {

void a_stream_tells_of_deletions_in_order(Stage& s) {
  begin(s);
  for (const char* name : {"a", "b", "c"}) s.ask(name, 0, acquire(name, kA));
  const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
  const auto waits = s.send(0, stream(Step::next, cursor));
  s.cluster.pass(100);
  s.ask("b goes", 0, release("b", kA));
  s.note("news", waits);
  s.ask("no news", 0, stream(Step::next, cursor, milliseconds(600)));
  s.ask("a goes", 0, release("a", kA));
  s.ask("c goes", 0, release("c", kA));
  s.ask("a comes", 0, acquire("a", kB));
  s.cluster.pass(300);
  s.ask("all news", 0, stream(Step::next, cursor));
  s.ask("close", 0, stream(Step::close, cursor));
  s.ask("closed", 0, stream(Step::next, cursor));
  s.ask("close again", 0, stream(Step::close, cursor));
}

void a_stream_waits_for_the_majority(Stage& s) {
  begin(s);
  s.ask("held", 0, acquire("l", kA));
  const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
  s.cluster.hold_replication(true);
  s.ask("goes", 0, release("l", kA, milliseconds(300)));
  s.ask("no majority, no news", 0, stream(Step::next, cursor, milliseconds(900)));
  const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(6'000)));
  s.cluster.pass(100);
  s.cluster.hold_replication(false);
  s.note("a majority has it", waits);
}

void a_stream_begins_where_an_attempt_was(Stage& s) {
  begin(s);
  s.ask("held before", 0, acquire("a", kB));
  const auto held = s.ask("held", 0, acquire("b", kA));
  s.ask("handed over", 0, hand_over("b", kA, kB));
  const auto since = s.ask("open", 0, stream_of(kB.high, held.reply));
  s.ask("news", 0, stream(Step::next, cursor_in(since), milliseconds(900)));
}

void a_stream_is_killed_while_it_waits(Stage& s) {
  begin(s);
  const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
  const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(9'000)));
  s.cluster.pass(200);
  s.ask("kill", 0, stream(Step::close, cursor));
  s.note("who waited", waits);
  s.ask("afterwards", 0, stream(Step::next, cursor));
}

void a_stream_and_a_step_down(Stage& s) {
  begin(s);
  s.ask("held", 0, acquire("l", kA));
  const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
  const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(9'000)));
  s.cluster.pass(200);
  s.cluster.step_up(1);
  s.note("while it waits", waits);
  s.ask("afterwards", 0, stream(Step::next, cursor, milliseconds(600)));
  s.ask("goes", 1, release("l", kA));
  s.cluster.pass(500);
  s.ask("the next", 0, stream(Step::next, cursor, milliseconds(600)));
}

void a_stream_and_a_rollback(Stage& s) {
  begin(s);
  s.ask("held", 0, acquire("l", kA));
  const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
  s.cluster.isolate(0, true);
  s.leave_out_times();
  s.ask("goes, for one", 0, put("m", std::int32_t{1}, std::int32_t{1}));
  const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(30'000)));
  s.cluster.pass(200);
  s.cluster.step_up(1);
  s.cluster.pass(200);
  s.cluster.isolate(0, false);
  s.cluster.catch_up();
  s.note("while it is rolled back", waits);
  s.ask("afterwards", 0, stream(Step::next, cursor, milliseconds(600)));
}

// Transactions.

void transactions(Stage& s) {
  begin(s);
  s.ask("index", 0, unique_index());
  s.cluster.catch_up();
  s.ask("insert", 0, insert_in_transaction('a', "r"));
  s.ask("insert the same", 0, insert_in_transaction('b', "r"));
  s.ask("commit of the loser", 0, end_transaction("commitTransaction", 'b'));
  s.ask("commit", 0, end_transaction("commitTransaction", 'a'));
  s.ask("commit again", 0, end_transaction("commitTransaction", 'a'));
  s.ask("insert what is there", 0, insert_in_transaction('c', "r"));
  s.ask("insert another", 0, insert_in_transaction('d', "q"));
  s.ask("abort", 0, end_transaction("abortTransaction", 'd'));
  s.ask("commit after it", 0, end_transaction("commitTransaction", 'd'));
  s.ask("commit of none", 0, end_transaction("commitTransaction", 'e'));
}

void a_transaction_and_a_step_down(Stage& s) {
  begin(s);
  s.ask("index", 0, unique_index());
  s.cluster.catch_up();
  s.ask("insert", 0, insert_in_transaction('a', "r"));
  s.cluster.step_up(1);
  s.cluster.catch_up();
  s.ask("commit at the old one", 0, end_transaction("commitTransaction", 'a'));
  s.ask("commit at the new one", 1, end_transaction("commitTransaction", 'a'));
  s.ask("insert again", 1, insert_in_transaction('b', "r"));
  s.ask("commit", 1, end_transaction("commitTransaction", 'b'));
}

void a_commit_waits_in_vain(Stage& s) {
  begin(s);
  s.ask("index", 0, unique_index());
  s.cluster.catch_up();
  s.ask("insert", 0, insert_in_transaction('a', "r"));
  s.cluster.hold_replication(true);
  s.ask("commit", 0, end_transaction("commitTransaction", 'a', 300));
  s.cluster.hold_replication(false);
}

}  // namespace

const std::vector<Script>& stream_scripts() {
  static const std::vector<Script> all{
      {"a_stream_tells_of_deletions_in_order", a_stream_tells_of_deletions_in_order},
      {"a_stream_waits_for_the_majority", a_stream_waits_for_the_majority},
      {"a_stream_begins_where_an_attempt_was", a_stream_begins_where_an_attempt_was},
      {"a_stream_is_killed_while_it_waits", a_stream_is_killed_while_it_waits},
      {"a_stream_and_a_step_down", a_stream_and_a_step_down},
      {"a_stream_and_a_rollback", a_stream_and_a_rollback},
      {"transactions", transactions},
      {"a_transaction_and_a_step_down", a_transaction_and_a_step_down},
      {"a_commit_waits_in_vain", a_commit_waits_in_vain}};
  return all;
}

}  // namespace leasehold::properties
