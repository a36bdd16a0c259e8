#include "sim/virtual/documents/expression.hpp"

#include <algorithm>

#include "sim/virtual/documents/plain_operators.hpp"

namespace leasehold::sim::simulated {
namespace {

/// All arguments are evaluated, so an error in any of them is the result.
Value plain(const PlainOperator& op, const std::string& name, const Value& argument,
            const Scope& scope) {
  const auto* array = argument.as<Array>();
  // mongod takes one argument in an array of one or without it.
  const std::span<const Value> given = array == nullptr ? std::span(&argument, 1) : array->items;
  check_arguments(op, name, given.size());
  std::vector<Value> values;
  values.reserve(given.size());
  std::vector<const Value*> arguments;
  arguments.reserve(given.size());
  for (const Value& one : given) {
    values.push_back(evaluate(one, scope));
    arguments.push_back(&values.back());
  }
  return op.apply(arguments);
}

/// What cannot be converted is `onError`'s, never an error: a damaged token must not make a lock
/// impossible to take.
Value convert_to_long(const Value& argument, const Scope& scope) {
  if (field_of(argument, "to") != Value(std::string("long"))) {
    throw Unsupported("$convert to other than long");
  }
  const Value input = evaluate(field_of(argument, "input"), scope);
  if (is_nothing(input)) return evaluate(field_of(argument, "onNull"), scope);
  const auto converted = converted_to_long(input);
  return converted ? Value(*converted) : evaluate(field_of(argument, "onError"), scope);
}

/// The replacement is evaluated only when it is needed, as by the server.
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

/// Only the first branch with a true case is evaluated. Acquire's first cases (missing, corrupt)
/// keep the later ones from documents that they would fail on.
Value choose(const Value& argument, const Scope& scope) {
  for (const Value& branch : field_of(argument, "branches").as<Array>()->items) {
    if (evaluate(field_of(branch, "case"), scope).truth()) {
      return evaluate(field_of(branch, "then"), scope);
    }
  }
  return evaluate(field_of(argument, "default"), scope);
}

/// By the manual it takes a document of if, then and else as well. The adapter writes the list.
Value cond(const Value& argument, const Scope& scope) {
  const auto* array = argument.as<Array>();
  if (array == nullptr || array->items.size() != 3) throw Unsupported("$cond of another form");
  const bool yes = evaluate(array->items[0], scope).truth();
  return evaluate(array->items[yes ? 1 : 2], scope);
}

// These get their argument unevaluated: whether and how often it is evaluated is their matter.
using SpecialForm = Value (*)(const Value&, const Scope&);

/// Compiled programs have them a second time, as `Program::Op`; `prepared_test` compares the two.
const std::unordered_map<std::string, SpecialForm>& special_forms() {
  using V = const Value&;
  using S = const Scope&;
  static const std::unordered_map<std::string, SpecialForm> all{
      // Text that came from outside, such as an owner's name, is never an expression.
      {"$literal", [](V v, S) { return v; }},
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
      {"$filter", filter},
      {"$map", map},
      {"$reduce", reduce},
  };
  return all;
}

/// By the manual on variables: two dollars name a variable, of the system or of an expression
/// around this one, and one a field of the document.
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
  if (!object->fields.empty() && object->fields[0].first.text()[0] == '$') {
    const auto& [name, argument] = object->fields[0];
    const auto special = special_forms().find(name);
    if (special != special_forms().end()) return special->second(argument, scope);
    const auto known = plain_operators().find(name);
    if (known == plain_operators().end()) throw Unsupported("operator " + name.text());
    return plain(known->second, name, argument, scope);
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
    for (const auto& [name, run] : special_forms()) all.push_back(name);
    for (const auto& [name, run] : plain_operators()) all.push_back(name);
    // The table's own order differs from one standard library to the next.
    std::sort(all.begin(), all.end());
    return all;
  }();
  return names;
}

}  // namespace leasehold::sim::simulated
