#include "sim/virtual/documents/expression.hpp"

#include <algorithm>
#include <unordered_map>

#include "sim/virtual/documents/plain_operators.hpp"

namespace leasehold::sim::simulated {
namespace {

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

/// All arguments are evaluated, so an error in any of them is the result.
Value plain(const PlainOperator& op, const Key& name, const Value& argument, const Scope& scope) {
  // On the stack: most have two, and to allocate them would be most of the work.
  constexpr std::size_t kMost = 4;
  const auto* array = argument.as<Array>();
  // mongod takes one argument in an array of one or without it.
  const std::span<const Value> given = array == nullptr ? std::span(&argument, 1) : array->items;
  // mongod refuses the command then. Here the run ends, for the adapter never sends such a one.
  if (given.size() > kMost || (op.arguments != 0 && op.arguments != given.size())) {
    throw Unsupported(name.text() + " of " + std::to_string(given.size()) + " arguments");
  }
  Value values[kMost];
  const Value* arguments[kMost];
  for (std::size_t i = 0; i < given.size(); ++i) {
    arguments[i] = &evaluate(given[i], scope, values[i]);
  }
  return op.apply(Arguments(arguments, given.size()));
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

struct Operator {
  /// Gets its argument unevaluated: whether and how often it is evaluated is its matter.
  const Value& (*special)(const Value& argument, const Scope& scope, Value& out) = nullptr;
  PlainOperator plain = {};
};

/// Found by their keys, so that no text is compared.
const std::unordered_map<Key, Operator>& operators() {
  static const auto all = [] {
    std::unordered_map<Key, Operator> known{
        // Text that came from outside, such as an owner's name, is never an expression.
        {"$literal"_key,
         {[](const Value& text, const Scope&, Value&) -> const Value& { return text; }}},
        {"$and"_key, {any_or_all<false>}},
        {"$or"_key, {any_or_all<true>}},
        {"$cond"_key, {cond}},
        {"$switch"_key, {choose}},
        {"$let"_key, {let}},
        {"$convert"_key, {convert_to_long}},
        {"$ifNull"_key, {if_null}},
        {"$filter"_key, {filter}},
        {"$map"_key, {map}},
        {"$reduce"_key, {reduce}},
    };
    for (const auto& [name, op] : plain_operators()) known[Key(name)].plain = op;
    return known;
  }();
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
  const Operator& op = known->second;
  return op.special != nullptr ? op.special(argument, scope, out)
                               : out = plain(op.plain, name, argument, scope);
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
