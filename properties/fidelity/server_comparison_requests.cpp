#include "properties/fidelity/server_comparison_requests.hpp"

#include "mongo/commands.hpp"

namespace leasehold::properties {
namespace {

using core::Command;
using sim::simulated::Array;
using sim::simulated::Binary;

Object concern(const Value& w, int wtimeout_ms) {
  return make({{"w", w}, {"wtimeout", std::int32_t{wtimeout_ms}}});
}

Request as_sent(Command command) {
  command.id = 1;
  if (command.timeout.count() == 0) command.timeout = kTimeout;
  const auto bytes = mongo::build(command, ComparedSet::kCollection);
  return {sim::simulated::to_object(*bytes.get()), command};
}

Object session(char id) { return make({{"id", Binary{std::string(16, id)}}}); }

}  // namespace

Value list(std::vector<Value> items) { return Array{std::move(items)}; }

std::string lock_id(core::Owner owner) { return core::to_hex(owner) + ".60000.1.host:1"; }

Request acquire(const char* name, core::Owner owner, milliseconds timeout, milliseconds lease) {
  const core::AcquireCommand body{1, name, owner, lock_id(owner), {}, lease, kMargin};
  return as_sent({.timeout = timeout, .body = body});
}

Request release(const char* name, core::Owner owner, milliseconds timeout) {
  return as_sent({.timeout = timeout, .body = core::DeleteCommand{name, owner, {}}});
}

Request extend(const char* name, core::Owner owner, Date acquired, milliseconds timeout) {
  core::ExtendCommand all{{{1, name, owner, core::ServerInstant{acquired.ms}, lock_id(owner),
                            kLease, kMargin, FencingToken(7)}}};
  return as_sent({.timeout = timeout, .body = std::move(all)});
}

Request hand_over(const char* name, core::Owner from, core::Owner to) {
  return as_sent({.body = core::HandOverCommand{1, name, from, to, lock_id(to), kLease, kMargin}});
}

Request queue_up(const char* name, core::Owner owner, std::uint64_t beat) {
  const auto id = core::format_lock_id({owner, milliseconds(kLease).count(), beat, "host:1"});
  return as_sent({.body = core::AcquireCommand{1, name, owner, id, {}, kLease, kMargin, kLease}});
}

Request pass_on(const char* name, core::Owner from, bool offers) {
  return as_sent({.body = core::PassOnCommand{name, from, {}, offers}});
}

Request release_unless_queued(const char* name, core::Owner owner) {
  return as_sent({.body = core::DeleteCommand{name, owner, {}, true}});
}

Request stream_of(std::uint64_t provider, const Object& since) {
  core::StreamCommand open{.provider = provider};
  if (const auto* at = since.find("operationTime")) {
    const auto& place = *at->as<sim::simulated::Timestamp>();
    open.since = FencingToken::from_timestamp(place.seconds, place.increment);
  }
  return as_sent({.timeout = milliseconds(1'500), .body = open});
}

Request look(const char* name) { return as_sent({.body = core::ReadHoldersCommand{{name}}}); }

Request stream(core::StreamCommand::Step step, std::int64_t cursor, milliseconds timeout) {
  return as_sent({.timeout = timeout, .body = core::StreamCommand{step, cursor}});
}

Request ttl_index() { return as_sent({.body = core::EnsureIndexCommand{}}); }

Request put(const char* name, const Value& x, const Value& w, int wtimeout_ms) {
  return {make({{"findAndModify", std::string(ComparedSet::kCollection)},
                {"query", make({{"_id", std::string(name)}})},
                {"update", make({{"$set", make({{"x", x}})}})},
                {"upsert", true},
                {"new", true},
                {"writeConcern", concern(w, wtimeout_ms)}})};
}

Request upsert_under(const char* name, const char* unique_field_taken) {
  return {make({{"findAndModify", std::string(ComparedSet::kCollection)},
                {"query", make({{"_id", std::string(name)}, {"lockId", std::string("nobody's")}})},
                {"update", make({{"$set", make({{"x", std::string(unique_field_taken)}})}})},
                {"upsert", true},
                {"new", true},
                {"writeConcern", concern(std::string("majority"), 5'000)}})};
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

Request end_transaction(const char* how, char id, int wtimeout_ms) {
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

std::string apart(Date date, std::int64_t from_ms) {
  const auto tens = (date.ms - from_ms + 5'000 + 1'000'000) / 10'000 - 100;
  return std::to_string(tens * 10) + " s from the clock at its arrival";
}

std::int64_t cursor_in(const Answer& answer) {
  const auto* cursor = answer.reply.find("cursor");
  return cursor == nullptr ? 0 : cursor->as<Object>()->find("id")->integer();
}

}  // namespace leasehold::properties
