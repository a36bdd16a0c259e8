#include "sim/live/oplog_entry.hpp"

namespace leasehold::sim::live {
namespace {

Json* element(Json& array, const std::string& index) {
  const auto i = static_cast<std::size_t>(std::stoul(index));
  while (array.size() <= i) array.push_back(nullptr);
  return &array[i];
}

/// A difference of format 2: `u`, `i` and `d` are fields, `s` and a name is what became of that
/// one. Of an array (`a`) `u` and `s` are followed by a place, and `l` is its new length.
void change(Json& value, const Json& diff) {
  const bool array = diff.contains("a") && value.is_array();
  for (const auto& [key, part] : diff.items()) {
    const auto rest = key.substr(1);
    if (array && key == "l") {
      const auto length = static_cast<std::size_t>(integer(part));
      while (value.size() > length) value.erase(value.size() - 1);
    } else if (array && key.front() == 'u' && !rest.empty()) {
      *element(value, rest) = part;
    } else if (key.front() == 's' && !rest.empty()) {
      change(array ? *element(value, rest) : value[rest], part);
    } else if (key == "u" || key == "i") {
      for (const auto& [name, one] : part.items()) value[name] = one;
    } else if (key == "d") {
      for (const auto& item : part.items()) value.erase(item.key());
    }
  }
}

/// After an update entry: a replacement, or a difference.
Json updated(Json document, const Json& o) {
  if (!o.contains("diff")) return o;
  change(document, o["diff"]);
  return document;
}

}  // namespace

std::string text_in(const Json& document, const char* key) {
  return document.contains(key) && document[key].is_string() ? document[key].get<std::string>()
                                                             : "";
}

const Json& id_in(const Json& entry) {
  return (entry.contains("o2") ? entry.at("o2") : entry.at("o")).at("_id");
}

const Json* apply(std::map<std::string, Json>& documents, const Json& entry,
                  const std::string& key) {
  const auto op = text_in(entry, "op");
  if (op == "d") {
    documents.erase(key);
    return nullptr;
  }
  Json& document = documents[key];
  document = op == "i" ? entry["o"] : updated(document, entry["o"]);
  return &document;
}

}  // namespace leasehold::sim::live
