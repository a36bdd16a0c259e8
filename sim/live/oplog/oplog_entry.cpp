#include "sim/live/oplog/oplog_entry.hpp"

#include <algorithm>
#include <stdexcept>

namespace leasehold::sim::live {
namespace {

constexpr std::size_t kLongestArray = 100'000;  ///< no document of a lock has a larger one

Json* element(Json& array, const std::string& index) {
  const auto i = static_cast<std::size_t>(std::stoul(index));
  if (i >= kLongestArray) throw std::runtime_error("an update has the place " + index);
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

/// The value at a path, made with all around it if it is not there. Each part of the path is a
/// field, or a place in an array.
Json& made(Json& document, const std::string& path) {
  Json* value = &document;
  for (std::size_t from = 0; from <= path.size();) {
    const auto dot = std::min(path.find('.', from), path.size());
    const auto part = path.substr(from, dot - from);
    value = value->is_array() ? element(*value, part) : &(*value)[part];
    from = dot + 1;
  }
  return *value;
}

/// The operators of format 1, which MongoDB before 5.0 writes: values as they are after the update.
void set_and_unset(Json& document, const Json& o) {
  for (const auto& [key, part] : o.items()) {
    if (key == "$set") {
      for (const auto& [path, one] : part.items()) made(document, path) = one;
    } else if (key == "$unset") {
      for (const auto& [path, one] : part.items()) {
        const auto dot = path.rfind('.');
        Json& around = dot == std::string::npos ? document : made(document, path.substr(0, dot));
        const auto last = dot == std::string::npos ? path : path.substr(dot + 1);
        if (around.is_array()) {
          *element(around, last) = nullptr;
        } else {
          around.erase(last);
        }
      }
    } else if (key != "$v") {
      throw std::runtime_error("an update has '" + key +
                               "': of format 1 only $set and $unset are known");
    }
  }
}

/// After an update entry: a difference, operators, or a replacement.
Json updated(Json document, const Json& o) {
  const auto is_operator = [](const auto& item) { return item.key().starts_with('$'); };
  const auto items = o.items();
  if (o.contains("diff")) {
    change(document, o["diff"]);
  } else if (std::any_of(items.begin(), items.end(), is_operator)) {
    set_and_unset(document, o);
  } else {
    document = o;
  }
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
