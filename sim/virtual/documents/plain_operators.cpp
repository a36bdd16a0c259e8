#include "sim/virtual/documents/plain_operators.hpp"

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

/// Of two values, as `Than` is of their order and zero.
template <typename Than>
PlainOperator comparison() {
  return {.apply = [](Arguments v) -> Value { return Than()(compare(*v[0], *v[1]), 0); },
          .arguments = 2,
          .holds = [](int order) { return Than()(order, 0); }};
}

/// By the manual $tsSecond and $tsIncrement take a timestamp and give a long.
Timestamp timestamp(const Value& value) {
  const auto* time = value.as<Timestamp>();
  // For null mongod answers null. Only $$CLUSTER_TIME is given here, which is none.
  if (time == nullptr) throw ServerError(5687301, "argument must be a timestamp");
  return *time;
}

}  // namespace

/// Each with the number of its arguments, where that is fixed. The interpreter and compiled
/// programs find an operator here; so there is one meaning of each.
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

/// mongod refuses the command then. Here the run ends, for the adapter never sends such a one.
void check_arguments(const PlainOperator& op, const std::string& name, std::size_t given) {
  if (op.arguments == 0 || op.arguments == given) return;
  throw Unsupported(name + " of " + std::to_string(given) + " arguments: it takes " +
                    std::to_string(op.arguments));
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
