#include "sim/virtual/documents/expression.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>

namespace leasehold::sim::simulated {
namespace {

// First the operators that need only the values of their arguments. The codes of their errors are
// mongod's: the differential test compares them.

/// Evaluated arguments, by pointer, because to copy a lockId takes longer than most operators.
using Arguments = std::span<const Value* const>;

/// Arithmetic with null or a missing field gives null and no error, so that a damaged document does
/// not fail a command that only calculates with its fields.
bool is_nothing(const Value& v) { return v.is<Missing>() || v.is<Null>(); }

constexpr int kTypeMismatch = 14;

/// Two ints give an int as long as it fits, else a long; a long stays one. The type is stored, so
/// readers of the document see it.
Value of_long(std::int64_t result, bool small) {
  const bool fits = result >= std::numeric_limits<std::int32_t>::min() &&
                    result <= std::numeric_limits<std::int32_t>::max();
  if (small && fits) return static_cast<std::int32_t>(result);
  return result;
}

/// Sums, differences and products of whole numbers, and dates moved by ms. An overflow becomes a
/// double, as in the server.
Value add(Arguments values) {
  bool small = true, is_date = false;
  std::int64_t sum = 0;
  double real = 0;
  bool overflow = false;
  for (const Value* v : values) {
    if (is_nothing(*v)) return Null{};
    std::int64_t part = 0;
    if (const auto* date = v->as<Date>()) {
      if (is_date) throw ServerError(16612, "only one date allowed in an $add expression");
      is_date = true;
      part = date->ms;
    } else if (v->is<std::int32_t>() || v->is<std::int64_t>()) {
      small = small && v->is<std::int32_t>();
      part = v->integer();
    } else if (v->is<double>()) {
      // The sum of doubles depends on the order in which the server adds; no lock stores any.
      throw Unsupported("$add of doubles");
    } else {
      throw ServerError(kTypeMismatch, "$add only supports numeric or date types");
    }
    // Beside the sum, for the case that it does not fit.
    overflow |= __builtin_add_overflow(sum, part, &sum);
    real += static_cast<double>(part);
  }
  // By the manual a date plus numbers is a date, and they are ms.
  if (is_date) {
    if (overflow) throw ServerError(15, "date overflow in $add");
    return Date{sum};
  }
  if (overflow) return real;
  return of_long(sum, small);
}

/// `compute` says whether the result overflowed. No command comes near that, and a date is moved by
/// $add only; so these are refused and not guessed.
template <typename Compute>
Value of_whole_numbers(Arguments v, const char* name, Compute compute) {
  const Value &a = *v[0], &b = *v[1];
  if (is_nothing(a) || is_nothing(b)) return Null{};
  if (!a.is_number() || !b.is_number() || a.is<double>() || b.is<double>()) {
    throw Unsupported(std::string(name) + " of other than whole numbers");
  }
  std::int64_t result = 0;
  if (compute(a.integer(), b.integer(), &result)) {
    throw Unsupported(std::string("overflow in ") + name);
  }
  return of_long(result, a.is<std::int32_t>() && b.is<std::int32_t>());
}

/// By the manual dates have a difference too; no command asks for one.
Value subtract(Arguments v) {
  return of_whole_numbers(v, "$subtract", [](std::int64_t a, std::int64_t b, std::int64_t* out) {
    return __builtin_sub_overflow(a, b, out);
  });
}

Value multiply(Arguments v) {
  return of_whole_numbers(v, "$multiply", [](std::int64_t a, std::int64_t b, std::int64_t* out) {
    return __builtin_mul_overflow(a, b, out);
  });
}

/// As the manual says of $max in an expression: null and missing are passed over, and types are
/// ordered as BSON's.
Value greatest(Arguments values) {
  const Value* best = nullptr;
  for (const Value* v : values) {
    if (is_nothing(*v)) continue;
    if (best == nullptr || compare(*v, *best) > 0) best = v;
  }
  return best == nullptr ? Value(Null{}) : *best;
}

/// REQUIRES: a number; all that the commands give are whole.
std::int64_t whole(const Value& value) {
  if (!value.is_number() || value.is<double>()) throw Unsupported("a place of another type");
  return value.integer();
}

/// Bytes and not code points: a foreign lockId may hold any text, and the position 0 is the same in
/// both.
Value index_of_bytes(Arguments v) {
  if (is_nothing(*v[0])) return Null{};
  if (!v[0]->is<std::string>()) {
    throw ServerError(40091, "$indexOfBytes requires a string as the first argument");
  }
  if (!v[1]->is<std::string>()) {
    throw ServerError(40092, "$indexOfBytes requires a string as the second argument");
  }
  // By the manual: -1 if it is not there. It is looked for from the third argument to the fourth.
  const auto place = [&v](std::size_t argument, std::size_t otherwise) {
    return v.size() > argument ? static_cast<std::size_t>(whole(*v[argument])) : otherwise;
  };
  const std::string_view text = *v[0]->as<std::string>(), part = *v[1]->as<std::string>();
  const auto at = text.substr(0, place(3, std::string::npos)).find(part, place(2, 0));
  return at == std::string::npos ? std::int32_t{-1} : static_cast<std::int32_t>(at);
}

/// Null or missing anywhere makes null: what most operators of mongod do, and no error.
bool any_is_nothing(Arguments values) {
  return std::ranges::any_of(values, [](const Value* v) { return is_nothing(*v); });
}

/// A second or third byte of a UTF-8 character: text is not cut there.
bool continues_character(const std::string& text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

const Array& list_or(const Value& value, int code, const char* message) {
  const auto* list = value.as<Array>();
  if (list == nullptr) throw ServerError(code, message);
  return *list;
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
Value to_long(Arguments v) {
  const Value& value = *v[0];
  if (is_nothing(value)) return Null{};
  if (const auto* date = value.as<Date>()) return date->ms;
  if (value.is<std::int32_t>() || value.is<std::int64_t>()) return value.integer();
  throw Unsupported("$toLong of another type");
}

/// Writes whole numbers alone, because no lock relies on how mongod writes doubles and dates.
Value to_text(Arguments v) {
  const Value& value = *v[0];
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

/// The places of a queue that stay. By the manual there is a form of two arguments too, which no
/// command has.
Value slice(Arguments v) {
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

/// Null as soon as one is null or missing, as $concat.
Value joined(Arguments lists) {
  Array all;
  for (const Value* value : lists) {
    if (is_nothing(*value)) return Null{};
    const Array& list = list_or(*value, 28664, "$concatArrays only supports arrays");
    all.items.insert(all.items.end(), list.items.begin(), list.items.end());
  }
  return all;
}

std::vector<Value>::const_iterator place_in(const Array& all, const Value& one) {
  return std::ranges::find_if(all.items, [&](const Value& v) { return compare(v, one) == 0; });
}

Value is_in(Arguments v) {
  const Array& all = list_or(*v[1], 40081, "$in requires an array as a second argument");
  return place_in(all, *v[0]) != all.items.end();
}

/// By the manual it may be given where to look, which no command does.
Value index_in(Arguments v) {
  if (is_nothing(*v[0])) return Null{};
  const Array& all = list_or(*v[0], 40090, "$indexOfArray requires an array as a first argument");
  const auto at = place_in(all, *v[1]);
  return at == all.items.end() ? -1 : static_cast<std::int32_t>(at - all.items.begin());
}

/// In steps of one.
Value range(Arguments v) {
  Array numbers;
  for (auto i = whole(*v[0]); i < whole(*v[1]); ++i) {
    numbers.items.emplace_back(static_cast<std::int32_t>(i));
  }
  return numbers;
}

/// By the manual in no order that may be relied on; mongod keeps that of the first.
Value difference(Arguments v) {
  if (any_is_nothing(v)) return Null{};
  const Array& all = list_or(*v[0], 17048, "both operands of $setDifference must be arrays");
  const Array& without = list_or(*v[1], 17049, "both operands of $setDifference must be arrays");
  Array left;
  for (const Value& one : all.items) {
    const bool gone = place_in(without, one) != without.items.end();
    if (!gone && place_in(left, one) == left.items.end()) left.items.push_back(one);
  }
  return left;
}

/// Null too is an error here, where other operators answer null.
Value size_of(Arguments v) {
  const Array& all = list_or(*v[0], 17124, "The argument to $size must be an array");
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

/// Compares two values as `Than` compares their order with zero. It is total over all types: no
/// error, and another type is less or greater.
template <typename Than>
Value compared(Arguments v) {
  return Than()(compare(*v[0], *v[1]), 0);
}

/// By the manual $tsSecond and $tsIncrement take a timestamp and give a long.
template <std::uint32_t Timestamp::* part>
Value part_of_time(Arguments v) {
  const auto* time = v[0]->as<Timestamp>();
  // For null mongod answers null. Only $$CLUSTER_TIME is given here, which is none.
  if (time == nullptr) throw ServerError(5687301, "argument must be a timestamp");
  return std::int64_t{time->*part};
}

/// Numbers in text are decimal, without spaces or a point; doubles lose their fraction; a date
/// gives its ms.
std::optional<std::int64_t> converted_to_long(const Value& input) {
  if (input.is<std::int32_t>() || input.is<std::int64_t>()) return input.integer();
  // By the manual's table of conversions to long.
  if (const auto* flag = input.as<bool>()) return *flag ? 1 : 0;
  if (const auto* date = input.as<Date>()) return date->ms;
  if (const auto* real = input.as<double>()) {
    // 2^63, which no long reaches; -2^63 is one. NaN fails both.
    constexpr double kLimit = 9223372036854775808.0;
    if (*real >= -kLimit && *real < kLimit) return static_cast<std::int64_t>(*real);
  } else if (const auto* text = input.as<std::string>()) {
    std::int64_t number = 0;
    // A sign may lead, and from_chars knows only one of the two.
    const char* begin = text->data() + (text->size() > 1 && (*text)[0] == '+' ? 1 : 0);
    const char* end = text->data() + text->size();
    const auto parsed = std::from_chars(begin, end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && begin != end) return number;
  }
  return std::nullopt;
}

/// A named argument of an operator.
const Value& field_of(const Value& argument, const Key& key) {
  const auto* object = argument.as<Object>();
  const Value* found = object == nullptr ? nullptr : object->find(key);
  if (found == nullptr) throw Unsupported("an operator without its field " + key.text());
  return *found;
}

/// The arguments of an operator that takes a list of them.
const std::vector<Value>& items_of(const Value& argument) {
  const auto* list = argument.as<Array>();
  if (list == nullptr) throw Unsupported("an operator without its list");
  return list->items;
}

bool holds(const Value& expression, const Scope& scope) {
  Value out;
  return evaluate(expression, scope, out).truth();
}

/// What cannot be converted is `onError`'s, never an error: a damaged token must not make a lock
/// impossible to take.
const Value& convert_to_long(const Value& argument, const Scope& scope, Value& out) {
  if (field_of(argument, "to"_key) != Value(std::string("long"))) {
    throw Unsupported("$convert to other than long");
  }
  const Value& input = evaluate(field_of(argument, "input"_key), scope, out);
  if (is_nothing(input)) return evaluate(field_of(argument, "onNull"_key), scope, out);
  const auto converted = converted_to_long(input);
  if (!converted) return evaluate(field_of(argument, "onError"_key), scope, out);
  return out = *converted;
}

/// The replacement is evaluated only when it is needed, as by the server.
const Value& if_null(const Value& argument, const Scope& scope, Value& out) {
  const auto& both = items_of(argument);
  const Value& first = evaluate(both.at(0), scope, out);
  return is_nothing(first) ? evaluate(both.at(1), scope, out) : first;
}

/// The scope inside an operator that gives a value a name.
Scope with(const Scope& scope, const Variable& variable) {
  Scope inner = scope;
  inner.variables = &variable;
  return inner;
}

const Value& let(const Value& argument, const Scope& scope, Value& out) {
  const auto& given = field_of(argument, "vars"_key).as<Object>()->fields;
  if (given.size() != 1) throw Unsupported("$let of other than one variable");
  Value kept;
  const Variable own{given[0].first.text(), &evaluate(given[0].second, scope, kept),
                     scope.variables};
  const Value& result = evaluate(field_of(argument, "in"_key), with(scope, own), out);
  // It may be the variable, which ends here.
  if (&result != &out) out = result;
  return out;
}

/// Only the first branch with a true case is evaluated. Acquire's first cases (missing, corrupt)
/// keep the later ones from documents that they would fail on.
const Value& choose(const Value& argument, const Scope& scope, Value& out) {
  for (const Value& branch : items_of(field_of(argument, "branches"_key))) {
    if (!holds(field_of(branch, "case"_key), scope)) continue;
    return evaluate(field_of(branch, "then"_key), scope, out);
  }
  return evaluate(field_of(argument, "default"_key), scope, out);
}

/// By the manual it takes a document of if, then and else as well. The adapter writes the list.
const Value& cond(const Value& argument, const Scope& scope, Value& out) {
  const auto& three = items_of(argument);
  if (three.size() != 3) throw Unsupported("$cond of another form");
  return evaluate(three[holds(three[0], scope) ? 1 : 2], scope, out);
}

/// The list that an operator goes through; nothing: its result is null.
const std::vector<Value>* input_of(const Value& argument, const Scope& scope, Value& kept,
                                   int code, const char* name) {
  const Value& input = evaluate(field_of(argument, "input"_key), scope, kept);
  if (is_nothing(input)) return nullptr;
  const auto* list = input.as<Array>();
  // The codes are mongod's: the differential test compares them.
  if (list == nullptr) throw ServerError(code, std::string(name) + ": input must be an array");
  return &list->items;
}

/// By the manual it may be left out, and is `this` then. The adapter names it.
const std::string& name_in(const Value& argument) {
  return *field_of(argument, "as"_key).as<std::string>();
}

/// By the manual its `limit` is optional; no command has one.
const Value& filter(const Value& argument, const Scope& scope, Value& out) {
  Value kept;
  const auto* list = input_of(argument, scope, kept, 28651, "$filter");
  if (list == nullptr) return out = Null{};
  const Value& condition = field_of(argument, "cond"_key);
  Array chosen;
  for (const Value& item : *list) {
    const Variable element{name_in(argument), &item, scope.variables};
    if (holds(condition, with(scope, element))) chosen.items.push_back(item);
  }
  return out = std::move(chosen);
}

/// As many elements as the input has: what is missing is null.
const Value& map(const Value& argument, const Scope& scope, Value& out) {
  Value kept;
  const auto* list = input_of(argument, scope, kept, 16883, "$map");
  if (list == nullptr) return out = Null{};
  const Value& in = field_of(argument, "in"_key);
  Array mapped;
  for (const Value& item : *list) {
    const Variable element{name_in(argument), &item, scope.variables};
    const Value& value = evaluate(in, with(scope, element), out);
    mapped.items.push_back(value.is<Missing>() ? Value(Null{}) : value);
  }
  return out = std::move(mapped);
}

/// From the first to the last; of an empty list it is the initial value.
const Value& reduce(const Value& argument, const Scope& scope, Value& out) {
  Value kept, next;
  const auto* list = input_of(argument, scope, kept, 40080, "$reduce");
  if (list == nullptr) return out = Null{};
  const Value& in = field_of(argument, "in"_key);
  Value value = evaluate(field_of(argument, "initialValue"_key), scope, next);
  for (const Value& item : *list) {
    const Variable element{"this", &item, scope.variables}, so_far{"value", &value, &element};
    // It has to stay while the body reads it; so the result is made beside it, and moved after.
    if (const Value& result = evaluate(in, with(scope, so_far), next); &result != &next) {
      next = result;
    }
    value = std::move(next);
  }
  return out = std::move(value);
}

/// Both stop at the first that decides: a type check keeps what follows from other types.
template <bool decides>
const Value& any_or_all(const Value& argument, const Scope& scope, Value& out) {
  const auto& items = items_of(argument);
  const auto decided = [&scope](const Value& item) { return holds(item, scope) == decides; };
  return out = std::ranges::any_of(items, decided) == decides;
}

/// One of the two.
struct Operator {
  /// Gets its argument unevaluated: whether and how often it is evaluated is its matter.
  const Value& (*special)(const Value& argument, const Scope& scope, Value& out) = nullptr;
  Value (*plain)(Arguments) = nullptr;
  std::size_t arguments = 0;  ///< of a plain one: their number; 0: any
};

/// Found by their keys, so that no text is compared.
const std::map<Key, Operator>& operators() {
  static const std::map<Key, Operator> all{
      // Text that came from outside, such as an owner's name, is never an expression.
      {"$literal",
       {[](const Value& text, const Scope&, Value&) -> const Value& { return text; }}},
      {"$and", {any_or_all<false>}},
      {"$or", {any_or_all<true>}},
      {"$cond", {cond}},
      {"$switch", {choose}},
      {"$let", {let}},
      {"$convert", {convert_to_long}},
      {"$ifNull", {if_null}},
      {"$filter", {filter}},
      {"$map", {map}},
      {"$reduce", {reduce}},
      {"$eq", {nullptr, compared<std::equal_to<>>, 2}},
      {"$ne", {nullptr, compared<std::not_equal_to<>>, 2}},
      {"$gt", {nullptr, compared<std::greater<>>, 2}},
      {"$gte", {nullptr, compared<std::greater_equal<>>, 2}},
      {"$lt", {nullptr, compared<std::less<>>, 2}},
      {"$lte", {nullptr, compared<std::less_equal<>>, 2}},
      {"$type", {nullptr, [](Arguments v) -> Value { return v[0]->type_name(); }, 1}},
      {"$add", {nullptr, add}},
      {"$subtract", {nullptr, subtract, 2}},
      {"$multiply", {nullptr, multiply, 2}},
      {"$max", {nullptr, greatest}},
      {"$indexOfBytes", {nullptr, index_of_bytes}},
      {"$concat", {nullptr, concatenated}},
      {"$split", {nullptr, split, 2}},
      {"$substrBytes", {nullptr, bytes_of, 3}},
      {"$toLong", {nullptr, to_long, 1}},
      {"$toString", {nullptr, to_text, 1}},
      {"$arrayElemAt", {nullptr, element_at, 2}},
      {"$slice", {nullptr, slice, 3}},
      {"$concatArrays", {nullptr, joined}},
      {"$in", {nullptr, is_in, 2}},
      {"$indexOfArray", {nullptr, index_in, 2}},
      {"$range", {nullptr, range, 2}},
      {"$setDifference", {nullptr, difference, 2}},
      {"$size", {nullptr, size_of, 1}},
      {"$mergeObjects", {nullptr, merged}},
      {"$tsSecond", {nullptr, part_of_time<&Timestamp::seconds>, 1}},
      {"$tsIncrement", {nullptr, part_of_time<&Timestamp::increment>, 1}},
  };
  return all;
}

/// By the manual on variables: two dollars name a variable, of the system or of an expression
/// around this one, and one a field of the document.
const Value& path(std::string_view text, const Scope& scope, Value& out) {
  static const Value missing;
  if (text == "$$ROOT") return scope.root;
  if (text == "$$NOW") return out = scope.now;
  if (text == "$$CLUSTER_TIME") return out = scope.cluster_time;
  if (text.starts_with("$$")) {
    const auto* variable = scope.variables;
    while (variable != nullptr && variable->name != text.substr(2)) variable = variable->outer;
    if (variable == nullptr) throw Unsupported("variable " + std::string(text));
    return *variable->value;
  }
  // No document of a lock is nested. With arrays on the way a path means something else again.
  if (text.find('.') != std::string_view::npos) throw Unsupported("a path inside a document");
  const Value* field = scope.root.as<Object>()->find(text.substr(1));
  return field == nullptr ? missing : *field;
}

const Value& operation(const Key& name, const Value& argument, const Scope& scope, Value& out) {
  const auto known = operators().find(name);
  if (known == operators().end()) throw Unsupported("operator " + name.text());
  const auto& [special, plain, count] = known->second;
  if (special != nullptr) return special(argument, scope, out);
  // On the stack: most have two, and to allocate them would be most of the work.
  constexpr std::size_t kMost = 4;
  const auto* array = argument.as<Array>();
  // mongod takes one argument in an array of one or without it.
  const std::span<const Value> given = array == nullptr ? std::span(&argument, 1) : array->items;
  // mongod refuses the command then. Here the run ends, for the adapter never sends such a one.
  if (given.size() > kMost || (count != 0 && count != given.size())) {
    throw Unsupported(name.text() + " of " + std::to_string(given.size()) + " arguments");
  }
  Value values[kMost];
  const Value* arguments[kMost];
  // All of them, so an error in any is the result.
  for (std::size_t i = 0; i < given.size(); ++i) {
    arguments[i] = &evaluate(given[i], scope, values[i]);
  }
  return out = plain(Arguments(arguments, given.size()));
}

}  // namespace

const Value& evaluate(const Value& expression, const Scope& scope, Value& out) {
  if (const auto* text = expression.as<std::string>()) {
    // Any string that begins so is a path, wherever it stands; text that may do so needs $literal.
    if (text->size() > 1 && (*text)[0] == '$') return path(*text, scope, out);
    return expression;
  }
  const auto taken = [&out](const Value& value) { return &value == &out ? std::move(out) : value; };
  if (const auto* array = expression.as<Array>()) {
    Array values;
    values.items.reserve(array->items.size());
    for (const Value& item : array->items) {
      const Value& value = evaluate(item, scope, out);
      // An array keeps its places, so what is missing becomes null; a document leaves it out.
      values.items.push_back(value.is<Missing>() ? Value(Null{}) : taken(value));
    }
    return out = std::move(values);
  }
  const auto* object = expression.as<Object>();
  if (object == nullptr) return expression;
  if (!object->fields.empty() && object->fields[0].first.text()[0] == '$') {
    return operation(object->fields[0].first, object->fields[0].second, scope, out);
  }
  Object document;
  document.fields.reserve(object->fields.size());
  for (const auto& [key, field] : object->fields) {
    const Value& value = evaluate(field, scope, out);
    if (!value.is<Missing>()) document.fields.emplace_back(key, taken(value));
  }
  return out = std::move(document);
}

}  // namespace leasehold::sim::simulated
