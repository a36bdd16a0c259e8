#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/virtual/documents/value.hpp"

namespace leasehold::sim::simulated {

struct PlainOperator;

/// An update pipeline, compiled: operators, variables and parameters are found once, and not by
/// their names at each evaluation. Commands of one shape share it and differ in its parameters.
///
/// Without it a third of a run's time goes into finding names and copying values. `evaluate` is the
/// reference implementation, with which a test compares it on generated documents.
///
/// It means what the pipeline means: a pure function, with the same errors at the same places.
class Program {
 public:
  /// The parameter that a leaf stands for; nothing: it is the same in all commands of the shape.
  using Hole = std::function<std::optional<std::size_t>(const Value& leaf)>;

  /// Throws Unsupported for what the interpreter does not know, and for what no command uses: more
  /// than four arguments of an operator, or eight variables within each other.
  Program(const Array& pipeline, const Hole& hole);

  /// The input of a command when it starts.
  struct Given {
    Date now;
    Timestamp cluster_time;
    std::span<const Value> parameters;
  };
  /// Returns the document that the update leaves: `before` itself if it returns $$ROOT. Throws
  /// ServerError where the server would answer with an error.
  [[nodiscard]] Document run(const Document& before, const Given& given) const;

 private:
  static constexpr std::size_t kMostArguments = 4, kMostVariables = 8;
  enum class Op {
    constant,
    parameter,
    variable,
    root,
    now,
    cluster_time,
    field,
    document,
    list,
    plain,
    comparison,
    all_of,
    any_of,
    cond,
    choose,
    let,
    convert,
    if_null,
    filter,
    map,
    reduce
  };
  /// INVARIANT: its result depends on the frame alone, so all threads may share a program.
  struct Node {
    Op op = Op::constant;
    Value value = {};                      ///< of a constant
    std::size_t slot = 0;                  ///< of a parameter; the first variable that it gives
    const PlainOperator* plain = nullptr;  ///< the operator
    std::vector<Node> parts = {};          ///< in the order in which they may be evaluated
    std::vector<Key> keys = {};            ///< of a document's parts; of a field, its own
  };
  /// One evaluation. INVARIANT: a variable is set before an expression that sees it is evaluated,
  /// because the compiler gave it a slot there; it is never unset, and nothing else knows the slot.
  struct Frame {
    const Object& document;
    const Value root, now, cluster_time;
    std::span<const Value> parameters;
    const Value* variables[kMostVariables] = {};
  };
  class Compiler;
  static const Value& evaluate(const Node& node, Frame& frame, Value& out);
  static bool holds(const Node& node, Frame& frame);
  static std::size_t chosen(const Node& node, Frame& frame);
  static Value loop(const Node& node, Frame& frame);
  static Value convert(const Node& node, Frame& frame);

  Node result_;         ///< of $replaceWith, or a document of what $set sets
  bool sets_ = false;
};

}  // namespace leasehold::sim::simulated
