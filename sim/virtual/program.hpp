#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/virtual/value.hpp"

namespace leasehold::sim::simulated {

struct PlainOperator;

/// An update pipeline, compiled: operators, variables and parameters are found once, and not by
/// their names at each evaluation. Commands of one shape share it and differ in its parameters.
///
/// Worth it: without it a third of a run's time goes into finding names and copying values.
/// `evaluate` is the slow twin, which a test compares it with on drawn documents.
///
/// It means what the pipeline means: a pure function, with the same errors at the same places.
class Program {
 public:
  /// Which parameter a leaf stands for; nothing: it is what it is, in all commands of the shape.
  using Hole = std::function<std::optional<std::size_t>(const Value& leaf)>;

  /// Throws Unsupported for what the interpreter does not know, and for what no command uses: more
  /// than four arguments of an operator, or eight variables within each other.
  Program(const Array& pipeline, const Hole& hole);

  /// What is there when a command starts.
  struct Given {
    Date now;
    Timestamp cluster_time;
    std::span<const Value> parameters;
  };
  /// The document that it leaves: `before` itself if it changes nothing by returning $$ROOT.
  /// Throws ServerError where the server would answer with an error.
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
  /// INVARIANT: what it means depends on nothing but the frame. So all threads may share a program.
  struct Node {
    Op op = Op::constant;
    Value value = {};                      ///< of a constant
    std::size_t slot = 0;                  ///< of a parameter; the first variable that it gives
    const PlainOperator* plain = nullptr;  ///< which
    std::vector<Node> parts = {};          ///< in the order in which they may be evaluated
    std::vector<Key> keys = {};            ///< of a document's parts; of a field, its own
  };
  /// One evaluation. INVARIANT: a variable is set before what sees it is evaluated, as the compiler
  /// gave it a slot there; it is never unset, and nobody else knows the slot.
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
