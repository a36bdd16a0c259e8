#include "model/history/history.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

#include "model/history/from_outside.hpp"

namespace leasehold::model {
namespace {

using Json = nlohmann::ordered_json;

Kind kind_from(const std::string& name) {
  for (const auto& row : about_kinds::kAll) {
    if (name == row.name) return row.kind;
  }
  throw std::runtime_error("unknown kind '" + name + "'");
}

template <typename Number>
Number parse_big(const Json& value) {
  const auto text = value.get<std::string>();
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error("'" + text + "' is not a number");
  }
  return number;
}

/// A whole number: the library would take a fraction, and one too large for it with any result.
std::int64_t parse_number(const char* key, const Json& value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost)) {
    throw std::runtime_error(std::string(key) + " is " + value.dump() +
                             ": it must be a whole number of 64 bits");
  }
  return value.get<std::int64_t>();
}

Json to_value(Field field, std::int64_t value) {
  if (about(field).type == FieldType::digits) return std::to_string(value);
  return value;
}
Json to_value(Field, std::uint64_t value) { return std::to_string(value); }
Json to_value(Field, bool value) { return value; }
Json to_value(Field, const std::string& value) { return value; }

void from_value(Field field, const Json& json, std::int64_t& value) {
  const bool is_big = about(field).type == FieldType::digits;
  value = is_big ? parse_big<std::int64_t>(json) : parse_number(to_string(field), json);
}
void from_value(Field, const Json& json, std::uint64_t& value) {
  value = parse_big<std::uint64_t>(json);
}
void from_value(Field, const Json& json, bool& value) { json.get_to(value); }
void from_value(Field, const Json& json, std::string& value) { json.get_to(value); }

bool has_field(Kind kind, const std::string& name) {
  for (const Field field : about(kind).fields) {
    if (name == to_string(field)) return true;
  }
  return false;
}

void require_known(const Json& line, Kind kind) {
  for (const auto& item : line.items()) {
    const std::string& key = item.key();
    if (key == "at_ns" || key == "kind" || has_field(kind, key)) continue;
    throw std::runtime_error(std::string(to_string(kind)) + " has no field '" + key + "'");
  }
}

template <typename T>
bool is_default(const T& value) {
  return value == T{};
}

Json schema_of(const AboutField& field) {
  constexpr std::array kTypes{"string", "integer", "string", "string", "boolean"};  // by FieldType
  Json schema{{"description", field.meaning},
              {"type", kTypes[static_cast<std::size_t>(field.type)]}};
  const bool is_big = field.type == FieldType::digits || field.type == FieldType::natural;
  if (is_big) schema["pattern"] = "^-?[0-9]+$";
  return schema;
}

Json schema_of(const AboutKind& kind) {
  Json fields{{"at_ns", {{"type", "integer"}}}, {"kind", {{"const", kind.name}}}};
  for (const Field field : kind.fields) {
    fields[to_string(field)] = {{"$ref", std::string("#/$defs/") + to_string(field)}};
  }
  return {{"description", kind.meaning},
          {"properties", fields},
          {"required", {"at_ns", "kind"}},
          {"additionalProperties", false}};
}

/// In the order of the enumerators.
constexpr std::array<std::string_view, 5> kLocks{"leasehold", "distributed-lock", "document-level",
                                                 "insert-unique", "set-on-insert"};

}  // namespace

FieldSet fields_set(const Event& event) {
  FieldSet set;
  each_field(event, [&](Field field, const auto& value) {
    if (!is_default(value)) set.insert(field);
  });
  return set;
}

std::string valid_utf8(const std::string& text) {
  const auto is_ascii = [](char c) { return static_cast<signed char>(c) >= 0; };
  if (std::ranges::all_of(text, is_ascii)) return text;
  const auto quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

void make_valid_utf8(Event& event) {
  each_field(event, []<typename T>(Field, T& value) {
    if constexpr (std::is_same_v<T, std::string>) value = valid_utf8(value);
  });
}

std::string to_json(const Event& event) {
  Json line;
  line["at_ns"] = event.at_ns;
  line["kind"] = to_string(event.kind);
  each_field(event, [&](Field field, const auto& value) {
    if (!is_default(value)) line[to_string(field)] = to_value(field, value);
  });
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Event event_from_json(const std::string& line) {
  Event event;
  try {
    const auto json = Json::parse(line);
    event.at_ns = parse_number("at_ns", json.at("at_ns"));
    event.kind = kind_from(json.at("kind").get<std::string>());
    require_known(json, event.kind);
    each_field(event, [&]<typename T>(Field field, T& value) {
      const auto found = json.find(to_string(field));
      if (found != json.end()) from_value(field, *found, value);
    });
  } catch (const std::exception& error) {
    throw std::runtime_error(error.what());
  }
  return event;
}

void write(std::ostream& out, const History& history) {
  for (const auto& event : history) out << to_json(event) << '\n';
}

History read(std::istream& in) {
  History history;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    try {
      history.push_back(event_from_json(line));
    } catch (const std::exception& error) {
      throw std::runtime_error("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return history;
}

void sort_by_time(History& history) {
  std::ranges::stable_sort(history, {}, &Event::at_ns);
}

bool asks_for_lock(const Event& event) {
  return event.verb == "acquire" || event.verb == "hand-over";
}

std::string describe_exit(const Event& event) {
  const auto& victim = event.process.empty() ? event.victim : event.process;
  if (event.outcome == "did not end") return victim + " was stopped and did not end";
  const auto how = event.signal != 0
                       ? event.outcome + " by signal " + std::to_string(event.signal)
                       : event.outcome + " with status " + std::to_string(event.exit_status);
  return victim + ' ' + how + " although the harness had not stopped it";
}

bool died_of_itself(const Event& exit) {
  const auto& how = exit.outcome;
  return !exit.process.empty() && (how == "crashed" || how == "exited" || how == "did not end");
}

std::string harness_failure(const History& history) {
  const auto exit = std::ranges::find_if(
      history, [](const Event& e) { return e.kind == Kind::exit && !died_of_itself(e); });
  if (exit == history.end()) return "";
  return describe_exit(*exit) + (exit->message.empty() ? "" : ":\n" + exit->message);
}

std::string owner_of(const std::string& lock_id) { return lock_id.substr(0, lock_id.find('.')); }

std::string history_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", "One line of a history: an event, at `at_ns` by the harness's one clock"},
              {"type", "object"},
              {"oneOf", Json::array()},
              {"$defs", Json::object()}};
  for (const auto& kind : about_kinds::kAll) schema["oneOf"].push_back(schema_of(kind));
  for (const auto& field : kAboutFields) schema["$defs"][field.name] = schema_of(field);
  return schema.dump(2) + "\n";
}

const std::vector<Lock>& all_locks() {
  static const std::vector<Lock> all{Lock::leasehold, Lock::distributed_lock, Lock::document_level,
                                     Lock::insert_unique, Lock::set_on_insert};
  return all;
}

std::string_view name_of(Lock lock) { return kLocks[static_cast<std::size_t>(lock)]; }

std::optional<Lock> lock_named(std::string_view name) {
  const auto found = std::ranges::find(all_locks(), name, name_of);
  return found == all_locks().end() ? std::nullopt : std::optional(*found);
}

}  // namespace leasehold::model
