#include "model/workers/promises.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

namespace leasehold::model {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kHour_ms = 3'600'000;

[[noreturn]] void refuse(const std::string& field, const Json& value, const std::string& rule) {
  throw std::runtime_error(field + " is " + value.dump() + ": it must be " + rule);
}

std::string joined(const std::vector<std::string>& words, const std::string& quote) {
  std::string all;
  for (const auto& one : words) all += (all.empty() ? "" : ", ") + quote + one + quote;
  return all;
}

void require_known(const Json& object, const std::string& where,
                   const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    throw std::runtime_error(where + ": '" + key + "' is unknown; there may be " +
                             joined(known, ""));
  }
}

std::string text(const Json& object, const std::string& where, const char* field, bool needed) {
  if (!object.contains(field)) {
    if (needed) throw std::runtime_error(where + ": '" + field + "' is missing; it must be there");
    return "";
  }
  const Json& value = object[field];
  if (!value.is_string() || (needed && value.get<std::string>().empty())) {
    refuse(field, value, needed ? "a text that is not empty" : "a text");
  }
  return value.get<std::string>();
}

std::optional<std::int64_t> milliseconds(const Json& object, const char* field) {
  if (!object.contains(field)) return std::nullopt;
  const Json& value = object[field];
  const std::string rule = "a number from 1 to " + std::to_string(kHour_ms);
  if (!value.is_number_integer()) refuse(field, value, rule);
  const auto ms = value.get<std::int64_t>();
  if (ms < 1 || ms > kHour_ms) refuse(field, value, rule);
  return ms;
}

/// One of `words`, by its place there.
template <typename Word>
Word word(const Json& object, const char* field, const std::vector<std::string>& words,
          Word usual) {
  if (!object.contains(field)) return usual;
  const auto found = std::ranges::find_if(
      words, [&](const auto& one) { return object[field] == Json(one); });
  if (found == words.end()) refuse(field, object[field], "one of " + joined(words, "'"));
  return static_cast<Word>(found - words.begin());
}

const std::vector<std::string> kTokens{"none", "rising"};
const std::vector<std::string> kWaits{"none", "polls", "notified"};

/// "lease", "never", or so many leases.
std::optional<double> passes_on(const Json& object) {
  if (!object.contains("passes_on_after")) return 1;
  const Json& value = object["passes_on_after"];
  if (value == "lease") return 1;
  if (value == "never") return std::nullopt;
  constexpr double kMost = 100;
  if (!value.is_number() || value.get<double>() < 1 || value.get<double>() > kMost) {
    refuse("passes_on_after", value, "'lease', 'never', or how many leases, from 1 to 100");
  }
  return value.get<double>();
}

std::optional<DocumentMapping> document(const Json& object) {
  if (!object.contains("document")) return std::nullopt;
  const Json& value = object["document"];
  if (!value.is_object()) refuse("document", value, "an object");
  require_known(value, "document", {"collection", "id", "owner", "expires"});
  return DocumentMapping{
      text(value, "document", "collection", true), text(value, "document", "id", true),
      text(value, "document", "owner", true), text(value, "document", "expires", false)};
}

bool flag(const Json& object, const char* field) {
  if (!object.contains(field)) return false;
  if (!object[field].is_boolean()) refuse(field, object[field], "true or false");
  return object[field].get<bool>();
}

}  // namespace

Promises promises_from_json(const std::string& text_of_file) {
  Json json;
  try {
    json = Json::parse(text_of_file);
  } catch (const Json::exception& error) {
    throw std::runtime_error("the promises are no JSON: " + std::string(error.what()));
  }
  if (!json.is_object()) throw std::runtime_error("the promises are no JSON object");
  require_known(json, "the promises",
                {"name", "language", "tokens", "shares", "tells_loss", "waits", "polls_within_ms",
                 "passes_on_after", "clock_margin_ms", "answers_within_ms", "document", "says"});
  Promises p;
  p.name = text(json, "the promises", "name", true);
  p.language = text(json, "the promises", "language", false);
  p.tokens = word(json, "tokens", kTokens, p.tokens);
  p.shares = flag(json, "shares");
  p.tells_loss = flag(json, "tells_loss");
  p.waits = word(json, "waits", kWaits, p.waits);
  p.polls_within_ms = milliseconds(json, "polls_within_ms").value_or(p.polls_within_ms);
  p.passes_on_leases = passes_on(json);
  p.clock_margin_ms = milliseconds(json, "clock_margin_ms");
  p.answers_within_ms = milliseconds(json, "answers_within_ms").value_or(p.answers_within_ms);
  p.document = document(json);
  if (p.shares && p.document) refuse("shares", true, "false where there is a document");
  return p;
}

std::string to_json(const Promises& p) {
  Json json{{"name", p.name},
            {"language", p.language},
            {"tokens", kTokens[static_cast<std::size_t>(p.tokens)]},
            {"shares", p.shares},
            {"tells_loss", p.tells_loss},
            {"waits", kWaits[static_cast<std::size_t>(p.waits)]},
            {"polls_within_ms", p.polls_within_ms},
            {"answers_within_ms", p.answers_within_ms}};
  json["passes_on_after"] = p.passes_on_leases ? Json(*p.passes_on_leases) : Json("never");
  if (p.clock_margin_ms) json["clock_margin_ms"] = *p.clock_margin_ms;
  if (p.document) {
    json["document"] = {{"collection", p.document->collection},
                        {"id", p.document->id},
                        {"owner", p.document->owner},
                        {"expires", p.document->expires}};
  }
  return json.dump(2);
}

}  // namespace leasehold::model
