#include "sim/virtual/documents/list_operators.hpp"

#include <algorithm>

namespace leasehold::sim::simulated {
namespace {

/// Null or missing anywhere makes null: what most operators of mongod do, and no error.
bool any_is_nothing(Arguments values) {
  return std::any_of(values.begin(), values.end(), [](const Value* v) { return is_nothing(*v); });
}

/// A second or third byte of a UTF-8 character: text is not cut there.
bool continues_character(const std::string& text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

/// REQUIRES: a number; all that the commands give are whole.
std::int64_t whole(const Value& value) {
  if (!value.is_number() || value.is<double>()) throw Unsupported("a place of another type");
  return value.integer();
}

/// The codes are mongod's, here and below: the differential test compares them.
const Array& list_or(const Value& value, int code, const char* message) {
  const auto* list = value.as<Array>();
  if (list == nullptr) throw ServerError(code, message);
  return *list;
}

/// `use` is called with each element as the variable that `as` names.
template <typename Use>
void for_each(const std::vector<Value>& items, const std::string& name, const Scope& scope,
              Use use) {
  Scope inner = scope;
  for (const Value& item : items) {
    // One scope for all: each element replaces the one before it, and hides a variable of that
    // name further out.
    inner.variables[name] = item;
    use(item, inner);
  }
}

/// By the manual it may be left out, and is `this` then. The adapter names it.
std::string name_in(const Value& argument) { return *field_of(argument, "as").as<std::string>(); }

}  // namespace

const Value& field_of(const Value& argument, std::string_view key) {
  const auto* object = argument.as<Object>();
  const Value* found = object == nullptr ? nullptr : object->find(key);
  if (found == nullptr) throw Unsupported("an operator without its field " + std::string(key));
  return *found;
}

/// By the manual: null as soon as one is null or missing, whatever comes after it.
Value concatenated(Arguments texts) {
  std::string whole_text;
  for (const Value* value : texts) {
    if (is_nothing(*value)) return Null{};
    const auto* text = value->as<std::string>();
    if (text == nullptr) throw ServerError(16702, "$concat only supports strings");
    whole_text += *text;
  }
  return whole_text;
}

/// The lockId with a queue is one text, and this cuts its entries apart. By the manual text without
/// the separator is the one element of the result.
Value split(Arguments v) {
  if (any_is_nothing(v)) return Null{};
  const auto* text = v[0]->as<std::string>();
  const auto* separator = v[1]->as<std::string>();
  if (text == nullptr) throw ServerError(40085, "$split requires a string as the first argument");
  if (separator == nullptr) {
    throw ServerError(40086, "$split requires a string as the second argument");
  }
  if (separator->empty()) throw ServerError(40087, "$split requires a non-empty separator");
  Array out;
  std::size_t from = 0;
  // Two separators side by side have an empty element between them, and so has one at either end.
  for (auto at = text->find(*separator); at != std::string::npos;
       at = text->find(*separator, from)) {
    out.items.emplace_back(text->substr(from, at - from));
    from = at + separator->size();
  }
  out.items.emplace_back(text->substr(from));
  return out;
}

/// A negative length means the rest. Beyond the end there is nothing, and no error.
Value bytes_of(Arguments v) {
  if (v.size() != 3) throw Unsupported("$substrBytes of other than three arguments");
  // Not null, as for most operators.
  if (is_nothing(*v[0])) return std::string();
  if (!v[0]->is<std::string>()) throw Unsupported("$substrBytes of other than text");
  const auto& text = *v[0]->as<std::string>();
  const auto start = whole(*v[1]), asked = whole(*v[2]);
  if (start < 0) throw ServerError(50752, "$substrBytes: starting index must be non-negative");
  const auto from = static_cast<std::size_t>(start);
  const auto length = asked < 0 ? std::string::npos : static_cast<std::size_t>(asked);
  // A lockId of other software may hold any text, so a cut may fall within a character.
  if (continues_character(text, from)) {
    throw ServerError(28656, "$substrBytes: starting index is a UTF-8 continuation byte");
  }
  if (length != std::string::npos && continues_character(text, from + length)) {
    throw ServerError(28657, "$substrBytes: ending index is in the middle of a UTF-8 character");
  }
  return from >= text.size() ? std::string() : text.substr(from, length);
}

/// A date is its ms since 1970, by the manual on $toLong. Text can be converted too; where it may
/// be damaged a $convert is used, which says what errors give.
Value to_long(const Value& value) {
  if (is_nothing(value)) return Null{};
  if (const auto* date = value.as<Date>()) return date->ms;
  if (value.is<std::int32_t>() || value.is<std::int64_t>()) return value.integer();
  throw Unsupported("$toLong of another type");
}

/// Of whole numbers alone, because no lock relies on how mongod writes doubles and dates.
Value to_text(const Value& value) {
  if (is_nothing(value)) return Null{};
  if (value.is<std::int32_t>() || value.is<std::int64_t>()) return std::to_string(value.integer());
  throw Unsupported("$toString of another type");
}

/// Beyond the end there is no value at all.
Value element_at(Arguments v) {
  if (any_is_nothing(v)) return Null{};
  const Array& list = list_or(*v[0], 28689, "$arrayElemAt's first argument must be an array");
  // By the manual a negative place counts from the end.
  const auto place = whole(*v[1]), size = static_cast<std::int64_t>(list.items.size());
  const auto at = place < 0 ? size + place : place;
  return 0 <= at && at < size ? list.items[static_cast<std::size_t>(at)] : Value(Missing{});
}

/// The places of a queue that stay. By the manual there is a form of two arguments too.
Value slice(Arguments v) {
  if (v.size() != 3) throw Unsupported("$slice of other than three arguments");
  if (any_is_nothing(v)) return Null{};
  const Array& list = list_or(*v[0], 28724, "First argument to $slice must be an array");
  const auto start = whole(*v[1]), length = whole(*v[2]);
  if (start < 0) throw Unsupported("$slice from the end");
  if (length <= 0) throw ServerError(28729, "Third argument to $slice must be positive");
  const auto size = static_cast<std::int64_t>(list.items.size());
  // Beyond the end there is nothing, and no error.
  const auto from = std::min(start, size), to = std::min(from + length, size);
  Array out;
  out.items.assign(list.items.begin() + from, list.items.begin() + to);
  return out;
}

/// Of null too this is an error, where other operators answer null.
Value size_of(const Value& list) {
  const Array& all = list_or(list, 17124, "The argument to $size must be an array");
  return static_cast<std::int32_t>(all.items.size());
}

/// By the manual the last one's fields win; each stays where it stood first, which counts, for
/// documents are compared by the order of their fields too. Null is passed over.
Value merged(Arguments objects) {
  Object out;
  for (const Value* value : objects) {
    if (is_nothing(*value)) continue;
    const auto* object = value->as<Object>();
    if (object == nullptr) throw ServerError(40400, "$mergeObjects requires object inputs");
    for (const auto& [key, field] : object->fields) out.set(key, field);
  }
  return out;
}

// Shared with compiled programs: the same error, wherever an expression is evaluated.
const std::vector<Value>& elements_for_filter(const Value& input) {
  return list_or(input, 28651, "input to $filter must be an array").items;
}

const std::vector<Value>& elements_for_map(const Value& input) {
  return list_or(input, 16883, "input to $map must be an array").items;
}

const std::vector<Value>& elements_for_reduce(const Value& input) {
  return list_or(input, 40080, "input to $reduce must be an array").items;
}

/// By the manual its `limit` is optional; no command has one.
Value filter(const Value& argument, const Scope& scope) {
  const Value input = evaluate(field_of(argument, "input"), scope);
  if (is_nothing(input)) return Null{};
  const auto& list = elements_for_filter(input);
  const Value& condition = field_of(argument, "cond");
  Array out;
  for_each(list, name_in(argument), scope, [&](const Value& item, const Scope& inner) {
    if (evaluate(condition, inner).truth()) out.items.push_back(item);
  });
  return out;
}

/// As many elements as the input has: what is missing is null.
Value map(const Value& argument, const Scope& scope) {
  const Value input = evaluate(field_of(argument, "input"), scope);
  if (is_nothing(input)) return Null{};
  const auto& list = elements_for_map(input);
  const Value& in = field_of(argument, "in");
  Array out;
  for_each(list, name_in(argument), scope, [&](const Value&, const Scope& inner) {
    Value value = evaluate(in, inner);
    out.items.push_back(value.is<Missing>() ? Value(Null{}) : std::move(value));
  });
  return out;
}

/// From the first to the last; of an empty list it is the initial value.
Value reduce(const Value& argument, const Scope& scope) {
  const Value input = evaluate(field_of(argument, "input"), scope);
  if (is_nothing(input)) return Null{};
  const auto& list = elements_for_reduce(input);
  const Value& in = field_of(argument, "in");
  Value value = evaluate(field_of(argument, "initialValue"), scope);
  for_each(list, "this", scope, [&](const Value&, Scope inner) {
    inner.variables["value"] = value;
    value = evaluate(in, inner);
  });
  return value;
}

}  // namespace leasehold::sim::simulated
