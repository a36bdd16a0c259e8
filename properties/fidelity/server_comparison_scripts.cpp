#include <chrono>

#include "mongo/commands.hpp"
#include "properties/fidelity/server_comparison.hpp"

namespace leasehold::properties {
namespace {

using sim::simulated::Array;
using sim::simulated::Binary;
using sim::simulated::Date;
using sim::simulated::make;
using sim::simulated::Object;
using sim::simulated::Value;
using std::chrono::milliseconds;
using Step = core::StreamCommand::Step;

constexpr milliseconds kLease{60'000}, kMargin{500}, kTimeout{5'000};
constexpr core::Owner kA{1, 1}, kB{2, 2}, kC{3, 3};

Object concern(const Value& w, int wtimeout_ms) {
  return make({{"w", w}, {"wtimeout", std::int32_t{wtimeout_ms}}});
}

Request as_sent(core::Command command) {
  command.id = 1;
  if (command.timeout.count() == 0) command.timeout = kTimeout;
  const auto bytes = mongo::build(command, ComparedSet::kCollection);
  return {sim::simulated::to_object(*bytes.get()), command};
}

Object session(char id) { return make({{"id", Binary{std::string(16, id)}}}); }

Value list(std::vector<Value> items) { return Array{std::move(items)}; }

std::string lock_id(core::Owner owner) { return core::to_hex(owner) + ".60000.1.host:1"; }

Request acquire(const char* name, core::Owner owner, milliseconds timeout = kTimeout) {
  const core::AcquireCommand body{1, name, owner, lock_id(owner), {}, kLease, kMargin};
  return as_sent({.timeout = timeout, .body = body});
}

Request release(const char* name, core::Owner owner, milliseconds timeout = kTimeout) {
  return as_sent({.timeout = timeout, .body = core::DeleteCommand{name, owner, {}}});
}

/// For a lock that was granted at `acquired`.
Request extend(const char* name, core::Owner owner, Date acquired) {
  core::ExtendCommand all{{{1, name, owner, core::ServerInstant{acquired.ms}, lock_id(owner),
                            kLease, kMargin, FencingToken(7)}}};
  return as_sent({.body = std::move(all)});
}

Request hand_over(const char* name, core::Owner from, core::Owner to) {
  return as_sent({.body = core::HandOverCommand{1, name, from, to, lock_id(to), kLease, kMargin}});
}

/// A refused owner waits in the lock's queue.
Request queue_up(const char* name, core::Owner owner, std::uint64_t beat = 1) {
  const auto id = core::format_lock_id({owner, milliseconds(kLease).count(), beat, "host:1"});
  return as_sent({.body = core::AcquireCommand{1, name, owner, id, {}, kLease, kMargin, kLease}});
}

Request pass_on(const char* name, core::Owner from, bool offers = false) {
  return as_sent({.body = core::PassOnCommand{name, from, {}, offers}});
}

Request release_unless_queued(const char* name, core::Owner owner) {
  return as_sent({.body = core::DeleteCommand{name, owner, {}, true}});
}

/// The stream of grants to owners of one provider, with releases or without.
/// `since`: a reply, at whose operation time it begins; without one it begins now.
Request stream_of(std::uint64_t provider, const Object& since = {}) {
  core::StreamCommand open{.provider = provider};
  if (const auto* at = since.find("operationTime")) {
    const auto& place = *at->as<sim::simulated::Timestamp>();
    open.since = FencingToken::from_timestamp(place.seconds, place.increment);
  }
  return as_sent({.timeout = milliseconds(1'500), .body = open});
}

Request look(const char* name) { return as_sent({.body = core::ReadHoldersCommand{{name}}}); }

Request stream(Step step, std::int64_t cursor = 0, milliseconds timeout = milliseconds(1'500)) {
  return as_sent({.timeout = timeout, .body = core::StreamCommand{step, cursor}});
}

Request ttl_index() { return as_sent({.body = core::EnsureIndexCommand{}}); }

/// Any document, written as `w` says.
Request put(const char* name, const Value& x, const Value& w = std::string("majority"),
            int wtimeout_ms = 5'000) {
  return {make({{"findAndModify", std::string(ComparedSet::kCollection)},
                {"query", make({{"_id", std::string(name)}})},
                {"update", make({{"$set", make({{"x", x}})}})},
                {"upsert", true},
                {"new", true},
                {"writeConcern", concern(w, wtimeout_ms)}})};
}

/// As "set-on-insert" sends it: the name is there already, and the filter does not match.
Request upsert_under(const char* name, const char* unique_field_taken) {
  Request request = put(name, std::string(unique_field_taken));
  request.bytes.set("query", make({{"_id", std::string(name)},
                                   {"lockId", std::string("nobody's")}}));
  return request;
}

Request insert_in_transaction(char id, const char* resource) {
  const auto document =
      make({{"resourceId", std::string(resource)}, {"clientId", std::string("c")}});
  return {make({{"insert", std::string(ComparedSet::kCollection)},
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
  return {make({{"createIndexes", std::string(ComparedSet::kCollection)},
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

}  // namespace

const std::vector<Script>& scripts() {
  static const std::vector<Script> all{
    // What every command answers.
    {"ordinary_life", [](ComparedSet& s) {
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
    }},
    // Without a transaction number the server cannot recognise a command.
    {"sent_twice_is_executed_twice", [](ComparedSet& s) {
      const auto same = acquire("l", kA);
      s.ask("once", 0, same);
      s.ask("twice", 0, same);
      s.ask("release", 0, release("l", kA));
      s.ask("release twice", 0, release("l", kA));
    }},
    {"raced_upserts", [](ComparedSet& s) {
      constexpr int kRacers = 12;
      std::vector<Call> calls;
      for (int i = 0; i < kRacers; ++i) {
        calls.push_back(s.send(0, acquire("l", {7, static_cast<std::uint64_t>(i)})));
      }
      int won = 0, refused = 0, other = 0;
      for (int i = 0; i < kRacers; ++i) {
        const auto answer = s.await(calls[static_cast<std::size_t>(i)], 10'000);
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
    }},
    {"duplicate_keys", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      s.ask("_id taken, filter does not match", 0, upsert_under("l", "x"));
    }},
    {"a_secondary_takes_nothing", [](ComparedSet& s) {
      s.ask("acquire", 1, acquire("l", kA));
      s.ask("extend", 1, extend("l", kA, {}));
      s.ask("release", 1, release("l", kA));
      s.ask("look", 1, look("l"));
      s.ask("open a stream", 1, stream(core::StreamCommand::Step::open));
      s.ask("insert in a transaction", 1, insert_in_transaction('a', "r"));
    }},

    // A majority that cannot be reached.

    {"isolated_primary_and_a_real_write", [](ComparedSet& s) {
      s.isolate(0, true);
      s.ask("acquire", 0, acquire("l", kA, milliseconds(500)));
    }},
    {"isolated_primary_and_a_no_op", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      s.isolate(0, true);
      s.ask("nothing new: a refusal", 0, acquire("l", kB, milliseconds(500)));
      s.ask("a write of another", 0, put("foreign", std::int32_t{1}, std::int32_t{1}));
      s.ask("refusal beside it", 0, acquire("l", kB, milliseconds(500)));
      s.ask("no document beside it", 0, release("none", kB, milliseconds(500)));
    }},
    {"held_replication", [](ComparedSet& s) {
      s.hold_replication(true);
      s.ask("acquire", 0, acquire("l", kA, milliseconds(500)));
      s.ask("refused", 0, acquire("l", kB, milliseconds(500)));
      const auto waits = s.send(0, acquire("m", kA));
      s.pass(300);
      s.hold_replication(false);
      s.note("waited until it was let go", waits);
    }},
    {"time_is_up_while_it_waits_for_a_majority", [](ComparedSet& s) {
      s.hold_replication(true);
      Request request = put("l", std::int32_t{1}, std::string("majority"), 5'000);
      request.bytes.set("maxTimeMS", std::int32_t{300});
      s.ask("max time before the write concern's", 0, request);
    }},
    {"time_is_up_inside", [](ComparedSet& s) {
      s.hold_next_inside(1'500);
      const auto held = s.send(0, acquire("l", kA, milliseconds(500)));
      s.note("held", held);
      s.pass(1'500);
      s.ask("look", 0, look("l"));
    }},
    {"held_inside", [](ComparedSet& s) {
      s.hold_next_inside(500);
      const auto held = s.send(0, acquire("l", kA));
      s.pass(100);
      s.ask("a read passes it", 0, look("l"));
      s.note("held", held);
    }},

    // Elections.

    {"step_down_while_a_write_waits", [](ComparedSet& s) {
      s.hold_replication(true);
      const auto acquires = s.send(0, acquire("l", kA));
      const auto releases = s.send(0, release("warm", kA));
      s.pass(200);
      s.step_down();
      s.note("the acquire", acquires);
      s.note("the release", releases);
      s.ask("the next", 0, acquire("m", kA));
    }},
    {"step_down_while_it_is_held_inside", [](ComparedSet& s) {
      s.hold_next_inside(1'200, Hold::fail_point);
      const auto held = s.send(0, acquire("l", kA));
      s.pass(200);
      s.step_down();
      s.note("held", held);
    }},
    {"another_steps_up_while_a_write_waits", [](ComparedSet& s) {
      s.hold_replication(true);
      const auto waits = s.send(0, acquire("l", kA));
      s.pass(200);
      s.step_up(1);
      s.note("the acquire", waits);
      s.hold_replication(false);
      s.catch_up();
      s.ask("rolled back", 1, look("l"));
      s.ask("taken by another", 1, acquire("l", kB));
      s.ask("the old primary", 0, acquire("l", kB));
    }},
    {"a_write_survives_a_clean_failover", [](ComparedSet& s) {
      s.ask("acquire", 0, acquire("l", kA));
      s.step_up(1);
      s.ask("look", 1, look("l"));
      s.ask("refused", 1, acquire("l", kB));
      s.ask("release", 1, release("l", kA));
    }},
    {"isolated_primary_leaves_its_office", [](ComparedSet& s) {
      s.isolate(0, true);
      s.ask("write for one", 0, put("l", std::int32_t{1}, std::int32_t{1}));
      const auto waits = s.send(0, acquire("m", kA, milliseconds(9'000)));
      s.note("while it is deposed", waits);
      s.ask("afterwards", 0, acquire("m", kA));
      const int next = s.primary();
      s.ask("its successor", next, acquire("m", kB));
      s.isolate(0, false);
      s.catch_up();
      s.ask("rolled back", next, look("l"));
    }},
    {"two_primaries", [](ComparedSet& s) {
      s.isolate(0, true);
      s.step_up(1);
      s.leave_out_times();
      s.ask("old, for one", 0, put("l", std::int32_t{1}, std::int32_t{1}));
      s.ask("new, for one", 1, put("l", std::int32_t{2}, std::int32_t{1}));
      s.ask("old, for a majority", 0, acquire("m", kA, milliseconds(300)));
      s.ask("new, for a majority", 1, acquire("m", kB));
      s.isolate(0, false);
      s.catch_up();
      s.ask("what is left", 1, look("m"));
    }},

    // Members that stop or die.

    {"zombies_of_a_short_stop", [](ComparedSet& s) {
      s.stop(0);
      const auto waits = s.send(0, acquire("l", kA));
      s.note("while it is stopped", waits, 300);
      s.go_on(0);
      s.note("once it goes on", waits);
    }},
    // Commands that no client waits for any more are executed.
    {"zombies_of_closed_connections", [](ComparedSet& s) {
      s.stop(0);
      const auto closed = s.send(0, acquire("l", kA));
      s.pass(200);
      s.hang_up(closed);
      s.pass(200);
      s.go_on(0);
      s.pass(700);
      s.ask("what it wrote", 0, look("l"));
    }},
    {"zombies_of_a_deposed_primary", [](ComparedSet& s) {
      s.stop(0);
      const auto acquires = s.send(0, acquire("l", kA));
      s.step_up(1);
      s.leave_out_times();
      s.ask("its successor", 1, acquire("l", kB));
      s.go_on(0);
      s.note("once it goes on", acquires);
      s.catch_up();
      s.ask("what is left", 1, look("l"));
    }},
    {"killed_while_a_write_waits", [](ComparedSet& s) {
      s.hold_replication(true);
      const auto waits = s.send(0, acquire("l", kA));
      s.pass(200);
      s.kill(0);
      s.note("the acquire", waits);
      s.ask("the next", 0, acquire("l", kA));
    }},

    // Clocks that jump, and the TTL monitor.
    {"clock_jumps_during_a_held_command", [](ComparedSet& s) {
      const auto before = s.wall_ms(0);
      s.hold_next_inside(600);
      const auto held = s.send(0, acquire("l", kA));
      s.pass(200);
      s.move_clock(0, -30'000);
      const auto answer = s.note("held", held);
      s.note("$$NOW", apart(date_in(answer, "acquiredAt"), before));
      const auto after = s.ask("the next", 0, acquire("m", kA));
      s.note("$$NOW of the next", apart(date_in(after, "acquiredAt"), before));
    }},
    // maxTimeMS is of the wall clock too.
    {"clock_jumps_past_the_time_of_a_held_command", [](ComparedSet& s) {
      s.hold_next_inside(800);
      const auto held = s.send(0, acquire("l", kA));
      s.pass(200);
      s.move_clock(0, 30'000);
      s.note("held", held);
    }},
    {"clock_of_a_stopped_member_jumps", [](ComparedSet& s) {
      const auto before = s.wall_ms(0);
      s.stop(0);
      const auto waits = s.send(0, acquire("l", kA));
      s.move_clock(0, 30'000);
      s.go_on(0);
      const auto answer = s.note("once it goes on", waits);
      s.note("$$NOW", apart(date_in(answer, "acquiredAt"), before));
    }},
    // Operation times never go back.
    {"clock_goes_back", [](ComparedSet& s) {
      s.move_clock(0, 60'000);
      s.ask("ahead", 0, acquire("l", kA));
      s.move_clock(0, 0);
      const auto now = s.wall_ms(0);
      const auto answer = s.ask("back", 0, acquire("m", kA));
      s.note("$$NOW", apart(date_in(answer, "acquiredAt"), now));
    }},
    {"a_clock_that_goes_back_stretches_wtimeout", [](ComparedSet& s) {
      s.hold_replication(true);
      const auto waits = s.send(0, put("l", std::int32_t{1}, std::string("majority"), 600));
      s.pass(200);
      s.move_clock(0, -1'500);
      s.note("when it would have ended", waits, 1'000);
      s.note("by its own clock", waits);
    }},
    {"a_secondary_that_jumps_stands_for_election", [](ComparedSet& s) {
      s.move_clock(1, 3 * ComparedSet::kElectionTimeout_ms);
      s.pass(ComparedSet::kElectionTimeout_ms / 2);
      s.note("primary", std::to_string(s.primary()));
      s.ask("the old one", 0, acquire("l", kA));
    }},
    {"a_secondary_that_jumps_back_does_not", [](ComparedSet& s) {
      s.move_clock(1, -30'000);
      s.pass(ComparedSet::kElectionTimeout_ms / 2);
      s.note("primary", std::to_string(s.primary()));
    }},
    {"a_primary_that_jumps", [](ComparedSet& s) {
      s.move_clock(0, 3 * ComparedSet::kElectionTimeout_ms);
      s.pass(1'000);
      s.ask("at once", 0, look("l"));
    }},
    {"a_secondary_that_was_stopped_may_stand", [](ComparedSet& s) {
      s.stop(1);
      s.pass(2 * ComparedSet::kElectionTimeout_ms);
      s.go_on(1);
      s.pass(1'000);
      s.note("primary", std::to_string(s.primary()));
    }},

    // The TTL monitor.

    {"ttl_deletes_what_is_expired", [](ComparedSet& s) {
      s.ask("index", 0, ttl_index());
      s.catch_up();
      const auto expires = [](const Value& value) {
        return make({{"$set", make({{"expiresAt", value}})}});
      };
      const auto now = s.wall_ms(0);
      const std::vector<std::pair<const char*, Value>> documents{
          {"past", Date{now - 5'000}},
          {"future", Date{now + 600'000}},
          {"text", std::string("2001-01-01")},
          {"number", std::int64_t{5}},
          {"null", sim::simulated::Null{}},
          {"dates", list({Date{now + 600'000}, Date{now - 5'000}})},
          {"later-dates", list({Date{now + 600'000}, Date{now + 700'000}})},
          {"texts", list({std::string("a")})}};
      s.set_ttl(false);
      s.pass(1'200);
      for (const auto& [name, value] : documents) {
        Request request = put(name, std::int32_t{1});
        request.bytes.set("update", expires(value));
        s.ask(name, 0, request);
      }
      s.pass(2'500);
      for (const auto& [name, value] : documents) s.ask(std::string("off: ") + name, 0, look(name));
      s.set_ttl(true);
      s.pass(4'000);
      for (const auto& [name, value] : documents) s.ask(std::string("on: ") + name, 0, look(name));
    }},
    {"ttl_goes_by_the_primarys_clock", [](ComparedSet& s) {
      s.ask("index", 0, ttl_index());
      s.catch_up();
      s.ask("held for a minute", 0, acquire("l", kA));
      s.move_clock(0, 120'000);
      s.pass(4'000);
      s.ask("gone", s.primary(), look("l"));
    }},

    // Change streams and transactions.
    {"a_stream_tells_of_deletions_in_order", [](ComparedSet& s) {
      for (const char* name : {"a", "b", "c"}) s.ask(name, 0, acquire(name, kA));
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      const auto waits = s.send(0, stream(Step::next, cursor));
      s.pass(100);
      s.ask("b goes", 0, release("b", kA));
      s.note("news", waits);
      s.ask("no news", 0, stream(Step::next, cursor, milliseconds(600)));
      s.ask("a goes", 0, release("a", kA));
      s.ask("c goes", 0, release("c", kA));
      s.ask("a comes", 0, acquire("a", kB));
      s.pass(300);
      s.ask("all news", 0, stream(Step::next, cursor));
      s.ask("close", 0, stream(Step::close, cursor));
      s.ask("closed", 0, stream(Step::next, cursor));
      s.ask("close again", 0, stream(Step::close, cursor));
    }},
    {"a_stream_waits_for_the_majority", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      s.hold_replication(true);
      s.ask("goes", 0, release("l", kA, milliseconds(300)));
      s.ask("no majority, no news", 0, stream(Step::next, cursor, milliseconds(900)));
      const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(6'000)));
      s.pass(100);
      s.hold_replication(false);
      s.note("a majority has it", waits);
    }},
    {"a_stream_begins_where_an_attempt_was", [](ComparedSet& s) {
      s.ask("held before", 0, acquire("a", kB));
      const auto held = s.ask("held", 0, acquire("b", kA));
      s.ask("handed over", 0, hand_over("b", kA, kB));
      const auto since = s.ask("open", 0, stream_of(kB.high, held.reply));
      s.ask("news", 0, stream(Step::next, cursor_in(since), milliseconds(900)));
    }},
    {"a_stream_is_killed_while_it_waits", [](ComparedSet& s) {
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(9'000)));
      s.pass(200);
      s.ask("kill", 0, stream(Step::close, cursor));
      s.note("who waited", waits);
      s.ask("afterwards", 0, stream(Step::next, cursor));
    }},
    {"a_stream_and_a_step_down", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(9'000)));
      s.pass(200);
      s.step_up(1);
      s.note("while it waits", waits);
      s.ask("afterwards", 0, stream(Step::next, cursor, milliseconds(600)));
      s.ask("goes", 1, release("l", kA));
      s.pass(500);
      s.ask("the next", 0, stream(Step::next, cursor, milliseconds(600)));
    }},
    {"a_stream_and_a_rollback", [](ComparedSet& s) {
      s.ask("held", 0, acquire("l", kA));
      const auto cursor = cursor_in(s.ask("open", 0, stream(Step::open)));
      s.isolate(0, true);
      s.leave_out_times();
      s.ask("goes, for one", 0, put("m", std::int32_t{1}, std::int32_t{1}));
      const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(30'000)));
      s.pass(200);
      s.step_up(1);
      s.pass(200);
      s.isolate(0, false);
      s.catch_up();
      s.note("while it is rolled back", waits);
      s.ask("afterwards", 0, stream(Step::next, cursor, milliseconds(600)));
    }},

    // Transactions.

    {"transactions", [](ComparedSet& s) {
      s.ask("index", 0, unique_index());
      s.catch_up();
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
    }},
    {"a_transaction_and_a_step_down", [](ComparedSet& s) {
      s.ask("index", 0, unique_index());
      s.catch_up();
      s.ask("insert", 0, insert_in_transaction('a', "r"));
      s.step_up(1);
      s.catch_up();
      s.ask("commit at the old one", 0, end_transaction("commitTransaction", 'a'));
      s.ask("commit at the new one", 1, end_transaction("commitTransaction", 'a'));
      s.ask("insert again", 1, insert_in_transaction('b', "r"));
      s.ask("commit", 1, end_transaction("commitTransaction", 'b'));
    }},
    {"a_commit_waits_in_vain", [](ComparedSet& s) {
      s.ask("index", 0, unique_index());
      s.catch_up();
      s.ask("insert", 0, insert_in_transaction('a', "r"));
      s.hold_replication(true);
      s.ask("commit", 0, end_transaction("commitTransaction", 'a', 300));
      s.hold_replication(false);
    }},

    // The queue in a lock's document.
    {"a_lock_passes_along_its_queue", [](ComparedSet& s) {
      s.ask("A has it", 0, queue_up("l", kA));
      s.ask("B waits", 0, queue_up("l", kB));
      s.ask("C waits", 0, queue_up("l", kC));
      s.ask("B again, at its place", 0, queue_up("l", kB, 3));
      s.ask("B's late command changes nothing of it", 0, queue_up("l", kB, 2));
      s.ask("A releases unless somebody waits", 0, release_unless_queued("l", kA));
      // Offered each time, because the present second decides whether a lock is given at once.
      s.ask("A offers", 0, pass_on("l", kA, true));
      s.ask("B takes it", 0, queue_up("l", kB, 4));
      s.ask("B has it, C waits", 0, look("l"));
      s.ask("A has nothing to pass on", 0, pass_on("l", kA));
      s.ask("C waits no longer", 0, pass_on("l", kC));
      s.ask("B alone", 0, look("l"));
      s.ask("C waits", 0, queue_up("l", kC));
      s.ask("B offers", 0, pass_on("l", kB, true));
      s.ask("who polls takes it, and C waits no longer first", 0, acquire("l", kA));
      s.ask("C waits", 0, queue_up("l", kC));
      s.ask("to C", 0, pass_on("l", kA, true));
      s.ask("C to nobody", 0, pass_on("l", kC));
      s.ask("nobody's", 0, look("l"));
      s.ask("taken", 0, queue_up("l", kB));
      s.ask("B releases unless somebody waits", 0, release_unless_queued("l", kB));
      s.ask("nothing there", 0, pass_on("l", kB));
    }},
    // With a short name the oplog has whole documents, with a long one what has changed.
    {"a_stream_tells_whom_a_lock_is_passed_to", [](ComparedSet& s) {
      const std::string longer(100, 'l');
      const auto cursor = cursor_in(s.ask("open", 0, stream_of(kB.high)));
      for (const char* name : {"s", longer.c_str()}) {
        s.ask("A has it", 0, queue_up(name, kA));
        s.ask("B waits", 0, queue_up(name, kB));
        s.ask("no news", 0, stream(Step::next, cursor, milliseconds(600)));
        const auto waits = s.send(0, stream(Step::next, cursor, milliseconds(6'000)));
        s.ask("offered to B", 0, pass_on(name, kA, true));
        s.note("B hears", waits);
        s.ask("B takes it", 0, queue_up(name, kB));
        s.ask("its own write", 0, stream(Step::next, cursor));
        s.ask("A waits", 0, queue_up(name, kA));
        s.ask("that is no news for B", 0, stream(Step::next, cursor, milliseconds(600)));
        s.ask("offered to A", 0, pass_on(name, kB, true));
        s.ask("nor that", 0, stream(Step::next, cursor, milliseconds(600)));
        s.ask("to nobody", 0, pass_on(name, kA));
      }
    }},
  };
  return all;
}

std::vector<Seen> run_script(const Script& script, ComparedSet& set) {
  // Both sets have the collection from now on, and every member of them.
  set.ask("first write", 0, put("warm", std::int32_t{0}));
  set.catch_up();
  script.run(set);
  return set.lines();
}

}  // namespace leasehold::properties
