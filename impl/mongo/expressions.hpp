#pragma once

#include <string>
#include <string_view>

#include "core/document/lock_id.hpp"
#include "mongo/bson.hpp"

/// Aggregation expressions, as the commands' pipelines are made of them.
namespace leasehold::mongo {

inline auto text(std::string_view value) {
  return [value](Bson& d, std::string_view key) { d.text(key, value); };
}
inline auto number(std::int64_t value) {
  return [value](Bson& d, std::string_view key) { d.int64(key, value); };
}
inline auto flag(bool value) {
  return [value](Bson& d, std::string_view key) { d.flag(key, value); };
}
inline auto nested(const Bson& value) {
  return [&value](Bson& d, std::string_view key) { d.copy(key, value); };
}

/// {<op>: [a, b, ...]}: most expressions have this form.
template <typename... Arguments>
Bson expression(std::string_view op, Arguments... arguments) {
  constexpr std::string_view kKeys[] = {"0", "1", "2"};
  static_assert(sizeof...(Arguments) <= std::size(kKeys));
  Bson e;
  e.array(op, [&](Bson& list) {
    std::size_t at = 0;
    (arguments(list, kKeys[at++]), ...);
  });
  return e;
}

inline Bson one_argument(std::string_view op, std::string_view argument) {
  Bson e;
  e.text(op, argument);
  return e;
}
inline Bson one_argument(std::string_view op, const Bson& argument) {
  Bson e;
  e.copy(op, argument);
  return e;
}

/// Text from outside is never an expression.
inline Bson literal(std::string_view value) { return one_argument("$literal", value); }

/// {$let: {vars: {<name>: <value>}, in: <in>}}
inline Bson let(std::string_view name, const Bson& value, const Bson& in) {
  Bson e;
  e.doc("$let", [&](Bson& l) {
    l.doc("vars", [&](Bson& vars) { vars.copy(name, value); });
    l.copy("in", in);
  });
  return e;
}

/// A whole number, whatever is there: 0 if it is none.
inline Bson to_long(const Bson& input) {
  Bson e;
  e.doc("$convert", [&](Bson& c) {
    c.copy("input", input).text("to", "long").int64("onError", 0).int64("onNull", 0);
  });
  return e;
}

/// Whether the document's lockId is this owner's. Not $substrBytes, which fails inside a multi-byte
/// character of a foreign value.
inline Bson mine(core::Owner owner) {
  const Bson prefix = literal(to_hex(owner) + '.');
  const Bson index = expression("$indexOfBytes", text("$lockId"), nested(prefix));
  return expression("$eq", nested(index), number(0));
}

}  // namespace leasehold::mongo
