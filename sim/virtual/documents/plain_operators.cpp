#include "sim/virtual/documents/plain_operators.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>

namespace leasehold::sim::simulated {
namespace {

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

/// Bytes and not code points: a foreign lockId may hold any text, and the position 0 is the same in
/// both. The codes are mongod's.
Value index_of_bytes(Arguments v) {
  if (is_nothing(*v[0])) return Null{};
  if (!v[0]->is<std::string>()) {
    throw ServerError(40091, "$indexOfBytes requires a string as the first argument");
  }
  if (!v[1]->is<std::string>()) {
    throw ServerError(40092, "$indexOfBytes requires a string as the second argument");
  }
  // By the manual: -1 if it is not there.
  const auto at = v[0]->as<std::string>()->find(*v[1]->as<std::string>());
  return at == std::string::npos ? std::int32_t{-1} : static_cast<std::int32_t>(at);
}

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

/// Writes whole numbers alone, because no lock relies on how mongod writes doubles and dates.
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

/// Null too is an error here, where other operators answer null.
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

/// Compares two values as `Than` compares their order with zero.
template <typename Than>
PlainOperator comparison() {
  return {[](Arguments v) -> Value { return Than()(compare(*v[0], *v[1]), 0); }, 2};
}

/// By the manual $tsSecond and $tsIncrement take a timestamp and give a long.
Timestamp timestamp(const Value& value) {
  const auto* time = value.as<Timestamp>();
  // For null mongod answers null. Only $$CLUSTER_TIME is given here, which is none.
  if (time == nullptr) throw ServerError(5687301, "argument must be a timestamp");
  return *time;
}

}  // namespace

/// Each with the number of its arguments, where that is fixed.
const std::unordered_map<std::string, PlainOperator>& plain_operators() {
  using A = Arguments;
  static const std::unordered_map<std::string, PlainOperator> all{
      // Comparisons are total over all types: no error, and another type is less or greater.
      {"$eq", comparison<std::equal_to<>>()},
      {"$ne", comparison<std::not_equal_to<>>()},
      {"$gt", comparison<std::greater<>>()},
      {"$gte", comparison<std::greater_equal<>>()},
      {"$lt", comparison<std::less<>>()},
      {"$lte", comparison<std::less_equal<>>()},
      {"$type", {[](A v) -> Value { return std::string(v[0]->type_name()); }, 1}},
      // Those without a number take as many arguments as there are.
      {"$add", {add}},
      {"$subtract", {subtract, 2}},
      {"$multiply", {multiply, 2}},
      {"$max", {greatest}},
      {"$indexOfBytes", {index_of_bytes, 2}},
      {"$concat", {concatenated}},
      {"$split", {split, 2}},
      {"$substrBytes", {bytes_of}},
      {"$toLong", {[](A v) { return to_long(*v[0]); }, 1}},
      {"$toString", {[](A v) { return to_text(*v[0]); }, 1}},
      {"$arrayElemAt", {element_at, 2}},
      {"$slice", {slice}},
      {"$size", {[](A v) { return size_of(*v[0]); }, 1}},
      {"$mergeObjects", {merged}},
      {"$tsSecond", {[](A v) -> Value { return std::int64_t{timestamp(*v[0]).seconds}; }, 1}},
      {"$tsIncrement", {[](A v) -> Value { return std::int64_t{timestamp(*v[0]).increment}; }, 1}},
  };
  return all;
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

}  // namespace leasehold::sim::simulated
