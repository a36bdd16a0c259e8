#include "sim/virtual/documents/program.hpp"

#include <algorithm>
#include <memory>

#include "sim/virtual/documents/plain_operators.hpp"

namespace leasehold::sim::simulated {

/// Finds names once, so that an evaluation meets numbers alone.
///
/// INVARIANT: `variables_` are those that what is being compiled sees, the innermost last. A
/// variable's slot is its place among them, so two that are never seen together may share one.
class Program::Compiler {
 public:
  explicit Compiler(const Hole& hole) : hole_(hole) {}

  Node compile(const Value& expression) {
    if (const auto* text = expression.as<std::string>()) {
      if (text->size() > 1 && (*text)[0] == '$') return path(*text);
      return {.value = expression};
    }
    if (const auto* array = expression.as<Array>()) {
      return {.op = Op::list, .parts = all(array->items)};
    }
    const auto* object = expression.as<Object>();
    if (object == nullptr) return leaf(expression);
    // An operator stands alone in its object, so the first field tells it from a document.
    if (!object->fields.empty() && object->fields[0].first.text()[0] == '$') {
      const auto& [name, argument] = object->fields[0];
      return operation(name, argument);
    }
    Node out{.op = Op::document};
    for (const auto& [key, value] : object->fields) {
      out.keys.push_back(key);
      out.parts.push_back(compile(value));
    }
    return out;
  }

 private:
  /// Of text only below $literal: anywhere else what it means depends on how it begins.
  Node leaf(const Value& value) const {
    const auto parameter = hole_(value);
    if (parameter) return {.op = Op::parameter, .slot = *parameter};
    return {.value = value};
  }

  /// By the manual on variables: two dollars name a variable, of the system or of the pipeline, and
  /// one a field of the document that the command found.
  Node path(const std::string& text) const {
    if (text == "$$ROOT") return {.op = Op::root};
    if (text == "$$NOW") return {.op = Op::now};
    if (text == "$$CLUSTER_TIME") return {.op = Op::cluster_time};
    if (text.starts_with("$$")) {
      // The innermost of that name.
      const auto found = std::find(variables_.rbegin(), variables_.rend(), text.substr(2));
      if (found == variables_.rend()) throw Unsupported("variable " + text);
      const auto slot = static_cast<std::size_t>(variables_.rend() - found) - 1;
      return {.op = Op::variable, .slot = slot};
    }
    // Documents of locks are flat. In lists such a path has rules of its own, which no lock needs.
    if (text.find('.') != std::string::npos) throw Unsupported("a path inside a document");
    return {.op = Op::field, .keys = {Key(text.substr(1))}};
  }

  /// The parts of an operator that takes a list.
  std::vector<Node> all(std::span<const Value> expressions) {
    std::vector<Node> nodes;
    for (const Value& one : expressions) nodes.push_back(compile(one));
    return nodes;
  }

  /// The parts of an operator that takes a document. In the order of `keys`, whatever that of the
  /// document is: a node's parts are found by their places.
  std::vector<Node> named(const Value& argument, std::initializer_list<const char*> keys) {
    std::vector<Node> nodes;
    for (const char* key : keys) nodes.push_back(compile(field_of(argument, key)));
    return nodes;
  }

  /// What follows sees these variables, until `leave`.
  std::size_t enter(std::initializer_list<std::string> names) {
    const auto first = variables_.size();
    variables_.insert(variables_.end(), names);
    if (variables_.size() > kMostVariables) throw Unsupported("so many variables");
    return first;
  }
  void leave(std::size_t first) { variables_.resize(first); }

  /// Those that decide which of their parts are evaluated have an `Op` of their own. All others see
  /// values, and are those of `plain_operators`, which the interpreter uses too.
  Node operation(const std::string& name, const Value& argument) {
    if (name == "$literal") return leaf(argument);
    if (name == "$and") return {.op = Op::all_of, .parts = all(argument.as<Array>()->items)};
    if (name == "$or") return {.op = Op::any_of, .parts = all(argument.as<Array>()->items)};
    if (name == "$ifNull") return {.op = Op::if_null, .parts = all(argument.as<Array>()->items)};
    if (name == "$cond") return condition(argument);
    if (name == "$switch") return choice(argument);
    if (name == "$let") return let(argument);
    if (name == "$convert") return conversion(argument);
    if (name == "$filter") return loop(Op::filter, argument, "cond");
    if (name == "$map") return loop(Op::map, argument, "in");
    if (name == "$reduce") return reduction(argument);
    const auto known = plain_operators().find(name);
    if (known == plain_operators().end()) throw Unsupported("operator " + name);
    const auto* array = argument.as<Array>();
    const auto op = known->second.holds == nullptr ? Op::plain : Op::comparison;
    Node out{.op = op, .plain = &known->second};
    out.parts = all(array == nullptr ? std::span(&argument, 1) : std::span(array->items));
    check_arguments(known->second, name, out.parts.size());
    if (out.parts.size() > kMostArguments) throw Unsupported("so many arguments of " + name);
    return out;
  }

  /// By the manual $cond takes a list of three or a document. The adapter writes the list.
  Node condition(const Value& argument) {
    const auto* array = argument.as<Array>();
    if (array == nullptr || array->items.size() != 3) throw Unsupported("$cond of another form");
    return {.op = Op::cond, .parts = all(array->items)};
  }

  /// Cases and what follows from them by turns, then the default. By the manual a $switch without a
  /// default is an error when no case is true; one without it is refused here.
  Node choice(const Value& argument) {
    Node out{.op = Op::choose};
    for (const Value& branch : field_of(argument, "branches").as<Array>()->items) {
      std::ranges::move(named(branch, {"case", "then"}), std::back_inserter(out.parts));
    }
    out.parts.push_back(compile(field_of(argument, "default")));
    return out;
  }

  Node let(const Value& argument) {
    const auto& vars = field_of(argument, "vars").as<Object>()->fields;
    if (vars.size() != 1) throw Unsupported("$let of other than one variable");
    Node out{.op = Op::let};
    // Outside: a variable of a $let is not seen by what it is made of.
    out.parts.push_back(compile(vars[0].second));
    out.slot = enter({vars[0].first});
    out.parts.push_back(compile(field_of(argument, "in")));
    leave(out.slot);
    return out;
  }

  /// By the manual $convert answers `onNull` for null or a missing field, and `onError` for what it
  /// cannot convert: a lockId may hold any text where ours has a number, and is then not ours.
  Node conversion(const Value& argument) {
    if (field_of(argument, "to") != Value(std::string("long"))) {
      throw Unsupported("$convert to other than long");
    }
    return {.op = Op::convert, .parts = named(argument, {"input", "onNull", "onError"})};
  }

  /// By the manual `as` may be left out, and is `this` then. The adapter names it.
  Node loop(Op op, const Value& argument, const char* body) {
    Node out{.op = op, .parts = named(argument, {"input"})};
    out.slot = enter({*field_of(argument, "as").as<std::string>()});
    out.parts.push_back(compile(field_of(argument, body)));
    leave(out.slot);
    return out;
  }

  /// By the manual the body of a $reduce sees `this`, the element, and `value`, what came of those
  /// before it.
  Node reduction(const Value& argument) {
    Node out{.op = Op::reduce, .parts = named(argument, {"input", "initialValue"})};
    out.slot = enter({"this", "value"});
    out.parts.push_back(compile(field_of(argument, "in")));
    leave(out.slot);
    return out;
  }

  const Hole& hole_;
  std::vector<std::string> variables_;
};

/// By the manual on updates with a pipeline there may be several stages, of $set, $unset and
/// $replaceWith. Each update of a lock is one, and no stage unsets anything.
Program::Program(const Array& pipeline, const Hole& hole) {
  if (pipeline.items.size() != 1) throw Unsupported("a pipeline of other than one stage");
  const auto& [name, argument] = pipeline.items[0].as<Object>()->fields.at(0);
  sets_ = name == "$set"_key;
  if (!sets_ && name != "$replaceWith") throw Unsupported("stage " + name.text());
  result_ = Compiler(hole).compile(argument);
}

/// The result is where it is already, or in `out`: most are compared or looked at, and to copy text
/// costs more than that.
const Value& Program::evaluate(const Node& node, Frame& frame, Value& out) {
  static const Value missing;
  const auto& parts = node.parts;
  const auto at = [&](std::size_t part) -> const Value& {
    return evaluate(parts[part], frame, out);
  };
  switch (node.op) {
    case Op::constant: return node.value;
    case Op::parameter: return frame.parameters[node.slot];
    case Op::variable: return *frame.variables[node.slot];
    case Op::root: return frame.root;
    case Op::now: return frame.now;
    case Op::cluster_time: return frame.cluster_time;
    case Op::field: {
      // Missing is not null: assigned to a field it leaves none.
      const Value* field = frame.document.find(node.keys[0]);
      return field == nullptr ? missing : *field;
    }
    case Op::document: {
      Object object;
      object.fields.reserve(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const Value& value = at(i);
        if (value.is<Missing>()) continue;
        object.fields.emplace_back(node.keys[i], &value == &out ? std::move(out) : value);
      }
      return out = std::move(object);
    }
    case Op::list: {
      Array array;
      array.items.reserve(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const Value& value = at(i);
        // A list has no gaps, as in the server.
        array.items.push_back(value.is<Missing>() ? Value(Null{}) : value);
      }
      return out = std::move(array);
    }
    case Op::plain: {
      // On the stack: most have two, and to allocate them would be most of the work.
      Value values[kMostArguments];
      const Value* arguments[kMostArguments];
      for (std::size_t i = 0; i < parts.size(); ++i) {
        arguments[i] = &evaluate(parts[i], frame, values[i]);
      }
      return out = node.plain->apply(Arguments(arguments, parts.size()));
    }
    case Op::comparison:
    case Op::all_of:
    case Op::any_of: return out = holds(node, frame);
    // What is not chosen is not evaluated, here and below.
    case Op::cond: return at(holds(parts[0], frame) ? 1 : 2);
    case Op::choose: return at(chosen(node, frame));
    case Op::let: {
      Value value;
      frame.variables[node.slot] = &evaluate(parts[0], frame, value);
      const Value& result = at(1);
      // It may be the variable, which ends here.
      if (&result != &out) out = result;
      return out;
    }
    case Op::convert: return out = convert(node, frame);
    // Since MongoDB 5.0 there may be more than one input; commands have one and a replacement.
    case Op::if_null: {
      const Value& first = at(0);
      return is_nothing(first) ? at(1) : first;
    }
    case Op::filter:
    case Op::map:
    case Op::reduce: return out = loop(node, frame);
  }
  throw Unsupported("an operation that is not compiled");
}

/// Which part of a $switch is its result.
std::size_t Program::chosen(const Node& node, Frame& frame) {
  for (std::size_t i = 0; i + 1 < node.parts.size(); i += 2) {
    if (holds(node.parts[i], frame)) return i + 1;
  }
  return node.parts.size() - 1;
}

/// As `evaluate(...).truth()`, without a value where that is made to be asked this only: most of
/// what a refused attempt evaluates are conditions.
bool Program::holds(const Node& node, Frame& frame) {
  const auto& parts = node.parts;
  const auto part_holds = [&frame](const Node& part) { return holds(part, frame); };
  switch (node.op) {
    case Op::comparison: {
      Value a, b;
      const Value& left = evaluate(parts[0], frame, a);
      return node.plain->holds(compare(left, evaluate(parts[1], frame, b)));
    }
    // The first that decides ends it, as in mongod: what comes after may be an error.
    case Op::all_of: return std::ranges::all_of(parts, part_holds);
    case Op::any_of: return std::ranges::any_of(parts, part_holds);
    case Op::cond: return holds(parts[holds(parts[0], frame) ? 1 : 2], frame);
    case Op::choose: return holds(parts[chosen(node, frame)], frame);
    default: {
      Value value;
      return evaluate(node, frame, value).truth();
    }
  }
}

/// Only the answer that is given is evaluated.
Value Program::convert(const Node& node, Frame& frame) {
  Value input, other;
  const Value& value = evaluate(node.parts[0], frame, input);
  if (is_nothing(value)) return evaluate(node.parts[1], frame, other);
  const auto converted = converted_to_long(value);
  return converted ? Value(*converted) : evaluate(node.parts[2], frame, other);
}

/// $filter, $map and $reduce: its last part, for each element.
Value Program::loop(const Node& node, Frame& frame) {
  Value kept;
  const Value& input = evaluate(node.parts[0], frame, kept);
  if (is_nothing(input)) return Null{};
  const Node& body = node.parts.back();
  // Null makes null in all three, and anything else that is no list is an error.
  if (node.op == Op::reduce) {
    Value value, next;
    const auto& items = elements_for_reduce(input);
    if (const Value& first = evaluate(node.parts[1], frame, value); &first != &value) value = first;
    for (const Value& item : items) {
      frame.variables[node.slot] = &item;
      // It has to stay while the body reads it; so the result is made beside it, and moved after.
      frame.variables[node.slot + 1] = &value;
      if (const Value& result = evaluate(body, frame, next); &result != &next) next = result;
      value = std::move(next);
    }
    return value;
  }
  const bool filters = node.op == Op::filter;
  Array out;
  for (const Value& item : filters ? elements_for_filter(input) : elements_for_map(input)) {
    frame.variables[node.slot] = &item;
    Value result;
    const Value& of_item = evaluate(body, frame, result);
    if (!filters) {
      out.items.push_back(of_item.is<Missing>() ? Value(Null{}) : of_item);
    } else if (of_item.truth()) {
      out.items.push_back(item);
    }
  }
  return out;
}

/// A stage that says $$ROOT leaves the very document, shared and not copied. That is what a refused
/// attempt does, which is most of them.
Document Program::run(const Document& before, const Given& given) const {
  Frame frame{*before, before, given.now, given.cluster_time, given.parameters};
  Value kept;
  if (!sets_) {
    const Value& result = evaluate(result_, frame, kept);
    if (!result.is<Object>()) throw ServerError(40228, "$replaceWith: not a document");
    return result.document();
  }
  // Each sees the document as it was before the stage, not what the fields before it became: the
  // frame refers to `before`.
  Object changed = *before;
  for (std::size_t i = 0; i < result_.parts.size(); ++i) {
    const Value& value = evaluate(result_.parts[i], frame, kept);
    if (!value.is<Missing>()) changed.set(result_.keys[i], value);
  }
  return std::make_shared<const Object>(std::move(changed));
}

}  // namespace leasehold::sim::simulated
