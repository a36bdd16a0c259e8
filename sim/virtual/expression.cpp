#include "sim/virtual/expression.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include "sim/virtual/list_operators.hpp"

namespace leasehold::sim::simulated {
namespace {

constexpr int kTypeMismatch = 14;

/// One argument, in an array of one or without it.
/// mongod takes both forms.
const Value& only(const Value& argument) {
  const auto* array = argument.as<Array>();
  if (array == nullptr) return argument;
  if (array->items.size() != 1) throw Unsupported("an operator of one argument with several");
  return array->items[0];
}

/// All arguments are evaluated, so an error in any of them is the result. Operators that must not
/// evaluate all ($cond, $switch, $and, $or) do not use this.
Arguments each(const Value& argument, const Scope& scope) {
  Arguments values;
  if (const auto* array = argument.as<Array>()) {
    values.reserve(array->items.size());
    for (const Value& item : array->items) values.push_back(evaluate(item, scope));
  } else {
    values.push_back(evaluate(argument, scope));
  }
  return values;
}

Arguments two(const Value& argument, const Scope& scope) {
  auto values = each(argument, scope);
  if (values.size() != 2) throw Unsupported("an operator of two arguments with other than two");
  return values;
}

/// Two ints give an int as long as it fits, else a long; a long stays one. The type is stored and
/// so seen by whoever reads the document.
Value of_long(std::int64_t result, bool small) {
  const bool fits = result >= std::numeric_limits<std::int32_t>::min() &&
                    result <= std::numeric_limits<std::int32_t>::max();
  if (small && fits) return static_cast<std::int32_t>(result);
  return result;
}

/// Sums, differences and products of whole numbers, and dates moved by ms. An overflow becomes a
/// double, as in the server.
Value add(const Arguments& values) {
  bool small = true, is_date = false;
  std::int64_t sum = 0;
  double real = 0;
  bool overflow = false;
  for (const Value& v : values) {
    if (is_nothing(v)) return Null{};
    std::int64_t part = 0;
    if (const auto* date = v.as<Date>()) {
      if (is_date) throw ServerError(16612, "only one date allowed in an $add expression");
      is_date = true;
      part = date->ms;
    } else if (v.is<std::int32_t>() || v.is<std::int64_t>()) {
      small = small && v.is<std::int32_t>();
      part = v.integer();
    } else if (v.is<double>()) {
      // The sum of doubles depends on the order in which the server adds; no lock stores any.
      throw Unsupported("$add of doubles");
    } else {
      throw ServerError(kTypeMismatch, "$add only supports numeric or date types");
    }
    overflow |= __builtin_add_overflow(sum, part, &sum);
    real += static_cast<double>(part);
  }
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
Value of_whole_numbers(const Arguments& v, const char* name, Compute compute) {
  if (is_nothing(v[0]) || is_nothing(v[1])) return Null{};
  if (!v[0].is_number() || !v[1].is_number() || v[0].is<double>() || v[1].is<double>()) {
    throw Unsupported(std::string(name) + " of other than whole numbers");
  }
  std::int64_t result = 0;
  if (compute(v[0].integer(), v[1].integer(), &result)) {
    throw Unsupported(std::string("overflow in ") + name);
  }
  return of_long(result, v[0].is<std::int32_t>() && v[1].is<std::int32_t>());
}

Value subtract(const Arguments& v) {
  return of_whole_numbers(v, "$subtract", [](std::int64_t a, std::int64_t b, std::int64_t* out) {
    return __builtin_sub_overflow(a, b, out);
  });
}

Value multiply(const Arguments& v) {
  return of_whole_numbers(v, "$multiply", [](std::int64_t a, std::int64_t b, std::int64_t* out) {
    return __builtin_mul_overflow(a, b, out);
  });
}

/// As the manual says of $max in an expression: null and missing are passed over, and types are
/// ordered as BSON's.
Value greatest(const Arguments& values) {
  const Value* best = nullptr;
  for (const Value& v : values) {
    if (is_nothing(v)) continue;
    if (best == nullptr || compare(v, *best) > 0) best = &v;
  }
  return best == nullptr ? Value(Null{}) : *best;
}

/// Bytes and not code points: a foreign lockId may hold any text, and the position 0 is the same in
/// both. The codes are mongod's.
Value index_of_bytes(const Arguments& v) {
  if (is_nothing(v[0])) return Null{};
  if (!v[0].is<std::string>()) {
    throw ServerError(40091, "$indexOfBytes requires a string as the first argument");
  }
  if (!v[1].is<std::string>()) {
    throw ServerError(40092, "$indexOfBytes requires a string as the second argument");
  }
  const auto at = v[0].as<std::string>()->find(*v[1].as<std::string>());
  return at == std::string::npos ? std::int32_t{-1} : static_cast<std::int32_t>(at);
}

/// Numbers in text are decimal, without spaces or a point; doubles lose their fraction; a date
/// gives its ms. What cannot be converted is `onError`'s, never an error: a damaged token must not
/// make a lock impossible to take.
Value convert_to_long(const Value& argument, const Scope& scope) {
  if (field_of(argument, "to") != Value(std::string("long"))) {
    throw Unsupported("$convert to other than long");
  }
  const Value input = evaluate(field_of(argument, "input"), scope);
  if (is_nothing(input)) return evaluate(field_of(argument, "onNull"), scope);
  if (input.is<std::int32_t>() || input.is<std::int64_t>()) return input.integer();
  if (const auto* flag = input.as<bool>()) return std::int64_t{*flag ? 1 : 0};
  if (const auto* date = input.as<Date>()) return date->ms;
  if (const auto* real = input.as<double>()) {
    // 2^63, which no long reaches; -2^63 is one. NaN fails both.
    constexpr double kLimit = 9223372036854775808.0;
    if (*real >= -kLimit && *real < kLimit) return static_cast<std::int64_t>(*real);
  } else if (const auto* text = input.as<std::string>()) {
    std::int64_t number = 0;
    const char* begin = text->data() + (text->size() > 1 && (*text)[0] == '+' ? 1 : 0);
    const char* end = text->data() + text->size();
    const auto parsed = std::from_chars(begin, end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && begin != end) return number;
  }
  return evaluate(field_of(argument, "onError"), scope);
}

Value if_null(const Value& argument, const Scope& scope) {
  const auto& args = argument.as<Array>()->items;
  Value first = evaluate(args.at(0), scope);
  return is_nothing(first) ? evaluate(args.at(1), scope) : first;
}

Value let(const Value& argument, const Scope& scope) {
  Scope inner = scope;
  for (const auto& [name, value] : field_of(argument, "vars").as<Object>()->fields) {
    // In the outer scope: the variables of one $let do not see each other.
    inner.variables[name] = evaluate(value, scope);
  }
  return evaluate(field_of(argument, "in"), inner);
}

/// Only the first branch whose case holds is evaluated. Acquire's first cases (missing, corrupt)
/// keep the later ones from documents that they would fail on.
Value choose(const Value& argument, const Scope& scope) {
  for (const Value& branch : field_of(argument, "branches").as<Array>()->items) {
    if (evaluate(field_of(branch, "case"), scope).truth()) {
      return evaluate(field_of(branch, "then"), scope);
    }
  }
  return evaluate(field_of(argument, "default"), scope);
}

Value cond(const Value& argument, const Scope& scope) {
  const auto* array = argument.as<Array>();
  if (array == nullptr || array->items.size() != 3) throw Unsupported("$cond of another form");
  const bool yes = evaluate(array->items[0], scope).truth();
  return evaluate(array->items[yes ? 1 : 2], scope);
}

Timestamp timestamp(const Value& argument, const Scope& scope) {
  const Value v = evaluate(only(argument), scope);
  const auto* time = v.as<Timestamp>();
  // For null mongod answers null. Only $$CLUSTER_TIME is given here, which is none.
  if (time == nullptr) throw ServerError(5687301, "argument must be a timestamp");
  return *time;
}

template <typename Test>
Value comparison(const Value& argument, const Scope& scope, Test test) {
  const auto v = two(argument, scope);
  return test(compare(v[0], v[1]));
}

// An operator gets its argument unevaluated: whether and how often it is evaluated is its matter.
using Operator = Value (*)(const Value&, const Scope&);

const std::unordered_map<std::string, Operator>& operators() {
  using V = const Value&;
  using S = const Scope&;
  static const std::unordered_map<std::string, Operator> all{
      // Text that came from outside, such as an owner's name, is never an expression.
      {"$literal", [](V v, S) { return v; }},
      {"$eq", [](V v, S s) { return comparison(v, s, [](int c) { return c == 0; }); }},
      {"$ne", [](V v, S s) { return comparison(v, s, [](int c) { return c != 0; }); }},
      {"$gt", [](V v, S s) { return comparison(v, s, [](int c) { return c > 0; }); }},
      {"$gte", [](V v, S s) { return comparison(v, s, [](int c) { return c >= 0; }); }},
      {"$lt", [](V v, S s) { return comparison(v, s, [](int c) { return c < 0; }); }},
      {"$lte", [](V v, S s) { return comparison(v, s, [](int c) { return c <= 0; }); }},
      // Both stop at the first that decides: a type check keeps what follows from other types.
      {"$and",
       [](V v, S s) -> Value {
         for (const Value& item : v.as<Array>()->items) {
           if (!evaluate(item, s).truth()) return false;
         }
         return true;
       }},
      {"$or",
       [](V v, S s) -> Value {
         for (const Value& item : v.as<Array>()->items) {
           if (evaluate(item, s).truth()) return true;
         }
         return false;
       }},
      {"$cond", cond},
      {"$switch", choose},
      {"$let", let},
      {"$convert", convert_to_long},
      {"$ifNull", if_null},
      {"$type", [](V v, S s) -> Value { return std::string(evaluate(only(v), s).type_name()); }},
      {"$add", [](V v, S s) { return add(each(v, s)); }},
      {"$subtract", [](V v, S s) { return subtract(two(v, s)); }},
      {"$multiply", [](V v, S s) { return multiply(two(v, s)); }},
      {"$max", [](V v, S s) { return greatest(each(v, s)); }},
      {"$indexOfBytes", [](V v, S s) { return index_of_bytes(two(v, s)); }},
      {"$concat", [](V v, S s) { return concatenated(each(v, s)); }},
      {"$split", [](V v, S s) { return split(two(v, s)); }},
      {"$substrBytes", [](V v, S s) { return bytes_of(each(v, s)); }},
      {"$toLong", [](V v, S s) { return to_long(evaluate(only(v), s)); }},
      {"$toString", [](V v, S s) { return to_text(evaluate(only(v), s)); }},
      {"$arrayElemAt", [](V v, S s) { return element_at(two(v, s)); }},
      {"$slice", [](V v, S s) { return slice(each(v, s)); }},
      {"$size", [](V v, S s) { return size_of(evaluate(only(v), s)); }},
      {"$mergeObjects", [](V v, S s) { return merged(each(v, s)); }},
      {"$filter", filter},
      {"$map", map},
      {"$reduce", reduce},
      {"$tsSecond", [](V v, S s) -> Value { return std::int64_t{timestamp(v, s).seconds}; }},
      {"$tsIncrement", [](V v, S s) -> Value { return std::int64_t{timestamp(v, s).increment}; }},
  };
  return all;
}

Value path(std::string_view text, const Scope& scope) {
  if (text == "$$ROOT") return scope.root;
  if (text == "$$NOW") return scope.now;
  if (text == "$$CLUSTER_TIME") return scope.cluster_time;
  if (text.substr(0, 2) == "$$") {
    const auto found = scope.variables.find(text.substr(2));
    if (found == scope.variables.end()) throw Unsupported("variable " + std::string(text));
    return found->second;
  }
  // No document of a lock is nested. With arrays on the way a path means something else again.
  if (text.find('.') != std::string_view::npos) throw Unsupported("a path inside a document");
  const Value* field = scope.root.find(text.substr(1));
  return field == nullptr ? Value(Missing{}) : *field;
}

}  // namespace

Value evaluate(const Value& expression, const Scope& scope) {
  if (const auto* text = expression.as<std::string>()) {
    // Any string that begins so is a path, wherever it stands; text that may do so needs $literal.
    if (text->size() > 1 && (*text)[0] == '$') return path(*text, scope);
    return expression;
  }
  if (const auto* array = expression.as<Array>()) {
    Array out;
    for (const Value& item : array->items) {
      Value v = evaluate(item, scope);
      // An array keeps its places, so what is missing becomes null; a document leaves it out.
      out.items.push_back(v.is<Missing>() ? Value(Null{}) : std::move(v));
    }
    return out;
  }
  const auto* object = expression.as<Object>();
  if (object == nullptr) return expression;
  if (!object->fields.empty() && object->fields[0].first[0] == '$') {
    const auto& [name, argument] = object->fields[0];
    const auto known = operators().find(name);
    if (known == operators().end()) throw Unsupported("operator " + name);
    return known->second(argument, scope);
  }
  Object out;
  for (const auto& [key, value] : object->fields) {
    Value v = evaluate(value, scope);
    if (!v.is<Missing>()) out.fields.emplace_back(key, std::move(v));
  }
  return out;
}

const std::vector<std::string>& known_operators() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, run] : operators()) all.push_back(name);
    // The table's own order differs from one standard library to the next.
    std::sort(all.begin(), all.end());
    return all;
  }();
  return names;
}

}  // namespace leasehold::sim::simulated
