#include <algorithm>

#include "mongo/commands.hpp"
#include "properties/server_comparison.hpp"

namespace leasehold::properties {
namespace {

using core::Command;
using sim::simulated::Array;
using sim::simulated::Binary;
using sim::simulated::Date;
using sim::simulated::Object;
using sim::simulated::Value;
using std::chrono::milliseconds;

constexpr milliseconds kLease{60'000}, kMargin{500}, kTimeout{5'000};
const core::Owner kA{1, 1}, kB{2, 2};

Object make(std::initializer_list<std::pair<const char*, Value>> fields) {
  Object object;
  for (const auto& [key, value] : fields) object.set(key, value);
  return object;
}

Value list(std::vector<Value> items) { return Array{std::move(items)}; }

Object concern(const Value& w, int wtimeout_ms) {
  return make({{"w", w}, {"wtimeout", std::int32_t{wtimeout_ms}}});
}

Request as_sent(Command command) {
  command.id = 1;
  if (command.timeout.count() == 0) command.timeout = kTimeout;
  const auto bytes = mongo::build(command, Cluster::kCollection);
  return {sim::simulated::to_object(*bytes.get()), command};
}

std::string lock_id(core::Owner owner) { return core::to_hex(owner) + ".60000.1.host:1"; }

Request acquire(const char* name, core::Owner owner, milliseconds timeout = kTimeout,
                milliseconds lease = kLease) {
  const core::AcquireCommand body{1, name, owner, lock_id(owner), {}, lease, kMargin};
  return as_sent({.timeout = timeout, .body = body});
}

Request release(const char* name, core::Owner owner, milliseconds timeout = kTimeout) {
  return as_sent({.timeout = timeout, .body = core::DeleteCommand{name, owner, {}}});
}

/// Of a lock that was granted at `acquired`.
Request extend(const char* name, core::Owner owner, Date acquired,
               milliseconds timeout = kTimeout) {
  core::ExtendCommand all{{{1, name, owner, core::ServerInstant{acquired.ms}, lock_id(owner),
                            kLease, kMargin, FencingToken(7)}}};
  return as_sent({.timeout = timeout, .body = std::move(all)});
}

Request hand_over(const char* name, core::Owner from, core::Owner to) {
  return as_sent({.body = core::HandOverCommand{1, name, from, to, lock_id(to), kLease, kMargin}});
}

Request look(const char* name) { return as_sent({.body = core::ReadHoldersCommand{{name}}}); }

Request stream(core::StreamCommand::Step step, std::int64_t cursor = 0,
               milliseconds timeout = milliseconds(1'500)) {
  return as_sent({.timeout = timeout, .body = core::StreamCommand{step, cursor}});
}

Request ttl_index() { return as_sent({.body = core::EnsureIndexCommand{}}); }

/// Any document, written as `w` says.
Request put(const char* name, const Value& x, const Value& w = std::string("majority"),
            int wtimeout_ms = 5'000) {
  return {make({{"findAndModify", std::string(Cluster::kCollection)},
                {"query", make({{"_id", std::string(name)}})},
                {"update", make({{"$set", make({{"x", x}})}})},
                {"upsert", true},
                {"new", true},
                {"writeConcern", concern(w, wtimeout_ms)}})};
}

/// As "set-on-insert" sends it: the name is there already, and the filter does not match.
Request upsert_under(const char* name, const char* unique_field_taken) {
  return {make({{"findAndModify", std::string(Cluster::kCollection)},
                {"query", make({{"_id", std::string(name)}, {"lockId", std::string("nobody's")}})},
                {"update", make({{"$set", make({{"x", std::string(unique_field_taken)}})}})},
                {"upsert", true},
                {"new", true},
                {"writeConcern", concern(std::string("majority"), 5'000)}})};
}

Object session(char id) { return make({{"id", Binary{std::string(16, id)}}}); }

Request insert_in_transaction(char id, const char* resource) {
  const auto document =
      make({{"resourceId", std::string(resource)}, {"clientId", std::string("c")}});
  return {make({{"insert", std::string(Cluster::kCollection)},
                {"documents", list({document})},
                {"lsid", session(id)},
                {"txnNumber", std::int64_t{1}},
                {"autocommit", false},
                {"startTransaction", true}})};
}

Request end_transaction(const char* how, char id, int wtimeout_ms = 5'000) {
  return {make({{how, std::int32_t{1}},
                {"lsid", session(id)},
                {"txnNumber", std::int64_t{1}},
                {"autocommit", false},
                {"writeConcern", concern(std::string("majority"), wtimeout_ms)}})};
}

Request unique_index() {
  const auto index = make({{"key", make({{"resourceId", std::int32_t{1}}})},
                           {"name", std::string("resourceId_1")},
                           {"unique", true}});
  return {make({{"createIndexes", std::string(Cluster::kCollection)},
                {"indexes", list({index})},
                {"writeConcern", concern(std::string("majority"), 5'000)}})};
}

Date date_in(const Answer& answer, const char* field) {
  const auto* value = answer.reply.find("value");
  const auto* document = value == nullptr ? nullptr : value->as<Object>();
  const auto* date = document == nullptr ? nullptr : document->find(field);
  return date != nullptr && date->is<Date>() ? *date->as<Date>() : Date{};
}

/// How far the date is from the time that it should show: whole ten seconds.
std::string apart(Date date, std::int64_t from_ms) {
  const auto tens = (date.ms - from_ms + 5'000 + 1'000'000) / 10'000 - 100;
  return std::to_string(tens * 10) + " s from the clock at its arrival";
}

std::int64_t cursor_in(const Answer& answer) {
  const auto* cursor = answer.reply.find("cursor");
  return cursor == nullptr ? 0 : cursor->as<Object>()->find("id")->integer();
}

/// Both servers have the collection, and every member has it.
void begin(Stage& s) {
  s.ask("first write", 0, put("warm", std::int32_t{0}));
  s.cluster.catch_up();
}

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

/// No transaction number: the server cannot know a command again, whatever the driver does.
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

/// Nobody waits for it any more, and it is executed.
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

// Clocks.

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

// Change streams.

using Step = core::StreamCommand::Step;

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

const std::vector<Script>& scripts() {
#define LEASEHOLD_SCRIPT(name) \
  Script { #name, name }
  static const std::vector<Script> all{
      LEASEHOLD_SCRIPT(ordinary_life),
      LEASEHOLD_SCRIPT(sent_twice_is_executed_twice),
      LEASEHOLD_SCRIPT(raced_upserts),
      LEASEHOLD_SCRIPT(duplicate_keys),
      LEASEHOLD_SCRIPT(a_secondary_takes_nothing),
      LEASEHOLD_SCRIPT(isolated_primary_and_a_real_write),
      LEASEHOLD_SCRIPT(isolated_primary_and_a_no_op),
      LEASEHOLD_SCRIPT(held_replication),
      LEASEHOLD_SCRIPT(time_is_up_while_it_waits_for_a_majority),
      LEASEHOLD_SCRIPT(time_is_up_inside),
      LEASEHOLD_SCRIPT(held_inside),
      LEASEHOLD_SCRIPT(step_down_while_a_write_waits),
      LEASEHOLD_SCRIPT(step_down_while_it_is_held_inside),
      LEASEHOLD_SCRIPT(another_steps_up_while_a_write_waits),
      LEASEHOLD_SCRIPT(a_write_survives_a_clean_failover),
      LEASEHOLD_SCRIPT(isolated_primary_leaves_its_office),
      LEASEHOLD_SCRIPT(two_primaries),
      LEASEHOLD_SCRIPT(zombies_of_a_short_stop),
      LEASEHOLD_SCRIPT(zombies_of_closed_connections),
      LEASEHOLD_SCRIPT(zombies_of_a_deposed_primary),
      LEASEHOLD_SCRIPT(killed_while_a_write_waits),
      LEASEHOLD_SCRIPT(clock_jumps_during_a_held_command),
      LEASEHOLD_SCRIPT(clock_jumps_past_the_time_of_a_held_command),
      LEASEHOLD_SCRIPT(clock_of_a_stopped_member_jumps),
      LEASEHOLD_SCRIPT(clock_goes_back),
      LEASEHOLD_SCRIPT(a_clock_that_goes_back_stretches_wtimeout),
      LEASEHOLD_SCRIPT(a_secondary_that_jumps_stands_for_election),
      LEASEHOLD_SCRIPT(a_secondary_that_jumps_back_does_not),
      LEASEHOLD_SCRIPT(a_primary_that_jumps),
      LEASEHOLD_SCRIPT(a_secondary_that_was_stopped_may_stand),
      LEASEHOLD_SCRIPT(ttl_deletes_what_is_expired),
      LEASEHOLD_SCRIPT(ttl_goes_by_the_primarys_clock),
      LEASEHOLD_SCRIPT(a_stream_tells_of_deletions_in_order),
      LEASEHOLD_SCRIPT(a_stream_waits_for_the_majority),
      LEASEHOLD_SCRIPT(a_stream_is_killed_while_it_waits),
      LEASEHOLD_SCRIPT(a_stream_and_a_step_down),
      LEASEHOLD_SCRIPT(a_stream_and_a_rollback),
      LEASEHOLD_SCRIPT(transactions),
      LEASEHOLD_SCRIPT(a_transaction_and_a_step_down),
      LEASEHOLD_SCRIPT(a_commit_waits_in_vain)};
#undef LEASEHOLD_SCRIPT
  return all;
}

}  // namespace leasehold::properties
