#include <nlohmann/json.hpp>

#include "model/history/history.hpp"

namespace leasehold::model {
namespace {

using Json = nlohmann::ordered_json;

const char* type_name(FieldType type) {
  switch (type) {
    case FieldType::text: return "string";
    case FieldType::number: return "integer";
    case FieldType::digits: return "string";
    case FieldType::flag: return "boolean";
  }
  return "?";
}

Json schema_of(const AboutField& field) {
  const auto type = type_of(field);
  Json schema{{"description", field.meaning}, {"type", type_name(type)}};
  if (type == FieldType::digits) schema["pattern"] = "^-?[0-9]+$";
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

}  // namespace

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

}  // namespace leasehold::model
